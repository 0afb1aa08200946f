"""Langfuse: an exported trace with its observations, or exported rows of observations or traces.

Rows are grouped by their session, else by their trace. A model call is an observation of type GENERATION
that contains no other; its input and output are in the shape of whatever was traced.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from contextctl.errors import Location
from contextctl.findings import Severity, finding
from contextctl.recording import Transcript
from contextctl.transcripts.call_threads import ModelCall
from contextctl.transcripts.chat_messages import json_kind
from contextctl.transcripts.conversations import Draft, place, transcripts_from
from contextctl.transcripts.inner_requests import call_from
from contextctl.transcripts.langfuse_usage import usage_from
from contextctl.transcripts.model_calls import drafts_from_calls
from contextctl.transcripts.nested_json import decoded, first_present, first_text, mapping
from contextctl.transcripts.otel_attributes import tools_of, usage_of
from contextctl.transcripts.records import Record, Records, split_records

NAME = "langfuse"

Values = Mapping[str, object]

_RUNS = ("AGENT",)


@dataclass(slots=True)
class _Row:
    """One observation or trace and where it stands."""

    value: Values
    location: Location

    def text(self, *keys: str) -> str | None:
        return first_text(self.value, *keys)

    @property
    def parent(self) -> str | None:
        return self.text("parentObservationId", "parent_observation_id")

    @property
    def is_generation(self) -> bool:
        return self.text("type") == "GENERATION"


@dataclass(slots=True)
class _Group:
    """A trace, or the traces of a session."""

    id: str | None
    line: int
    observations: list[_Row] = field(default_factory=list)
    traces: list[_Row] = field(default_factory=list)


def read_langfuse(data: bytes, path: str, records: Records | None = None) -> tuple[Transcript, ...]:
    """Every conversation of every trace or session; otherwise as :class:`~contextctl.ports.Reader`."""
    records = records or split_records(data, path)
    reading = _Reading(path)
    for record in records.records:
        reading.take(record)
    return transcripts_from(reading.drafts(), records, path, NAME)


class _Reading:
    """One pass over a file."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._groups: dict[str | None, _Group] = {}
        self._sessions: dict[str, str] = {}
        self._loose: list[tuple[_Row, bool]] = []
        self._strays: list[tuple[str, Location]] = []

    def take(self, record: Record) -> None:
        """Take in a record: an export of one trace, a row, or a list or page of either."""
        value = record.value
        at = place(record, self._path)
        rows = _rows(value)
        if rows is None:
            self._take_one(value, at)
            return
        for index, row in enumerate(rows, 1):
            self._take_one(row, Location(self._path, record.line, index=index))

    def _take_one(self, value: object, at: Location) -> None:
        if not isinstance(value, dict):
            self._strays.append((f"a row is an object, not {json_kind(value)}; it was not read", at))
            return
        observations = decoded(value.get("observations"))
        if isinstance(observations, list):
            trace = value.get("trace")
            self._take_export(trace if isinstance(trace, dict) else value, observations, at)
        elif _is_observation(value):
            self._loose.append((_Row(value, at), True))
        elif "input" in value or "output" in value:
            self._loose.append((_Row(value, at), False))
            self._note_session(value)
        else:
            self._strays.append(("the record is neither a trace nor an observation; it was not read", at))

    def _take_export(self, trace: Values, observations: list[object], at: Location) -> None:
        self._note_session(trace)
        self._loose.append((_Row(trace, at), False))
        identity = first_text(trace, "id")
        for index, value in enumerate(observations, 1):
            here = Location(self._path, at.line, index=index)
            if not isinstance(value, dict):
                text = f"an observation is an object, not {json_kind(value)}; it was not read"
                self._strays.append((text, here))
                continue
            row = value if first_text(value, "traceId", "trace_id") else {**value, "traceId": identity}
            self._loose.append((_Row(row, here), True))

    def _note_session(self, trace: Values) -> None:
        session, identity = first_text(trace, "sessionId", "session_id"), first_text(trace, "id")
        if session and identity:
            self._sessions[identity] = session

    def drafts(self) -> list[Draft]:
        """The conversations, in the order in which their traces or sessions begin in the file."""
        for row, is_observation in self._loose:
            trace = row.text("traceId", "trace_id") if is_observation else row.text("id")
            session = row.text("sessionId", "session_id") or self._sessions.get(trace or "")
            key = session or trace
            group = self._groups.setdefault(key, _Group(key, row.location.line or 1))
            (group.observations if is_observation else group.traces).append(row)
        drafts = [draft for group in self._groups.values() for draft in _group_drafts(group)]
        if self._strays and not drafts:
            drafts.append(Draft(self._strays[0][1].line or 1))
        for text, at in self._strays:
            drafts[0].report(text, at, skipped=1)
        return drafts


def _rows(value: object) -> list[object] | None:
    """The rows of a list or a page of results, or None where the record is one row itself."""
    if isinstance(value, list):
        return value
    if isinstance(value, dict) and "observations" not in value:
        for key in ("data", "traces"):
            page = value.get(key)
            if isinstance(page, list):
                return page
    return None


def _is_observation(value: Values) -> bool:
    keys = ("traceId", "trace_id", "parentObservationId", "parent_observation_id")
    return any(value.get(key) is not None for key in keys)


def _group_drafts(group: _Group) -> list[Draft]:
    """The conversations of one trace or session."""
    rows = {row.text("id"): row for row in group.observations}
    around = {id for row in group.observations if row.is_generation for id in _told_again(row, rows)}
    calls = [row for row in group.observations if row.is_generation and row.text("id") not in around]
    calls.sort(key=lambda row: row.text("startTime", "start_time") or "")
    if calls:
        return drafts_from_calls([_call(row, rows) for row in calls], group.id)
    return _from_traces(group)


def _told_again(row: _Row, rows: Mapping[str | None, _Row]) -> Iterator[str]:
    """The ids of the observations that a generation is in; what a tool or agent in one called is another."""
    for ancestor in _above(row, rows):
        above = rows.get(ancestor)
        if above is not None and above.text("type") in ("TOOL", "AGENT"):
            return
        yield ancestor


def _above(row: _Row, rows: Mapping[str | None, _Row]) -> Iterator[str]:
    """The ids of an observation's ancestors, the nearest first."""
    seen = {row.text("id")}
    parent = row.parent
    while parent is not None and parent not in seen:
        seen.add(parent)
        yield parent
        above = rows.get(parent)
        parent = above.parent if above is not None else None


def _call(row: _Row, rows: Mapping[str | None, _Row]) -> ModelCall:
    metadata = mapping(row.value.get("metadata"))
    attributes = mapping(metadata.get("attributes"))
    asked, declared = _without_tools(row.value.get("input"))
    call = call_from(
        asked,
        row.value.get("output"),
        row.location,
        system=attributes.get("gen_ai.system_instructions"),
        tools=declared or _tools(row.value, metadata, attributes),
        model=row.text("model", "providedModelName", "provided_model_name"),
        usage=usage_from(row.value) or usage_of(attributes),
        time=row.text("endTime", "end_time", "startTime", "start_time"),
        response_id=first_text(attributes, "gen_ai.response.id") or row.text("id"),
    )
    above = [rows[ancestor] for ancestor in _above(row, rows) if ancestor in rows]
    run = next((item for item in above if item.text("type") in _RUNS), above[0] if above else row)
    call.group = run.text("name")
    call.conversation = first_text(attributes, "gen_ai.conversation.id")
    return call


def _without_tools(value: object) -> tuple[object, list[object]]:
    """An input, and the tool definitions that stand in it as messages of role tool."""
    found = decoded(value)
    if not isinstance(found, list):
        return value, []
    declared = [item["content"] for item in found if _declares_tool(item)]
    return [item for item in found if not _declares_tool(item)], declared


def _declares_tool(value: object) -> bool:
    content = value.get("content") if isinstance(value, dict) and value.get("role") == "tool" else None
    return isinstance(content, dict) and isinstance(content.get("function"), dict)


def _tools(row: Values, metadata: Values, attributes: Values) -> object:
    """Tool definitions from wherever an integration leaves them."""
    parameters = mapping(first_present(row, "modelParameters", "model_parameters"))
    return (
        first_present(row, "toolDefinitions", "tool_definitions")
        or parameters.get("tools")
        or first_present(metadata, "tools", "toolDefinitions")
        or tools_of(attributes)
    )


def _from_traces(group: _Group) -> list[Draft]:
    """What was asked and answered where no model call is recorded."""
    calls: list[ModelCall] = []
    for row in group.traces:
        call = call_from(row.value.get("input"), row.value.get("output"), row.location)
        call.response_id, call.group = row.text("id"), row.text("name")
        calls.append(call)
    drafts = drafts_from_calls([call for call in calls if call.input or call.output], group.id)
    for draft in drafts:
        draft.requests, draft.lacks = [], ("system", "tools")
        told = "no model call is recorded in the trace; its own input and output were read instead"
        hint = "export the observations too"
        at = draft.messages[0].location
        draft.findings.append(finding("CTX014", told, location=at, severity=Severity.WARNING, hint=hint))
    return drafts
