"""The audit: findings beside each other, no bad transcript hiding the others, promises about outlook."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contextctl import audit, audit_async, offline_provider
from contextctl.budget import PlanUnusableError
from contextctl.errors import CapabilityError, Location
from contextctl.findings import RULES, Severity
from contextctl.loading.plan_file import load_plan
from contextctl.messages import Message, RequestSettings, ToolCallPart
from contextctl.outcome import Fate
from contextctl.plan import ContextPlan, EntryMatcher, Expectation, Matcher, SectionPlan
from contextctl.recording import Transcript
from contextctl.report import AuditReport
from tests.engine_samples import SUPPLIED, History, WordProvider, histories, plans


def section(name: str, share: str, **fields: Any) -> SectionPlan:
    return SectionPlan(name=name, share=Decimal(share), **fields)


def plan(*sections: SectionPlan, **fields: Any) -> ContextPlan:
    return ContextPlan(sections=sections or (section("recent", "1", match="rest"),), **fields)


def transcript(messages: Sequence[Message], name: str = "t", **fields: Any) -> Transcript:
    placed = [
        message.model_copy(update={"location": Location(f"{name}.jsonl", line)})
        for line, message in enumerate(messages, 1)
    ]
    return Transcript(f"{name}.jsonl", name, "openai-chat", tuple(placed), **fields)


def chat(*sizes: int) -> list[Message]:
    return [
        Message(role="user" if n % 2 == 0 else "assistant", content=" ".join(["w"] * size))
        for n, size in enumerate(sizes)
    ]


def found(report: AuditReport) -> dict[str, str]:
    """Code -> message of the last finding of that code."""
    return {finding.code: finding.message for finding in report.all_findings()}


def test_a_counting_error_fails_its_transcript_and_the_others_go_on() -> None:
    class Fussy(WordProvider):
        def count_tokens(self, messages: Sequence[Message]) -> int:
            if any(message.name == "bad" for message in messages):
                raise CapabilityError("cannot count this part")
            return super().count_tokens(messages)

    bad = transcript([Message(role="user", name="bad", content="x")], "bad")
    report = audit(plan(), [bad, transcript(chat(3), "good")], Fussy(100))
    assert [len(item.assemblies) for item in report.transcripts] == [0, 1]
    assert report.exit_code == 3
    assert found(report)["CTX028"] == "cannot count this part"


def test_nothing_audited_is_not_success() -> None:
    assert audit(plan(), [], WordProvider(100)).exit_code == 3


def test_each_transcript_is_judged_by_its_own_model_where_none_is_named() -> None:
    recordings = [transcript(chat(3), "a", model="gpt-4o"), transcript(chat(3), "b", model="gpt-nonsense")]
    report = audit(plan(), recordings, lambda t: offline_provider(t.model or ""))
    assert [item.model.name if item.model else None for item in report.transcripts] == ["gpt-4o", None]
    assert "CTX401" in found(report)
    assert report.exit_code == 3


def test_a_plan_that_no_transcript_could_fit_is_refused_before_any_is_read() -> None:
    def never() -> Any:
        raise AssertionError("a transcript was read")
        yield

    with pytest.raises(PlanUnusableError):
        audit(plan(reserve_output_tokens=100), never(), WordProvider(100))
    tools = RequestSettings(tools=({"name": "find", "description": "word " * 200},))
    with pytest.raises(PlanUnusableError, match="the plan's tools"):
        audit(plan(tools=tools, budget_tokens=50), never(), offline_provider("gpt-4o"))


def test_a_transcripts_own_tools_that_fill_the_budget_are_its_budget_error() -> None:
    tools = RequestSettings(tools=({"name": "find", "description": "word " * 200},))
    recording = transcript(chat(3), settings=tools)
    report = audit(plan(budget_tokens=50), [recording], offline_provider("gpt-4o"))
    assert report.assemblies[0].status == "over_budget"
    assert "tool definitions" in found(report)["CTX101"]


def test_audit_works_inside_a_running_event_loop() -> None:
    async def inside() -> tuple[int, int]:
        waited = await audit_async(plan(), [transcript(chat(3))], WordProvider(100))
        return waited.exit_code, audit(plan(), [transcript(chat(3))], WordProvider(100)).exit_code

    assert asyncio.run(inside()) == (0, 0)


def test_a_matcher_that_accepts_nothing_is_a_warning_and_an_error_where_required() -> None:
    sections = (
        section("facts", "0.3", match=Matcher(contains=("peanut",))),
        section("recent", "0.7", match="rest"),
    )
    report = audit(plan(*sections), [transcript(chat(3))], WordProvider(100))
    assert report.severities()["warning"] >= 1
    assert "CTX501" in found(report)
    assert [(row.kind, row.entries, row.transcripts) for row in report.matchers] == [("section", 0, 0)]
    required = section("facts", "0.3", match=Matcher(contains=("peanut",), required=True))
    report = audit(plan(required, sections[1]), [transcript(chat(3))], WordProvider(100))
    assert report.exit_code == 1


def test_a_matcher_is_counted_over_the_whole_run() -> None:
    pins = (Matcher(roles=("user",)),)
    report = audit(plan(pins=pins), [transcript(chat(3, 3, 3), "a"), transcript([], "b")], WordProvider(100))
    assert [(row.kind, row.entries, row.transcripts) for row in report.matchers] == [("pin", 2, 1)]


@pytest.mark.parametrize(
    ("expectation", "holds"),
    [
        (Expectation(keeps=EntryMatcher(ids=("m5",))), True),
        (Expectation(keeps=EntryMatcher(ids=("m1",))), False),
        (Expectation(keeps=EntryMatcher(contains=("nothing says this",))), False),
        (Expectation(keeps=EntryMatcher(section=("recent",))), False),
        (Expectation(keeps=EntryMatcher(section=("recent",), ids=("m4",))), True),
        (Expectation(max_evicted_fraction=Decimal("0.5")), True),
        (Expectation(max_evicted_fraction=Decimal("0.1")), False),
        (Expectation(min_kept_turns=2), True),
        (Expectation(min_kept_turns=3), False),
        (Expectation(max_summaries=0), True),
        (Expectation(min_headroom_tokens=7), True),
        (Expectation(min_headroom_tokens=8), False),
        (Expectation(max_prompt_tokens=33), True),
        (Expectation(max_prompt_tokens=32), False),
    ],
)
def test_an_expectation_holds_or_is_an_error(expectation: Expectation, holds: bool) -> None:
    made = plan(expect=(expectation,))
    report = audit(made, [transcript(chat(6, 6, 6, 6, 6))], WordProvider(40))
    assert report.assemblies[0].tokens_after == 33
    assert ("CTX601" not in found(report)) is holds
    assert report.exit_code == (0 if holds else 1)


def test_an_expectations_severity_is_its_own() -> None:
    wish = Expectation(max_prompt_tokens=1, severity="note", name="short")
    report = audit(plan(expect=(wish,)), [transcript(chat(3))], WordProvider(40))
    assert found(report)["CTX601"].startswith("short: ")
    assert report.exit_code == 0
    assert audit(
        plan(expect=(wish,)), [transcript(chat(3))], WordProvider(40), fail_on=Severity.NOTE
    ).exit_code


def test_a_section_that_moves_entries_before_older_ones_says_so_once() -> None:
    sections = (
        section("facts", "0.5", match=Matcher(ids=("m3",))),
        section("recent", "0.5", match="rest"),
    )
    report = audit(plan(*sections), [transcript(chat(3, 3, 3, 3, 3))], WordProvider(500))
    notes = [finding for finding in report.all_findings() if finding.code == "CTX206"]
    assert [(finding.section, finding.severity) for finding in notes] == [("facts", Severity.NOTE)]
    report = audit(plan(*sections), [transcript(chat(3, 3, 3))], WordProvider(500))
    notes = [finding for finding in report.all_findings() if finding.code == "CTX206"]
    assert [finding.severity for finding in notes] == [Severity.WARNING]


def test_a_section_that_starves_beside_unused_room_names_the_share_that_would_do() -> None:
    sections = (section("system", "0.5"), section("recent", "0.5", match="rest"))
    report = audit(plan(*sections), [transcript(chat(6, 6, 6, 6, 6, 6))], WordProvider(103))
    assert "a share of 0.6 would have kept everything" in found(report)["CTX205"]
    wider = (section("system", "0.4"), section("recent", "0.6", match="rest"))
    assert (
        not audit(plan(*wider), [transcript(chat(6, 6, 6, 6, 6, 6))], WordProvider(103))
        .assemblies[0]
        .count_of(Fate.EVICTED)
    )


def test_losing_the_newest_user_message_is_said_where_the_plan_allows_it() -> None:
    made = plan(protect_last_user=False)
    report = audit(made, [transcript(chat(30, 2))], WordProvider(20))
    assert found(report)["CTX204"] == "the newest user message (entry m1) is evicted"


@pytest.mark.parametrize(
    ("messages", "code"),
    [
        (
            [*chat(1), Message(role="user", id="a", content="x"), Message(role="user", id="a", content="x")],
            "CTX024",
        ),
        ([Message(role="assistant", content=(ToolCallPart(id="c", name="f"),)), *chat(1)], "CTX023"),
    ],
)
def test_what_is_irregular_in_a_recording_is_a_warning_at_its_line(
    messages: list[Message], code: str
) -> None:
    report = audit(plan(), [transcript(messages)], WordProvider(100))
    (warning,) = [finding for finding in report.all_findings() if finding.code == code]
    assert warning.severity is Severity.WARNING
    assert warning.location.line in {1, 3}


def test_a_prompt_at_nine_tenths_of_its_budget_is_near_its_limit() -> None:
    assert "CTX106" in found(audit(plan(), [transcript(chat(83))], WordProvider(100)))
    assert "CTX106" not in found(audit(plan(), [transcript(chat(82))], WordProvider(100)))


def test_no_reserve_without_a_budget_and_a_reserve_above_the_output_cap_are_warnings() -> None:
    assert "CTX110" in found(audit(plan(), [transcript(chat(3))], offline_provider("gpt-4o")))
    kept = plan(reserve_output_tokens=20_000)
    assert "CTX107" in found(audit(kept, [transcript(chat(3))], offline_provider("gpt-4o")))


def test_every_rule_that_is_found_is_in_the_table() -> None:
    assert len({rule.name for rule in RULES.values()}) == len(RULES)
    assert all(len(code) == 6 and code[3:].isdigit() for code in RULES)


def test_a_fingerprint_stays_when_lines_move_and_differs_by_transcript() -> None:
    before = audit(plan(), [transcript(chat(6, 6, 6, 6, 6))], WordProvider(40))
    moved = [
        message.model_copy(update={"location": Location("t.jsonl", line + 10)})
        for line, message in enumerate(chat(6, 6, 6, 6, 6))
    ]
    recording = Transcript("t.jsonl", "t", "openai-chat", tuple(moved))
    after = audit(plan(), [recording], WordProvider(40))
    other = audit(plan(), [transcript(chat(6, 6, 6, 6, 6), "u")], WordProvider(40))

    def prints(report: AuditReport) -> list[str]:
        return [finding.fingerprint for finding in report.transcripts[0].findings]

    assert prints(before) == prints(after)
    assert set(prints(before)).isdisjoint(prints(other))


@given(plans(trims=False), histories(), st.integers(40, 700))
@settings(max_examples=150, deadline=None)
def test_at_the_smallest_budget_that_loses_nothing_nothing_is_lost_and_one_token_less_loses(
    made: ContextPlan, history: History, window: int
) -> None:
    report = audit(made, [transcript(history.messages)], WordProvider(window), strategies=SUPPLIED)
    if not report.assemblies or report.assemblies[0].lossless_budget_tokens is None:
        return
    least = report.assemblies[0].lossless_budget_tokens

    def losses(budget: int) -> int:
        try:
            changed = made.model_copy(update={"budget_tokens": budget})
            said = [transcript(history.messages)]
            (row,) = audit(changed, said, WordProvider(None), strategies=SUPPLIED).assemblies
        except PlanUnusableError:
            return 1
        return int(not row.has_prompt) + sum(section.lost for section in row.sections)

    assert losses(least) == 0
    soft_at_the_edge = made.compaction_fraction is not None
    fold_or_refuse = any(
        s.compaction.strategy in {"pin-and-fold", "refuse", "summarise-span"} for s in made.sections
    )
    if not soft_at_the_edge and not fold_or_refuse:
        assert losses(least - 1) > 0


@given(plans(soft=False, trims=False), histories(pins=False), st.integers(200, 900), st.integers(0, 1))
@settings(max_examples=150, deadline=None)
def test_what_goes_next_goes_after_exactly_so_many_more_tokens(
    made: ContextPlan, history: History, window: int, over: int
) -> None:
    provider = WordProvider(window)
    report = audit(made, [transcript(history.messages)], provider, strategies=SUPPLIED)
    if not report.assemblies or report.assemblies[0].next_to_go is None:
        return
    going = report.assemblies[0].next_to_go
    counts = any(s.max_messages or s.max_turns for s in made.sections)
    if counts or going.after_tokens < 5 or made.unused == "lend":
        return
    more = Message(
        role="assistant", section=going.section, content=" ".join(["w"] * (going.after_tokens - 4 + over))
    )
    said = [transcript([*history.messages, more])]
    (row,) = audit(made, said, provider, strategies=SUPPLIED).assemblies
    lost = {entry.id for entry in row.entries if entry.fate is not Fate.KEPT}
    assert bool(lost) is bool(over)
    assert not over or not row.has_prompt or going.entry in lost


def test_the_default_preset_keeps_the_system_prompt_and_lends_unused_room() -> None:
    system = Message(role="system", content="w")
    report = audit(load_plan("preset:default"), [transcript([system, *chat(6, 6, 6, 6)])], WordProvider(48))
    assert report.assemblies[0].status == "fits"
