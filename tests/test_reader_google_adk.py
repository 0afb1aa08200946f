"""Sessions of Google's Agent Development Kit."""

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


def event(number: int, author: str, *parts: dict[str, Any], **more: Any) -> dict[str, Any]:
    role = "model" if author != "user" and "function_response" not in (parts or ({},))[0] else "user"
    return {
        "id": f"e{number}",
        "author": author,
        "invocation_id": f"i{(number + 1) // 2}",
        "timestamp": float(number),
        "content": {"role": role, "parts": list(parts)},
        "actions": {},
        **more,
    }


USAGE = {"prompt_token_count": 12, "candidates_token_count": 3, "thoughts_token_count": 4}
ASK = event(1, "user", {"text": "how deep?"})
ANSWER = event(2, "guide", {"function_call": {"id": "c1", "name": "depth", "args": {}}}, usage_metadata=USAGE)
RESULT = event(3, "guide", {"function_response": {"id": "c1", "name": "depth", "response": {"m": 12}}})
LAST = event(4, "guide", {"text": "12 m"}, usage_metadata={**USAGE, "prompt_token_count": 20})


def session(*events: Any, **more: Any) -> dict[str, Any]:
    return {"id": "s1", "app_name": "lake", "user_id": "u", "events": list(events), **more}


def read(*rows: object) -> tuple[Transcript, ...]:
    data = "".join(json.dumps(row) + "\n" for row in rows).encode()
    assert detect(data) == "google-adk"
    return read_transcripts(data, "logs/session.json")


def states(transcript: Transcript) -> list[tuple[str, str | None, bool]]:
    return [
        ("".join(getattr(part, "text", "-") for part in item.content), item.superseded, item.recap)
        for item in transcript.messages
    ]


def test_the_events_of_a_session_are_messages_each_at_its_place() -> None:
    (transcript,) = read(session(ASK, ANSWER, RESULT, LAST))
    assert (transcript.id, transcript.format, transcript.lacks) == ("s1", "google-adk", ("system", "tools"))
    assert [item.role for item in transcript.messages] == ["user", "assistant", "user", "assistant"]
    assert [item.location and item.location.record for item in transcript.messages] == [
        "1:1",
        "1:2",
        "1:3",
        "1:4",
    ]
    assert transcript.messages[1].calls[0].id == transcript.messages[2].results[0].call_id == "c1"
    usages = [item.usage for item in transcript.messages if item.usage]
    assert [(item.input_tokens, item.output_tokens) for item in usages] == [(12, 7), (20, 7)]
    assert transcript.calls == 2
    assert not transcript.findings


def test_names_may_be_in_camel_case() -> None:
    camel = {
        **event(2, "guide", {"functionCall": {"name": "depth", "args": {"a": 1}}}),
        "usageMetadata": {"promptTokenCount": 5, "candidatesTokenCount": 1},
        "modelVersion": "gemini-2.5-pro",
    }
    (transcript,) = read(session(ASK, camel))
    assert transcript.messages[1].calls[0].arguments == '{"a":1}'
    assert transcript.messages[1].usage and transcript.messages[1].usage.input_tokens == 5
    assert transcript.model == "gemini-2.5-pro"


def test_a_list_of_sessions_is_a_transcript_each() -> None:
    assert [item.id for item in read([session(ASK), session(ASK, id="s2")])] == ["s1", "s2"]


def test_parts_of_an_answer_that_is_still_coming_in_do_not_count() -> None:
    (transcript,) = read(session(ASK, {**LAST, "partial": True}, LAST))
    assert [item.role for item in transcript.messages] == ["user", "assistant"]


def test_a_compaction_stands_in_place_of_its_time_span() -> None:
    summary = {
        "start_timestamp": 1.0,
        "end_timestamp": 3.0,
        "compacted_content": {"role": "model", "parts": [{"text": "in short"}]},
    }
    compaction = event(5, "user", actions={"compaction": summary}, content=None)
    (transcript,) = read(session(ASK, ANSWER, RESULT, LAST, compaction))
    assert states(transcript) == [
        ("how deep?", "compaction", False),
        ("-", "compaction", False),
        ("-", "compaction", False),
        ("in short", None, True),
        ("12 m", None, False),
    ]
    assert [(item.kind, str(item.location)) for item in transcript.compactions] == [
        ("summary", "logs/session.json:1:5")
    ]


def test_a_later_compaction_stands_for_an_earlier_one_too() -> None:
    def compaction(number: int, end: float) -> dict[str, Any]:
        content = {"role": "model", "parts": [{"text": f"short {number}"}]}
        span = {"startTimestamp": 1, "endTimestamp": end, "compactedContent": content}
        return event(number, "user", actions={"compaction": span}, content=None)

    (transcript,) = read(session(ASK, ANSWER, RESULT, compaction(9, 3), LAST, compaction(10, 4)))
    assert [text for text, gone, _ in states(transcript) if gone is None] == ["short 10"]
    assert len(transcript.compactions) == 2


def test_a_rewind_takes_back_an_invocation_and_what_came_after() -> None:
    rewind = event(5, "user", actions={"rewind_before_invocation_id": "i2"}, content=None)
    (transcript,) = read(session(ASK, ANSWER, RESULT, LAST, rewind, event(6, "user", {"text": "again"})))
    assert [gone for _, gone, _ in states(transcript)] == [None, None, "rewind", "rewind", None]


def test_speech_that_is_recorded_as_transcription_only_is_a_warning() -> None:
    spoken = event(2, "guide", content=None, output_transcription={"text": "12 m"})
    (transcript,) = read(session(ASK, spoken, spoken))
    assert [(item.code, item.severity) for item in transcript.findings] == [("CTX014", "warning")]


def test_what_is_no_event_or_session_is_reported_with_its_place_and_the_rest_is_read() -> None:
    first, second = read(session(7, ASK), {"id": "x"})
    assert [(item.code, item.location.record) for item in first.findings] == [("CTX011", "1:1")]
    assert [(item.code, item.location.record) for item in second.findings] == [("CTX011", 2)]
    assert (first.skipped, second.skipped) == (1, 1)


def test_a_session_without_a_message_is_refused() -> None:
    with pytest.raises(TranscriptError):
        read(session(event(1, "user", content=None)))


COMPACTION = {
    "start_timestamp": 1,
    "end_timestamp": 3,
    "compacted_content": {"role": "model", "parts": [{"text": "s"}]},
}


@given(
    mutated(
        session(
            ASK, ANSWER, RESULT, event(5, "user", actions={"compaction": COMPACTION}, content=None), LAST
        ),
        [session(ASK, event(5, "user", actions={"rewind_before_invocation_id": "i1"}))],
    )
)
@settings(max_examples=EXAMPLES, deadline=None)
def test_no_record_however_mutated_makes_the_reader_raise_anything_else(value: object) -> None:
    check_lines("google-adk", value)
