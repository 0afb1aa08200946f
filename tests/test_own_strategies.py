"""Strategies of the user's own: installed ones, summaries made for them, and what they do wrong."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from contextctl import CompactionOutcome, ContextAssembler, Message
from contextctl.entries import Entry, summary_entry
from contextctl.errors import CapabilityError, ContextBudgetError, Location, StrategyError
from contextctl.outcome import AssembledContext
from contextctl.plan import CompactionPlan, ContextPlan, SectionPlan
from contextctl.ports import Summariser, Summary, SummaryRequest
from contextctl.strategies.summarise_span import SummariseSpan
from contextctl.summarisers.planned import PlannedSummariser
from tests.engine_samples import WordProvider

OWN = """\
from contextctl import CompactionOutcome

class KeepNewest:
    async def compact(self, entries, *, budget_tokens, count):
        kept = [entry for entry in entries if entry.pinned]
        gone = tuple(entry.id for entry in entries if not entry.pinned)
        return CompactionOutcome(tuple(kept), evicted=gone)
"""


def plan(compaction: CompactionPlan) -> ContextPlan:
    return ContextPlan(
        sections=(SectionPlan(name="recent", share=Decimal(1), match="rest", compaction=compaction),)
    )


def chat(*sizes: int) -> list[Message]:
    return [
        Message(
            role="assistant" if n % 2 else "user",
            content=" ".join(["w"] * size),
            location=Location("t.jsonl", n + 1),
        )
        for n, size in enumerate(sizes)
    ]


def assemble(
    strategy: object, *sizes: int, summariser: Summariser | None = None, window: int = 60
) -> AssembledContext:
    assembler = ContextAssembler(
        plan(CompactionPlan(strategy="mine")),
        provider=WordProvider(window),
        strategies={"mine": strategy},  # type: ignore[dict-item]
        summariser=summariser,
    )
    return asyncio.run(assembler.assemble(chat(*sizes)))


class Gist:
    """A strategy that has everything but the locked entries summarised."""

    async def compact(
        self, entries: tuple[Entry, ...], *, budget_tokens: int, count: Any, summarise: Any
    ) -> CompactionOutcome:
        span = [entry for entry in entries if not entry.pinned]
        text = await summarise(span, instructions="names only")
        note = summary_entry(text, id="gist", section="recent", role="user", stands_for=[e.id for e in span])
        kept = (note, *(entry for entry in entries if entry.pinned))
        return CompactionOutcome(kept, summarised=tuple(entry.id for entry in span))


class Answering:
    """A summariser that answers as it is told to."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.asked: list[SummaryRequest] = []

    async def summarise(self, request: SummaryRequest) -> Summary:
        self.asked.append(request)
        return Summary(self.text)


def test_a_strategy_that_declares_summarise_gets_its_summary_from_the_summariser() -> None:
    answering = Answering("all in short")
    result = assemble(Gist(), 20, 20, 20, 6, 6, summariser=answering)
    (request,) = answering.asked
    assert (request.section, request.instructions) == ("recent", "names only")
    assert [entry.id for entry in request.entries] == ["m1", "m2", "m3", "m4"]
    assert result.messages[0].text == "all in short"


@pytest.mark.parametrize(
    ("summariser", "rule"),
    [
        (None, "CTX301"),
        (PlannedSummariser(), "CTX301"),
        (Answering(""), "CTX304"),
        (Answering("w " * 99), "CTX304"),
    ],
)
def test_where_no_usable_summary_is_to_be_had_it_is_a_budget_error_and_nothing_is_made_up(
    summariser: Summariser | None, rule: str
) -> None:
    with pytest.raises(ContextBudgetError) as caught:
        assemble(Gist(), 20, 20, 20, 6, 6, summariser=summariser)
    assert caught.value.rule == rule


def test_a_strategy_that_raises_is_named_with_the_kind_of_error_and_not_its_text() -> None:
    class Broken:
        async def compact(self, entries: Any, **_: Any) -> CompactionOutcome:
            raise KeyError("marigold")

    with pytest.raises(StrategyError, match="'mine' in section 'recent': it raised KeyError") as caught:
        assemble(Broken(), 20, 20, 20)
    assert "marigold" not in str(caught.value)


def test_a_strategy_that_changes_what_it_was_given_is_named() -> None:
    class Meddling:
        async def compact(self, entries: tuple[Entry, ...], **_: Any) -> CompactionOutcome:
            object.__setattr__(entries[0].messages[0], "role", "system")
            gone = tuple(entry.id for entry in entries if not entry.pinned)
            return CompactionOutcome(tuple(e for e in entries if e.pinned), evicted=gone)

    with pytest.raises(StrategyError, match="it changed what it was given"):
        assemble(Meddling(), 20, 20, 20)


def test_7_4_a_span_that_the_summariser_cannot_read_is_an_error_before_it_is_asked() -> None:
    answering = Answering("gist")
    small = WordProvider(70)
    span = SummariseSpan(summariser=answering, models=lambda name: small)
    parameters = {"summariser": "small", "max_summary_tokens": 8, "instructions": "be brief", "span": "all"}
    made = plan(CompactionPlan(strategy="summarise-span", parameters=parameters))
    assembler = ContextAssembler(made, provider=WordProvider(60), strategies={"summarise-span": span})
    assert asyncio.run(assembler.assemble(chat(20, 20, 6, 6))).messages[0].text == "gist"
    with pytest.raises(ContextBudgetError, match="small can read 62 beside a summary of 8") as caught:
        asyncio.run(assembler.assemble(chat(20, 20, 20, 20, 6)))
    assert caught.value.rule == "CTX306"
    assert len(answering.asked) == 1


def test_7_4_the_command_line_checks_it_where_summaries_are_only_planned(tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text(
        "model: gpt-4o\nbudget_tokens: 200\n"
        "models: {tiny: {context_window: 90, tokenizer: o200k_base}}\n"
        "sections:\n  - name: recent\n    share: 1\n"
        "    compaction: {strategy: summarise-span, max_summary_tokens: 20, summariser: tiny}\n"
    )
    rows = [{"role": "assistant" if n % 2 else "user", "content": f"number {n} " * 9} for n in range(12)]
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    words = [sys.executable, "-m", "contextctl", "audit", "plan.yaml", "t.jsonl", "-f", "json"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    assert "CTX306" in done.stdout
    unknown = (tmp_path / "plan.yaml").read_text().replace("summariser: tiny", "summariser: nobody-knows")
    (tmp_path / "plan.yaml").write_text(unknown)
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (3, "")
    assert "CTX401" in done.stderr


def test_7_4_in_the_library_a_named_summariser_needs_models_to_look_it_up() -> None:
    made = plan(CompactionPlan(strategy="summarise-span", parameters={"summariser": "small"}))
    with pytest.raises(ValueError, match="models"):
        ContextAssembler(
            made,
            provider=WordProvider(60),
            strategies={"summarise-span": SummariseSpan(summariser=Answering("x"))},
        )

    def unknown(name: str) -> Any:
        raise CapabilityError(f"unknown model {name!r}")

    with pytest.raises(CapabilityError):
        ContextAssembler(
            made,
            provider=WordProvider(60),
            strategies={"summarise-span": SummariseSpan(summariser=Answering("x"), models=unknown)},
        )


def test_an_installed_strategy_is_found_by_the_name_of_its_entry_point(tmp_path: Path) -> None:
    (tmp_path / "own_strategies.py").write_text(OWN)
    package = tmp_path / "own_strategies-1.0.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: own-strategies\nVersion: 1.0\n")
    (package / "entry_points.txt").write_text(
        "[contextctl.strategies]\nkeep-newest = own_strategies:KeepNewest\nbroken = own_strategies:Nothing\n"
    )
    (tmp_path / "plan.yaml").write_text(
        "model: gpt-4o\nbudget_tokens: 60\nsections: [{name: recent, share: 1, compaction: keep-newest}]\n"
    )
    rows = [{"role": "assistant" if n % 2 else "user", "content": f"number {n} " * 4} for n in range(9)]
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    words = [sys.executable, "-m", "contextctl", "audit", "plan.yaml", "t.jsonl", "-f", "json"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (row,) = json.loads(done.stdout)["transcripts"][0]["assemblies"]
    assert (row["sections"][0]["kept"], row["sections"][0]["evicted"]) == (1, 8)
    text = (tmp_path / "plan.yaml").read_text()
    (tmp_path / "plan.yaml").write_text(text.replace("keep-newest", "broken"))
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "'broken'" in done.stderr
