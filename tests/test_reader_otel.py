"""OpenTelemetry: OTLP JSON of spans and log events, in the newer and the older names."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings

from contextctl.errors import TranscriptError
from contextctl.messages import ImagePart, TextPart
from contextctl.recording import Transcript
from contextctl.transcripts import read_transcripts
from contextctl.transcripts.detection import detect
from tests.mutations import EXAMPLES, check_lines, mutated

SYSTEM = {"role": "system", "parts": [{"type": "text", "content": "be brief"}]}
ASK = {"role": "user", "parts": [{"type": "text", "content": "how deep?"}]}
ANSWER = {"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "depth", "arguments": {}}]}
RESULT = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "12 m"}]}
LAST = {"role": "assistant", "parts": [{"type": "text", "content": "12 m deep"}], "finish_reason": "stop"}
TOOL = {"type": "function", "name": "depth"}


def typed(value: object) -> dict[str, Any]:
    """OTLP's typed value."""
    match value:
        case bool():
            return {"boolValue": value}
        case int():
            return {"intValue": str(value)}
        case list():
            return {"arrayValue": {"values": [typed(item) for item in value]}}
        case dict():
            return {"kvlistValue": {"values": keyed(value)}}
        case _:
            return {"stringValue": value}


def keyed(values: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": typed(value)} for key, value in values.items()]


def span(
    number: int,
    attributes: dict[str, Any],
    *,
    parent: str = "run",
    events: list[Any] | None = None,
    trace: str = "t1",
) -> dict[str, Any]:
    return {
        "traceId": trace,
        "spanId": f"s{number}",
        "parentSpanId": parent,
        "name": "chat gpt-4o",
        "startTimeUnixNano": str(number * 10**18),
        "endTimeUnixNano": str(number * 10**18 + 5),
        "attributes": keyed(attributes),
        "events": events or [],
    }


def chat(given: list[Any], answered: list[Any], tokens: int = 10, **more: Any) -> dict[str, Any]:
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "gpt-4o",
        "gen_ai.input.messages": json.dumps(given),
        "gen_ai.output.messages": json.dumps(answered),
        "gen_ai.usage.input_tokens": tokens,
        "gen_ai.usage.output_tokens": 2,
        **more,
    }


def export(*spans: dict[str, Any]) -> dict[str, Any]:
    return {"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {}, "spans": list(spans)}]}]}


def logs(*records: dict[str, Any]) -> dict[str, Any]:
    return {"resourceLogs": [{"scopeLogs": [{"logRecords": list(records)}]}]}


def log(number: int, name: str, body: dict[str, Any], **more: Any) -> dict[str, Any]:
    ids = {"traceId": "t1", "spanId": "s1"}
    return {
        "timeUnixNano": str(number),
        "eventName": name,
        "body": typed(body),
        "attributes": [],
        **ids,
        **more,
    }


RUN = {
    **span(0, {"gen_ai.operation.name": "invoke_agent", "gen_ai.usage.input_tokens": 30}, parent=""),
    "spanId": "run",
}
FIRST = span(1, chat([SYSTEM, ASK], [ANSWER]))
SECOND = span(2, chat([SYSTEM, ASK, ANSWER, RESULT], [LAST], 20))


def read(*rows: object) -> tuple[Transcript, ...]:
    data = "".join(json.dumps(row) + "\n" for row in rows).encode()
    assert detect(data) == "otel"
    return read_transcripts(data, "logs/trace.json")


def roles(transcript: Transcript) -> list[str]:
    return [item.role for item in transcript.messages]


@pytest.mark.parametrize(
    "rows", [[export(SECOND, FIRST, RUN)], [export(SECOND), export(FIRST, RUN)], [FIRST, SECOND]]
)
def test_the_calls_of_a_trace_are_one_transcript_in_the_order_of_their_time(rows: list[object]) -> None:
    (transcript,) = read(*rows)
    assert (transcript.id, transcript.model, transcript.format) == ("t1", "gpt-4o", "otel")
    assert roles(transcript) == ["system", "user", "assistant", "tool", "assistant"]
    assert [request.usage and request.usage.input_tokens for request in transcript.requests] == [10, 20]
    assert transcript.calls == 2
    assert [item.code for item in transcript.findings] == []


def test_a_request_stands_at_its_span() -> None:
    (transcript,) = read(export(SECOND, FIRST, RUN))
    assert [str(request.location) for request in transcript.requests] == [
        "logs/trace.json:1:2",
        "logs/trace.json:1:1",
    ]


def test_values_may_be_structured_instead_of_json_text() -> None:
    attributes = {
        **chat([], []),
        "gen_ai.input.messages": [ASK],
        "gen_ai.output.messages": [LAST],
        "gen_ai.tool.definitions": [TOOL],
    }
    (transcript,) = read(export(span(1, attributes)))
    assert roles(transcript) == ["user", "assistant"]
    assert transcript.settings.tools == (TOOL,)


def test_system_instructions_count_once_wherever_they_are_recorded() -> None:
    instructions = {"gen_ai.system_instructions": json.dumps(SYSTEM["parts"])}
    for asked in ([ASK], [SYSTEM, ASK]):
        (transcript,) = read(export(span(1, chat(asked, [LAST], **instructions))))
        assert roles(transcript) == ["system", "user", "assistant"]
        assert transcript.messages[0].content == (TextPart(text="be brief"),)


def test_trap_17_input_that_holds_only_what_is_new_is_joined_and_a_warning_says_so() -> None:
    first = span(1, chat([ASK], [ANSWER], **{"gen_ai.response.id": "r1"}))
    second = span(2, chat([RESULT], [LAST], **{"gen_ai.conversation.id": "r1"}))
    third = span(3, chat([ASK], [LAST], **{"gen_ai.conversation.id": "r1"}))
    (transcript,) = read(export(first, second, third, RUN))
    assert roles(transcript) == ["user", "assistant", "tool", "assistant", "user", "assistant"]
    assert [(item.code, item.severity) for item in transcript.findings] == [("CTX014", "warning")]


def test_trap_18_json_inside_json_is_read_however_often_it_was_encoded() -> None:
    attributes = {**chat([], []), "gen_ai.input.messages": json.dumps(json.dumps(json.dumps([ASK])))}
    assert roles(read(export(span(1, attributes)))[0]) == ["user"]


def test_trap_19_sums_of_an_agents_span_are_not_taken_for_the_size_of_a_request() -> None:
    (transcript,) = read(export(FIRST, SECOND, RUN))
    assert [item.usage.input_tokens for item in transcript.messages if item.usage] == [10, 20]


def test_another_agent_of_a_trace_is_a_transcript_of_its_own() -> None:
    judge = {"role": "system", "parts": [{"type": "text", "content": "judge"}]}
    first, second = read(export(FIRST, SECOND, span(3, chat([judge, ASK], [LAST]), parent="j"), RUN))
    assert (len(first.messages), len(second.messages)) == (5, 3)
    assert second.id == "t1#2"


def test_traces_of_one_session_are_grouped_and_others_are_not() -> None:
    later = [SYSTEM, ASK, ANSWER, RESULT, LAST, ASK]
    session = {"session.id": "s"}
    spans = [
        span(1, chat([SYSTEM, ASK], [ANSWER], **session)),
        span(2, chat(later, [LAST], **session), trace="t2"),
        span(3, chat([ASK], [LAST]), trace="t3"),
    ]
    first, second = read(export(*spans))
    assert (first.id, len(first.requests)) == ("s", 2)
    assert (second.id, len(second.requests)) == ("t3", 1)


def test_a_call_that_a_tool_inside_a_call_made_does_not_hide_the_outer_one() -> None:
    tool = {**span(5, {"gen_ai.operation.name": "execute_tool"}, parent="s1"), "spanId": "tool"}
    inner = span(2, chat([ASK], [LAST]), parent="tool")
    assert sum(len(item.requests) for item in read(export(FIRST, tool, inner))) == 2
    nested = span(2, chat([SYSTEM, ASK], [ANSWER]), parent="s1")
    assert sum(len(item.requests) for item in read(export(FIRST, nested))) == 1


def test_older_events_hold_a_message_each_on_the_span_or_in_the_log() -> None:
    bodies: list[tuple[str, dict[str, Any]]] = [
        ("gen_ai.system.message", {"content": "be brief"}),
        ("gen_ai.user.message", {"content": "how deep?"}),
        (
            "gen_ai.assistant.message",
            {
                "tool_calls": [
                    {"id": "c1", "type": "function", "function": {"name": "depth", "arguments": "{}"}}
                ]
            },
        ),
        ("gen_ai.tool.message", {"id": "c1", "content": "12 m"}),
        ("gen_ai.choice", {"index": 0, "finish_reason": "stop", "message": {"content": "12 m deep"}}),
    ]
    bare = {"gen_ai.operation.name": "chat", "gen_ai.usage.input_tokens": 9}
    inside = [
        {"name": name, "timeUnixNano": str(number), "attributes": keyed(body)}
        for number, (name, body) in enumerate(bodies)
    ]
    listed = json.dumps([{"event.name": name, **body} for name, body in bodies])
    beside = logs(*(log(number, name, body) for number, (name, body) in enumerate(bodies)))
    for rows in (
        [export(span(1, bare, events=inside))],
        [export(span(1, {**bare, "events": listed}))],
        [export(span(1, bare)), beside],
    ):
        (transcript,) = read(*rows)
        assert roles(transcript) == ["system", "user", "assistant", "tool", "assistant"]
        assert transcript.messages[2].calls[0].id == transcript.messages[3].results[0].call_id == "c1"
        assert transcript.requests[0].usage and transcript.requests[0].usage.input_tokens == 9


def test_log_events_without_a_span_are_parted_where_a_call_is_answered() -> None:
    records = [
        log(1, "gen_ai.user.message", {"content": "a"}, spanId=""),
        log(2, "gen_ai.choice", {"message": {"content": "b"}}, spanId=""),
        log(3, "gen_ai.user.message", {"content": "c"}, spanId=""),
        log(4, "gen_ai.choice", {"message": {"content": "d"}}, spanId=""),
    ]
    assert [roles(item) for item in read(logs(*records))] == [["user", "assistant"]] * 2


def test_one_event_may_describe_a_whole_call() -> None:
    details = {
        "traceId": "t1",
        "spanId": "s1",
        "timeUnixNano": "1",
        "eventName": "gen_ai.client.inference.operation.details",
        "attributes": keyed(
            {**chat([], []), "gen_ai.input.messages": [ASK], "gen_ai.output.messages": [LAST]}
        ),
    }
    (transcript,) = read(logs(details))
    assert roles(transcript) == ["user", "assistant"]
    assert transcript.requests[0].usage and transcript.requests[0].usage.input_tokens == 10


def test_numbered_attributes_of_openllmetry_are_messages() -> None:
    attributes = {
        "llm.request.type": "chat",
        "gen_ai.request.model": "gpt-4o",
        "gen_ai.prompt.0.role": "system",
        "gen_ai.prompt.0.content": "be brief",
        "gen_ai.prompt.1.role": "user",
        "gen_ai.prompt.1.content": json.dumps([{"type": "text", "text": "how deep?"}]),
        "gen_ai.prompt.2.role": "assistant",
        "gen_ai.prompt.2.tool_calls.0.id": "c1",
        "gen_ai.prompt.2.tool_calls.0.name": "depth",
        "gen_ai.prompt.2.tool_calls.0.arguments": "{}",
        "gen_ai.prompt.10.role": "user",
        "gen_ai.prompt.10.content": "well?",
        "gen_ai.prompt.3.role": "tool",
        "gen_ai.prompt.3.tool_call_id": "c1",
        "gen_ai.prompt.3.content": "12 m",
        "gen_ai.completion.0.role": "assistant",
        "gen_ai.completion.0.content": "12 m deep",
        "gen_ai.completion.0.finish_reason": "stop",
        "llm.request.functions.0.name": "depth",
        "llm.request.functions.0.parameters": "{}",
        "gen_ai.usage.prompt_tokens": 40,
        "gen_ai.usage.completion_tokens": 4,
        "gen_ai.usage.cache_read_input_tokens": 8,
    }
    (transcript,) = read(export(span(1, attributes)))
    assert roles(transcript) == ["system", "user", "assistant", "tool", "user", "assistant"]
    assert transcript.messages[1].content == (TextPart(text="how deep?"),)
    assert transcript.messages[2].calls[0].id == transcript.messages[3].results[0].call_id == "c1"
    assert transcript.settings.tools == (
        {"type": "function", "function": {"name": "depth", "parameters": "{}"}},
    )
    usage = transcript.requests[0].usage
    assert usage and (usage.input_tokens, usage.cached_tokens, usage.output_tokens) == (40, 8, 4)


def test_numbered_attributes_of_openinference_are_messages() -> None:
    image = "llm.input_messages.1.message.contents.1.message_content"
    call = "llm.output_messages.0.message.tool_calls.0.tool_call"
    attributes = {
        "openinference.span.kind": "LLM",
        "llm.model_name": "gpt-4o",
        "llm.input_messages.0.message.role": "system",
        "llm.input_messages.0.message.content": "be brief",
        "llm.input_messages.1.message.role": "user",
        "llm.input_messages.1.message.contents.0.message_content.type": "text",
        "llm.input_messages.1.message.contents.0.message_content.text": "how deep?",
        f"{image}.type": "image",
        f"{image}.image.image.url": "u",
        "llm.output_messages.0.message.role": "assistant",
        f"{call}.id": "c1",
        f"{call}.function.name": "depth",
        f"{call}.function.arguments": "{}",
        "llm.tools.0.tool.json_schema": json.dumps(TOOL),
        "llm.token_count.prompt": 40,
        "llm.token_count.completion": 4,
        "input.value": "not this",
    }
    agent = {**span(2, {"openinference.span.kind": "AGENT", "input.value": "how deep?"}), "spanId": "run"}
    (transcript,) = read(export(span(1, attributes), agent))
    assert roles(transcript) == ["system", "user", "assistant"]
    assert transcript.messages[1].content == (TextPart(text="how deep?"), ImagePart(url="u"))
    assert [part.id for part in transcript.messages[2].calls] == ["c1"]
    assert (transcript.model, transcript.settings.tools) == ("gpt-4o", (TOOL,))


def test_the_inner_span_of_the_vercel_ai_sdk_is_the_call() -> None:
    outer = {"ai.operationId": "ai.generateText", "ai.prompt": json.dumps({"prompt": "how deep?"})}
    inner = {
        "ai.operationId": "ai.generateText.doGenerate",
        "ai.model.id": "gpt-5",
        "ai.prompt.messages": json.dumps(
            [{"role": "user", "content": [{"type": "text", "text": "how deep?"}]}]
        ),
        "ai.prompt.tools": [json.dumps(TOOL)],
        "ai.response.toolCalls": json.dumps([{"toolCallId": "c1", "toolName": "depth", "input": "{}"}]),
        "ai.response.text": "let me see",
        "ai.usage.promptTokens": 62,
        "ai.usage.completionTokens": 8,
    }
    (transcript,) = read(export(span(1, outer), span(2, inner, parent="s1")))
    assert roles(transcript) == ["user", "assistant"]
    assert [part.type for part in transcript.messages[1].content] == ["text", "tool-call"]
    assert (transcript.model, transcript.settings.tools) == ("gpt-5", (TOOL,))


def test_a_call_recorded_without_its_messages_is_left_out_with_a_warning() -> None:
    (transcript,) = read(
        export(FIRST, span(2, {"gen_ai.operation.name": "chat", "gen_ai.usage.input_tokens": 5}))
    )
    assert len(transcript.requests) == 1
    assert [(item.code, item.severity) for item in transcript.findings] == [("CTX014", "warning")]


def test_a_trace_without_any_message_is_refused() -> None:
    with pytest.raises(TranscriptError) as caught:
        read(export(RUN, span(2, {"gen_ai.operation.name": "chat"})))
    assert [problem.code for problem in caught.value.problems] == ["CTX013"]


def test_what_is_no_span_is_reported_with_its_place_and_the_rest_is_read() -> None:
    (transcript,) = read(export(FIRST), {"resourceSpans": [7, {"scopeSpans": [{"spans": [7, {}]}]}]})
    assert [(item.code, item.location.record) for item in transcript.findings] == [
        ("CTX011", 2),
        ("CTX011", "2:1"),
        ("CTX011", "2:2"),
    ]
    assert (transcript.skipped, len(transcript.messages)) == (3, 3)


def test_spans_of_a_console_exporter_are_read() -> None:
    row = {
        "name": "chat",
        "context": {"trace_id": "0x1", "span_id": "0x2"},
        "parent_id": None,
        "start_time": "2025-01-01T00:00:00Z",
        "end_time": "2025-01-01T00:00:01Z",
        "attributes": chat([ASK], [LAST]),
        "events": [],
    }
    (transcript,) = read(row)
    assert (transcript.id, transcript.messages[1].time) == ("0x1", "2025-01-01T00:00:01Z")


@given(
    mutated(export(FIRST, SECOND, RUN), logs(log(1, "gen_ai.user.message", {"content": "a"})), [FIRST, RUN])
)
@settings(max_examples=EXAMPLES, deadline=None)
def test_no_record_however_mutated_makes_the_reader_raise_anything_else(value: object) -> None:
    check_lines("otel", value)
