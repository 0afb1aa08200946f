"""Pydantic AI message histories."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contextctl.entries import group
from contextctl.messages import ImagePart, TextPart, ThinkingPart, ToolCallPart, Usage, part_texts
from contextctl.recording import Transcript
from contextctl.transcripts import read_transcripts
from contextctl.transcripts.pydantic_ai import read_pydantic_ai
from tests.mutations import EXAMPLES, as_lines, check_reading, mutated


def part(kind: str, content: object = None, **fields: object) -> dict[str, Any]:
    return {"part_kind": kind, "content": content, **fields}


def request(*parts: object, **more: object) -> dict[str, Any]:
    return {"kind": "request", "parts": list(parts), "timestamp": "t1", **more}


def response(*parts: object, **more: object) -> dict[str, Any]:
    usage = {"input_tokens": 120, "cache_read_tokens": 100, "output_tokens": 7}
    told = {"usage": usage, "model_name": "m-1", "provider_response_id": "r1", "timestamp": "t2"}
    return {"kind": "response", "parts": list(parts), **told, **more}


def call(identity: str, args: object = '{"at":"x"}', kind: str = "tool-call") -> dict[str, Any]:
    return {"part_kind": kind, "tool_name": "look", "args": args, "tool_call_id": identity}


def returned(identity: str, content: object, kind: str = "tool-return") -> dict[str, Any]:
    return part(kind, content, tool_name="look", tool_call_id=identity)


ASK = request(part("system-prompt", "rules"), part("user-prompt", "do it"))
THOUGHT = part("thinking", "hm", signature="sig")
RUN = [
    ASK,
    response(
        part("thinking", "hm", signature="sig"), part("text", "so"), call("c1"), call("c2", {"at": "é"})
    ),
    request(returned("c1", "one"), returned("c2", {"n": 2})),
    response(part("text", "ok"), provider_response_id="r2"),
]


def only(*messages: object) -> Transcript:
    (transcript,) = read_transcripts(json.dumps(messages).encode(), "logs/a.json")
    assert transcript.format == "pydantic-ai"
    return transcript


def words(transcript: Transcript, *, live: bool = False) -> list[str]:
    return [
        " ".join(part_texts(message.content))
        for message in transcript.messages
        if not (live and message.superseded)
    ]


def test_every_part_of_a_request_is_a_message_and_a_response_is_one() -> None:
    transcript = only(*RUN)
    assert [message.role for message in transcript.messages] == [
        *("system", "user", "assistant", "tool", "tool", "assistant")
    ]
    reply = transcript.messages[2]
    assert reply.content == (
        *(ThinkingPart(text="hm", signature="sig"), TextPart(text="so")),
        ToolCallPart(id="c1", name="look", arguments='{"at":"x"}'),
        ToolCallPart(id="c2", name="look", arguments='{"at":"é"}'),
    )
    assert reply.usage == Usage(input_tokens=120, cached_tokens=100, output_tokens=7)
    assert (reply.response_id, reply.time, transcript.model, transcript.lacks) == (
        "r1",
        "t2",
        "m-1",
        ("tools",),
    )
    assert words(transcript)[4] == '{"n":2}'
    places = [str(message.location) for message in transcript.messages]
    assert places[3:5] == ["logs/a.json:1:3", "logs/a.json:1:3"]
    assert not transcript.findings
    assert not group(transcript.messages)[1]


def test_of_the_instructions_only_the_latest_are_sent_behind_the_system_prompt() -> None:
    later = request(part("user-prompt", "more"), instructions="now this")
    transcript = only({**ASK, "instructions": "first that"}, response(part("text", "ok")), later)
    assert words(transcript) == ["rules", "now this", "do it", "ok", "more"]
    assert [message.role for message in transcript.messages][:2] == ["system", "system"]
    assert str(transcript.messages[1].location) == "logs/a.json:1:3"


def test_a_retry_answers_its_call_or_is_said_by_the_user() -> None:
    problem = part("retry-prompt", [{"msg": "bad"}], tool_name="look", tool_call_id="c1")
    transcript = only(ASK, response(call("c1")), request(problem), request(part("retry-prompt", "again")))
    assert transcript.messages[3].results[0].call_id == "c1"
    assert words(transcript)[3:] == ['[{"msg":"bad"}]', "again"]
    assert transcript.messages[4].role == "user"


def test_what_the_provider_ran_itself_stands_between_the_parts_of_one_response() -> None:
    ran = [call("b1", kind="builtin-tool-call"), returned("b1", "found", "builtin-tool-return")]
    transcript = only(ASK, response(*ran, part("text", "ok")))
    assert [message.role for message in transcript.messages][2:] == ["assistant", "tool", "assistant"]
    assert transcript.calls == 1
    assert [message.usage is not None for message in transcript.messages] == [
        False,
        False,
        True,
        False,
        False,
    ]
    entries, remarks = group(transcript.messages)
    assert (len(entries), remarks) == (3, ())


def test_prompts_may_hold_media_and_marks_for_a_cache_are_no_content() -> None:
    content = [
        "see",
        {"kind": "image-url", "url": "http://x/y.png"},
        {"kind": "binary", "data": "AA", "media_type": "image/png"},
        {"kind": "binary", "data": "AA", "media_type": "audio/wav"},
        {"kind": "document-url", "url": "http://x/y.pdf"},
        {"kind": "cache-point"},
        {"kind": "text-content", "content": "more"},
    ]
    parts = only(request(part("user-prompt", content))).messages[0].content
    assert [item.type for item in parts] == ["text", "image", "image", "audio", "file", "text"]
    assert parts[2] == ImagePart(url="data:image/png;base64,AA")
    shown = [{"kind": "binary", "data": "AA", "media_type": "image/png"}]
    result = only(ASK, response(call("c1")), request(returned("c1", shown))).messages[3].results[0]
    assert [item.type for item in result.content] == ["image"]


@pytest.mark.parametrize(("content", "readable"), [("so far", True), (None, False)])
def test_what_the_provider_compacted_is_superseded(content: str | None, readable: bool) -> None:
    compaction = part("compaction", content, id="k", provider_details={"encrypted": "zz"})
    transcript = only(ASK, response(compaction, part("text", "ok")), request(part("user-prompt", "more")))
    assert [message.superseded for message in transcript.messages] == [None, "compaction", None, None, None]
    assert [message.recap for message in transcript.messages] == [False, False, True, False, False]
    (told,) = transcript.compactions
    assert (told.kind, told.readable, told.location.index) == ("summary", readable, 2)
    assert (words(transcript, live=True)[1] == "so far") is readable


@pytest.mark.parametrize(
    ("usage", "told"),
    [
        ({"request_tokens": 9, "response_tokens": 2}, Usage(input_tokens=9, output_tokens=2)),
        ({"input_tokens": 0, "output_tokens": 0}, None),
        (None, None),
    ],
)
def test_usage_of_older_histories_is_read_and_zeros_say_nothing(usage: object, told: Usage | None) -> None:
    assert only(ASK, response(part("text", "ok"), usage=usage)).messages[2].usage == told


def test_a_change_of_the_model_is_noted_where_it_happens() -> None:
    second = response(part("text", "b"), model_name="m-2", provider_response_id=None)
    transcript = only(ASK, response(part("text", "a")), second)
    assert [message.model for message in transcript.messages] == [None, None, None, "m-2"]
    assert transcript.messages[3].response_id == "response-2"


def test_histories_may_be_lines_or_stand_in_an_object() -> None:
    (lines,) = read_transcripts(as_lines(*RUN), "a.jsonl")
    assert str(lines.messages[2].location) == "a.jsonl:2"
    (held,) = read_transcripts(json.dumps({"id": "run-1", "all_messages": RUN}).encode(), "a.json")
    assert (held.id, len(held.messages)) == ("run-1", len(lines.messages))


def test_what_cannot_be_read_is_reported_and_an_unknown_part_told_once() -> None:
    odd = request(part("new"), part("new"), 7, part("user-prompt", 3), part("user-prompt", "x"))
    transcript = only(odd, {"kind": "other"}, {"kind": "request"}, 7)
    told = [(item.code, str(item.severity), item.location.index) for item in transcript.findings]
    assert told == [
        *(("CTX014", "warning", 1), ("CTX011", "error", 1), ("CTX011", "error", 1)),
        *(("CTX011", "error", 2), ("CTX011", "error", 3), ("CTX011", "error", 4)),
    ]
    assert (words(transcript), transcript.skipped) == (["x"], 5)


FULL = [
    {**ASK, "instructions": "i"},
    *RUN[1:3],
    response(
        call("b1", kind="builtin-tool-call"),
        returned("b1", "f", "builtin-tool-return"),
        part("compaction", "s"),
    ),
    request(part("user-prompt", ["a", {"kind": "binary", "data": "AA", "media_type": "image/png"}])),
]


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.one_of(mutated(FULL), mutated({"messages": FULL})))
def test_whatever_the_json_a_reading_ends_in_transcripts_or_a_refusal(document: Any) -> None:
    check_reading(read_pydantic_ai, json.dumps(document).encode())
    check_reading(read_pydantic_ai, as_lines(*(document if isinstance(document, list) else [document])))
