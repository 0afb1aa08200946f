"""Sessions of Qwen Code."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings

from contextctl.errors import TranscriptError
from contextctl.recording import Transcript
from contextctl.transcripts import read_transcripts
from contextctl.transcripts.detection import detect
from tests.mutations import EXAMPLES, check_lines, mutated


def record(uuid: str, parent: str | None, kind: str, **more: Any) -> dict[str, Any]:
    base = {"uuid": uuid, "parentUuid": parent, "sessionId": "s1", "timestamp": f"time {uuid}", "type": kind}
    return {**base, **more}


def content(role: str, *parts: dict[str, Any]) -> dict[str, Any]:
    return {"role": role, "parts": list(parts)}


USAGE = {
    "promptTokenCount": 90,
    "candidatesTokenCount": 5,
    "thoughtsTokenCount": 2,
    "cachedContentTokenCount": 40,
}
CALL = {"functionCall": {"id": "c1", "name": "look", "args": {"at": "lake"}}}
RESULT = {"functionResponse": {"id": "c1", "name": "look", "response": {"output": "wet"}}}
ASK = record("a", None, "user", message=content("user", {"text": "look"}))
SCREEN = record("b", "a", "system", subtype="ui_telemetry", systemPayload={"uiEvent": {}})
ANSWER = record(
    "c",
    "b",
    "assistant",
    model="qwen3",
    contextWindowSize=1000,
    usageMetadata=USAGE,
    message=content("model", {"text": "hm", "thought": True}, CALL),
)
TOLD = record("d", "c", "tool_result", message=content("user", RESULT), toolCallResult={"callId": "c1"})
LAST = record("e", "d", "assistant", model="qwen3", message=content("model", {"text": "wet"}))
SESSION = [ASK, SCREEN, ANSWER, TOLD, LAST]


def read(*rows: object) -> tuple[Transcript, ...]:
    data = "".join(json.dumps(row) + "\n" for row in rows).encode()
    assert detect(data) == "qwen-code"
    return read_transcripts(data, "chats/s1.jsonl")


def states(transcript: Transcript) -> list[tuple[str, str | None, bool]]:
    return [
        ("".join(getattr(part, "text", "-") for part in item.content), item.superseded, item.recap)
        for item in transcript.messages
    ]


def test_a_session_is_a_transcript_with_a_place_for_every_record() -> None:
    (transcript,) = read(*SESSION)
    assert (transcript.id, transcript.model, transcript.lacks) == ("s1", "qwen3", ("system", "tools"))
    assert [item.role for item in transcript.messages] == ["user", "assistant", "user", "assistant"]
    assert [item.location and item.location.record for item in transcript.messages] == [1, 3, 4, 5]
    assert [part.type for part in transcript.messages[1].content] == ["thinking", "tool-call"]
    assert transcript.messages[1].calls[0].id == transcript.messages[2].results[0].call_id == "c1"
    usage = transcript.messages[1].usage
    assert usage and (usage.input_tokens, usage.cached_tokens, usage.output_tokens) == (90, 40, 7)
    assert usage.window_tokens == 1000
    assert transcript.messages[1].time == "time c"
    assert transcript.calls == 2
    assert not transcript.findings


def test_a_rewind_leaves_what_it_took_back_superseded() -> None:
    rewind = record("f", "a", "system", subtype="rewind", systemPayload={"truncatedCount": 3})
    again = record("g", "f", "user", message=content("user", {"text": "again"}))
    (transcript,) = read(*SESSION, rewind, again)
    assert [gone for _, gone, _ in states(transcript)] == [None, "rewind", "rewind", "rewind", None]


def test_a_branch_that_was_left_without_a_rewind_is_a_fork() -> None:
    again = record("g", "a", "user", message=content("user", {"text": "again"}))
    (transcript,) = read(*SESSION, again)
    assert [gone for _, gone, _ in states(transcript)] == [None, "fork", "fork", "fork", None]


def test_a_compression_puts_its_summary_in_place_and_keeps_the_tail_it_repeats() -> None:
    history = [content("user", {"text": "in short"}), content("model", {"text": "ok"}), LAST["message"]]
    payload = {"info": {"originalTokenCount": 90, "newTokenCount": 30}, "compressedHistory": history}
    compression = record("f", "e", "system", subtype="chat_compression", systemPayload=payload)
    more = record("g", "f", "user", message=content("user", {"text": "more"}))
    (transcript,) = read(*SESSION, compression, more)
    assert states(transcript) == [
        ("look", "compaction", False),
        ("hm-", "compaction", False),
        ("-", "compaction", False),
        ("in short", None, True),
        ("ok", None, True),
        ("wet", None, False),
        ("more", None, False),
    ]
    (compaction,) = transcript.compactions
    assert (compaction.kind, compaction.tokens_before, compaction.tokens_after) == ("summary", 90, 30)


def test_a_sub_agents_records_are_a_transcript_of_their_own() -> None:
    side = {"isSidechain": True, "agentId": "diver"}
    first = record("x", None, "user", message=content("user", {"text": "dive"}), **side)
    second = record("y", "x", "assistant", message=content("model", {"text": "dived"}), **side)
    main, diver = read(*SESSION[:3], first, second, *SESSION[3:])
    assert (main.id, len(main.messages)) == ("s1", 4)
    assert (diver.id, len(diver.messages)) == ("s1/diver", 2)


def test_a_forked_agent_begins_with_the_history_that_it_was_given() -> None:
    side = {"isSidechain": True, "agentId": "diver"}
    payload = {"kind": "fork", "history": [ASK["message"], content("user", {"text": "dive"})]}
    first = record("x", None, "system", subtype="agent_bootstrap", systemPayload=payload, **side)
    second = record("y", "x", "assistant", message=content("model", {"text": "dived"}), **side)
    diver = read(*SESSION, first, second)[1]
    assert [text for text, _, _ in states(diver)] == ["look", "dive", "dived"]


def test_a_command_for_the_screen_is_not_context() -> None:
    typed = record("f", "e", "user", message=content("user", {"text": "/about"}))
    payload = {"phase": "result", "rawCommand": "/about", "outputHistoryItems": [{"type": "assistant"}]}
    result = record("g", "f", "system", subtype="slash_command", systemPayload=payload)
    (transcript,) = read(*SESSION, typed, result)
    assert len(transcript.messages) == 4


def test_a_session_that_starts_in_the_middle_is_read_whole() -> None:
    (transcript,) = read(ANSWER, TOLD, {**LAST, "parentUuid": "lost"})
    assert [gone for _, gone, _ in states(transcript)] == [None, None, None]


def test_a_type_that_is_not_known_is_one_warning() -> None:
    (transcript,) = read(*SESSION, record("f", "e", "omen"), record("g", "f", "omen"))
    assert [(item.code, item.severity) for item in transcript.findings] == [("CTX014", "warning")]


def test_what_is_no_record_is_reported_with_its_place_and_the_rest_is_read() -> None:
    (transcript,) = read(*SESSION, 7, {"a": 1})
    assert [(item.code, item.location.record) for item in transcript.findings] == [
        ("CTX011", 6),
        ("CTX011", 7),
    ]
    assert transcript.skipped == 2


def test_a_session_without_a_message_is_refused() -> None:
    with pytest.raises(TranscriptError):
        read(SCREEN)


COMPRESSION = record(
    "f",
    "e",
    "system",
    subtype="chat_compression",
    systemPayload={"compressedHistory": [LAST["message"]], "info": {}},
)


@given(mutated([*SESSION, COMPRESSION], [*SESSION, record("g", "a", "system", subtype="rewind")]))
@settings(max_examples=EXAMPLES, deadline=None)
def test_no_record_however_mutated_makes_the_reader_raise_anything_else(value: object) -> None:
    check_lines("qwen-code", value)
