"""OpenTelemetry traces of model calls: OTLP JSON of spans and of log events, one document or one a line.

The messages are in attributes (the GenAI conventions, OpenLLMetry, OpenInference, the Vercel AI SDK) or in
events, one a message or one a call.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from contextctl.errors import Location
from contextctl.recording import Transcript
from contextctl.transcripts.call_threads import ModelCall
from contextctl.transcripts.conversations import Draft, transcripts_from
from contextctl.transcripts.inner_requests import call_from
from contextctl.transcripts.model_calls import drafts_from_calls
from contextctl.transcripts.nested_json import first_text, mapping, objects
from contextctl.transcripts.otel_attributes import Asked, exchange_of, structured, tools_of, usage_of
from contextctl.transcripts.otel_spans import DETAILS, Event, Span, SpanReading
from contextctl.transcripts.records import Records, split_records

NAME = "otel"

Spans = Mapping[tuple[str, str], Span]

_CALLS = ("chat", "generate_content", "text_completion", "completion")
_SESSIONS = (
    "session.id",
    "langfuse.session.id",
    "gen_ai.session.id",
    "traceloop.association.properties.session_id",
)
_CONTENT = (
    "gen_ai.input.messages",
    "gen_ai.prompt",
    "gen_ai.prompt.0.role",
    "gen_ai.prompt.0.content",
    "llm.input_messages.0.message.role",
)
_MESSAGE_EVENTS = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
}


def read_otel(data: bytes, path: str, records: Records | None = None) -> tuple[Transcript, ...]:
    """Every conversation of every trace or session; otherwise as :class:`~contextctl.ports.Reader`."""
    records = records or split_records(data, path)
    strays: list[tuple[str, Location]] = []
    reading = SpanReading(path, lambda text, at: strays.append((text, at)))
    for record in records.records:
        reading.take(record)
    drafts: list[Draft] = []
    for key, spans in _sessions(reading.finish()).items():
        by_id = {(span.trace, span.id): span for span in spans}
        calls = sorted((span for span in _innermost_calls(by_id)), key=lambda span: span.start)
        drafts += drafts_from_calls([_call(span, by_id) for span in calls], key or None)
    if strays and not drafts:
        drafts.append(Draft(strays[0][1].line or 1))
    for text, at in strays:
        drafts[0].report(text, at, skipped=1)
    return transcripts_from(drafts, records, path, NAME)


def _sessions(spans: list[Span]) -> dict[str, list[Span]]:
    """Spans by session, else by the conversation that several traces share, else by trace."""
    key_of: dict[str, str] = {}
    for span in spans:
        _with_details(span)
        session = first_text(span.attributes, *_SESSIONS)
        if session:
            key_of[span.trace] = session
    seen: dict[str, str] = {}
    for span in spans:
        conversation = first_text(span.attributes, "gen_ai.conversation.id")
        own = key_of.get(span.trace, span.trace)
        key_of[span.trace] = own if conversation is None else seen.setdefault(conversation, own)
    found: dict[str, list[Span]] = {}
    for span in spans:
        found.setdefault(key_of[span.trace], []).append(span)
    return found


def _with_details(span: Span) -> None:
    """Take the attributes of the event that describes a whole call for those of the span."""
    for event in span.events:
        if event.name == DETAILS:
            span.attributes = {**event.values, **span.attributes}


def _is_call(span: Span) -> bool:
    """True for a span that is one call of a model, and no agent's or tool's."""
    attributes = span.attributes
    operation = first_text(attributes, "gen_ai.operation.name")
    if operation is not None:
        return operation in _CALLS
    kind = first_text(attributes, "openinference.span.kind")
    if kind is not None:
        return kind.upper() == "LLM"
    if first_text(attributes, "traceloop.span.kind") is not None:
        return False
    vercel = first_text(attributes, "ai.operationId")
    if vercel is not None:
        return vercel.endswith((".doGenerate", ".doStream"))
    if first_text(attributes, "llm.request.type") in _CALLS:
        return True
    names = (
        "gen_ai.input.messages",
        "gen_ai.prompt",
        "gen_ai.prompt.0.role",
        "llm.input_messages.0.message.role",
    )
    return any(name in attributes for name in names) or any(
        event.name in _MESSAGE_EVENTS or event.name.startswith("gen_ai.content.") for event in span.events
    )


def _innermost_calls(spans: Spans) -> list[Span]:
    """The calls that are not told again by a call inside them; what a tool inside called is another one."""
    calls = [span for span in spans.values() if _is_call(span)]
    around: set[tuple[str, str]] = set()
    for call in calls:
        for span in _above(call, spans):
            if _is_call(span):
                around.add((span.trace, span.id))
            elif _is_tool_or_agent(span):
                break
    return [call for call in calls if (call.trace, call.id) not in around]


def _is_tool_or_agent(span: Span) -> bool:
    operation = first_text(span.attributes, "gen_ai.operation.name")
    kind = first_text(span.attributes, "openinference.span.kind", "traceloop.span.kind")
    return operation in ("execute_tool", "invoke_agent") or (kind or "").lower() in ("tool", "agent")


def _above(span: Span, spans: Spans) -> Iterator[Span]:
    """The spans that a span is in, the nearest first."""
    seen = {span.id}
    parent = span.parent
    while parent is not None and parent not in seen:
        seen.add(parent)
        above = spans.get((span.trace, parent))
        if above is None:
            return
        yield above
        parent = above.parent


def _call(span: Span, spans: Spans) -> ModelCall:
    attributes = span.attributes
    recorded = exchange_of(attributes)
    events = _exchange_in_events([*span.events, *_listed_events(attributes)])
    call = call_from(
        recorded.input or events.input,
        recorded.output or events.output,
        span.location,
        system=attributes.get("gen_ai.system_instructions"),
        tools=tools_of(attributes),
        model=first_text(
            attributes, "gen_ai.response.model", "gen_ai.request.model", "llm.model_name", "ai.model.id"
        ),
        usage=usage_of(attributes),
        time=span.end,
        response_id=first_text(attributes, "gen_ai.response.id", "ai.response.id") or span.id,
    )
    above = list(_above(span, spans))
    run = next((item for item in above if _is_tool_or_agent(item)), above[0] if above else span)
    call.group = first_text(run.attributes, "gen_ai.agent.name") or run.name
    call.conversation = first_text(attributes, "gen_ai.conversation.id")
    return call


def _listed_events(attributes: Mapping[str, object]) -> list[Event]:
    """Events that a span carries as one attribute, a JSON list."""
    found = objects(attributes.get("events"))
    return [Event(first_text(item, "event.name") or "", item, 0) for item in found]


def _exchange_in_events(events: list[Event]) -> Asked:
    """The messages that events hold, one each, or all of a call's prompt or answer in one."""
    given: list[object] = []
    answered: list[object] = []
    for event in events:
        values = event.values
        if event.name in _MESSAGE_EVENTS:
            given.append(_event_message(values, _MESSAGE_EVENTS[event.name]))
        elif event.name == "gen_ai.choice":
            message = {**values, **mapping(values.get("message"))}
            answered.append(_event_message(message, "assistant"))
        elif event.name == "gen_ai.content.prompt":
            given += _all_of(values.get("gen_ai.prompt"))
        elif event.name == "gen_ai.content.completion":
            answered += _all_of(values.get("gen_ai.completion"))
    return Asked(given, answered)


def _event_message(values: Mapping[str, object], role: str) -> dict[str, object]:
    message = {key: values[key] for key in ("content", "tool_calls", "id", "name") if key in values}
    told = first_text(values, "role") or role
    if "message" in values and "content" not in values:
        message["content"] = values["message"]
    return {**message, "role": told, "content": structured(message.get("content"))}


def _all_of(value: object) -> list[object]:
    found = structured(value)
    return found if isinstance(found, list) else [found]
