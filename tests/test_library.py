"""The library calls as the documentation writes them."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

import contextctl
from contextctl import (
    CompactionOutcome,
    ContextAssembler,
    ContextBudgetError,
    ContextPlan,
    Message,
    SectionPlan,
    TextPart,
    audit,
    load_plan,
    load_transcripts,
    offline_provider,
    pinned,
    text_of,
)


def test_every_name_of_the_library_is_there() -> None:
    for name in contextctl.__all__:
        assert getattr(contextctl, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = contextctl.nothing  # type: ignore[attr-defined]


def test_an_assembly_as_written_in_the_documentation() -> None:
    history = [pinned(Message(role="user", content=[TextPart(text="allergic to peanuts")]))]  # type: ignore[arg-type]
    plan = ContextPlan(
        sections=(SectionPlan(name="recent", share=0.6, compaction="drop-oldest"),),  # type: ignore[arg-type]
        reserve_output_tokens=1024,
    )
    assembler = ContextAssembler(plan, provider=offline_provider("gpt-4o"))
    assembled = asyncio.run(assembler.assemble({"recent": history}))
    assert text_of(assembled.messages[0]) == "allergic to peanuts"
    assert assembled.budget_tokens == 128_000 - 1024
    assert assembled.tokens == assembled.span_attributes()["context.tokens"]
    assert [section.name for section in assembled.sections] == ["recent"]


def test_an_audit_as_written_in_the_documentation(tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text("budget_tokens: 100\nsections: [{name: recent, share: 1.0}]\n")
    (tmp_path / "t.jsonl").write_text('{"role": "user", "content": "Hello"}\n')
    report = audit(
        load_plan(tmp_path / "plan.yaml"), load_transcripts(tmp_path / "t.jsonl"), offline_provider("gpt-4o")
    )
    assert report.exit_code == 0


def test_shares_of_floats_that_add_up_to_1_in_decimals_are_taken_and_above_it_refused() -> None:
    def sections(*shares: float) -> tuple[SectionPlan, ...]:
        return tuple(SectionPlan(name=f"s{n}", share=share) for n, share in enumerate(shares))  # type: ignore[arg-type]

    assert 0.2 + 0.4 + 0.3 + 0.1 > 1
    ContextPlan(sections=sections(0.2, 0.4, 0.3, 0.1))
    with pytest.raises(ValueError, match=r"add up to 1\.1"):
        ContextPlan(sections=sections(0.6, 0.5))


class KeepQuestions:
    """A strategy of the caller's own, in one method."""

    async def compact(self, entries, *, budget_tokens, count):  # type: ignore[no-untyped-def]
        kept = tuple(e for e in entries if e.pinned or "?" in text_of(e))
        gone = tuple(e.id for e in entries if e not in kept)
        return CompactionOutcome(entries=kept, evicted=gone)


def test_a_strategy_of_the_callers_own_is_used_by_its_name() -> None:
    said = ["Where?", "There, by the harbour, behind the old market.", "And when?", "At noon, when it opens."]
    history = [Message(role="user", content=text) for text in said]
    plan = ContextPlan(
        sections=(SectionPlan(name="recent", share=1, compaction="keep-questions"),),  # type: ignore[arg-type]
        budget_tokens=35,
    )
    assembler = ContextAssembler(
        plan, provider=offline_provider("gpt-4o"), strategies={"keep-questions": KeepQuestions()}
    )
    assembled = asyncio.run(assembler.assemble({"recent": history}))
    assert [text_of(message) for message in assembled.messages] == ["Where?", "And when?", said[3]]


def test_the_callers_messages_are_never_modified_and_a_budget_error_says_what_is_short() -> None:
    history = [Message(role="user", content="word " * 200)]
    before = history[0].model_dump()
    plan = ContextPlan(sections=(SectionPlan(name="recent", share=1),), budget_tokens=50)  # type: ignore[arg-type]
    with pytest.raises(ContextBudgetError) as caught:
        asyncio.run(ContextAssembler(plan, provider=offline_provider("gpt-4o")).assemble(history))
    assert caught.value.code == "context_window_exceeded"
    assert caught.value.window_tokens == 128_000
    assert history[0].model_dump() == before
    with pytest.raises(ValueError, match="frozen"):
        history[0].pinned = True  # type: ignore[misc]
