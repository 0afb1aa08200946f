"""Numbered rules of the contract (2 to 6), each with the smallest history that would break it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pytest

from contextctl import CompactionOutcome, ContextAssembler, Entry, audit, pinned, text_of
from contextctl.errors import (
    CapabilityError,
    ContextBudgetError,
    InternalError,
    Location,
    StrategyError,
    TranscriptError,
)
from contextctl.findings import Severity
from contextctl.messages import Message, TextPart, ToolCallPart, ToolResultPart
from contextctl.outcome import AssembledContext, Fate
from contextctl.plan import ContextPlan, Matcher, SectionPlan
from contextctl.recording import Transcript
from contextctl.strategies.drop_oldest import DropOldest
from tests.engine_samples import WordProvider


def say(role: str, words: int = 6, **fields: Any) -> Message:
    """A message that the word provider charges 4 + words tokens."""
    return Message(role=role, content=" ".join(["w"] * words), **fields)


def chat(*sizes: int) -> list[Message]:
    """User and assistant in turn, each of so many words."""
    return [say("user" if n % 2 == 0 else "assistant", size) for n, size in enumerate(sizes)]


def tool_turn(name: str, words: int = 6) -> list[Message]:
    part = ToolCallPart(id=name, name="find", arguments="w")
    result = ToolResultPart(call_id=name, content=(TextPart(text=" ".join(["w"] * words)),))
    return [Message(role="assistant", content=(part,)), Message(role="tool", content=(result,))]


def one(share: str = "1", **fields: Any) -> ContextPlan:
    """A plan of one section that takes everything."""
    top = {key: fields.pop(key) for key in list(fields) if key in ContextPlan.model_fields}
    return ContextPlan(
        sections=(SectionPlan(name="recent", share=Decimal(share), match="rest", **fields),), **top
    )


def assemble(
    plan: ContextPlan, messages: Sequence[Message], window: int | None = 1000, **more: Any
) -> AssembledContext:
    assembler = ContextAssembler(plan, provider=WordProvider(window), **more)
    return asyncio.run(assembler.assemble(messages))


def lost(result: AssembledContext) -> list[str]:
    return [entry_id for entry_id, fate in result.fates.items() if fate is not Fate.KEPT]


def test_2_2_no_budget_and_no_window_is_a_capability_error() -> None:
    with pytest.raises(CapabilityError):
        assemble(one(), chat(1), window=None)


def test_2_4_pins_over_the_budget_are_an_error_that_names_them_largest_first() -> None:
    messages = [pinned(say("user", 10)), pinned(say("user", 30)), say("user", 2)]
    with pytest.raises(ContextBudgetError) as caught:
        assemble(one(), messages, window=40)
    assert caught.value.rule == "CTX103"
    assert caught.value.entries == ("m2", "m1")
    assert caught.value.missing_tokens == 48 - 37


def test_2_4_a_pin_anywhere_gets_its_room_before_any_share() -> None:
    plan = ContextPlan(
        sections=(
            SectionPlan(name="system", share=Decimal("0.1")),
            SectionPlan(name="recent", share=Decimal("0.9"), match="rest"),
        )
    )
    messages = [say("system", 20, pinned=True), *chat(6, 6, 6, 6, 6, 6)]
    result = assemble(plan, messages, window=73)
    assert result.sections[0].kept == ("m1",)
    assert result.sections[0].room_tokens == 24
    assert sum(section.room_tokens for section in result.sections) <= 70


def test_2_6_the_window_is_read_at_every_assembly() -> None:
    provider = WordProvider(1000)
    assembler = ContextAssembler(one(), provider=provider)
    messages = chat(6, 6, 6, 6)
    assert asyncio.run(assembler.assemble(messages)).status == "fits"
    provider.context_window_tokens = 30
    assert asyncio.run(assembler.assemble(messages)).status == "compacted"


def test_3_a_call_and_its_results_leave_together() -> None:
    messages = [say("user"), *tool_turn("a"), say("assistant"), say("user")]
    result = assemble(one(), messages, window=33)
    assert lost(result) == ["m1", "m2"]
    assert [message.role for message in result.messages] == ["assistant", "user"]


def test_3_3_and_3_6_a_pending_call_and_the_newest_user_message_are_never_lost() -> None:
    waiting = Message(role="assistant", content=(ToolCallPart(id="p", name="find", arguments="w"),))
    messages = [say("user", 1), say("assistant"), say("user"), waiting]
    result = assemble(one(), messages, window=19)
    assert lost(result) == ["m1", "m2"]
    with pytest.raises(ContextBudgetError) as caught:
        assemble(one(), messages, window=18)
    assert set(caught.value.entries) == {"m3", "m4"}


def test_3_6_protect_last_user_false_lets_the_newest_user_message_go() -> None:
    messages = [say("user", 30), say("assistant", 2)]
    with pytest.raises(ContextBudgetError):
        assemble(one(), messages, window=20)
    result = assemble(one(protect_last_user=False), messages, window=20)
    assert lost(result) == ["m1"]


def test_4_1_the_messages_own_section_comes_before_any_match() -> None:
    plan = ContextPlan(
        sections=(
            SectionPlan(name="system", share=Decimal("0.5")),
            SectionPlan(name="facts", share=Decimal("0.2"), match=Matcher(contains=("peanut",))),
            SectionPlan(name="recent", share=Decimal("0.3"), match="rest"),
        )
    )
    messages = [
        Message(role="user", content="no peanuts"),
        Message(role="user", content="peanut", section="recent"),
        Message(role="developer", content="be brief"),
        Message(role="user", content="hi"),
    ]
    sections = {section.name: section.entries for section in assemble(plan, messages).sections}
    assert sections == {"system": ("m3",), "facts": ("m1",), "recent": ("m2", "m4")}


def test_4_1_an_undeclared_section_is_an_error() -> None:
    with pytest.raises(TranscriptError, match="'nowhere'"):
        assemble(one(), [say("user", section="nowhere")])
    with pytest.raises(ValueError, match="declares no section 'nowhere'"):
        asyncio.run(ContextAssembler(one(), provider=WordProvider()).assemble({"nowhere": chat(1)}))


def test_4_1_a_message_that_no_section_accepts_is_an_error_with_its_place() -> None:
    plan = ContextPlan(
        sections=(SectionPlan(name="facts", share=Decimal(1), match=Matcher(contains=("peanut",))),)
    )
    with pytest.raises(TranscriptError, match="no section accepts message 1"):
        assemble(plan, [say("user")])


def test_a_declared_section_that_gets_nothing_is_reported_as_empty() -> None:
    plan = ContextPlan(
        sections=(
            SectionPlan(name="system", share=Decimal("0.5")),
            SectionPlan(name="recent", share=Decimal("0.5")),
        )
    )
    assert [section.empty for section in assemble(plan, chat(1)).sections] == [True, False]


@pytest.mark.parametrize(
    ("matcher", "accepted"),
    [
        (Matcher(roles=("user",)), {1, 3}),
        (Matcher(ids=("m2", "x")), {2, 4}),
        (Matcher(names=("find",)), {4}),
        (Matcher(contains=("ALPHA",)), set()),
        (Matcher(contains=("ALPHA",), ignore_case=True), {1, 4}),
        (Matcher(regex=("^be",)), {2}),
        (Matcher(kinds=("tool_call",)), {4}),
        (Matcher(roles=("user",), last=1), {3}),
        (Matcher(first=2), {1, 2}),
        (Matcher(roles=("user",), contains=("alpha", "beta")), {1}),
        (Matcher(roles=("user",), transcript="trip*"), {1, 3}),
        (Matcher(roles=("user",), transcript="other*"), set()),
    ],
)
def test_4_2_a_matcher_is_all_of_its_tests_and_any_of_each_list(matcher: Matcher, accepted: set[int]) -> None:
    from contextctl.routing import accepted_positions

    messages = [
        Message(role="user", content="alpha"),
        Message(role="assistant", content="beta"),
        Message(role="user", content="gamma"),
        Message(role="assistant", id="x", content=(ToolCallPart(name="find", arguments="alpha"),)),
    ]
    assert accepted_positions(matcher, messages, "trip-1") == accepted


def test_4_2_plan_pins_pin_without_moving() -> None:
    plan = one(pins=(Matcher(ids=("m2",)),))
    result = assemble(plan, chat(6, 6, 6, 6, 6), window=33)
    assert lost(result) == ["m1", "m3"]
    assert result.messages[0].id == "m2"


def test_5_1_a_section_that_fits_is_left_alone_whatever_its_strategy() -> None:
    class Never:
        async def compact(self, entries: object, *, budget_tokens: int, count: object) -> CompactionOutcome:
            raise AssertionError("must not run")

    result = assemble(one(compaction="mine"), chat(6, 6), strategies={"mine": Never()})
    assert result.status == "fits"


def test_5_1_drop_oldest_keeps_nothing_older_than_what_it_drops() -> None:
    result = assemble(one(), chat(1, 30, 1, 1, 1), window=30)
    assert lost(result) == ["m1", "m2"]


def test_5_1_drop_oldest_rounds_what_it_drops_up_to_a_step() -> None:
    stepped = {"strategy": "drop-oldest", "step_tokens": 30}
    assert lost(assemble(one(), chat(6, 6, 6, 6, 6), window=43)) == ["m1"]
    assert lost(assemble(one(compaction=stepped), chat(6, 6, 6, 6, 6), window=43)) == ["m1", "m2", "m3"]


def test_5_1_drop_middle_keeps_the_first_and_the_newest_and_halves_the_rest() -> None:
    plan = one(compaction={"strategy": "drop-middle", "keep_first": 1, "keep_recent": 2})
    result = assemble(plan, chat(6, 6, 6, 6, 6, 6, 6, 6), window=73)
    assert lost(result) == ["m2", "m3", "m4"]
    result = assemble(plan, chat(6, 6, 6, 6, 6, 6, 6, 6), window=42)
    assert lost(result) == ["m2", "m3", "m4", "m5", "m6"]


def test_5_1_pin_and_fold_folds_all_that_is_not_locked_into_one_note_of_counts() -> None:
    messages = [pinned(say("user", 3)), *chat(0, 6, 9, 6, 6)[1:]]
    result = assemble(one(compaction="pin-and-fold"), messages, window=46)
    assert [message.id for message in result.messages] == ["m1", "note:recent:m2", "m5"]
    note = result.messages[1]
    assert (note.role, note.kind, note.stands_for) == ("user", "note", ("m2", "m3", "m4"))
    assert text_of(note) == "[3 earlier messages (33 tokens) were left out to save room.]"


def test_5_4_a_note_folded_with_others_adds_its_numbers() -> None:
    plan = one(compaction="pin-and-fold")
    first = assemble(plan, chat(0, 6, 9, 6, 6)[1:], window=38)
    more = [*first.messages, say("assistant", 20), say("user", 6)]
    second = assemble(plan, more, window=45)
    note = next(message for message in second.messages if message.kind == "note")
    assert note.folded is not None
    assert (note.folded.messages, note.folded.tokens) == (5, 33 + 24 + 10)
    assert {"m1", "m2", "m3"} <= set(note.stands_for)


def test_5_4_the_role_of_a_note_is_the_plans() -> None:
    plan = one(compaction="pin-and-fold", note_role="developer")
    result = assemble(plan, chat(6, 9, 6, 6), window=38)
    assert result.messages[0].role == "developer"


def test_5_1_refuse_compacts_nothing() -> None:
    with pytest.raises(ContextBudgetError) as caught:
        assemble(one(compaction="refuse"), chat(6, 6, 6), window=32)
    assert (caught.value.refused, caught.value.rule) == (True, "CTX101")


def test_acceptance_15_over_the_input_cap_under_the_window_is_its_own_rule() -> None:
    class Capped(WordProvider):
        max_input_tokens = 50

    assembler = ContextAssembler(one(compaction="refuse"), provider=Capped(100))
    with pytest.raises(ContextBudgetError) as caught:
        asyncio.run(assembler.assemble(chat(20, 20, 20)))
    assert caught.value.rule == "CTX102"


def test_5_2_keep_first_and_keep_recent_count_messages_and_grow_to_whole_entries() -> None:
    messages = [say("user"), say("assistant"), *tool_turn("a"), say("user", 1)]
    plan = one(compaction={"strategy": "drop-oldest", "keep_recent": 2})
    assert lost(assemble(plan, messages, window=33)) == ["m1", "m2"]
    with pytest.raises(ContextBudgetError) as caught:
        assemble(plan, messages, window=20)
    assert "m3" in caught.value.entries


def test_5_3_compact_to_works_a_section_further_down_once_it_is_over() -> None:
    messages = chat(6, 6, 6, 6, 6)
    assert lost(assemble(one(compact_to=Decimal("0.5")), messages, window=53)) == []
    assert lost(assemble(one(compact_to=Decimal("0.5")), messages, window=52)) == ["m1", "m2", "m3"]


def test_5_3_max_messages_and_max_turns_count_as_over_the_room() -> None:
    assert lost(assemble(one(max_messages=2), chat(1, 1, 1, 1, 1))) == ["m1", "m2", "m3"]
    assert lost(assemble(one(max_turns=2), chat(1, 1, 1, 1, 1))) == ["m1"]
    halved = one(max_messages=4, compact_to=Decimal("0.5"))
    assert lost(assemble(halved, chat(1, 1, 1, 1, 1))) == ["m1", "m2", "m3"]


def test_5_3_max_entry_tokens_trims_a_giant_in_the_middle_with_a_marker() -> None:
    giant = Message(role="user", content="start " + "w " * 300 + "end")
    result = assemble(one(max_entry_tokens=30), [giant, say("assistant"), say("user")])
    assert result.fates["m1"] is Fate.TRIMMED
    text = text_of(result.messages[0])
    assert text.startswith("start w")
    assert text.endswith("w end")
    assert "characters trimmed" in text
    assert WordProvider().count_tokens(result.messages[:1]) - 3 <= 30


def test_5_3_max_entry_tokens_leaves_locked_giants_alone() -> None:
    result = assemble(one(max_entry_tokens=30), [say("assistant", 1), say("user", 100)])
    assert result.status == "fits"


def test_5_3_start_on_user_moves_a_cut_on_to_the_next_user_entry() -> None:
    messages = chat(6, 6, 6, 6, 6)
    assert lost(assemble(one(), messages, window=43)) == ["m1"]
    assert lost(assemble(one(start_on="user"), messages, window=43)) == ["m1", "m2"]


class Returns:
    """A strategy that does what it is told to."""

    def __init__(self, make: Any) -> None:
        self.make = make

    async def compact(
        self, entries: tuple[Entry, ...], *, budget_tokens: int, count: Any
    ) -> CompactionOutcome:
        outcome: CompactionOutcome = self.make(entries)
        return outcome


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda es: CompactionOutcome(es[2:], evicted=(es[0].id,)), "neither kept nor reported"),
        (lambda es: CompactionOutcome(es[1:], evicted=(es[0].id, es[1].id)), "accounted for 2 times"),
        (lambda es: CompactionOutcome((), evicted=tuple(e.id for e in es)), "locked entry 'm5' is gone"),
        (lambda es: CompactionOutcome(es[:0:-1], evicted=(es[0].id,)), "out of order"),
        (lambda es: CompactionOutcome(es[1:], folded=(es[0].id,)), "no note or summary stands for it"),
        (lambda es: CompactionOutcome(es, evicted=("zz",)), "was not given"),
        (
            lambda es: CompactionOutcome((Entry("n", (say("user", 1),)), *es[1:]), evicted=(es[0].id,)),
            "no note or summary",
        ),
        (
            lambda es: CompactionOutcome((Entry(es[0].id, (say("user", 1),)), *es[2:]), evicted=(es[1].id,)),
            "not verbatim",
        ),
        (CompactionOutcome, "has room for"),
    ],
)
def test_5_5_a_callers_strategy_that_breaks_a_promise_is_named(make: Any, said: str) -> None:
    with pytest.raises(StrategyError, match=said) as caught:
        assemble(one(compaction="mine"), chat(6, 6, 6, 6, 6), window=43, strategies={"mine": Returns(make)})
    assert "'mine'" in str(caught.value)
    assert caught.value.rule == "CTX105"


def test_5_5_a_built_in_that_breaks_a_promise_is_a_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    async def forget(self: object, entries: Any, **_: object) -> CompactionOutcome:
        return CompactionOutcome(entries[2:])

    monkeypatch.setattr(DropOldest, "compact", forget)
    with pytest.raises(InternalError):
        assemble(one(), chat(6, 6, 6, 6, 6), window=43)


def test_5_7_a_placeholder_stays_a_placeholder_when_the_prompt_is_compacted_again() -> None:
    messages = [say("user", 2), *tool_turn("a", 40), *tool_turn("b", 40), *chat(4, 4, 4)]
    plan = one(compaction={"strategy": "clear-tool-results", "keep_results": 0})
    first = assemble(plan, messages, window=100)
    assert [fate for fate in first.fates.values() if fate is Fate.TRIMMED]
    second = assemble(plan, [*first.messages, *chat(0, 4, 4)[1:]], window=100)
    cleared = [text_of(m) for m in first.messages if "cleared to save room" in text_of(m)]
    assert cleared
    assert all(text in [text_of(m) for m in second.messages] for text in cleared)


def test_5_7_a_pass_that_changes_nothing_ends_the_loop_and_is_not_asked_again() -> None:
    class Unwilling:
        asked = 0

        async def compact(self, entries: tuple[Entry, ...], **_: Any) -> CompactionOutcome:
            self.asked += 1
            return CompactionOutcome(entries)

    strategy = Unwilling()
    result = assemble(
        one(compaction="mine", compaction_fraction=Decimal("0.5")),
        chat(6, 6, 6, 6),
        window=60,
        strategies={"mine": strategy},
    )
    assert (result.status, strategy.asked) == ("over_target", 1)


def test_5_7_an_entry_larger_than_any_room_beside_the_locked_is_a_warning_with_both_numbers() -> None:
    plan = one()
    messages = [*chat(6, 60, 6), say("assistant", 6)]
    placed = [m.model_copy(update={"location": Location("t", n)}) for n, m in enumerate(messages, 1)]
    report = audit(plan, [Transcript("t", "t", "openai-chat", tuple(placed))], WordProvider(50))
    (found,) = [item for item in report.all_findings() if item.code == "CTX203"]
    assert (found.severity, found.entry) == (Severity.WARNING, "m2")
    assert "larger than the 37 tokens of room" in found.message
    assert "m2, has 64" in found.message


def test_5_8_at_or_under_the_soft_line_a_prompt_is_left_as_it_is_whatever_the_shares() -> None:
    plan = one("0.1", compaction_fraction=Decimal("0.5"))
    assert assemble(plan, chat(6, 6, 6), window=66).status == "fits"


def test_5_8_over_the_soft_line_sections_go_toward_it_and_only_the_whole_is_judged() -> None:
    plan = one(compaction="drop-middle", compaction_fraction=Decimal("0.5"))
    result = assemble(plan, chat(*[6] * 10), window=120)
    assert (result.status, result.tokens) == ("over_target", 73)
    assert lost(result) == ["m2", "m3", "m4"]
    with pytest.raises(ContextBudgetError):
        assemble(plan, chat(*[6] * 10), window=72)


def test_5_8_refuse_under_a_soft_line_leaves_the_prompt() -> None:
    plan = one(compaction="refuse", compaction_fraction=Decimal("0.5"))
    assert assemble(plan, chat(6, 6, 6, 6), window=60).status == "over_target"


def test_5_8_a_fraction_of_1_is_not_the_same_as_no_soft_line() -> None:
    messages = chat(6, 6, 6)
    assert lost(assemble(one("0.5"), messages, window=50)) == ["m1"]
    assert lost(assemble(one("0.5", compaction_fraction=Decimal(1)), messages, window=50)) == []


def test_5_10_unused_room_is_lent_only_where_the_plan_says_so() -> None:
    sections = (
        SectionPlan(name="system", share=Decimal("0.5")),
        SectionPlan(name="recent", share=Decimal("0.5"), match="rest"),
    )
    messages = [say("system", 6), *chat(6, 6, 6, 6)]
    assert lost(assemble(ContextPlan(sections=sections), messages, window=63)) == ["m2"]
    assert lost(assemble(ContextPlan(sections=sections, unused="lend"), messages, window=63)) == []


def test_6_1_span_attributes_hold_counts_and_nothing_that_was_said() -> None:
    result = assemble(one(), [Message(role="user", content="secret"), *chat(6, 6, 6)], window=34)
    attributes = result.span_attributes()
    assert attributes["context.evicted"] == 1
    assert attributes["context.section.recent.kept"] == 3
    assert attributes["context.tokens"] == result.tokens <= attributes["context.budget_tokens"] == 34
    assert all(isinstance(value, int) for value in attributes.values())


def test_6_3_the_history_fingerprint_does_not_depend_on_plan_or_model() -> None:
    messages = chat(6, 6, 6)
    results = [assemble(one(), messages, window=w) for w in (24, 1000)]
    assert results[0].history_fingerprint == results[1].history_fingerprint
    assert results[0].prompt_fingerprint != results[1].prompt_fingerprint


def test_6_4_a_budget_error_carries_code_tokens_and_window() -> None:
    with pytest.raises(ContextBudgetError) as caught:
        assemble(one(), [say("user", 100)], window=50)
    error = caught.value
    assert (error.code, error.tokens, error.window_tokens) == ("context_window_exceeded", 107, 50)


def test_a_strategy_that_the_assembler_lacks_is_refused_at_construction() -> None:
    with pytest.raises(ValueError, match="unknown strategy 'summarise-spam'"):
        ContextAssembler(one(compaction="summarise-spam"), provider=WordProvider())


def test_overhead_tokens_of_a_provider_count_where_count_tokens_leaves_them_out() -> None:
    class WithTools(WordProvider):
        overhead_tokens = 20

    assembler = ContextAssembler(one(), provider=WithTools(1000))
    assert asyncio.run(assembler.assemble(chat(6))).tokens == 30
