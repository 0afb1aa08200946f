"""Gemini ``contents`` requests -> transcripts."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings

from contextctl.entries import group
from contextctl.errors import TranscriptError
from contextctl.messages import (
    AudioPart,
    FilePart,
    ImagePart,
    OpaquePart,
    Part,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolResultPart,
    part_texts,
)
from contextctl.recording import Transcript
from contextctl.transcripts import read_transcripts
from contextctl.transcripts.gemini import read_gemini
from tests.mutations import EXAMPLES, check_lines, mutated

TOOLS = [{"functionDeclarations": [{"name": "tide", "parameters": {"type": "object"}}]}]
USER = {"role": "user", "parts": [{"text": "When is high water?"}]}
CALLING = {
    "role": "model",
    "parts": [
        {"functionCall": {"name": "tide", "args": {"at": "Öresund"}}, "thoughtSignature": "c2ln"},
        {"functionCall": {"name": "tide", "args": {"at": "Elbe"}}},
    ],
}
ANSWERED = {
    "role": "user",
    "parts": [
        {"functionResponse": {"name": "tide", "response": {"output": "04:10"}}},
        {"functionResponse": {"name": "tide", "response": {"output": "05:20"}}},
    ],
}
REQUEST: dict[str, Any] = {
    "systemInstruction": {"role": "user", "parts": [{"text": "Answer in one line."}]},
    "contents": [USER, CALLING, ANSWERED],
    "tools": TOOLS,
    "toolConfig": {"functionCallingConfig": {"mode": "ANY"}},
    "generationConfig": {"responseModalities": ["TEXT"]},
}


def snake(value: object) -> Any:
    """The same request as a client in Python writes it."""
    if isinstance(value, list):
        return [snake(inner) for inner in value]
    if not isinstance(value, dict):
        return value
    return {"".join(f"_{c.lower()}" if c.isupper() else c for c in key): snake(value[key]) for key in value}


def jsonl(*rows: object) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def only(*rows: object) -> Transcript:
    (transcript,) = read_gemini(jsonl(*rows), "log/requests.jsonl")
    return transcript


def parts(*values: object, role: str = "user") -> tuple[Part, ...]:
    transcript = only({"contents": [{"role": role, "parts": list(values)}]})
    assert not transcript.findings
    return transcript.messages[0].content


@pytest.mark.parametrize("request_line", [REQUEST, snake(REQUEST)], ids=["camel", "snake"])
def test_a_request_reads_the_same_in_camel_case_and_in_snake_case(request_line: dict[str, Any]) -> None:
    (transcript,) = read_transcripts(jsonl(request_line), "requests.jsonl")
    assert transcript.format == "gemini"
    assert [message.role for message in transcript.messages] == ["system", "user", "assistant", "user"]
    assert part_texts(transcript.messages[0].content) == ["Answer in one line."]
    assert transcript.messages[2].content == (
        ThinkingPart(signature="c2ln"),
        ToolCallPart(name="tide", arguments='{"at":"Öresund"}'),
        ToolCallPart(name="tide", arguments='{"at":"Elbe"}'),
    )
    assert [part_texts(result.content) for result in transcript.messages[3].results] == [
        ['{"output":"04:10"}'],
        ['{"output":"05:20"}'],
    ]
    assert transcript.settings.tools == tuple(request_line["tools"])
    assert transcript.settings.tool_choice
    places = [item.location.record for item in transcript.messages if item.location]
    assert places == [1, "1:1", "1:2", "1:3"]
    assert (transcript.lacks, transcript.findings) == (("reasoning",), ())


def test_trap_14_results_without_ids_pair_with_their_calls_by_name_and_order() -> None:
    transcript = only(REQUEST)
    entries, remarks = group(transcript.messages)
    assert not remarks
    assert [entry.positions for entry in entries] == [(1,), (2,), (3, 4)]
    with_ids = json.loads(json.dumps(CALLING))
    for number, part in enumerate(with_ids["parts"]):
        part["functionCall"]["id"] = f"made-{number}"
    results = only({**REQUEST, "contents": [USER, with_ids, ANSWERED]}).messages[3].results
    assert [(item.call_id, part_texts(item.content)[0]) for item in results] == [
        ("made-0", '{"output":"04:10"}'),
        ("made-1", '{"output":"05:20"}'),
    ]


def test_results_with_ids_keep_them_in_any_order() -> None:
    calls = [{"functionCall": {"name": "tide", "args": {}, "id": name}} for name in ("a", "b")]
    answers = [{"functionResponse": {"name": "tide", "response": {}, "id": name}} for name in ("b", "a")]
    contents = [USER, {"role": "model", "parts": calls}, {"role": "function", "parts": answers}]
    transcript = only({**REQUEST, "contents": contents})
    assert transcript.messages[3].role == "tool"
    assert [result.call_id for result in transcript.messages[3].results] == ["b", "a"]
    assert group(transcript.messages)[1] == ()


def test_a_result_whose_call_has_no_id_goes_by_its_name() -> None:
    named = {"role": "user", "parts": [{"functionResponse": {"name": "tide", "id": "x", "response": {}}}]}
    transcript = only({"contents": [USER, {"role": "model", "parts": [CALLING["parts"][1]]}, named]})
    assert group(transcript.messages)[1] == ()


def test_thoughts_are_thinking_and_a_signature_beside_any_part_is_sealed_reasoning() -> None:
    assert parts({"text": "Look it up.", "thought": True}, {"text": "04:10", "thoughtSignature": "c2ln"}) == (
        ThinkingPart(text="Look it up."),
        ThinkingPart(signature="c2ln"),
        TextPart(text="04:10"),
    )
    assert parts({"thoughtSignature": "c2ln"}) == (ThinkingPart(signature="c2ln"),)
    assert parts({"text": ""}) == (TextPart(text=""),)


def test_media_are_images_sounds_and_files_and_no_text() -> None:
    read = parts(
        {"inlineData": {"mimeType": "image/png", "data": "iVBO" * 200}},
        {"file_data": {"mime_type": "image/png", "file_uri": "gs://x/a.png"}},
        {"inlineData": {"mimeType": "audio/wav", "data": "AAAA"}},
        {"fileData": {"mimeType": "application/pdf", "fileUri": "gs://x/a.pdf", "displayName": "Chart"}},
    )
    assert read[0] == ImagePart(url="data:image/png;base64," + "iVBO" * 200)
    assert read[1] == ImagePart(url="gs://x/a.png")
    assert isinstance(read[2], AudioPart)
    assert isinstance(read[3], FilePart)
    assert read[3].name == "Chart"
    assert part_texts(read) == []


def test_media_in_a_function_response_stay_with_the_result() -> None:
    image = {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}
    (result,) = parts({"functionResponse": {"name": "look", "response": {"ok": True}, "parts": [image]}})
    assert result == ToolResultPart(
        name="look", content=(TextPart(text='{"ok":true}'), ImagePart(url="data:image/png;base64,AAAA"))
    )


def test_code_that_the_server_ran_is_kept_as_it_is() -> None:
    code = {"executableCode": {"language": "PYTHON", "code": "1+1"}}
    read = parts(code, {"code_execution_result": {"output": "2"}}, {"hologram": 1}, role="model")
    kinds = [part.kind for part in read if isinstance(part, OpaquePart)]
    assert kinds == ["executableCode", "codeExecutionResult", "untyped"]


@pytest.mark.parametrize("system", ["Be brief.", {"text": "Be brief."}, [{"text": "Be brief."}]])
def test_a_system_instruction_may_be_a_text_a_part_or_a_list_of_parts(system: object) -> None:
    first = only({"contents": [USER], "system_instruction": system}).messages[0]
    assert (first.role, part_texts(first.content)) == ("system", ["Be brief."])


def test_the_arguments_of_a_python_client_are_read_with_their_config() -> None:
    config = {"system_instruction": "Be brief.", "tools": TOOLS, "response_schema": {"type": "object"}}
    transcript = only({"model": "models/gemini-2.5-flash", "contents": "Hello.", "config": config})
    assert [message.role for message in transcript.messages] == ["system", "user"]
    assert (transcript.model, transcript.settings.tools) == ("gemini-2.5-flash", tuple(TOOLS))
    assert transcript.settings.response_format == {"type": "json_schema", "json_schema": {"type": "object"}}


def test_content_that_is_cached_at_the_provider_is_missing_and_told() -> None:
    transcript = only({"contents": [USER], "cachedContent": "cachedContents/1"})
    assert transcript.lacks == ("system", "history")
    assert [item.code for item in transcript.findings] == ["CTX407"]


def test_trap_24_a_request_reports_no_usage_which_stands_in_its_answer() -> None:
    assert all(message.usage is None for message in only(REQUEST).messages)
    answer = {"candidates": [{"content": CALLING}], "usageMetadata": {"promptTokenCount": 9}}
    with pytest.raises(TranscriptError) as caught:
        read_transcripts(jsonl(answer), "answers.jsonl")
    assert "gemini responses" in caught.value.problems[0].message


@pytest.mark.parametrize("indent", [None, 2])
def test_a_document_a_list_of_requests_or_contents_and_batch_lines_are_read(indent: int | None) -> None:
    batch = {"key": "job-7", "request": REQUEST}
    for document, count in ((REQUEST, 1), ([REQUEST, REQUEST], 2), (REQUEST["contents"], 1), (batch, 1)):
        transcripts = read_transcripts(json.dumps(document, indent=indent).encode(), "a.json")
        assert [item.format for item in transcripts] == ["gemini"] * count
    assert only(batch).id == "job-7"
    assert len(only(*REQUEST["contents"]).messages) == 3


def test_a_content_without_a_role_is_the_users_and_an_unknown_role_is_an_error() -> None:
    transcript = only(
        {"contents": [{"parts": [{"text": "x"}]}, {"role": "narrator", "parts": [{"text": "y"}]}]}
    )
    assert [message.role for message in transcript.messages] == ["user", "narrator"]
    assert [(item.code, item.location.record) for item in transcript.findings] == [("CTX015", "1:2")]


@pytest.mark.parametrize(
    "content",
    [
        3,
        {"role": 3, "parts": []},
        {"role": "user", "parts": 3},
        {"role": "user", "parts": [3]},
        {"role": "user", "parts": [{"text": 3}]},
        {"role": "model", "parts": [{"functionCall": "x"}]},
        {"role": "model", "parts": [{"functionCall": {"args": {}}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": 3}}]},
    ],
)
def test_a_malformed_content_is_told_with_its_place_and_the_others_are_read(content: object) -> None:
    transcript = only({"contents": [USER, content, USER]})
    assert [(told.code, told.location.record) for told in transcript.findings] == [("CTX011", "1:2")]
    assert (len(transcript.messages), transcript.skipped) == (2, 1)


@settings(max_examples=EXAMPLES)
@given(mutated([REQUEST, snake(REQUEST)], REQUEST["contents"]))
def test_a_record_that_is_out_of_shape_is_read_or_refused_and_never_crashes(value: object) -> None:
    check_lines("gemini", value)
