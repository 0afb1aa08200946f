"""Replaying recorded calls: each is what an audit of the history before it would find."""

from __future__ import annotations

import json
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contextctl import audit
from contextctl.errors import Location
from contextctl.messages import Message
from contextctl.outcome import Fate
from contextctl.plan import ContextPlan, EntryMatcher, Expectation, SectionPlan
from contextctl.recording import Transcript
from contextctl.replay import Calls, moments_of
from contextctl.report import AuditReport
from contextctl.reports import render
from contextctl.reports.events import render_events
from tests.engine_samples import SUPPLIED, History, WordProvider, histories, plans


def transcript(messages: Sequence[Message]) -> Transcript:
    placed = [
        message.model_copy(update={"location": Location("t.jsonl", line)})
        for line, message in enumerate(messages, 1)
    ]
    return Transcript("t.jsonl", "t", "openai-chat", tuple(placed))


def chat(turns: int, words: int = 6) -> list[Message]:
    text = " ".join(["w"] * words)
    return [Message(role="assistant" if n % 2 else "user", content=text) for n in range(2 * turns)]


def plan(**fields: Any) -> ContextPlan:
    return ContextPlan(sections=(SectionPlan(name="recent", share=Decimal(1), match="rest"),), **fields)


def replayed(
    made: ContextPlan, messages: Sequence[Message], window: int, calls: Calls = "every"
) -> AuditReport:
    return audit(made, [transcript(messages)], WordProvider(window), strategies=SUPPLIED, calls=calls)


def places(messages: Sequence[Message], calls: Calls) -> list[tuple[int | None, int]]:
    return [(moment.call, moment.messages) for moment in moments_of(transcript(messages), calls)]


def test_a_call_is_an_assistant_message_after_the_first_user_turn_or_one_response_id() -> None:
    example = Message(role="assistant", content="an example")
    parts = [Message(role="assistant", content="part", response_id="r1") for _ in range(2)]
    messages = [
        Message(role="system", content="s"),
        example,
        *chat(2),
        Message(role="user", content="u"),
        *parts,
    ]
    assert places(messages, "every") == [(1, 3), (2, 5), (3, 7)]
    assert places(messages, "last") == [(3, 7)]
    assert places(messages, 2) == [(2, 5)]
    assert places(messages, 4) == []
    assert places(messages, "end") == [(None, 9)]
    assert transcript(messages).calls == 3


def test_a_recording_without_the_call_that_is_asked_for_is_an_input_error() -> None:
    report = replayed(plan(), chat(2), 1000, calls=3)
    assert (report.assemblies, report.exit_code) == ((), 3)
    assert [finding.code for finding in report.all_findings()] == ["CTX029"]


@given(plans(), histories(most=14), st.integers(20, 400))
@settings(max_examples=120, deadline=None)
def test_each_call_is_what_an_audit_of_the_history_before_it_finds_and_the_deltas_add_up(
    made: ContextPlan, history: History, window: int
) -> None:
    report = replayed(made, history.messages, window)
    fates: dict[str, Fate | None] = {}
    moments = moments_of(transcript(history.messages), "every")
    assert len(report.assemblies) in {len(moments), 0}
    for row, moment in zip(report.assemblies, moments, strict=False):
        (alone,) = replayed(made, history.messages[: moment.messages], window, calls="end").assemblies
        assert (row.call, row.status, row.tokens_before) == (moment.call, alone.status, alone.tokens_before)
        assert (row.tokens_after, row.prompt_fingerprint) == (alone.tokens_after, alone.prompt_fingerprint)
        fates |= {entry.id: entry.fate for entry in row.entries}
        assert fates == {entry.id: entry.fate for entry in alone.entries}


def test_the_last_row_is_whole_and_says_how_long_each_entry_lived() -> None:
    report = replayed(plan(), chat(4), 43)
    *others, last = report.assemblies
    lives = {entry.id: (entry.first_call, entry.last_call, entry.carried_tokens) for entry in last.entries}
    assert lives["m1"] == (1, 2, 20)
    assert lives["m7"] == (4, 4, 10)
    assert len(last.entries) == 7
    changed = [[(entry.id, entry.rule) for entry in row.entries] for row in others]
    assert changed == [
        [("m1", "protected")],
        [("m1", None), ("m2", None), ("m3", "protected")],
        [("m1", "drop-oldest"), ("m3", None), ("m4", None), ("m5", "protected")],
    ]


def test_losses_are_one_finding_a_section_with_the_first_call() -> None:
    report = replayed(plan(), chat(4), 43)
    (loss,) = [finding for finding in report.all_findings() if finding.code == "CTX201"]
    assert loss.message == "recent: 3 entries, 30 tokens evicted, first at call 3, largest m1 (line 1)"
    assert loss.call == 3


def test_an_expectation_that_fails_names_the_first_call() -> None:
    kept = Expectation(keeps=EntryMatcher(ids=("m1",)))
    report = replayed(plan(expect=(kept,)), chat(4), 43)
    (failure,) = [finding for finding in report.all_findings() if finding.code == "CTX601"]
    assert failure.call == 3
    assert failure.message.endswith("(first at call 3, 2 in all)")
    assert report.exit_code == 1


def test_a_call_in_the_middle_that_is_over_budget_fails_the_run_although_the_end_fits() -> None:
    messages = chat(4)
    messages[4] = Message(role="user", content=" ".join(["w"] * 60))
    report = replayed(plan(), messages, 60)
    assert [row.status for row in report.assemblies] == ["fits", "fits", "over_budget", "compacted"]
    assert report.exit_code == 1
    assert json.loads(render(report, "json"))["summary"]["worst"]["call"] == 3
    assert "OVER BUDGET" in render(report, "text")


def test_each_compaction_is_one_event_with_its_call_and_nothing_that_was_said() -> None:
    report = replayed(plan(), chat(4), 43)
    events = [json.loads(line) for line in render_events(report).splitlines()]
    assert [event["call_index"] for event in events] == [3, 4]
    assert events[0] == {
        "path": "t.jsonl",
        "id": "t",
        "call_index": 3,
        "tokens_before": 53,
        "tokens_after": 43,
        "window": 43,
        "messages_before": 5,
        "messages_after": 4,
        "strategy": "drop-oldest",
    }
    assert render_events(replayed(plan(), chat(4), 1000)) == ""
    end = render_events(replayed(plan(), chat(4)[:-1], 43, calls="end"))
    assert json.loads(end)["call_index"] == 4


@pytest.mark.parametrize("format", ["text", "json", "jsonl"])
def test_every_format_shows_a_replay(format: str) -> None:
    report = replayed(plan(), chat(6), 43)
    shown = render(report, format)
    assert len(report.assemblies) == 6
    if format == "text":
        assert "6 calls: 4 compacted, 2 fit" in shown
    elif format == "json":
        calls = [row["call"] for row in json.loads(shown)["transcripts"][0]["assemblies"]]
        assert calls == [1, 2, 3, 4, 5, 6]


def test_what_must_be_kept_need_not_be_said_yet_at_an_early_call_but_must_be_by_the_last() -> None:
    messages = chat(4)
    messages[4] = Message(role="user", content="no peanuts")
    keeps = (Expectation(keeps=EntryMatcher(contains=("peanuts",))),)
    assert replayed(plan(expect=keeps), messages, 1000).exit_code == 0
    report = replayed(plan(expect=keeps), chat(4), 1000)
    assert [finding.code for finding in report.all_findings() if finding.code == "CTX601"] == ["CTX601"]
