"""Real conversations replayed with carried history, held against laws that are checked without the engine."""

from __future__ import annotations

import asyncio
from functools import lru_cache
from pathlib import Path

import pytest
import tiktoken

from contextctl import ContextAssembler, load_plan, load_transcripts, offline_provider
from contextctl.carried import NOTHING_YET
from contextctl.errors import ContextBudgetError
from contextctl.plan import CompactionPlan, ContextPlan
from contextctl.ports import Summary, SummaryRequest
from contextctl.recording import Transcript
from contextctl.strategies import STRATEGIES, SUPPLIED
from contextctl.strategies.summarise_span import SummariseSpan
from tests.real.laws import check, said
from tests.real.recount import published_encoding, recount

WINDOWS = [128_000, 8_192, 2_000]


class CountingSummaries:
    """Summaries that say only how much they stand for."""

    async def summarise(self, request: SummaryRequest) -> Summary:
        return Summary(f"{len(request.entries)} earlier entries, in short.")


def plan_with(strategy: str, *, carry: bool) -> ContextPlan:
    plan = load_plan("preset:default")
    compaction = CompactionPlan(strategy=strategy)
    section = plan.sections[1].model_copy(update={"compaction": compaction})
    return plan.model_copy(update={"sections": (plan.sections[0], section), "carry": carry})


@pytest.fixture(scope="module")
def conversations(shared: Path) -> tuple[Transcript, ...]:
    found = load_transcripts(*sorted((shared / "transcripts" / "tau-bench").glob("*.json")))
    assert len(found) == 40
    return found


class Cached:
    """An encoding that remembers what it encoded."""

    def __init__(self, encoding: tiktoken.Encoding) -> None:
        self._encode = lru_cache(maxsize=None)(
            lambda text: tuple(encoding.encode(text, disallowed_special=()))
        )

    def encode(self, text: str, **_: object) -> tuple[int, ...]:
        return self._encode(text)


@pytest.fixture
def encoding(shared: Path, monkeypatch: pytest.MonkeyPatch) -> Cached:
    return Cached(published_encoding(shared, "o200k_base", monkeypatch))


@pytest.mark.parametrize("carry", [False, True], ids=["whole", "carried"])
@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("strategy", [*STRATEGIES, *SUPPLIED])
def test_5_9_under_every_strategy_and_window_each_call_keeps_the_laws_by_a_recount(
    conversations: tuple[Transcript, ...], encoding: Cached, strategy: str, window: int, carry: bool
) -> None:
    plan = plan_with(strategy, carry=carry)
    provider = offline_provider("gpt-4o", window_tokens=window)
    span = {"summarise-span": SummariseSpan(summariser=CountingSummaries())}
    assembler = ContextAssembler(plan, provider=provider, strategies=span)
    made = refused = compacted = 0
    for transcript in conversations:
        carried = NOTHING_YET
        lost: set[str] = set()
        places = transcript.call_places
        for before in places if carry else (places[len(places) // 2], len(transcript.messages)):
            history = transcript.messages[:before]
            prepared = assembler.prepare(history, carried=carried)
            try:
                result = asyncio.run(assembler.complete(prepared))
            except ContextBudgetError as error:
                assert error.missing_tokens > 0
                refused += 1
                continue
            made += 1
            compacted += result.status == "compacted"
            check(history, result.messages)
            assert said(history[0]) == said(result.messages[0]), "the pinned system message, verbatim"
            if result.status != "fits":
                assert recount(result.messages, encoding) == result.tokens <= window  # type: ignore[arg-type]
            recorded = sorted(place for entry in prepared.routed.entries for place in entry.positions)
            assert recorded == list(range(1, before + 1))
            assert set(result.fates) == {entry.id for entry in prepared.routed.entries}
            gone = {i for i, fate in result.fates.items() if fate not in {"kept", "trimmed"}}
            stood_for = {i for note in result.notes for i in note.stands_for}
            assert {i for i, fate in result.fates.items() if fate in {"summarised", "folded"}} <= stood_for
            if carry:
                assert lost <= gone
                lost = gone
                carried = carried.after(result, prepared.routed.entries)
    assert made > 0 or window == 2_000
    assert refused == 0 or window < 128_000
    if carry and window == 2_000 and strategy != "refuse":
        assert compacted > 100
