"""One message inside a trace, in every shape in which a framework keeps it."""

from __future__ import annotations

import json

import pytest

from contextctl.messages import (
    AudioPart,
    FilePart,
    ImagePart,
    Message,
    OpaquePart,
    RefusalPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolResultPart,
)
from contextctl.transcripts.any_message import messages_from_any

CALL = ToolCallPart(id="c1", name="look", arguments='{"at":"é"}')
RESULT = ToolResultPart(call_id="c1", content=(TextPart(text="seen"),))
ARGUMENTS = {"at": "é"}


def read(value: object, role: str = "user") -> list[Message]:
    found = messages_from_any(value, "t.json", 1, role=role)
    assert not found.findings
    return found.messages


def told(value: object, role: str = "user") -> list[tuple[object, ...]]:
    return [(message.role, *message.content) for message in read(value, role)]


@pytest.mark.parametrize(
    "value",
    [
        {
            "role": "assistant",
            "tool_calls": [{"id": "c1", "function": {"name": "look", "arguments": '{"at":"é"}'}}],
        },
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "c1", "name": "look", "input": ARGUMENTS}],
        },
        {"role": "model", "parts": [{"functionCall": {"id": "c1", "name": "look", "args": ARGUMENTS}}]},
        {"role": "model", "parts": [{"function_call": {"id": "c1", "name": "look", "args": ARGUMENTS}}]},
        {
            "role": "assistant",
            "parts": [{"type": "tool_call", "id": "c1", "name": "look", "arguments": ARGUMENTS}],
        },
        {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "look", "arguments": '{"at":"é"}'},
        {"type": "ai", "content": [], "tool_calls": [{"id": "c1", "name": "look", "args": ARGUMENTS}]},
        {
            "type": "ai",
            "data": {"content": [], "tool_calls": [{"id": "c1", "name": "look", "args": ARGUMENTS}]},
        },
        {
            "lc": 1,
            "type": "constructor",
            "id": ["langchain_core", "messages", "AIMessage"],
            "kwargs": {"content": [], "tool_calls": [{"id": "c1", "name": "look", "args": ARGUMENTS}]},
        },
        {
            "role": "assistant",
            "content": [{"type": "tool-call", "toolCallId": "c1", "toolName": "look", "input": ARGUMENTS}],
        },
        [{"toolCallId": "c1", "toolName": "look", "input": '{"at":"é"}'}],
    ],
)
def test_a_call_is_the_same_part_whatever_shape_it_has(value: object) -> None:
    assert told(value, "assistant") == [("assistant", CALL)]


@pytest.mark.parametrize(
    ("value", "role", "part"),
    [
        ({"role": "tool", "tool_call_id": "c1", "content": "seen"}, "tool", RESULT),
        ({"role": "tool", "id": "c1", "content": "seen"}, "tool", RESULT),
        (
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "seen"}]},
            "user",
            RESULT,
        ),
        ({"type": "function_call_output", "call_id": "c1", "output": "seen"}, "tool", RESULT),
        ({"type": "tool", "tool_call_id": "c1", "content": "seen", "id": "m9"}, "tool", RESULT),
        (
            {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "seen"}]},
            "tool",
            RESULT,
        ),
        (
            {"role": "user", "parts": [{"type": "tool_call_response", "id": "c1", "result": "seen"}]},
            "user",
            RESULT,
        ),
        (
            {
                "role": "tool",
                "content": [
                    {
                        "type": "tool-result",
                        "toolCallId": "c1",
                        "toolName": "look",
                        "output": {"type": "text", "value": "seen"},
                    }
                ],
            },
            "tool",
            RESULT.model_copy(update={"name": "look"}),
        ),
        (
            {"role": "user", "parts": [{"functionResponse": {"name": "look", "response": {"a": 1}}}]},
            "user",
            ToolResultPart(name="look", content=(TextPart(text='{"a":1}'),)),
        ),
        (
            {"role": "tool", "tool_call_id": "c1", "content": {"a": [1]}},
            "tool",
            ToolResultPart(call_id="c1", content=(TextPart(text='{"a":[1]}'),)),
        ),
    ],
)
def test_a_result_keeps_the_role_of_its_format(value: object, role: str, part: ToolResultPart) -> None:
    assert told([value]) == [(role, part)]


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        ({"type": "text", "text": "a"}, TextPart(text="a")),
        ({"type": "text", "content": "a"}, TextPart(text="a")),
        ({"type": "input_text", "text": "a"}, TextPart(text="a")),
        ({"text": "a"}, TextPart(text="a")),
        ("a", TextPart(text="a")),
        ({"text": "a", "thought": True, "thoughtSignature": "s"}, ThinkingPart(text="a", signature="s")),
        ({"type": "thinking", "thinking": "a", "signature": "s"}, ThinkingPart(text="a", signature="s")),
        ({"type": "redacted_thinking", "data": "s"}, ThinkingPart(signature="s")),
        ({"type": "reasoning", "content": "a"}, ThinkingPart(text="a")),
        ({"type": "refusal", "refusal": "no"}, RefusalPart(text="no")),
        ({"type": "image_url", "image_url": {"url": "u", "detail": "low"}}, ImagePart(url="u", detail="low")),
        ({"type": "input_image", "image_url": "u"}, ImagePart(url="u")),
        (
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "QQ=="}},
            ImagePart(url="data:image/png;base64,QQ=="),
        ),
        (
            {"type": "blob", "modality": "image", "mime_type": "image/png", "content": "QQ=="},
            ImagePart(url="data:image/png;base64,QQ=="),
        ),
        (
            {"inlineData": {"mimeType": "image/png", "data": "QQ=="}},
            ImagePart(url="data:image/png;base64,QQ=="),
        ),
        ({"type": "uri", "modality": "image", "uri": "u"}, ImagePart(url="u")),
        ({"type": "sparkle", "a": 1}, OpaquePart(kind="sparkle", data='{"a":1,"type":"sparkle"}')),
    ],
)
def test_a_part_is_read_whatever_its_type_is_called(part: object, expected: object) -> None:
    assert told([{"role": "user", "content": [part]}]) == [("user", expected)]


def test_sound_and_files_are_kept_as_recorded() -> None:
    sound = {"type": "input_audio", "input_audio": {"data": "QQ=="}}
    file = {"type": "file", "file": {"filename": "a.pdf"}}
    ((_, heard, kept),) = told([{"role": "user", "content": [sound, file]}])
    assert isinstance(heard, AudioPart) and json.loads(heard.data) == sound
    assert isinstance(kept, FilePart) and kept.name == "a.pdf" and json.loads(kept.data) == file


@pytest.mark.parametrize(
    ("value", "roles"),
    [
        ({"messages": [{"role": "user", "content": "a"}], "system": "s"}, ["system", "user"]),
        (
            {"contents": [{"role": "user", "parts": [{"text": "a"}]}], "config": {"system_instruction": "s"}},
            ["system", "user"],
        ),
        ({"input": "a", "instructions": "s"}, ["system", "user"]),
        ({"prompt": "a"}, ["user"]),
        (
            {"messages": [[{"type": "system", "content": "s"}, {"type": "human", "content": "a"}]]},
            ["system", "user"],
        ),
        ({"choices": [{"message": {"role": "assistant", "content": "a"}}]}, ["assistant"]),
        ({"output": [{"type": "message", "role": "assistant", "content": "a"}]}, ["assistant"]),
        ({"candidates": [{"content": {"role": "model", "parts": [{"text": "a"}]}}]}, ["assistant"]),
        ({"generations": [[{"text": "a", "message": {"type": "ai", "content": "a"}}]]}, ["assistant"]),
        ({"content": {"role": "model", "parts": [{"text": "a"}]}}, ["assistant"]),
        (None, []),
        ([], []),
    ],
)
def test_what_wraps_the_messages_of_a_request_or_an_answer_is_taken_off(
    value: object, roles: list[str]
) -> None:
    messages = read(value)
    assert [message.role for message in messages] == roles
    texts = {"system": "s", "user": "a", "assistant": "a"}
    assert all(message.content == (TextPart(text=texts[message.role]),) for message in messages)


def test_parallel_items_of_one_answer_are_one_message() -> None:
    items = [
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}], "encrypted_content": "x"},
        {"type": "function_call", "call_id": "c1", "name": "look", "arguments": '{"at":"é"}'},
        {"type": "function_call", "call_id": "c2", "name": "look", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "seen"},
        {"type": "function_call_output", "call_id": "c2", "output": "seen"},
    ]
    answer, one, two = read(items)
    assert answer.content[0] == ThinkingPart(text="hm", signature="x")
    assert [call.id for call in answer.calls] == ["c1", "c2"]
    assert [part.call_id for part in (*one.results, *two.results)] == ["c1", "c2"]


def test_calls_that_langchain_records_twice_count_once() -> None:
    repeated = {
        "type": "ai",
        "content": [{"type": "tool_use", "id": "c1", "name": "look", "input": ARGUMENTS}],
        "tool_calls": [{"id": "c1", "name": "look", "args": ARGUMENTS}],
        "additional_kwargs": {"tool_calls": [{"id": "c1", "function": {"name": "look", "arguments": "{}"}}]},
    }
    assert told([repeated]) == [("assistant", CALL)]


def test_a_result_is_known_by_the_role_that_names_the_called_tool() -> None:
    rows = [
        {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "function": {"name": "look"}}]},
        {"role": "look", "content": "seen"},
    ]
    assert told(rows)[1] == ("tool", RESULT.model_copy(update={"name": "look"}))


def test_a_role_that_is_not_known_is_reported_and_the_message_kept() -> None:
    found = messages_from_any([{"role": "oracle", "content": "a"}], "t.json", 3, first=2)
    assert [message.role for message in found.messages] == ["oracle"]
    assert [(item.code, str(item.location)) for item in found.findings] == [("CTX015", "t.json:3:2")]


def test_what_is_no_message_is_reported_and_the_others_are_read() -> None:
    found = messages_from_any([7, {"role": "user", "content": "a"}], "t.json", 1)
    assert (len(found.messages), found.skipped) == (1, 1)
    assert [item.code for item in found.findings] == ["CTX011"]


def test_text_that_is_json_but_no_message_stays_text() -> None:
    assert told(['{"a": 1}']) == [("user", TextPart(text='{"a": 1}'))]
    assert told(["12"]) == [("user", TextPart(text="12"))]


def test_constructors_and_dumps_of_langchain_are_a_message_each() -> None:
    rows = [
        {"lc": 1, "type": "constructor", "id": ["langchain", "HumanMessage"], "kwargs": {"content": "a"}},
        {"lc": 1, "type": "constructor", "id": ["langchain", "AIMessageChunk"], "kwargs": {"content": "b"}},
        {"type": "human", "content": "c"},
        {"type": "ai", "data": {"content": "d"}},
        {"type": "chat", "data": {"role": "user", "content": "e"}},
    ]
    assert [message.role for message in read(rows)] == ["user", "assistant", "user", "assistant", "user"]
