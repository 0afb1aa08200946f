"""Vercel AI SDK messages of versions 4 and 5."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contextctl.entries import Irregularity, group
from contextctl.messages import ImagePart, TextPart, ThinkingPart, ToolCallPart, part_texts
from contextctl.recording import Transcript
from contextctl.transcripts import read_transcripts
from contextctl.transcripts.vercel_ai import read_vercel_ai
from tests.mutations import EXAMPLES, as_lines, check_reading, mutated


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value, "state": "done"}


def message(role: str, *parts: object, **more: object) -> dict[str, Any]:
    return {"id": f"{role}-1", "role": role, "parts": list(parts), **more}


def tool(call: str, state: str = "output-available", name: str = "look", **more: object) -> dict[str, Any]:
    return {"type": f"tool-{name}", "toolCallId": call, "state": state, "input": {"at": "é"}, **more}


STEP = {"type": "step-start"}
ASK = message("user", text("do it"))
TWO_STEPS = message(
    "assistant",
    *(
        STEP,
        {"type": "reasoning", "text": "hm"},
        text("so"),
        tool("c1", output={"n": 1}),
        tool("c2", output="two"),
    ),
    *(STEP, text("ok"), {"type": "source-url", "url": "http://x"}, {"type": "data-status", "data": 1}),
)


def only(*messages: object) -> Transcript:
    (transcript,) = read_transcripts(json.dumps(messages).encode(), "logs/a.json")
    assert transcript.format == "vercel-ai"
    return transcript


def words(transcript: Transcript) -> list[str]:
    return [" ".join(part_texts(item.content)) for item in transcript.messages]


def test_each_step_is_a_message_with_its_calls_and_their_results_follow() -> None:
    transcript = only(ASK, TWO_STEPS)
    assert [item.role for item in transcript.messages] == ["user", "assistant", "tool", "tool", "assistant"]
    call = ToolCallPart(id="c1", name="look", arguments='{"at":"é"}')
    assert transcript.messages[1].content[:3] == (ThinkingPart(text="hm"), TextPart(text="so"), call)
    assert words(transcript)[2:] == ['{"n":1}', "two", "ok"]
    assert [result.call_id for item in transcript.messages for result in item.results] == ["c1", "c2"]
    assert (transcript.calls, transcript.lacks, transcript.findings) == (2, ("system", "tools"), ())
    assert {str(item.location) for item in transcript.messages[1:]} == {"logs/a.json:1:2"}
    assert not group(transcript.messages)[1]


@pytest.mark.parametrize(
    ("state", "more", "result"),
    [
        ("output-available", {"output": "x"}, "x"),
        ("output-available", {"output": "x", "preliminary": True}, None),
        ("output-error", {"errorText": "bad"}, "bad"),
        ("output-denied", {"approval": {"id": "a", "approved": False, "reason": "no"}}, "no"),
        ("output-denied", {}, ""),
        ("input-available", {}, None),
        ("input-streaming", {}, None),
        ("approval-requested", {}, None),
        ("approval-responded", {}, None),
    ],
)
def test_only_final_states_have_a_result(state: str, more: dict[str, Any], result: str | None) -> None:
    transcript = only(ASK, message("assistant", tool("c1", state, **more)), message("user", text("and?")))
    assert len(transcript.messages) == (4 if result is not None else 3)
    if result is not None:
        assert words(transcript)[2] == result
    else:
        remarks = [remark.irregularity for remark in group(transcript.messages)[1]]
        assert remarks == [Irregularity.UNANSWERED_CALL]


def test_the_name_of_a_tool_is_all_that_follows_the_first_dash() -> None:
    dynamic = {**tool("c2"), "type": "dynamic-tool", "toolName": "mcp-find"}
    transcript = only(ASK, message("assistant", tool("c1", name="get-the-weather"), dynamic))
    assert [call.name for call in transcript.messages[1].calls] == ["get-the-weather", "mcp-find"]


def test_files_and_attachments_are_parts() -> None:
    picture = {"type": "file", "mediaType": "image/png", "url": "data:image/png;base64,AA"}
    document = {"type": "file", "mediaType": "application/pdf", "url": "http://x/y.pdf", "filename": "y.pdf"}
    transcript = only(message("user", text("see"), picture, document))
    assert [part.type for part in transcript.messages[0].content] == ["text", "image", "file"]
    attached = {"id": "1", "role": "user", "content": "see", "toolInvocations": []}
    attached["experimental_attachments"] = [{"url": "http://x/y.png", "contentType": "image/png"}]
    older = only(attached).messages[0]
    assert older.content == (TextPart(text="see"), ImagePart(url="http://x/y.png"))


def test_a_system_message_is_the_prompt_and_then_only_the_tools_are_lacking() -> None:
    transcript = only(message("system", text("rules")), ASK)
    assert (transcript.messages[0].role, transcript.lacks) == ("system", ("tools",))


def invoked(call: str, step: int | None = None, state: str = "result") -> dict[str, Any]:
    told = {"toolCallId": call, "toolName": "look", "args": {"a": 1}, "state": state}
    return {**told, "result": "seen"} if step is None else {**told, "result": "seen", "step": step}


def test_version_4_without_parts_has_its_calls_beside_the_text() -> None:
    answer = {"id": "1", "role": "assistant", "content": "so", "toolInvocations": [invoked("c1")]}
    user = {"id": "0", "role": "user", "content": "do it", "createdAt": "t1"}
    transcript = only(user, answer)
    assert [item.role for item in transcript.messages] == ["user", "assistant", "tool"]
    assert [part.type for part in transcript.messages[1].content] == ["text", "tool-call"]
    assert transcript.messages[0].time == "t1"
    steps = {**answer, "toolInvocations": [invoked("c1", 0), invoked("c2", 1)]}
    assert words(only(user, steps))[1:] == ['look {"a":1}', "seen", 'look {"a":1}', "seen", "so"]


def test_version_4_with_parts_has_invocations_and_reasoning_among_them() -> None:
    parts = [
        *(
            {"type": "reasoning", "reasoning": "hm"},
            {"type": "tool-invocation", "toolInvocation": invoked("c1")},
        ),
        *(STEP, text("ok")),
    ]
    transcript = only(ASK, message("assistant", *parts, content="ok"))
    assert [item.role for item in transcript.messages] == ["user", "assistant", "tool", "assistant"]
    assert transcript.messages[1].content[0] == ThinkingPart(text="hm")


def test_messages_may_be_lines_or_stand_in_a_chat() -> None:
    (lines,) = read_transcripts(as_lines(ASK, TWO_STEPS), "a.jsonl")
    assert str(lines.messages[1].location) == "a.jsonl:2"
    (chat,) = read_transcripts(json.dumps({"id": "chat-1", "messages": [ASK, TWO_STEPS]}).encode(), "a.json")
    assert (chat.id, chat.format, words(chat)) == ("chat-1", "vercel-ai", words(lines))


def test_what_cannot_be_read_is_reported_and_an_unknown_part_told_once() -> None:
    odd = message("user", {"type": "new"}, {"type": "new"}, text("x"))
    transcript = only(odd, 7, message("user", {"type": "text", "text": 3}), message("narrator", text("y")))
    told = [(item.code, str(item.severity), item.location.index) for item in transcript.findings]
    assert told == [
        *(("CTX014", "warning", 1), ("CTX011", "error", 2), ("CTX011", "error", 3), ("CTX015", "error", 4)),
    ]
    assert (words(transcript), transcript.skipped) == (["x", "y"], 2)


OLDER: dict[str, Any] = {"id": "1", "role": "assistant", "content": "so"}
OLDER |= {"toolInvocations": [invoked("c1"), invoked("c2", 1)]}
INVOKED = message("assistant", {"type": "tool-invocation", "toolInvocation": invoked("c3")})
FULL = [ASK, TWO_STEPS, OLDER, INVOKED]


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.one_of(mutated(FULL), mutated({"messages": FULL})))
def test_whatever_the_json_a_reading_ends_in_transcripts_or_a_refusal(document: Any) -> None:
    check_reading(read_vercel_ai, json.dumps(document).encode())
    check_reading(read_vercel_ai, as_lines(*(document if isinstance(document, list) else [document])))
