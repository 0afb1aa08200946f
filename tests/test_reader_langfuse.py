"""Langfuse: exported traces, and exported rows of observations and traces."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings

from contextctl.errors import TranscriptError
from contextctl.recording import Transcript
from contextctl.transcripts import read_transcripts
from contextctl.transcripts.detection import detect
from tests.mutations import EXAMPLES, check_lines, mutated

SYSTEM = {"role": "system", "content": "be brief"}
ASK = {"role": "user", "content": "how deep is the lake?"}
CALL = {"id": "c1", "type": "function", "function": {"name": "depth", "arguments": '{"of":"lake"}'}}
ANSWER = {"role": "assistant", "content": "", "tool_calls": [CALL]}
RESULT = {"role": "tool", "tool_call_id": "c1", "content": "12 m"}
LAST = {"role": "assistant", "content": "12 m deep"}


def observation(number: int, given: object, answered: object, **more: object) -> dict[str, object]:
    return {
        "id": f"o{number}",
        "type": "GENERATION",
        "name": "chat",
        "startTime": f"2025-01-01T00:00:0{number}.000Z",
        "parentObservationId": "run",
        "model": "gpt-4o",
        "input": json.dumps(given),
        "output": json.dumps(answered),
        "usageDetails": {"input": 10 * number, "output": 2, "total": 10 * number + 2},
        **more,
    }


RUN: dict[str, object] = {
    "id": "run",
    "type": "AGENT",
    "name": "guide",
    "startTime": "2025-01-01T00:00:00.500Z",
    "parentObservationId": None,
    "input": json.dumps([ASK]),
    "output": json.dumps(LAST),
    "usageDetails": {"input": 30, "output": 4, "total": 34},
}
CALLS = [observation(1, [SYSTEM, ASK], ANSWER), observation(2, [SYSTEM, ASK, ANSWER, RESULT], LAST)]
TRACE: dict[str, object] = {"id": "t1", "name": "guide", "sessionId": None, "input": '"[]"', "output": None}
EXPORT = {"trace": TRACE, "observations": [CALLS[1], RUN, CALLS[0]]}


def read(*rows: object) -> tuple[Transcript, ...]:
    data = "".join(json.dumps(row) + "\n" for row in rows).encode()
    assert detect(data) == "langfuse"
    return read_transcripts(data, "logs/lake.json")


def test_the_calls_of_a_trace_are_one_transcript_in_the_order_of_their_time() -> None:
    (transcript,) = read(EXPORT)
    assert (transcript.id, transcript.model, transcript.format) == ("t1", "gpt-4o", "langfuse")
    assert [item.role for item in transcript.messages] == ["system", "user", "assistant", "tool", "assistant"]
    assert [request.usage and request.usage.input_tokens for request in transcript.requests] == [10, 20]
    assert [request.location.index for request in transcript.requests] == [3, 1]
    assert transcript.calls == 2
    assert not transcript.findings


def test_trap_17_input_that_holds_only_what_is_new_is_joined_and_a_warning_says_so() -> None:
    calls = [observation(1, [ASK], ANSWER), observation(2, [RESULT], LAST)]
    (transcript,) = read({"trace": TRACE, "observations": calls})
    assert [item.role for item in transcript.messages] == ["user", "assistant", "tool", "assistant"]
    assert [(item.code, item.severity) for item in transcript.findings] == [("CTX014", "warning")]
    assert [len(request.messages) for request in transcript.requests] == [1, 3]


@pytest.mark.parametrize("times", [0, 1, 2, 3])
def test_trap_18_json_inside_json_inside_json_is_read_however_often_it_was_encoded(times: int) -> None:
    given: object = [SYSTEM, ASK]
    answered: object = LAST
    for _ in range(times):
        given, answered = json.dumps(given), json.dumps(answered)
    row = {**observation(1, None, None), "input": given, "output": answered}
    (transcript,) = read({"trace": TRACE, "observations": [row]})
    assert [item.role for item in transcript.messages] == ["system", "user", "assistant"]


def test_trap_19_sums_of_an_agents_run_are_not_taken_for_the_size_of_a_request() -> None:
    (transcript,) = read(EXPORT)
    reported = [item.usage.input_tokens for item in transcript.messages if item.usage]
    assert reported == [10, 20]


def test_a_generation_around_another_is_not_a_call_of_its_own() -> None:
    outer = observation(1, {"prompt": "how deep?"}, "12 m", parentObservationId=None)
    inner = observation(2, [ASK], "12 m", parentObservationId="o1")
    (transcript,) = read({"trace": TRACE, "observations": [outer, inner]})
    assert [item.role for item in transcript.messages] == ["user", "assistant"]
    assert len(transcript.requests) == 1


def test_another_agent_of_the_trace_is_a_transcript_of_its_own() -> None:
    judge = observation(3, [{"role": "system", "content": "judge"}, ASK], LAST, parentObservationId="j")
    run = {**RUN, "id": "j", "name": "judge"}
    first, second = read({"trace": TRACE, "observations": [*CALLS, RUN, judge, run]})
    assert (first.id, len(first.messages)) == ("t1", 5)
    assert (second.id, len(second.messages)) == ("t1#2", 3)


def test_rows_are_grouped_by_their_session_else_by_their_trace() -> None:
    later = [SYSTEM, ASK, ANSWER, RESULT, LAST, ASK]
    rows = [
        {**CALLS[0], "traceId": "t1", "sessionId": "s"},
        {**CALLS[1], "traceId": "t2", "sessionId": "s"},
        {**observation(3, later, LAST), "traceId": "t3", "sessionId": "s"},
        {**observation(4, [ASK], LAST), "traceId": "t4"},
    ]
    session, trace = read(*rows)
    assert (session.id, len(session.messages), len(session.requests)) == ("s", 7, 3)
    assert (trace.id, len(trace.messages)) == ("t4", 2)
    assert [item.location and item.location.line for item in session.messages] == [1, 1, 1, 2, 2, 3, 3]


def test_rows_of_a_bulk_export_with_names_in_snake_case_are_read_the_same() -> None:
    row = {
        "id": "o1",
        "trace_id": "t1",
        "type": "GENERATION",
        "parent_observation_id": None,
        "start_time": "2025-01-01 00:00:01",
        "provided_model_name": "gpt-4o",
        "session_id": "s",
        "input": json.dumps({"messages": [SYSTEM, ASK]}),
        "output": "12 m",
        "usage_details": {"input": 7, "output": 2, "total": 9},
    }
    for rows in ([row], [[row]], [{"data": [row], "meta": {}}]):
        (transcript,) = read(*rows)
        assert (transcript.id, transcript.model) == ("s", "gpt-4o")
        assert transcript.requests[0].usage and transcript.requests[0].usage.input_tokens == 7


def test_a_session_of_traces_is_known_from_the_rows_of_traces() -> None:
    rows = [{**TRACE, "sessionId": "s", "timestamp": ""}, {**CALLS[0], "traceId": "t1"}]
    assert [item.id for item in read(*rows)] == ["s"]


def test_a_trace_without_a_recorded_call_is_read_by_its_own_input_and_output() -> None:
    (transcript,) = read({"trace": {**TRACE, "input": [ASK], "output": LAST}, "observations": []})
    assert [item.role for item in transcript.messages] == ["user", "assistant"]
    assert transcript.lacks == ("system", "tools")
    assert not transcript.requests
    assert [(item.code, item.severity) for item in transcript.findings] == [("CTX014", "warning")]


@pytest.mark.parametrize(
    ("details", "expected"),
    [
        ({"input": 100, "output": 9, "total": 109, "input_cache_read": 40}, (100, 40, 9)),
        ({"input": 60, "output": 9, "total": 109, "input_cached_tokens": 40}, (100, 40, 9)),
        ({"input": 10, "output": 3, "total": 20, "output_reasoning": 7}, (10, None, 10)),
        (
            {"input": 5, "output": 3, "cache_read_input_tokens": 90, "cache_creation_input_tokens": 8},
            (103, 90, 3),
        ),
        ({"input": "12", "output": 3, "total": 15}, (12, None, 3)),
    ],
)
def test_the_input_is_the_whole_request_whatever_is_counted_beside_it(
    details: dict[str, object], expected: tuple[int | None, ...]
) -> None:
    row = observation(1, [ASK], LAST, usageDetails=details)
    usage = read({"trace": TRACE, "observations": [row]})[0].requests[0].usage
    assert usage and (usage.input_tokens, usage.cached_tokens, usage.output_tokens) == expected


def test_older_exports_report_their_usage_on_the_observation() -> None:
    row = observation(1, [ASK], LAST, usageDetails={}, usage={"input": 4, "output": 2})
    usage = read({"trace": TRACE, "observations": [row]})[0].requests[0].usage
    assert usage and (usage.input_tokens, usage.output_tokens) == (4, 2)


TOOL = {"type": "function", "function": {"name": "depth"}}


@pytest.mark.parametrize(
    "more",
    [
        {"input": {"messages": [ASK], "tools": [TOOL]}},
        {"input": [ASK, {"role": "tool", "content": TOOL}]},
        {"modelParameters": {"tools": json.dumps([TOOL])}},
        {"metadata": {"tools": [json.dumps(TOOL)]}},
        {"metadata": json.dumps({"attributes": {"gen_ai.tool.definitions": json.dumps([TOOL])}})},
        {"metadata": {"attributes": {"llm.tools.0.tool.json_schema": json.dumps(TOOL)}}},
        {"metadata": {"attributes": {"model_request_parameters": {"function_tools": [TOOL]}}}},
        {"output": {"object": "response", "output": [], "tools": [TOOL], "instructions": None}},
        {"toolDefinitions": {"depth": TOOL}},
    ],
)
def test_tools_are_found_wherever_the_integration_left_them(more: dict[str, object]) -> None:
    (transcript,) = read(
        {"trace": TRACE, "observations": [{**observation(1, [ASK], None), "output": None, **more}]}
    )
    assert transcript.settings.tools == (TOOL,)
    assert [item.role for item in transcript.messages] == ["user"]


def test_the_instructions_of_a_responses_answer_are_the_system_prompt() -> None:
    answer = {
        "object": "response",
        "id": "r1",
        "instructions": "be brief",
        "output": [{**LAST, "type": "message"}],
    }
    (transcript,) = read({"trace": TRACE, "observations": [observation(1, [ASK], answer)]})
    assert [item.role for item in transcript.messages] == ["system", "user", "assistant"]
    assert transcript.messages[2].response_id == "r1"


def test_what_is_no_observation_is_reported_with_its_place_and_the_rest_is_read() -> None:
    (transcript,) = read({"trace": TRACE, "observations": [7, CALLS[0]]})
    assert [(item.code, item.location.record) for item in transcript.findings] == [("CTX011", "1:1")]
    assert transcript.skipped == 1
    assert len(transcript.messages) == 3


def test_an_export_without_a_message_is_refused() -> None:
    with pytest.raises(TranscriptError) as caught:
        read({"trace": {**TRACE, "input": None}, "observations": []})
    assert [problem.code for problem in caught.value.problems] == ["CTX013"]


@given(mutated(EXPORT, [*CALLS, RUN], {"data": [{**CALLS[0], "traceId": "t"}]}))
@settings(max_examples=EXAMPLES, deadline=None)
def test_no_record_however_mutated_makes_the_reader_raise_anything_else(value: object) -> None:
    check_lines("langfuse", value)
