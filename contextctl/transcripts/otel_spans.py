"""OTLP JSON and exporters' plain JSON -> spans with their events."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from contextctl.errors import Location
from contextctl.transcripts.chat_messages import json_kind
from contextctl.transcripts.nested_json import first_number, first_present, first_text, mapping
from contextctl.transcripts.otel_attributes import plain_attributes, plain_value
from contextctl.transcripts.records import Record

Values = Mapping[str, object]
DETAILS = "gen_ai.client.inference.operation.details"
"""The event that describes a whole call."""

ENDING_EVENTS = (DETAILS, "gen_ai.choice")
"""Events after which no more is told of a call."""

Complain = Callable[[str, Location], None]


@dataclass(slots=True)
class Event:
    """A span's event or a log record: its name, what it holds, and when."""

    name: str
    values: dict[str, object]
    time: int


@dataclass(slots=True)
class Span:
    """One span; ``start`` orders the spans of a file."""

    id: str
    trace: str
    parent: str | None
    name: str
    start: tuple[int, str]
    end: str | None
    attributes: dict[str, object]
    location: Location
    events: list[Event] = field(default_factory=list)


class SpanReading:
    """The spans of a file, and the log events of each; a log record whose span is absent has one made up."""

    def __init__(self, path: str, complain: Complain) -> None:
        self._path = path
        self._complain = complain
        self._logs: list[tuple[Values, Location]] = []
        self.spans: dict[tuple[str, str], Span] = {}
        self._count = 0

    def take(self, record: Record) -> None:
        """Take in a record: an OTLP export, one span or log record, or a list of such."""
        self._count = 0
        for value in record.value if isinstance(record.value, list) else [record.value]:
            self._take(value, record.line)

    def _take(self, value: object, line: int) -> None:
        if not isinstance(value, dict):
            self._complain(f"a span is an object, not {json_kind(value)}; it was not read", self._next(line))
            return
        nested = False
        for keys, inner_keys, leaf_keys in _NESTS:
            outer = first_present(value, *keys)
            if outer is None:
                continue
            nested = True
            for leaf in self._leaves(outer, (inner_keys, leaf_keys), line):
                self._take_leaf(leaf, line)
        if isinstance(value.get("trace"), dict) and not nested:
            self._take(value["trace"], line)
        elif not nested:
            self._take_leaf(value, line)

    def _leaves(self, value: object, keys: tuple[tuple[str, ...], ...], line: int) -> list[object]:
        """What the innermost lists hold, in order."""
        if not isinstance(value, list):
            text = f"an export holds a list of objects, not {json_kind(value)}; it was not read"
            self._complain(text, Location(self._path, line))
            return []
        if not keys:
            return value
        found: list[object] = []
        for item in value:
            inner = first_present(item, *keys[0]) if isinstance(item, dict) else None
            if inner is None:
                if not isinstance(item, dict):
                    text = f"an export holds objects, not {json_kind(item)}; it was not read"
                    self._complain(text, Location(self._path, line))
                continue
            found += self._leaves(inner, keys[1:], line)
        return found

    def _next(self, line: int) -> Location:
        self._count += 1
        return Location(self._path, line, index=self._count)

    def _take_leaf(self, value: object, line: int) -> None:
        location = self._next(line)
        if not isinstance(value, dict):
            self._complain(f"a span is an object, not {json_kind(value)}; it was not read", location)
            return
        if "body" in value or ("timeUnixNano" in value and "startTimeUnixNano" not in value):
            self._logs.append((value, location))
            return
        context = {**value, **mapping(value.get("context"))}
        identity = first_text(context, "spanId", "span_id", "id")
        if identity is None or not isinstance(value.get("attributes"), dict | list):
            self._complain("a span has an id and attributes; it was not read", location)
            return
        span = _span(value, context, identity, location)
        self.spans[span.trace, span.id] = span

    def finish(self) -> list[Span]:
        """All spans, the log events with theirs."""
        calls = 0
        logs = [(_log_event(value), value, location) for value, location in self._logs]
        for event, value, location in sorted(logs, key=lambda log: log[0].time):
            if not event.name.startswith("gen_ai."):
                continue
            trace = first_text(value, "traceId", "trace_id") or ""
            identity = first_text(value, "spanId", "span_id") or f"call {calls}"
            calls += event.name in ENDING_EVENTS
            made_up = Span(identity, trace, None, "", (event.time, ""), None, {}, location)
            self.spans.setdefault((trace, identity), made_up).events.append(event)
        for span in self.spans.values():
            span.events.sort(key=lambda event: event.time)
        return list(self.spans.values())


_NESTS: tuple[tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]], ...] = (
    (
        ("resourceSpans", "resource_spans", "batches"),
        ("scopeSpans", "scope_spans", "instrumentationLibrarySpans"),
        ("spans",),
    ),
    (("resourceLogs", "resource_logs"), ("scopeLogs", "scope_logs"), ("logRecords", "log_records")),
)


def _span(value: Values, context: Values, identity: str, location: Location) -> Span:
    start = first_present(value, "startTimeUnixNano", "start_time_unix_nano", "start_time", "startTime")
    number = first_number({"start": start}, "start")
    end = first_present(value, "endTimeUnixNano", "end_time_unix_nano", "end_time", "endTime")
    events = value.get("events")
    return Span(
        id=identity,
        trace=first_text(context, "traceId", "trace_id") or "",
        parent=first_text(context, "parentSpanId", "parent_span_id", "parent_id"),
        name=first_text(value, "name") or "",
        start=(number, "") if number is not None else (0, start if isinstance(start, str) else ""),
        end=str(end) if isinstance(end, str | int) else None,
        attributes=plain_attributes(value.get("attributes")),
        location=location,
        events=[_span_event(event) for event in events if isinstance(event, dict)]
        if isinstance(events, list)
        else [],
    )


def _span_event(value: Values) -> Event:
    time = first_number(value, "timeUnixNano", "time_unix_nano") or 0
    return Event(first_text(value, "name") or "", plain_attributes(value.get("attributes")), time)


def _log_event(value: Values) -> Event:
    attributes = plain_attributes(value.get("attributes"))
    name = first_text(value, "eventName", "event_name") or first_text(attributes, "event.name") or ""
    body = plain_value(value.get("body"))
    said = {"content": body} if isinstance(body, str) and not mapping(body) else dict(mapping(body))
    time = first_number(value, "timeUnixNano", "time_unix_nano", "timestamp", "observedTimeUnixNano") or 0
    return Event(name, {**attributes, **said}, time)
