"""OpenAI Responses requests and items -> transcripts."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings

from contextctl.entries import group
from contextctl.errors import TranscriptError
from contextctl.findings import Severity
from contextctl.messages import (
    FilePart,
    ImagePart,
    OpaquePart,
    RefusalPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolResultPart,
    part_texts,
)
from contextctl.recording import Transcript
from contextctl.transcripts import read_transcripts
from contextctl.transcripts.detection import detect
from contextctl.transcripts.openai_responses import read_openai_responses
from tests.mutations import EXAMPLES, check_lines, mutated

TIDE = {"type": "function", "name": "tide", "parameters": {"type": "object"}, "strict": True}
WIND = {"type": "function", "name": "wind", "parameters": {"type": "object"}}
USER = {"role": "user", "content": "When is high water?"}
SAID = {"role": "assistant", "content": "At 04:10."}
THOUGHT = {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Look it up."}]}
CALL = {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "tide", "arguments": '{"at": "Ö"}'}
CALL_2 = {**CALL, "id": "fc_2", "call_id": "c2", "arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "c1", "output": "04:10"}
OUTPUT_2 = {**OUTPUT, "call_id": "c2", "output": [{"type": "input_text", "text": "05:20"}]}
REQUEST: dict[str, Any] = {
    "model": "gpt-5.6",
    "instructions": "Answer in one line.",
    "tools": [TIDE],
    "tool_choice": "auto",
    "input": [USER, THOUGHT, CALL, CALL_2, OUTPUT, OUTPUT_2],
}


def jsonl(*rows: object) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def only(*rows: object) -> Transcript:
    (transcript,) = read_openai_responses(jsonl(*rows), "log/requests.jsonl")
    return transcript


def items(*values: object) -> Transcript:
    return only({"model": "gpt-5.6", "input": list(values)})


def part(value: object) -> object:
    transcript = items(value)
    assert not transcript.findings
    (message,) = transcript.messages
    (read,) = message.content
    return read


def test_instructions_are_the_system_prompt_and_stand_before_the_input() -> None:
    transcript = only(REQUEST)
    roles = [message.role for message in transcript.messages]
    assert roles == ["system", "user", "assistant", "tool", "tool"]
    assert part_texts(transcript.messages[0].content) == ["Answer in one line."]
    assert (transcript.model, transcript.settings.tools) == ("gpt-5.6", (TIDE,))
    assert transcript.settings.tool_choice == "auto"
    places = [item.location.record for item in transcript.messages if item.location]
    assert places == [1, "1:1", "1:2", "1:5", "1:6"]
    assert (transcript.lacks, transcript.findings) == ((), ())


def test_a_schema_for_the_answer_is_a_response_format_and_plain_text_is_none() -> None:
    schema = {"type": "json_schema", "name": "tide", "schema": {"type": "object"}}
    read = only({**REQUEST, "text": {"format": schema}}).settings.response_format
    assert read == {"type": "json_schema", "json_schema": schema}
    assert only({**REQUEST, "text": {"format": {"type": "text"}}}).settings.response_format is None


def test_input_that_is_a_text_is_one_user_message() -> None:
    (message,) = only({"model": "gpt-5.6", "input": "Hello."}).messages
    assert (message.role, message.content) == ("user", (TextPart(text="Hello."),))


def test_items_of_one_response_are_one_message_and_pair_with_their_outputs_by_call_id() -> None:
    transcript = only(REQUEST)
    answer = transcript.messages[2]
    assert answer.content == (
        ThinkingPart(text="Look it up."),
        ToolCallPart(id="c1", name="tide", arguments='{"at": "Ö"}'),
        ToolCallPart(id="c2", name="tide", arguments="{}"),
    )
    assert [message.results[0].call_id for message in transcript.messages[3:]] == ["c1", "c2"]
    assert transcript.messages[4].results[0].content == (TextPart(text="05:20"),)
    entries, remarks = group(transcript.messages)
    assert not remarks
    assert [entry.positions for entry in entries] == [(1,), (2,), (3, 4, 5)]
    assert transcript.calls == 1


def test_texts_that_follow_one_another_stay_messages_of_one_response() -> None:
    transcript = items(USER, SAID, CALL, SAID, OUTPUT, SAID)
    roles = [(item.role, item.response_id) for item in transcript.messages]
    assert roles == [
        ("user", None),
        ("assistant", "response-1"),
        ("assistant", "response-1"),
        ("tool", None),
        ("assistant", "response-2"),
    ]
    assert transcript.calls == 2


def test_every_kind_of_content_is_kept() -> None:
    content = [
        {"type": "input_text", "text": "a"},
        {"type": "output_text", "text": "b", "annotations": []},
        {"type": "input_image", "image_url": "https://x.test/a.png", "detail": "low"},
        {"type": "input_image", "file_id": "file_1"},
        {"type": "input_file", "filename": "log.pdf", "file_id": "file_2"},
        {"type": "refusal", "refusal": "no"},
        {"type": "hologram", "x": 1},
    ]
    (message,) = items({"type": "message", "role": "user", "content": content}).messages
    assert message.content == (
        TextPart(text="a"),
        TextPart(text="b"),
        ImagePart(url="https://x.test/a.png", detail="low"),
        ImagePart(url="file_1"),
        FilePart(name="log.pdf", data='{"file_id":"file_2","filename":"log.pdf","type":"input_file"}'),
        RefusalPart(text="no"),
        OpaquePart(kind="hologram", data='{"type":"hologram","x":1}'),
    )


def test_calls_of_other_kinds_pair_by_call_id_too() -> None:
    custom = {"type": "custom_tool_call", "call_id": "c1", "name": "note", "input": "free text"}
    shell = {"type": "shell_call", "call_id": "c2", "action": {"commands": ["ls"]}}
    screen = {"type": "computer_screenshot", "image_url": "data:image/png;base64,AAAA"}
    outputs = [
        {"type": "custom_tool_call_output", "call_id": "c1", "output": "kept"},
        {"type": "shell_call_output", "call_id": "c2", "output": screen},
    ]
    transcript = items(USER, custom, shell, *outputs)
    assert transcript.messages[1].calls == (
        ToolCallPart(id="c1", name="note", arguments="free text"),
        ToolCallPart(id="c2", name="shell", arguments='{"commands":["ls"]}'),
    )
    assert transcript.messages[3].results[0].content == (ImagePart(url="data:image/png;base64,AAAA"),)
    assert group(transcript.messages)[1] == ()


def test_tools_that_the_server_runs_wait_for_no_answer() -> None:
    search = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"query": "tide"}}
    read = part(search)
    assert isinstance(read, OpaquePart)
    assert (read.kind, json.loads(read.data)) == ("web_search_call", search)
    remote = {"type": "mcp_call", "id": "mcp_1", "name": "look", "arguments": "{}", "output": "seen"}
    assert isinstance(part(remote), OpaquePart)
    assert group(items(USER, search, remote, SAID, USER).messages)[1] == ()


def test_a_drawn_image_is_no_text_however_long_its_base64_is() -> None:
    drawn = part({"type": "image_generation_call", "id": "ig_1", "result": "iVBORw0K" * 200})
    assert isinstance(drawn, ImagePart)
    assert part_texts([drawn]) == []


def test_sealed_reasoning_is_missing_and_its_seal_is_no_text() -> None:
    sealed = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "c2VhbGVk"}
    transcript = items(USER, sealed, SAID)
    assert transcript.messages[1].content == (ThinkingPart(signature="c2VhbGVk"), TextPart(text="At 04:10."))
    assert transcript.lacks == ("reasoning",)


@pytest.mark.parametrize("key", ["previous_response_id", "conversation"])
def test_a_request_that_continues_a_stored_conversation_lacks_its_history_and_says_so(key: str) -> None:
    transcript = only({**REQUEST, key: "resp_1"})
    assert "history" in transcript.lacks
    (told,) = transcript.findings
    assert (told.code, told.severity, told.location.line) == ("CTX407", Severity.WARNING, 1)
    assert "stored" in told.message
    assert "history" not in only({**REQUEST, key: None}).lacks


def test_items_that_are_only_named_are_told_once_with_their_number() -> None:
    named = {"type": "item_reference", "id": "msg_1"}
    transcript = items(USER, named, named, SAID)
    assert transcript.lacks == ("history",)
    (told,) = transcript.findings
    assert (told.code, told.location.record) == ("CTX407", "1:2")
    assert "2 items" in told.message
    assert [message.role for message in transcript.messages] == ["user", "assistant"]


def test_a_stored_prompt_template_lacks_the_system_prompt() -> None:
    assert only({"model": "gpt-5.6", "prompt": {"id": "p1"}, "input": [USER]}).lacks == ("system",)


def test_trap_20_tools_that_an_item_makes_known_join_the_tool_list_once() -> None:
    loaded = {"type": "additional_tools", "role": "developer", "tools": [WIND, TIDE]}
    found = {"type": "tool_search_output", "call_id": None, "execution": "server", "tools": [WIND]}
    search = {"type": "tool_search_call", "call_id": None, "arguments": {"query": "wind"}}
    transcript = only({**REQUEST, "input": [USER, search, found, CALL, OUTPUT, loaded, SAID]})
    assert transcript.settings.tools == (TIDE, WIND)
    assert [message.role for message in transcript.messages] == [
        "system",
        "user",
        "assistant",
        "tool",
        "assistant",
    ]
    assert only({**REQUEST, "input": [USER]}).settings.tools == (TIDE,)
    assert transcript.lacks == ()
    assert not transcript.findings


def test_a_tool_search_that_the_client_runs_is_a_call_with_its_result() -> None:
    search = {"type": "tool_search_call", "call_id": "c9", "arguments": {"query": "wind"}}
    found = {"type": "tool_search_output", "call_id": "c9", "execution": "client", "tools": [WIND]}
    transcript = items(USER, search, found, SAID)
    assert transcript.messages[1].calls == (
        ToolCallPart(id="c9", name="tool_search", arguments='{"query":"wind"}'),
    )
    assert transcript.messages[2].results == (ToolResultPart(call_id="c9"),)
    assert transcript.settings.tools == (WIND,)
    assert group(transcript.messages)[1] == ()


@pytest.mark.parametrize("kind", ["compaction", "compaction_summary"])
def test_trap_21_a_sealed_compaction_is_told_of_and_cannot_be_read(kind: str) -> None:
    transcript = items({"type": kind, "id": "cmp_1", "encrypted_content": "c2VhbGVk" * 300}, USER, SAID)
    (compaction,) = transcript.compactions
    assert (compaction.readable, compaction.kind, compaction.location.record) == (False, "summary", "1:1")
    first = transcript.messages[0]
    assert first.recap
    assert part_texts(first.content) == [""]
    assert transcript.lacks == ("history",)
    assert transcript.calls == 1


def test_trap_24_a_request_reports_no_usage_which_stands_in_its_answer() -> None:
    assert all(message.usage is None for message in only(REQUEST).messages)
    answer = {"id": "resp_1", "object": "response", "output": [SAID], "usage": {"input_tokens": 9}}
    with pytest.raises(TranscriptError) as caught:
        read_transcripts(jsonl(answer, {**answer, "object": "response.compaction"}), "answers.jsonl")
    (problem,) = caught.value.problems
    assert problem.code == "CTX014"
    assert "openai-responses responses" in problem.message


@pytest.mark.parametrize("indent", [None, 2])
def test_a_document_a_list_of_requests_or_items_and_batch_lines_are_read(indent: int | None) -> None:
    batch = {"custom_id": "job-7", "url": "/v1/responses", "body": REQUEST}
    for document, count in ((REQUEST, 1), ([REQUEST, REQUEST], 2), (REQUEST["input"], 1), (batch, 1)):
        transcripts = read_transcripts(json.dumps(document, indent=indent).encode(), "a.json")
        assert [item.format for item in transcripts] == ["openai-responses"] * count
    assert only(batch).id == "job-7"


def test_items_one_a_line_are_one_conversation_with_the_lines_as_places() -> None:
    custom = {"type": "custom_tool_call", "call_id": "c9", "name": "note", "input": "x"}
    (transcript,) = read_transcripts(jsonl(*REQUEST["input"], custom), "items.jsonl")
    assert transcript.format == "openai-responses"
    places = [item.location.record for item in transcript.messages if item.location]
    assert places == [1, 2, 5, 6, 7]
    assert transcript.lacks == ("tools",)


def test_chat_is_not_taken_for_items() -> None:
    assert detect(jsonl(USER, SAID)) == "openai-chat"
    assert detect(jsonl({"model": "gpt-4o", "messages": [USER]})) == "openai-chat"


def test_an_item_of_an_unknown_kind_is_kept_and_told_once() -> None:
    strange = {"type": "telepathy", "x": 1}
    transcript = items(USER, strange, strange)
    (told,) = transcript.findings
    assert (told.code, told.severity, told.location.record) == ("CTX014", Severity.WARNING, "1:2")
    assert "'telepathy'" in told.message
    assert (
        transcript.messages[1].content
        == (OpaquePart(kind="telepathy", data='{"type":"telepathy","x":1}'),) * 2
    )


@pytest.mark.parametrize(
    "item",
    [
        3,
        {"type": 3},
        {"type": "message", "content": "x"},
        {"role": "user", "content": 3},
        {"role": "user", "content": [3]},
        {"role": "user", "content": [{"type": "input_text"}]},
        {"type": "function_call", "call_id": "c", "arguments": "{}"},
        {"type": "function_call", "call_id": 3, "name": "x"},
        {"type": "function_call_output", "call_id": "c", "output": 3},
        {"type": "compaction"},
        {"type": "additional_tools", "tools": "x"},
    ],
)
def test_a_malformed_item_is_told_with_its_place_and_the_others_are_read(item: object) -> None:
    transcript = items(USER, item, USER)
    assert [(told.code, told.location.record) for told in transcript.findings] == [("CTX011", "1:2")]
    assert (len(transcript.messages), transcript.skipped) == (2, 1)


LONGER: dict[str, Any] = {
    **REQUEST,
    "text": {"format": {"type": "json_schema"}},
    "input": [
        *REQUEST["input"],
        {"type": "additional_tools", "tools": [WIND]},
        {"type": "compaction", "encrypted_content": "x"},
    ],
}


@settings(max_examples=EXAMPLES)
@given(mutated([LONGER, LONGER], LONGER["input"]))
def test_a_record_that_is_out_of_shape_is_read_or_refused_and_never_crashes(value: object) -> None:
    check_lines("openai-responses", value)
