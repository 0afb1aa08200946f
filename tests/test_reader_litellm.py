"""LiteLLM's completion logs: one call a file, with native tools or with tools written into the prompt."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings

from contextctl.errors import TranscriptError
from contextctl.messages import TextPart
from contextctl.recording import Transcript
from contextctl.transcripts import read_transcripts
from contextctl.transcripts.detection import detect
from tests.mutations import EXAMPLES, check_lines, mutated

ASK = {"role": "user", "content": [{"type": "text", "text": "how deep?"}]}
CALL = {"id": "c1", "type": "function", "function": {"name": "depth", "arguments": "{}"}}
ANSWER = {"role": "assistant", "content": "let me see", "tool_calls": [CALL]}
RESULT = {"role": "tool", "tool_call_id": "c1", "name": "depth", "content": "12 m"}
TOOL = {"type": "function", "function": {"name": "depth"}}


def response(identity: str, message: dict[str, Any], tokens: int) -> dict[str, Any]:
    usage = {"prompt_tokens": tokens, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 4}}
    return {"id": identity, "model": "m", "choices": [{"index": 0, "message": message}], "usage": usage}


NATIVE: dict[str, Any] = {
    "messages": [ASK],
    "tools": [TOOL],
    "kwargs": {"tools": [TOOL], "top_p": 1.0},
    "context_window": 1000,
    "response": response("a", ANSWER, 10),
    "cost": 0.1,
    "timestamp": 1.5,
    "latency_sec": 2.5,
}
PROMPTED: dict[str, Any] = {
    **NATIVE,
    "messages": [{"role": "user", "content": "call as <function=depth>; how deep?"}],
    "raw_messages": [ASK],
    "kwargs": {},
    "raw_response": response("b", {"role": "assistant", "content": "<function=depth>"}, 10),
}


def read(*rows: object) -> tuple[Transcript, ...]:
    data = "".join(json.dumps(row) + "\n" for row in rows).encode()
    assert detect(data) == "litellm"
    return read_transcripts(data, "logs/call.json")


def test_a_logged_call_is_its_messages_and_its_answer() -> None:
    (transcript,) = read(NATIVE)
    assert [item.role for item in transcript.messages] == ["user", "assistant"]
    assert (transcript.id, transcript.model, transcript.format) == ("a", "m", "litellm")
    assert transcript.settings.tools == (TOOL,)
    usage = transcript.messages[1].usage
    assert usage and (usage.input_tokens, usage.cached_tokens, usage.output_tokens) == (10, 4, 3)
    assert usage.window_tokens == 1000
    assert transcript.messages[1].time == "1.5"
    assert [len(request.messages) for request in transcript.requests] == [1]
    assert not transcript.findings


def test_prompted_tools_are_read_as_they_were_sent_and_a_note_says_so() -> None:
    (transcript,) = read(PROMPTED)
    assert transcript.messages[0].content == (TextPart(text="call as <function=depth>; how deep?"),)
    assert transcript.messages[1].content == (TextPart(text="<function=depth>"),)
    assert not transcript.settings.tools
    assert [(item.code, item.severity) for item in transcript.findings] == [("CTX014", "note")]


def test_prompted_tools_that_are_among_the_arguments_of_the_call_were_sent_too() -> None:
    (transcript,) = read({**PROMPTED, "kwargs": {"tools": [TOOL]}})
    assert transcript.settings.tools == (TOOL,)


def test_calls_in_one_file_that_go_on_from_one_another_are_one_transcript() -> None:
    last = {"role": "assistant", "content": "12 m deep"}
    second = {**NATIVE, "messages": [ASK, ANSWER, RESULT], "response": response("b", last, 20)}
    (transcript,) = read(NATIVE, second)
    assert [item.role for item in transcript.messages] == ["user", "assistant", "tool", "assistant"]
    assert [item.usage.input_tokens for item in transcript.messages if item.usage] == [10, 20]


def test_a_call_that_failed_has_no_answer() -> None:
    (transcript,) = read({**NATIVE, "response": None})
    assert [item.role for item in transcript.messages] == ["user"]


def test_what_is_no_logged_call_is_reported_with_its_place_and_the_rest_is_read() -> None:
    (transcript,) = read(NATIVE, 7, {"a": 1})
    assert [(item.code, item.location.record) for item in transcript.findings] == [
        ("CTX011", 2),
        ("CTX011", 3),
    ]
    assert transcript.skipped == 2


def test_a_log_without_a_message_is_refused() -> None:
    with pytest.raises(TranscriptError):
        read({**NATIVE, "messages": [], "response": {}})


@given(mutated(NATIVE, PROMPTED, [NATIVE, PROMPTED]))
@settings(max_examples=EXAMPLES, deadline=None)
def test_no_record_however_mutated_makes_the_reader_raise_anything_else(value: object) -> None:
    check_lines("litellm", value)
