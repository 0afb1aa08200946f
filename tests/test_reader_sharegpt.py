"""ShareGPT conversations: turns by their speaker, calls without ids, placeholders for media."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contextctl.entries import Irregularity, group
from contextctl.messages import AudioPart, ImagePart, OpaquePart, TextPart, ToolCallPart, part_texts
from contextctl.recording import Transcript
from contextctl.transcripts import read_transcripts
from contextctl.transcripts.sharegpt import read_sharegpt
from tests.mutations import EXAMPLES, as_lines, check_reading, mutated

TOOL = {"name": "look", "parameters": {"type": "object"}}


def turn(speaker: str, value: object) -> dict[str, Any]:
    return {"from": speaker, "value": value}


def calling(name: str = "look") -> dict[str, Any]:
    return turn("function_call", json.dumps({"name": name, "arguments": {"at": "é"}}))


def only(*turns: object, **more: object) -> Transcript:
    (transcript,) = read_transcripts(as_lines({"conversations": list(turns), **more}), "logs/a.jsonl")
    assert transcript.format == "sharegpt"
    return transcript


def words(transcript: Transcript) -> list[str]:
    return [" ".join(part_texts(message.content)) for message in transcript.messages]


def test_turns_have_the_roles_of_their_speakers() -> None:
    speakers = ("gpt", "human", "chatgpt", "user", "assistant", "system")
    transcript = only(*(turn(speaker, "x") for speaker in speakers))
    assert [message.role for message in transcript.messages] == [
        *("assistant", "user", "assistant", "user", "assistant", "system")
    ]
    assert str(transcript.messages[1].location) == "logs/a.jsonl:1:2"
    assert not transcript.findings


def test_the_system_prompt_and_tools_stand_beside_the_turns() -> None:
    for tools in (json.dumps([TOOL]), [TOOL]):
        transcript = only(turn("human", "x"), system="rules", tools=tools, id=7)
        assert (transcript.id, words(transcript)) == ("7", ["rules", "x"])
        assert transcript.settings.tools == (TOOL,)
        assert str(transcript.messages[0].location) == "logs/a.jsonl:1"
    assert only(turn("human", "x"), tools="[]").settings.tools == ()


def test_a_result_without_an_id_answers_the_call_before_it() -> None:
    transcript = only(
        turn("human", "x"), calling(), turn("observation", "seen"), turn("gpt", "y"), tools="[]"
    )
    assert transcript.messages[1].content == (ToolCallPart(name="look", arguments='{"at":"é"}'),)
    assert transcript.messages[2].role == "tool"
    entries, remarks = group(transcript.messages)
    assert [len(entry.messages) for entry in entries] == [1, 2, 1]
    assert not remarks


def test_trap_14_a_result_without_a_call_stands_alone() -> None:
    transcript = only(turn("human", "x"), turn("gpt", "y"), turn("observation", "seen"))
    assert not transcript.findings
    _, remarks = group(transcript.messages)
    assert [remark.irregularity for remark in remarks] == [Irregularity.ORPHAN_RESULT]


def test_several_calls_of_one_turn_are_calls_of_one_message() -> None:
    value = json.dumps([{"name": "a", "arguments": {}}, {"name": "b", "arguments": '{"x":1}'}])
    transcript = only(turn("tool_call", value))
    assert [(call.name, call.arguments) for call in transcript.messages[0].calls] == [
        ("a", "{}"),
        ("b", '{"x":1}'),
    ]


@pytest.mark.parametrize("value", ["look at it", "[]", '{"arguments": {}}', "{" * 3, "[" * 900 + "]" * 900])
def test_a_call_that_cannot_be_read_is_kept_as_text_with_a_warning(value: str) -> None:
    transcript = only(turn("function_call", value))
    assert transcript.messages[0].content == (TextPart(text=value),)
    assert [(item.code, str(item.severity)) for item in transcript.findings] == [("CTX011", "warning")]


def test_placeholders_are_filled_in_order_from_the_media_beside_the_turns() -> None:
    transcript = only(
        *(turn("human", "<image>who? <audio>"), turn("gpt", "a"), turn("human", "and <image> or <image>?")),
        turn("human", "<video>"),
        **{"images": ["1.png", {"path": "2.png"}], "audios": ["a.wav"], "videos": ["v.mp4"]},
    )
    assert transcript.messages[0].content == (
        *(ImagePart(url="1.png"), TextPart(text="who? ")),
        AudioPart(data='{"input_audio":"a.wav","type":"input_audio"}'),
    )
    assert transcript.messages[2].content == (
        *(TextPart(text="and "), ImagePart(url="2.png"), TextPart(text=" or <image>?")),
    )
    assert transcript.messages[3].content == (
        OpaquePart(kind="video", data='{"type":"video","video":"v.mp4"}'),
    )
    assert not transcript.findings


def test_media_without_a_placeholder_are_told() -> None:
    transcript = only(turn("human", "who?"), images=["1.png"])
    assert [(item.code, str(item.severity)) for item in transcript.findings] == [("CTX011", "warning")]


def test_a_placeholder_without_media_is_text() -> None:
    transcript = only(turn("human", "write <image> here"))
    assert transcript.messages[0].content == (TextPart(text="write <image> here"),)


def test_turns_may_be_called_messages_with_roles_and_content() -> None:
    value = {"messages": [{"role": "user", "content": "<image>who?"}], "images": ["1.png"]}
    (transcript,) = read_transcripts(json.dumps([value]).encode(), "a.json")
    assert transcript.format == "sharegpt"
    assert [part.type for part in transcript.messages[0].content] == ["image", "text"]


def test_a_list_holds_a_conversation_each_and_a_broken_one_is_reported_by_its_place() -> None:
    document = [{"conversations": [turn("human", "x")]}, 7, {"conversations": [turn("human", "y"), 3]}]
    first, second, third = read_transcripts(json.dumps(document).encode(), "a.json", "sharegpt")
    assert (first.id, words(first), words(third)) == ("a#1", ["x"], ["y"])
    assert [item.location.record for item in second.findings] == ["1:2"]
    assert [(item.code, item.location.record) for item in third.findings] == [("CTX011", "1:2")]


def test_an_unknown_speaker_is_kept_and_told() -> None:
    transcript = only(turn("narrator", "x"))
    assert [item.code for item in transcript.findings] == ["CTX015"]
    assert words(transcript) == ["x"]


FULL = {
    "conversations": [turn("human", "<image>x"), calling(), turn("observation", "y"), turn("gpt", "z")],
    "system": "s",
    "tools": json.dumps([TOOL]),
    "images": ["1.png"],
    "id": "i",
}


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.one_of(mutated(FULL), mutated([FULL, FULL])))
def test_whatever_the_json_a_reading_ends_in_transcripts_or_a_refusal(document: Any) -> None:
    check_reading(read_sharegpt, json.dumps(document).encode())
