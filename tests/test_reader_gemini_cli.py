"""Gemini CLI recordings, both layouts -> transcripts."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings

from contextctl.entries import group
from contextctl.findings import Severity
from contextctl.messages import (
    ImagePart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    Usage,
    part_texts,
)
from contextctl.recording import Transcript
from contextctl.transcripts import read_transcripts
from contextctl.transcripts.gemini_cli import read_gemini_cli
from tests.mutations import EXAMPLES, check_lines, mutated

HEAD = {"sessionId": "s-1", "projectHash": "00", "startTime": "t0", "lastUpdated": "t0"}
TOKENS = {"input": 900, "output": 20, "cached": 300, "thoughts": 7, "tool": 0, "total": 927}
USER = {"id": "u1", "timestamp": "t1", "type": "user", "content": [{"text": "List the logs."}]}


def call(name: str, answer: str | None = "a.log") -> dict[str, Any]:
    response = {"functionResponse": {"id": name, "name": "ls", "response": {"output": answer}}}
    return {
        "id": name,
        "name": "ls",
        "args": {"path": "Öl"},
        "result": None if answer is None else [response],
        "status": "success",
        "resultDisplay": "a long table for the screen",
    }


CALLING: dict[str, Any] = {
    "id": "g1",
    "timestamp": "t2",
    "type": "gemini",
    "content": "Looking.",
    "thoughts": [{"subject": "Plan", "description": "List them."}],
    "tokens": TOKENS,
    "model": "gemini-2.5-flash",
    "toolCalls": [call("c1"), call("c2", "b.log")],
}
SAID = {"id": "g2", "timestamp": "t3", "type": "gemini", "content": "One log.", "model": "gemini-2.5-flash"}
NEXT = {"id": "u2", "timestamp": "t4", "type": "user", "content": "And the charts?"}


def jsonl(*rows: object) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def lines(*rows: object) -> Transcript:
    """The newer layout, a record a line after the head."""
    (transcript,) = read_gemini_cli(jsonl(HEAD, *rows), "chats/session.jsonl")
    return transcript


def document(*rows: object) -> bytes:
    """The older layout."""
    return json.dumps({**HEAD, "messages": list(rows)}, indent=2).encode()


def told(transcript: Transcript) -> list[tuple[str, str | None, bool]]:
    return [("".join(part_texts(item.content)), item.superseded, item.recap) for item in transcript.messages]


def test_trap_11_one_json_document_under_a_jsonl_name_is_read_with_places_in_its_list() -> None:
    (transcript,) = read_transcripts(document(USER, CALLING, SAID), "chats/session.jsonl")
    assert (transcript.format, transcript.id) == ("gemini-cli", "s-1")
    places = [item.location.index for item in transcript.messages if item.location]
    assert places == [1, 2, 2, 3]
    assert not transcript.findings


def test_trap_12_a_record_of_calls_and_results_is_an_answer_and_then_the_results() -> None:
    transcript = lines(USER, CALLING, SAID)
    _, answer, results, _ = transcript.messages
    assert (answer.role, answer.content) == (
        "assistant",
        (
            TextPart(text="Looking."),
            ToolCallPart(id="c1", name="ls", arguments='{"path":"Öl"}'),
            ToolCallPart(id="c2", name="ls", arguments='{"path":"Öl"}'),
        ),
    )
    assert (results.role, results.content) == (
        "user",
        (
            ToolResultPart(call_id="c1", name="ls", content=(TextPart(text='{"output":"a.log"}'),)),
            ToolResultPart(call_id="c2", name="ls", content=(TextPart(text='{"output":"b.log"}'),)),
        ),
    )
    assert not results.is_user_turn
    entries, remarks = group(transcript.messages)
    assert not remarks
    assert [entry.positions for entry in entries] == [(1,), (2, 3), (4,)]
    assert transcript.calls == 2


def test_both_layouts_give_the_same_messages() -> None:
    (older,) = read_gemini_cli(document(USER, CALLING, SAID), "x")
    newer = lines(USER, {"$set": {"lastUpdated": "t9"}}, CALLING, SAID)
    assert [item.content for item in older.messages] == [item.content for item in newer.messages]
    assert [item.location.record for item in newer.messages if item.location] == [2, 4, 4, 5]


def test_usage_time_and_model_stand_on_the_answer() -> None:
    transcript = lines(USER, CALLING, SAID, {**SAID, "id": "g3", "model": "gemini-2.5-pro"})
    answer, results = transcript.messages[1:3]
    assert answer.usage == Usage(input_tokens=900, cached_tokens=300, output_tokens=27)
    assert (answer.time, results.usage) == ("t2", None)
    assert [item.model for item in transcript.messages] == [None, None, None, None, "gemini-2.5-pro"]
    assert transcript.model == "gemini-2.5-pro"
    assert transcript.lacks == ("system", "tools")


def test_usage_of_zeros_is_not_usage() -> None:
    zeros = dict.fromkeys(TOKENS, 0)
    assert lines(USER, {**SAID, "tokens": zeros}).messages[1].usage is None


def test_what_is_for_the_screen_is_left_out_without_a_word() -> None:
    shown = [
        {"id": f"i{n}", "type": kind, "content": "Cancelled."} for n, kind in enumerate(("info", "error"))
    ]
    transcript = lines(USER, *shown, {"id": "w", "type": "warning", "content": "x"}, SAID)
    assert [item.role for item in transcript.messages] == ["user", "assistant"]
    assert not transcript.findings
    assert "screen" not in str(lines(USER, CALLING).messages)


def test_a_call_without_a_result_is_unanswered() -> None:
    transcript = lines(USER, {**CALLING, "toolCalls": [call("c1", None)]}, NEXT)
    assert [item.role for item in transcript.messages] == ["user", "assistant", "user"]
    assert [remark.name for remark in group(transcript.messages)[1]] == ["c1"]


def test_media_beside_a_response_go_with_the_result() -> None:
    image = {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}
    shown = {**call("c1"), "result": [*call("c1")["result"], image]}
    results = lines(USER, {**CALLING, "toolCalls": [shown]}).messages[2].results
    assert results[0].content[1] == ImagePart(url="data:image/png;base64,AAAA")
    plain = {**call("c1"), "result": "a.log"}
    results = lines(USER, {**CALLING, "toolCalls": [plain]}).messages[2].results
    assert results[0].content == (TextPart(text="a.log"),)


def test_a_later_line_with_the_same_id_takes_the_place_of_the_first() -> None:
    before = {**CALLING, "toolCalls": [call("c1", None)], "tokens": None}
    transcript = lines(USER, before, NEXT, CALLING)
    assert [item.role for item in transcript.messages] == ["user", "assistant", "user", "user"]
    assert transcript.messages[1].usage is not None
    assert transcript.messages[1].location is not None
    assert transcript.messages[1].location.line == 5


def test_a_rewind_takes_its_message_and_all_after_it_out_of_sight() -> None:
    transcript = lines(USER, SAID, NEXT, {"$rewindTo": "g2"}, {**NEXT, "id": "u3", "content": "Wind?"})
    assert told(transcript) == [
        ("List the logs.", None, False),
        ("One log.", "rewind", False),
        ("And the charts?", "rewind", False),
        ("Wind?", None, False),
    ]
    assert transcript.compactions == ()


def test_a_rewind_to_an_unknown_message_takes_everything() -> None:
    transcript = lines(USER, SAID, {"$rewindTo": "nowhere"}, USER)
    assert [item.superseded for item in transcript.messages] == ["rewind", "rewind", None]


def test_a_rewind_may_name_a_message_for_the_screen() -> None:
    shown = {"id": "i1", "type": "info", "content": "x"}
    transcript = lines(USER, shown, SAID, {"$rewindTo": "i1"})
    assert [item.superseded for item in transcript.messages] == [None, "rewind"]


def test_a_list_of_messages_in_an_update_is_a_compaction_and_what_is_new_its_recap() -> None:
    recap = {"id": "n1", "type": "user", "content": [{"text": "So far: logs."}]}
    kept = {**NEXT, "content": [{"text": "And the "}, {"text": "charts?"}]}
    last = {**SAID, "id": "g9", "content": "None."}
    transcript = lines(USER, SAID, NEXT, {"$set": {"messages": [recap, kept]}}, last)
    assert told(transcript) == [
        ("List the logs.", "compaction", False),
        ("One log.", "compaction", False),
        ("So far: logs.", None, True),
        ("And the charts?", None, False),
        ("None.", None, False),
    ]
    (compaction,) = transcript.compactions
    assert (compaction.kind, compaction.location.line, compaction.readable) == ("summary", 5, True)


def test_an_update_that_only_leaves_out_messages_is_a_trim() -> None:
    transcript = lines(USER, SAID, NEXT, {"$set": {"messages": [NEXT]}})
    assert [item.superseded for item in transcript.messages] == ["compaction", "compaction", None]
    assert [item.kind for item in transcript.compactions] == ["trimmed"]


def test_a_result_that_an_update_masks_is_superseded_by_its_new_text() -> None:
    masked = {**CALLING, "toolCalls": [call("c1", "[masked]"), call("c2", "b.log")]}
    transcript = lines(USER, CALLING, NEXT, {"$set": {"messages": [USER, masked, NEXT]}})
    assert [item.kind for item in transcript.compactions] == ["cleared"]
    in_sight = [item for item in transcript.messages if item.superseded is None]
    assert [item.recap for item in in_sight] == [False, True, True, False]
    assert "[masked]" in str(in_sight[2])
    whole = [m for m in transcript.messages if not m.recap and m.superseded in (None, "compaction")]
    assert "[masked]" not in str(whole)
    assert len(whole) == 4


def test_an_update_that_repeats_what_is_known_changes_nothing() -> None:
    """Calls and results that the history tells in parts of their own are those of the record."""
    parts = [{"text": "Looking."}, *({"functionCall": {"id": c, "name": "ls"}} for c in ("c1", "c2"))]
    turns = [USER, {**CALLING, "content": parts}]
    answers = [item for one in CALLING["toolCalls"] for item in one["result"]]
    history = {"id": "h1", "type": "user", "content": answers}
    transcript = lines(USER, CALLING, {"$set": {"messages": [*turns, history]}}, SAID)
    assert [item.role for item in transcript.messages] == ["user", "assistant", "user", "assistant"]
    assert not any(item.superseded or item.recap for item in transcript.messages)
    assert transcript.compactions == ()


def test_sessions_that_follow_one_another_in_a_file_are_transcripts_of_their_own() -> None:
    other = {**HEAD, "sessionId": "s-2"}
    transcripts = read_gemini_cli(jsonl(HEAD, USER, HEAD, SAID, other, USER), "x.jsonl")
    assert [(item.id, len(item.messages)) for item in transcripts] == [("s-1", 2), ("s-2", 1)]


def test_a_record_of_an_unknown_type_is_told_once_and_the_others_are_read() -> None:
    strange = [{"id": f"x{n}", "type": "oracle", "content": "secret"} for n in range(2)]
    transcript = lines(USER, *strange, SAID)
    (finding,) = transcript.findings
    assert (finding.code, finding.severity, finding.location.line) == ("CTX014", Severity.WARNING, 3)
    assert "'oracle'" in finding.message
    assert len(transcript.messages) == 2


@pytest.mark.parametrize(
    "record",
    [
        3,
        {},
        {"note": 1},
        {"id": "x"},
        {"id": "x", "type": 3},
        {"id": "x", "type": "user", "content": 3},
        {"id": "x", "type": "user", "content": [3]},
        {"id": "x", "type": "gemini", "toolCalls": "y"},
        {"id": "x", "type": "gemini", "toolCalls": ["y"]},
        {"id": "x", "type": "gemini", "toolCalls": [{"id": "c"}]},
        {"id": "x", "type": "gemini", "toolCalls": [{"id": "c", "name": "ls", "result": 3}]},
    ],
)
def test_a_malformed_record_is_told_with_its_place_and_the_others_are_read(record: object) -> None:
    transcript = lines(USER, record, SAID)
    assert [(item.code, item.location.line) for item in transcript.findings] == [("CTX011", 3)]
    assert (len(transcript.messages), transcript.skipped) == (2, 1)
    if isinstance(record, dict) and "type" in record:
        (older,) = read_gemini_cli(document(USER, record, SAID), "x")
        assert [(item.code, item.location.record) for item in older.findings] == [("CTX011", "1:2")]


@settings(max_examples=EXAMPLES)
@given(
    mutated(
        [HEAD, USER, CALLING, SAID, {"$rewindTo": "g2"}, {"$set": {"messages": [USER, CALLING]}}, NEXT],
        [{**HEAD, "messages": [USER, CALLING, SAID]}],
    )
)
def test_a_record_that_is_out_of_shape_is_read_or_refused_and_never_crashes(value: object) -> None:
    check_lines("gemini-cli", value)
