"""Effective and full history, and what was really sent: recordings that compacted themselves."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from contextctl import audit, load_plan, offline_provider
from contextctl.errors import Location
from contextctl.findings import Severity
from contextctl.history import History, chosen_history
from contextctl.messages import Message, RequestSettings, TextPart, ToolCallPart, ToolResultPart, Usage
from contextctl.outcome import Fate
from contextctl.plan import ContextPlan, Matcher, SectionPlan
from contextctl.recording import RecordedCompaction, RecordedRequest, Transcript
from contextctl.replay import Calls
from contextctl.report import AssemblyRow, AuditReport
from contextctl.reports import render
from tests.engine_samples import WordProvider


def say(role: str, text: str, line: int, **more: Any) -> Message:
    return Message(role=role, content=text, location=Location("t.jsonl", line), **more)


def compacted() -> Transcript:
    """Four messages, two of them compacted away and stood in for by a recap, and an abandoned branch."""
    messages = (
        say("user", "first question", 1, superseded="compaction"),
        say("assistant", "first answer", 2, superseded="compaction"),
        say("user", "a recap of it", 4, recap=True),
        say("user", "wrong way", 5, superseded="rewind"),
        say("user", "second question", 6),
        say("assistant", "second answer", 7),
    )
    compaction = RecordedCompaction(Location("t.jsonl", 3), "summary", 900, 300)
    return Transcript("t.jsonl", "t", "claude-code", messages, compactions=(compaction,))


def plan(**fields: Any) -> ContextPlan:
    return ContextPlan(sections=(SectionPlan(name="recent", share=Decimal(1), match="rest"),), **fields)


def audited(
    transcript: Transcript, made: ContextPlan | None = None, window: int = 200, **more: Any
) -> AuditReport:
    return audit(made or plan(), [transcript], WordProvider(window), **more)


def only(report: AuditReport) -> AssemblyRow:
    (row,) = report.assemblies
    return row


def fates(report: AuditReport) -> dict[str, Fate | None]:
    return {entry.id: entry.fate for entry in only(report).entries}


@pytest.mark.parametrize(
    ("history", "kept", "rules"),
    [
        ("effective", ["m3", "m5", "m6"], {"m1": "compaction", "m2": "compaction", "m4": "rewind"}),
        ("full", ["m1", "m2", "m5", "m6"], {"m3": "recap", "m4": "rewind"}),
    ],
)
def test_a_history_is_what_the_model_had_at_the_end_or_everything_and_never_both(
    history: History, kept: list[str], rules: dict[str, str]
) -> None:
    report = audited(compacted(), history=history)
    found = fates(report)
    assert [i for i, fate in found.items() if fate is Fate.KEPT] == kept
    assert {e.id: e.rule for e in only(report).entries if e.fate is Fate.SUPERSEDED} == rules
    assert only(report).sections[0].superseded == len(rules)


def test_every_message_read_is_in_the_ledger_once_whatever_the_history() -> None:
    for history in ("effective", "full"):
        report = audited(compacted(), history=history)  # type: ignore[arg-type]
        lines = sorted(line for entry in only(report).entries for line in entry.lines)
        assert lines == [1, 2, 4, 5, 6, 7]


def test_ids_are_places_in_what_was_read_and_can_be_pinned_in_either_history() -> None:
    made = plan(pins=(Matcher(ids=("m5",)),))
    for history in ("effective", "full"):
        entries = only(audited(compacted(), made, history=history)).entries  # type: ignore[arg-type]
        assert [entry.id for entry in entries if entry.pinned] == ["m5"]


def test_what_was_set_aside_and_each_recorded_compaction_are_told_with_their_numbers() -> None:
    report = audited(compacted())
    told = {item.code: item for item in report.all_findings()}
    assert "after call 1, 900 tokens before, 300 after" in told["CTX032"].message
    assert told["CTX032"].location.line == 3
    assert "2 compacted away, 1 taken back" in told["CTX033"].message
    assert report.exit_code == 0


def test_a_compaction_that_cannot_be_read_is_a_warning() -> None:
    sealed = RecordedCompaction(Location("t.jsonl", 3), "summary", readable=False)
    report = audited(replace(compacted(), compactions=(sealed,)))
    (found,) = [item for item in report.all_findings() if item.code == "CTX032"]
    assert found.severity is Severity.WARNING


def test_a_recap_is_no_user_turn_and_no_call() -> None:
    recap = say("assistant", "a recap", 2, recap=True)
    messages = (say("user", "hello", 1), recap, say("user", "a recap too", 3, recap=True))
    transcript = Transcript("t.jsonl", "t", "codex", messages)
    assert transcript.calls == 0
    assert [entry.id for entry in only(audited(transcript)).entries if entry.protected] == ["m1"]


def test_a_history_of_which_nothing_is_set_aside_is_left_as_it_was_read() -> None:
    plain = Transcript("t.jsonl", "t", "openai-chat", (say("user", "hello", 1),))
    assert chosen_history(plain, "effective") == chosen_history(plain, "full") == plain


def test_a_recorded_window_smaller_than_the_models_is_told_and_can_be_audited(tmp_path: Path) -> None:
    rows = [
        {"timestamp": "t", "type": "session_meta", "payload": {"id": "s", "model_provider": "openai"}},
        {"timestamp": "t", "type": "turn_context", "payload": {"model": "gpt-4o"}},
        item("message", role="user", content=[{"type": "input_text", "text": "hello"}]),
        item("message", role="assistant", content=[{"type": "output_text", "text": "hi"}]),
        {"timestamp": "t", "type": "event_msg", "payload": {"type": "token_count", "info": USAGE}},
    ]
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    words = [sys.executable, "-m", "contextctl", "audit", "t.jsonl", "-f", "json"]
    by_model, by_recording = (
        json.loads(subprocess.run([*words, *more], cwd=tmp_path, capture_output=True, check=False).stdout)
        for more in ([], ["--window", "recorded"])
    )
    assert "CTX406" in str(by_model)
    assert by_model["transcripts"][0]["model"]["window_tokens"] == 128_000
    assert "CTX406" not in str(by_recording)
    assert by_recording["transcripts"][0]["model"]["window_tokens"] == 9_000


USAGE = {
    "last_token_usage": {"input_tokens": 30, "output_tokens": 3, "total_tokens": 33},
    "total_token_usage": {"input_tokens": 30, "output_tokens": 3, "total_tokens": 33},
    "model_context_window": 9_000,
}


def item(kind: str, **payload: Any) -> dict[str, Any]:
    return {"timestamp": "t", "type": "response_item", "payload": {"type": kind, **payload}}


# What was really sent


def sent() -> Transcript:
    """Three calls; the third was sent without the first exchange, and with a note instead."""
    history = [
        say("user", "first question", 1),
        say("assistant", "first answer", 2),
        say("user", "second question", 3),
        say("assistant", "second answer", 4),
        say("user", "third question", 5),
        say("assistant", "third answer", 6),
    ]
    note = Message(role="user", content="a note")
    prompts = [history[:1], history[:3], [note, *history[2:5]]]
    requests = tuple(RecordedRequest(tuple(prompt), Location("t.jsonl", 9)) for prompt in prompts)
    return Transcript("t.jsonl", "t", "langfuse", tuple(history), requests=requests)


def rows(calls: Calls, **more: Any) -> tuple[AssemblyRow, ...]:
    return audited(sent(), calls=calls, assembler="recorded", assembler_name="recorded", **more).assemblies


def test_8_what_was_really_sent_at_each_call_is_kept_and_the_rest_is_dropped() -> None:
    first, second, third = rows("every")
    assert [row.status for row in (first, second, third)] == ["fits", "fits", "compacted"]
    whole = {entry.id: entry.fate for entry in third.entries}
    assert whole == {
        **dict.fromkeys(("m1", "m2"), Fate.DROPPED),
        **dict.fromkeys(("m3", "m4", "m5"), Fate.KEPT),
    }
    assert [(added.position, added.role) for added in third.added] == [(1, "user")]
    assert [row.call for row in rows("end")] == [3]
    assert [row.call for row in rows(2)] == [2]


def test_8_what_was_sent_is_held_against_budget_and_pins() -> None:
    over = audited(sent(), window=20, assembler="recorded")
    assert over.exit_code == 1
    pinned = audited(sent(), plan(pins=(Matcher(ids=("m1",)),)), assembler="recorded")
    assert "CTX210" in {item.code for item in pinned.all_findings()}


def test_8_each_request_is_counted_with_its_own_tools() -> None:
    tool = {"type": "function", "function": {"name": "find", "parameters": {"type": "object"}}}
    grown = sent()
    requests = (
        *grown.requests[:2],
        replace(grown.requests[2], settings=RequestSettings(tools=(tool,))),
    )
    report = audit(
        load_plan("preset:default"),
        [replace(grown, requests=requests)],
        offline_provider("gpt-4o"),
        assembler="recorded",
        calls="every",
    )
    without = audit(
        load_plan("preset:default"), [sent()], offline_provider("gpt-4o"), assembler="recorded", calls="every"
    )
    more = [
        one.tokens_before - other.tokens_before
        for one, other in zip(report.assemblies, without.assemblies, strict=True)
    ]
    assert more[:2] == [0, 0]
    assert more[2] > 20


def test_8_a_request_log_is_what_was_sent_and_another_recording_without_requests_is_refused() -> None:
    log = Transcript("t.jsonl", "t", "openai-chat", sent().messages)
    row = only(audited(log, assembler="recorded"))
    assert (row.status, len(row.entries)) == ("fits", 6)
    refused = audited(replace(log, format="pi"), assembler="recorded")
    assert refused.exit_code == 3
    assert [item.code for item in refused.all_findings()] == ["CTX034"]


def test_8_a_result_that_was_sent_shortened_is_trimmed_and_not_added() -> None:
    call = ToolCallPart(id="c", name="find", arguments="{}")

    def result(text: str) -> Message:
        part = ToolResultPart(call_id="c", content=(TextPart(text=text),))
        return Message(role="tool", content=(part,))

    history = (say("user", "go", 1), Message(role="assistant", content=(call,)), result("long " * 20))
    request = RecordedRequest((*history[:2], result("short")), Location("t.jsonl", 1))
    row = only(
        audited(Transcript("t.jsonl", "t", "inspect", history, requests=(request,)), assembler="recorded")
    )
    assert {entry.id: entry.fate for entry in row.entries} == {"m1": Fate.KEPT, "m2": Fate.TRIMMED}
    assert row.added == ()


def test_every_format_of_report_tells_of_what_was_superseded() -> None:
    report = audited(compacted())
    for format in ("text", "json", "jsonl"):
        assert "superseded" in render(report, format)
        assert "question" not in render(report, format)


def test_usage_names_the_smallest_window() -> None:
    messages = tuple(
        say("assistant", "x", n, usage=Usage(window_tokens=size)) for n, size in enumerate((9, 7), 1)
    )
    assert Transcript("t", "t", "codex", messages).window_tokens == 7
