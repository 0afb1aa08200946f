"""Anthropic Messages requests -> transcripts."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings

from contextctl.entries import group
from contextctl.errors import TranscriptError
from contextctl.messages import (
    FilePart,
    ImagePart,
    OpaquePart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolResultPart,
    part_texts,
)
from contextctl.recording import Transcript
from contextctl.transcripts import read_transcripts
from contextctl.transcripts.anthropic import read_anthropic
from contextctl.transcripts.detection import detect
from tests.mutations import EXAMPLES, check_lines, mutated

PIXELS = "iVBORw0K" * 400
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXELS}}
TOOL = {"name": "tide", "description": "High water.", "input_schema": {"type": "object"}}
USER = {"role": "user", "content": "When is high water?"}
CALLING = {
    "role": "assistant",
    "content": [
        {"type": "text", "text": "Two harbours."},
        {"type": "tool_use", "id": "t1", "name": "tide", "input": {"at": "Öresund", "day": 3}},
        {"type": "tool_use", "id": "t2", "name": "tide", "input": {}},
    ],
}
ANSWERED = {
    "role": "user",
    "content": [
        {"type": "tool_result", "tool_use_id": "t1", "content": "04:10", "is_error": False},
        {"type": "tool_result", "tool_use_id": "t2", "content": [{"type": "text", "text": "05:20"}, IMAGE]},
        {"type": "text", "text": "And tomorrow?"},
    ],
}
REQUEST: dict[str, Any] = {
    "model": "claude-sonnet-4-5",
    "max_tokens": 100,
    "system": "Answer in one line.",
    "tools": [TOOL],
    "tool_choice": {"type": "auto"},
    "messages": [USER, CALLING, ANSWERED],
}


def jsonl(*rows: object) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def only(*rows: object) -> Transcript:
    (transcript,) = read_anthropic(jsonl(*rows), "log/requests.jsonl")
    return transcript


def parts(*blocks: object, role: str = "assistant") -> tuple[object, ...]:
    transcript = only({"messages": [{"role": role, "content": list(blocks)}]})
    assert not transcript.findings
    return transcript.messages[0].content


def test_a_request_is_its_system_prompt_and_then_its_messages_with_tools_and_model() -> None:
    transcript = only(REQUEST)
    assert transcript.format == "anthropic"
    assert [message.role for message in transcript.messages] == ["system", "user", "assistant", "user"]
    assert transcript.messages[0].content == (TextPart(text="Answer in one line."),)
    assert transcript.model == "claude-sonnet-4-5"
    assert transcript.settings.tools == (TOOL,)
    assert transcript.settings.tool_choice == {"type": "auto"}
    assert (transcript.lacks, transcript.findings) == ((), ())
    places = [item.location.record for item in transcript.messages if item.location]
    assert places == [1, "1:1", "1:2", "1:3"]


def test_results_stay_in_the_user_message_that_holds_them_and_move_with_their_calls() -> None:
    transcript = only(REQUEST)
    _, user, calling, answered = transcript.messages
    assert calling.content == (
        TextPart(text="Two harbours."),
        ToolCallPart(id="t1", name="tide", arguments='{"at":"Öresund","day":3}'),
        ToolCallPart(id="t2", name="tide", arguments="{}"),
    )
    assert answered.content[0] == ToolResultPart(call_id="t1", content=(TextPart(text="04:10"),))
    assert [part.type for part in answered.results[1].content] == ["text", "image"]
    assert answered.is_user_turn
    assert user.is_user_turn
    entries, remarks = group(transcript.messages)
    assert not remarks
    assert [entry.positions for entry in entries] == [(1,), (2,), (3, 4)]


def test_a_system_prompt_of_blocks_is_one_message_and_an_empty_one_is_none() -> None:
    blocks = [
        {"type": "text", "text": "One."},
        {"type": "text", "text": "Two.", "cache_control": {"type": "x"}},
    ]
    first = only({**REQUEST, "system": blocks}).messages[0]
    assert (first.role, first.content) == ("system", (TextPart(text="One."), TextPart(text="Two.")))
    for empty in ("", [], None):
        assert only({**REQUEST, "system": empty}).messages[0].role == "user"


def test_thinking_keeps_its_signature_apart_and_sealed_thinking_is_missing_reasoning() -> None:
    shown = {"type": "thinking", "thinking": "Spring tide.", "signature": "c2ln"}
    sealed = {"type": "redacted_thinking", "data": "c2VhbGVk"}
    assert parts(shown, sealed) == (
        ThinkingPart(text="Spring tide.", signature="c2ln"),
        ThinkingPart(signature="c2VhbGVk"),
    )
    assert part_texts(parts(shown, sealed)) == ["Spring tide.", ""]
    assert only({"messages": [{"role": "assistant", "content": [shown]}]}).lacks == ()
    assert only({"messages": [{"role": "assistant", "content": [sealed]}]}).lacks == ("reasoning",)


def test_documents_of_text_are_text_and_others_are_files() -> None:
    text = {"type": "text", "media_type": "text/plain", "data": "Log."}
    blocks = {"type": "content", "content": [{"type": "text", "text": "Page."}]}
    pdf = {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0="}
    read = parts(
        {"type": "document", "source": text, "title": "Logbook"},
        {"type": "document", "source": blocks},
        {"type": "document", "source": pdf, "title": "Chart"},
        role="user",
    )
    assert read[:3] == (TextPart(text="Logbook"), TextPart(text="Log."), TextPart(text="Page."))
    assert isinstance(read[3], FilePart)
    assert read[3].name == "Chart"


def test_images_by_address_and_by_file_id_keep_them() -> None:
    by_url = {"type": "image", "source": {"type": "url", "url": "https://x.test/a.png"}}
    by_id = {"type": "image", "source": {"type": "file", "file_id": "file_1"}}
    assert parts(by_url, by_id, role="user") == (
        ImagePart(url="https://x.test/a.png"),
        ImagePart(url="file_1"),
    )


def test_a_tool_that_the_server_runs_waits_for_no_answer() -> None:
    call = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "tide"}}
    result = {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []}
    message = {"role": "assistant", "content": [call, result, {"type": "text", "text": "04:10."}]}
    transcript = only({"messages": [USER, message, USER]})
    kinds = [part.kind for part in transcript.messages[1].content if isinstance(part, OpaquePart)]
    assert kinds == ["server_tool_use", "web_search_tool_result"]
    assert group(transcript.messages)[1] == ()


def test_a_compaction_block_takes_what_stands_before_it_out_of_sight() -> None:
    block = {"type": "compaction", "content": "High water was asked for."}
    late = {"role": "assistant", "content": [block, {"type": "text", "text": "04:10."}]}
    transcript = only({**REQUEST, "messages": [USER, late, USER]})
    told = [(item.role, item.superseded, item.recap) for item in transcript.messages]
    assert told == [
        ("system", None, False),
        ("user", "compaction", False),
        ("assistant", None, True),
        ("assistant", None, False),
        ("user", None, False),
    ]
    assert part_texts(transcript.messages[2].content) == ["High water was asked for."]
    (compaction,) = transcript.compactions
    assert (compaction.kind, compaction.readable, compaction.location.record) == ("summary", True, "1:2")
    assert transcript.calls == 1


def test_only_the_newest_of_several_compactions_is_in_sight() -> None:
    def summary(text: str) -> dict[str, object]:
        return {"role": "assistant", "content": [{"type": "compaction", "content": text}]}

    transcript = only({"messages": [USER, summary("one"), USER, summary("two"), USER]})
    in_sight = [item for item in transcript.messages if item.superseded is None]
    assert [part_texts(item.content) for item in in_sight] == [["two"], ["When is high water?"]]
    whole = [m for m in transcript.messages if not m.recap and m.superseded in (None, "compaction")]
    assert len(whole) == 3
    assert len(transcript.compactions) == 2


def test_a_compaction_that_is_sealed_cannot_be_read_and_an_empty_one_changes_nothing() -> None:
    sealed = {"type": "compaction", "content": None, "encrypted_content": "c2VhbGVk"}
    transcript = only({"messages": [USER, {"role": "assistant", "content": [sealed]}, USER]})
    assert [item.readable for item in transcript.compactions] == [False]
    assert transcript.messages[1].content == (ThinkingPart(signature="c2VhbGVk"),)
    assert transcript.lacks == ("history",)
    empty = {"type": "compaction", "content": None}
    transcript = only({"messages": [USER, {"role": "assistant", "content": [empty]}, USER]})
    assert transcript.compactions == ()
    assert [item.superseded for item in transcript.messages] == [None, None, None]


def test_trap_22_each_request_of_a_log_is_a_transcript_of_its_own() -> None:
    first = {**REQUEST, "messages": [USER]}
    other = {**REQUEST, "messages": [{"role": "user", "content": "Another harbour."}]}
    transcripts = read_transcripts(jsonl(first, REQUEST, other), "log/requests.jsonl")
    assert [item.id for item in transcripts] == ["requests#1", "requests#2", "requests#3"]
    assert [len(item.messages) for item in transcripts] == [2, 4, 2]


def test_trap_23_an_image_is_no_text_however_long_its_base64_is() -> None:
    message = {"role": "user", "content": [{"type": "text", "text": "What is this?"}, IMAGE]}
    transcript = only({"model": "claude-x", "messages": [message]})
    (read,) = transcript.messages
    assert part_texts(read.content) == ["What is this?"]
    image = read.content[1]
    assert isinstance(image, ImagePart)
    assert image.url == f"data:image/png;base64,{PIXELS}"
    results = only(REQUEST).messages[3].results
    assert part_texts(results) == ["04:10", "05:20"]


def test_trap_24_a_request_reports_no_usage_which_stands_in_its_answer() -> None:
    assert all(message.usage is None for message in only(REQUEST).messages)
    answer = {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "text", "text": "04:10."}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 30, "output_tokens": 5},
    }
    with pytest.raises(TranscriptError) as caught:
        read_transcripts(jsonl(answer), "answers.jsonl")
    (problem,) = caught.value.problems
    assert problem.code == "CTX014"
    assert "anthropic responses" in problem.message
    assert "requests" in (problem.hint or "")


@pytest.mark.parametrize("indent", [None, 2])
def test_a_document_a_list_of_requests_or_messages_and_batch_lines_are_read(
    indent: int | None,
) -> None:
    batch = {"custom_id": "job-7", "params": REQUEST}
    for document, count in ((REQUEST, 1), ([REQUEST, REQUEST], 2), (REQUEST["messages"], 1), (batch, 1)):
        transcripts = read_transcripts(json.dumps(document, indent=indent).encode(), "a.json")
        assert [item.format for item in transcripts] == ["anthropic"] * count
    assert only(batch).id == "job-7"
    assert len(only(*REQUEST["messages"]).messages) == 3


def test_a_plain_exchange_goes_by_the_name_of_the_model() -> None:
    assert detect(jsonl({"model": "claude-x", "messages": [USER]})) == "anthropic"
    assert detect(jsonl({"model": "gpt-4o", "messages": [USER]})) == "openai-chat"


@pytest.mark.parametrize(
    "message",
    [
        3,
        {"content": "x"},
        {"role": 3, "content": "x"},
        {"role": "user", "content": 3},
        {"role": "user", "content": [3]},
        {"role": "user", "content": [{"type": "text", "text": None}]},
        {"role": "user", "content": [{"type": "image", "source": "x"}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": 3}]},
        {"role": "user", "content": [{"type": "tool_result", "content": {"a": 1}}]},
        {"role": "assistant", "content": [{"type": "tool_use", "name": None}]},
        {"role": "assistant", "content": [{"type": "redacted_thinking"}]},
    ],
)
def test_a_malformed_message_is_told_with_its_place_and_the_others_are_read(message: object) -> None:
    transcript = only({"messages": [USER, message, USER]})
    assert [(item.code, item.location.record) for item in transcript.findings] == [("CTX011", "1:2")]
    assert (len(transcript.messages), transcript.skipped) == (2, 1)


def test_an_unknown_role_is_an_error_and_the_message_is_kept() -> None:
    transcript = only({"messages": [USER, {"role": "narrator", "content": "x"}]})
    assert [item.code for item in transcript.findings] == ["CTX015"]
    assert len(transcript.messages) == 2


def test_a_record_that_is_no_request_is_told_and_the_others_are_read() -> None:
    transcripts = read_anthropic(jsonl(REQUEST, {"note": 1}, REQUEST, {"messages": {}}), "x.jsonl")
    codes = [(item.code, item.location.line) for one in transcripts for item in one.findings]
    assert codes == [("CTX011", 2), ("CTX011", 4)]


COMPACTED = {"role": "assistant", "content": [{"type": "compaction", "content": "so far"}]}


@settings(max_examples=EXAMPLES)
@given(mutated([{**REQUEST, "messages": [*REQUEST["messages"], COMPACTED]}] * 2))
def test_a_record_that_is_out_of_shape_is_read_or_refused_and_never_crashes(value: object) -> None:
    check_lines("anthropic", value)
