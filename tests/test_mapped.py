"""Records that wrap requests in a shape of a house's own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contextctl.errors import TranscriptError, UsageError
from contextctl.loading.transcript_files import load_transcripts
from contextctl.messages import ToolCallPart
from contextctl.recording import Transcript
from contextctl.transcripts import read_transcripts
from contextctl.transcripts.field_map import field_map, field_map_from_text
from tests.mutations import mutated
from tests.test_cli import run

SECRET = "the vault opens at nine"
HELLO = {"role": "user", "content": SECRET}
ANSWER = {"role": "assistant", "content": "hi"}
TOOL = {"type": "function", "function": {"name": "look"}}
FLAT = {"name": "look", "input_schema": {}}
ROW = {
    "trace": "t1",
    "request": {"llm": "gpt-4o", "body": [HELLO, ANSWER]},
    "offered": [TOOL],
    "rules": "be brief",
}
MAP = "messages=request.body,id=trace,model=request.llm,tools=offered,system=rules"


def read(*rows: object, map: str = MAP, format: str | None = None) -> tuple[Transcript, ...]:
    data = "".join(json.dumps(row) + "\n" for row in rows).encode()
    return read_transcripts(data, "logs/house.jsonl", format, field_map(field_map_from_text(map)))


def refusal(*rows: object, map: str = MAP) -> TranscriptError:
    with pytest.raises(TranscriptError) as caught:
        read(*rows, map=map)
    assert SECRET not in str(caught.value)
    return caught.value


def told(transcript: Transcript) -> list[str]:
    return [f"{item.location.record} {item.code} {item.message}" for item in transcript.findings]


def test_a_map_says_where_a_wrapper_has_the_parts_of_a_request() -> None:
    (transcript,) = read(ROW)
    assert (transcript.id, transcript.model, transcript.format) == ("t1", "gpt-4o", "openai-chat")
    assert transcript.settings.tools == (TOOL,)
    assert [message.role for message in transcript.messages] == ["system", "user", "assistant"]
    assert [message.location and message.location.record for message in transcript.messages] == [
        1,
        "1:1",
        "1:2",
    ]
    assert not transcript.findings


def test_paths_go_through_lists_json_in_strings_and_keys_with_dots() -> None:
    for row, path in (
        ({"calls": [{"m": []}, {"m": [HELLO]}]}, "calls.1.m"),
        ({"calls": [{"m": []}, {"m": [HELLO]}]}, "calls[-1].m"),
        ([[HELLO], 1], "0"),
        ({"gen.input": {"list": json.dumps([HELLO])}}, "gen.input.list"),
        ({"payload": json.dumps({"body": [HELLO]})}, "payload.body"),
    ):
        (transcript,) = read({"r": row}, map=f"messages=r.{path}")
        assert [message.role for message in transcript.messages] == ["user"]


def test_a_path_may_lead_to_a_whole_request() -> None:
    request = {"model": "claude-x", "system": "s", "messages": [HELLO], "tools": [{"name": "a"}]}
    (transcript,) = read({"sent": request, "who": 7}, map="messages=sent,id=who")
    assert (transcript.format, transcript.model, transcript.id) == ("anthropic", "claude-x", "7")
    assert [message.role for message in transcript.messages] == ["system", "user"]


CALL = {"type": "function_call", "call_id": "c", "name": "look", "arguments": "{}"}
USE = {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "look", "input": {}}]}
PARTS = {"role": "model", "parts": [{"functionCall": {"name": "look", "args": {}}}]}
CHAIN = {
    "type": "ai",
    "data": {"content": "", "tool_calls": [{"name": "look", "args": {}, "id": "c", "type": "tool_call"}]},
}


@pytest.mark.parametrize(
    ("called", "format"),
    [(CALL, "openai-responses"), (USE, "anthropic"), (PARTS, "gemini"), (CHAIN, "langchain")],
)
def test_the_list_is_read_in_the_shape_that_it_has(called: dict[str, Any], format: str) -> None:
    row = {"log": {"turns": [called]}, "llm": "some-model", "offered": [FLAT], "rules": "be brief"}
    (transcript,) = read(row, map="messages=log.turns,model=llm,tools=offered,system=rules")
    assert (transcript.format, transcript.model) == (format, "some-model")
    assert transcript.settings.tools == (FLAT,)
    assert transcript.lacks == ()
    system, message = transcript.messages
    assert system.role == "system"
    assert any(isinstance(part, ToolCallPart) and part.name == "look" for part in message.content)


def test_a_named_format_is_that_of_the_requests() -> None:
    (transcript,) = read({"m": [HELLO]}, map="messages=m", format="anthropic")
    assert transcript.format == "anthropic"
    (transcript,) = read({"m": [{"text": "x"}, HELLO]}, map="messages=m", format="openai-responses")
    assert transcript.format == "openai-responses"


def test_a_document_may_be_a_list_of_wrappers() -> None:
    assert [item.id for item in read([{"m": [HELLO]}, {"m": [HELLO]}], map="messages=m")] == [
        "house#1",
        "house#2",
    ]


def test_a_record_without_messages_is_a_finding_with_the_keys_that_were_seen() -> None:
    wrong = {"trace": "t2", "request": {"llm": "gpt-4o", "text": SECRET}}
    first, second = read(ROW, wrong, {**ROW, "trace": "t3"})
    assert told(first) == [
        "2 CTX011 nothing stands at 'request.body': 'request' is an object with the keys llm, text; "
        "it was not read"
    ]
    assert (first.skipped, second.skipped, second.id) == (1, 0, "t3")
    assert first.findings[0].is_input_error


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (ROW, "nothing stands at 'body': the record is an object with the keys offered, request, rules"),
        ({SECRET: 1}, "nothing stands at 'body': the record is an object with no plain keys"),
        ({"body": SECRET}, "at the path of the messages stands a string"),
        (3, "nothing stands at 'body': the record is a number"),
        ([[]], "nothing stands at 'body': the record is a list of 0"),
    ],
)
def test_a_path_that_is_wrong_for_all_records_is_one_error(row: object, reason: str) -> None:
    (problem,) = refusal(row, row, map="messages=body").problems
    assert problem.code == "CTX011"
    assert reason in problem.message
    assert problem.hint


def test_an_index_beyond_a_list_tells_how_long_it_is() -> None:
    (problem,) = refusal({"calls": [1, 2]}, map="messages=calls.2").problems
    assert "nothing stands at 'calls.2': 'calls' is a list of 2" in problem.message


def test_a_path_of_another_field_that_no_record_has_is_a_warning() -> None:
    first, second = read({"m": [HELLO]}, {"m": [HELLO]}, map="messages=m,model=llm")
    assert told(first) == [
        "1 CTX011 the map's 'model' was found in no record: nothing stands at 'llm': "
        "the record is an object with the keys m"
    ]
    assert not first.findings[0].is_input_error
    assert not second.findings
    assert not any(item.findings for item in read({"m": [HELLO]}, ROW | {"m": [HELLO]}, map="messages=m"))


def test_an_empty_file_is_empty_with_a_map_too() -> None:
    assert refusal().rule == "CTX013"
    assert refusal({"request": {"body": []}}).rule == "CTX013"


@pytest.mark.parametrize(
    "text", ["", "messages", "messages=", "id=a", "messages=a..b", "messages=a,messages=b", "messages=a,x=b"]
)
def test_a_map_that_cannot_be_used_is_a_usage_error_that_shows_one_that_can(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        field_map_from_text(text)
    assert caught.value.hint


def test_the_library_takes_the_paths_by_name(tmp_path: Path) -> None:
    file = tmp_path / "house.jsonl"
    file.write_text(json.dumps(ROW), encoding="utf-8")
    (transcript,) = load_transcripts(file, map={"messages": "request.body", "id": "trace"})
    assert transcript.id == "t1"
    with pytest.raises(UsageError, match="'turns'"):
        load_transcripts(file, map={"messages": "a", "turns": "b"})


def test_the_error_for_an_unknown_format_shows_a_map_that_reads_the_file() -> None:
    row = {
        "id": "t1",
        SECRET: 1,
        "event": {"payload": json.dumps({"model": "gpt-4o", "items": [{"turns": [HELLO]}]})},
    }
    data = json.dumps(row).encode()
    with pytest.raises(TranscriptError) as caught:
        read_transcripts(data, "x.jsonl")
    hint = caught.value.hint or ""
    assert "--map messages=event.payload.items.0.turns,id=id,model=event.payload.model;" in hint
    option = hint.split("--map ")[1].split(";")[0]
    (transcript,) = read(row, map=option)
    assert (transcript.id, transcript.model, len(transcript.messages)) == ("t1", "gpt-4o", 1)


def test_where_no_messages_are_seen_the_error_shows_the_option_with_a_key_of_the_records() -> None:
    with pytest.raises(TranscriptError) as caught:
        read_transcripts(b'{"beta": 1, "alpha": {"x": 2}}', "x.jsonl")
    assert "--map messages=alpha;" in (caught.value.hint or "")


def test_the_command_line_takes_a_map(tmp_path: Path) -> None:
    file = tmp_path / "house.jsonl"
    file.write_text(json.dumps(ROW), encoding="utf-8")
    result = run("audit", "house.jsonl", "--map", MAP, "-f", "json", "--fail-on", "never", cwd=tmp_path)
    assert result.returncode == 0
    assert json.loads(result.stdout)["transcripts"][0]["id"] == "t1"
    result = run("audit", "house.jsonl", "--map", "message=request", cwd=tmp_path)
    assert result.returncode == 2
    assert "messages, id, model, tools, system" in result.stderr.decode()
    assert run("audit", "house.jsonl", "--map", "messages=turns", cwd=tmp_path).returncode == 3


@settings(max_examples=300, deadline=None)
@given(mutated(ROW), st.sampled_from([MAP, "messages=request", "messages=request.body.0"]))
def test_no_wrapper_crashes_the_reading(row: object, map: str) -> None:
    try:
        transcripts = read(row, ROW, map=map)
    except TranscriptError as error:
        assert error.problems
        return
    assert all(item.findings for item in transcripts if item.skipped)
