"""LangChain messages in their three forms."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contextctl.messages import ImagePart, TextPart, ThinkingPart, ToolCallPart, Usage, part_texts
from contextctl.recording import Transcript
from contextctl.transcripts import read_transcripts
from contextctl.transcripts.langchain import read_langchain
from tests.mutations import EXAMPLES, as_lines, check_reading, mutated

USE = {"type": "tool_use", "id": "c1", "name": "look", "input": {"at": "é"}}
OPENAI = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
CALL = {"name": "look", "args": {"at": "é"}, "id": "c1", "type": "tool_call"}
OWN = {
    "input_tokens": 120,
    "output_tokens": 7,
    "total_tokens": 127,
    "input_token_details": {"cache_read": 100},
}
FIELDS: list[tuple[str, dict[str, Any]]] = [
    ("system", {"content": "rules"}),
    ("human", {"content": "do it", "id": "h1"}),
    (
        "ai",
        {
            "content": "",
            "id": "run-1",
            "tool_calls": [CALL],
            "usage_metadata": OWN,
            "response_metadata": {"model_name": "m-1"},
        },
    ),
    ("tool", {"content": "seen", "tool_call_id": "c1", "name": "look", "artifact": {"x": 1}}),
    ("ai", {"content": "ok", "id": "run-2"}),
]
CLASSES = {"system": "SystemMessage", "human": "HumanMessage", "ai": "AIMessageChunk", "tool": "ToolMessage"}


def in_data(kind: str, fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": kind, "data": {**fields, "type": kind}}


def dumped(kind: str, fields: dict[str, Any]) -> dict[str, Any]:
    names = ["langchain_core", "messages", CLASSES[kind]]
    return {"lc": 1, "type": "constructor", "id": names, "kwargs": fields}


def flat(kind: str, fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": kind, **fields}


NINE = Usage(input_tokens=9, output_tokens=2)
FORMS = [in_data, dumped, flat]


def only(document: object) -> Transcript:
    (transcript,) = read_transcripts(json.dumps(document).encode(), "logs/a.json")
    assert transcript.format == "langchain"
    return transcript


def answer(content: object = "", **fields: object) -> Transcript:
    return only([flat("human", {"content": "x"}), flat("ai", {"content": content, **fields})])


def words(transcript: Transcript, *, live: bool = False) -> list[str]:
    return [
        " ".join(part_texts(message.content))
        for message in transcript.messages
        if not (live and message.superseded)
    ]


@pytest.mark.parametrize("form", FORMS)
def test_the_three_forms_say_the_same(form: Any) -> None:
    transcript = only([form(kind, fields) for kind, fields in FIELDS])
    assert [message.role for message in transcript.messages] == [
        *("system", "user", "assistant", "tool", "assistant")
    ]
    reply = transcript.messages[2]
    assert reply.calls == (ToolCallPart(id="c1", name="look", arguments='{"at":"é"}'),)
    assert reply.usage == Usage(input_tokens=120, cached_tokens=100, output_tokens=7)
    assert (reply.response_id, transcript.model, transcript.lacks) == ("run-1", "m-1", ("tools",))
    assert transcript.messages[3].results[0].call_id == "c1"
    assert str(transcript.messages[4].location) == "logs/a.json:1:5"
    assert not transcript.findings


@pytest.mark.parametrize("form", FORMS)
def test_messages_may_stand_alone_or_in_an_object_that_lists_them(form: Any) -> None:
    rows = [form(kind, fields) for kind, fields in FIELDS]
    (lines,) = read_transcripts(as_lines(*rows), "a.jsonl")
    assert [str(message.location) for message in lines.messages][3] == "a.jsonl:4"
    held = [{"messages": rows}, {"values": {"messages": rows}}, [{"id": "t-1", "messages": rows}]]
    for document in held:
        assert words(only(document)) == words(lines)
    assert only(held[2]).id == "t-1"


@pytest.mark.parametrize(
    "fields",
    [
        {"tool_calls": [CALL], "content": [USE]},
        {"content": [USE]},
        {"content": [CALL], "tool_calls": [CALL]},
        {"content": [CALL]},
        {"content": None, "tool_calls": [CALL], "additional_kwargs": {"tool_calls": [OPENAI]}},
    ],
)
def test_a_call_that_stands_in_several_places_is_read_once(fields: dict[str, Any]) -> None:
    message = answer(**fields).messages[1]
    assert message.content == (ToolCallPart(id="c1", name="look", arguments='{"at":"é"}'),)


def test_calls_in_openai_form_and_calls_that_could_not_be_parsed_are_calls() -> None:
    assert answer(additional_kwargs={"tool_calls": [OPENAI]}).messages[1].calls[0].name == "look"
    older = answer(additional_kwargs={"function_call": {"name": "look", "arguments": "{}"}}).messages[1]
    assert older.calls[0].legacy
    broken = answer(invalid_tool_calls=[{"name": "look", "args": "{broken", "id": "c2", "error": "e"}])
    assert broken.messages[1].calls == (ToolCallPart(id="c2", name="look", arguments="{broken"),)


def test_blocks_of_every_provider_are_parts() -> None:
    content = [
        "plain",
        {"type": "text", "text": "t"},
        {"type": "image_url", "image_url": {"url": "http://x/y.png"}},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA"}},
        {"type": "image", "base64": "BB", "mime_type": "image/png"},
        {"type": "image", "url": "http://x/z.png"},
    ]
    assert only([flat("human", {"content": content})]).messages[0].content == (
        *(TextPart(text="plain"), TextPart(text="t")),
        *(ImagePart(url="http://x/y.png"), ImagePart(url="data:image/png;base64,AA")),
        *(ImagePart(url="data:image/png;base64,BB"), ImagePart(url="http://x/z.png")),
    )


def test_reasoning_stands_before_the_answer() -> None:
    blocks = [
        {"type": "thinking", "thinking": "deep", "signature": "sig"},
        {"type": "reasoning", "reasoning": "more"},
        {"type": "text", "text": "ok"},
    ]
    assert answer(blocks).messages[1].content == (
        ThinkingPart(text="deep", signature="sig"),
        ThinkingPart(text="more"),
        TextPart(text="ok"),
    )


@pytest.mark.parametrize(
    ("metadata", "usage"),
    [
        ({"token_usage": {"prompt_tokens": 9, "completion_tokens": 2}}, NINE),
        ({"tokenUsage": {"promptTokens": 9, "completionTokens": 2}}, NINE),
        (
            {"usage": {"input_tokens": 4, "cache_read_input_tokens": 5, "output_tokens": 2}},
            Usage(input_tokens=9, cached_tokens=5, output_tokens=2),
        ),
        ({}, None),
    ],
)
def test_usage_in_a_providers_own_names_is_read_where_there_is_no_other(
    metadata: dict[str, Any], usage: Usage | None
) -> None:
    assert answer("ok", response_metadata=metadata).messages[1].usage == usage


def test_a_chat_message_keeps_its_role_and_an_unknown_one_is_told() -> None:
    rows = [in_data("human", {"content": "x"}), in_data("chat", {"role": "narrator", "content": "y"})]
    transcript = only(rows)
    assert transcript.messages[1].role == "narrator"
    assert [item.code for item in transcript.findings] == ["CTX015"]


@pytest.mark.parametrize(("identity", "left"), [("h1", ["y", "z"]), ("__remove_all__", ["z"])])
def test_what_is_removed_by_its_id_is_superseded(identity: str, left: list[str]) -> None:
    rows = [flat("human", {"content": "x", "id": "h1"}), flat("ai", {"content": "y", "id": "a1"})]
    removal = {"type": "remove", "content": "", "id": identity}
    transcript = only([*rows, removal, flat("human", {"content": "z"})])
    assert words(transcript, live=True) == left
    assert words(transcript) == ["x", "y", "z"]
    assert [(told.kind, told.location.index) for told in transcript.compactions] == [("trimmed", 3)]


def test_what_is_no_message_is_reported_by_its_place_and_the_others_are_read() -> None:
    rows = [flat("human", {"content": "x"}), 7, {"type": "new"}, flat("ai", {"content": 3})]
    transcript = only([*rows, flat("ai", {"content": "y"})])
    assert [(item.code, item.location.index) for item in transcript.findings] == [
        *(("CTX011", 2), ("CTX011", 3), ("CTX011", 4))
    ]
    assert (words(transcript), transcript.skipped) == (["x", "y"], 3)


REMOVAL = {"type": "remove", "id": "h1"}
FULL = [in_data(*FIELDS[0]), dumped(*FIELDS[1]), flat(*FIELDS[2]), in_data(*FIELDS[3]), REMOVAL]


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.one_of(mutated(FULL), mutated({"messages": FULL}), mutated([{"messages": FULL}])))
def test_whatever_the_json_a_reading_ends_in_transcripts_or_a_refusal(document: Any) -> None:
    check_reading(read_langchain, json.dumps(document).encode())
    check_reading(read_langchain, as_lines(*(document if isinstance(document, list) else [document])))
