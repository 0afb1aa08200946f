"""Qwen Code sessions: records in a tree, each with a Gemini content; sub-agents' records beside them.

What the model had at the end is the way from the last record to the root; a compression on that way puts
its own history in place of what came before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from contextctl.errors import Location
from contextctl.findings import Severity, finding
from contextctl.messages import Message
from contextctl.recording import RecordedCompaction, Transcript
from contextctl.transcripts.any_message import messages_from_any
from contextctl.transcripts.chat_messages import json_kind
from contextctl.transcripts.conversations import Draft, place, transcripts_from
from contextctl.transcripts.gemini_usage import gemini_usage
from contextctl.transcripts.nested_json import first_number, first_text, mapping
from contextctl.transcripts.records import Record, Records, split_records

NAME = "qwen-code"

Values = Mapping[str, object]

_SPEAKING = ("user", "assistant", "tool_result")
_NOT_SENT = ("realtime_message", "code_mode_tool_result")
_BOOTSTRAP = "agent_bootstrap"


@dataclass(slots=True)
class _Line:
    """One record of the tree."""

    value: Values
    location: Location

    @property
    def subtype(self) -> str | None:
        return first_text(self.value, "subtype")


@dataclass(slots=True)
class _Conversation:
    """The session's own records, or those of one sub-agent."""

    name: str | None
    draft: Draft
    lines: list[_Line] = field(default_factory=list)


def read_qwen_code(data: bytes, path: str, records: Records | None = None) -> tuple[Transcript, ...]:
    """The session, and each of its sub-agents; otherwise as :class:`~contextctl.ports.Reader`."""
    records = records or split_records(data, path)
    found: dict[str | None, _Conversation] = {}
    strays: list[tuple[str, Location]] = []
    for record in records.records:
        _sort_in(record, path, found, strays)
    drafts = [_read(conversation) for conversation in found.values()]
    if strays and not drafts:
        drafts.append(Draft(strays[0][1].line or 1))
    for text, at in strays:
        drafts[0].report(text, at, skipped=1)
    return transcripts_from(drafts, records, path, NAME, lacks=("system", "tools"))


def _sort_in(
    record: Record,
    path: str,
    found: dict[str | None, _Conversation],
    strays: list[tuple[str, Location]],
) -> None:
    """Put a record to its conversation, or report that it is none."""
    value, at = record.value, place(record, path)
    if not isinstance(value, dict):
        strays.append((f"a record is an object, not {json_kind(value)}; it was not read", at))
        return
    if first_text(value, "uuid") is None:
        strays.append(("a record has a 'uuid'; it was not read", at))
        return
    agent = first_text(value, "agentId") if value.get("isSidechain") is True else None
    if agent not in found:
        session = first_text(value, "sessionId")
        name = f"{session}/{agent}" if session and agent else agent or session
        found[agent] = _Conversation(agent, Draft(record.line, id=name))
    found[agent].lines.append(_Line(value, at))


def _read(conversation: _Conversation) -> Draft:
    draft, lines = conversation.draft, conversation.lines
    way = _way_to_the_last(lines)
    unknown: dict[str, Location] = {}
    for number, line in enumerate(lines):
        kind = first_text(line.value, "type") or ""
        if number not in way:
            if kind in _SPEAKING:
                _speak(draft, line, _left_by(lines, way, number))
        elif kind in _SPEAKING:
            _speak(draft, line, None)
        elif kind == "system":
            _take_system_record(draft, line)
        else:
            unknown.setdefault(kind, line.location)
    for location in unknown.values():
        told = "records of a type that is not known were left out"
        draft.findings.append(finding("CTX014", told, location=location, severity=Severity.WARNING))
    return draft


def _way_to_the_last(lines: Sequence[_Line]) -> set[int]:
    """The places of the records from the last one to the root; where a parent is absent, the record before
    it in the file is the parent."""
    places: dict[str, list[int]] = {}
    for number, line in enumerate(lines):
        places.setdefault(first_text(line.value, "uuid") or "", []).append(number)
    way: set[int] = set()
    number = len(lines) - 1
    while number >= 0 and number not in way:
        way |= set(places[first_text(lines[number].value, "uuid") or ""])
        first = min(places[first_text(lines[number].value, "uuid") or ""])
        parent = first_text(lines[first].value, "parentUuid")
        if parent is None:
            break
        number = places[parent][-1] if parent in places else first - 1
    return way


def _left_by(lines: Sequence[_Line], way: set[int], number: int) -> str:
    """What took a record off the way: a rewind where the next record on the way says so, else a fork."""
    after = next((lines[later] for later in range(number, len(lines)) if later in way), None)
    return "rewind" if after is not None and after.subtype == "rewind" else "fork"


def _speak(draft: Draft, line: _Line, superseded: str | None) -> None:
    """Take in a record with a message, unless it was never sent."""
    value = line.value
    if line.subtype in _NOT_SENT or value.get("message") is None:
        return
    told: dict[str, object] = {"superseded": superseded, "time": first_text(value, "timestamp")}
    if first_text(value, "type") == "assistant":
        model = first_text(value, "model")
        told["response_id"] = first_text(value, "uuid")
        told["usage"] = gemini_usage(
            value.get("usageMetadata"), first_number(value, "contextWindowSize") or None
        )
        told["model"] = model if model and draft.model and model != draft.model else None
        if superseded is None:
            draft.model = model or draft.model
    for message in _messages(draft, [value["message"]], line.location):
        draft.messages.append(message.model_copy(update=told))


def _messages(draft: Draft, contents: list[object], at: Location) -> list[Message]:
    found = messages_from_any(contents, at.path or "-", at.line or 1)
    draft.findings += found.findings
    draft.skipped += found.skipped
    if len(contents) > 1:
        return found.messages
    return [message.model_copy(update={"location": at}) for message in found.messages]


def _take_system_record(draft: Draft, line: _Line) -> None:
    """Take in what a system record does to the history; the others are for the screen or telemetry."""
    payload = mapping(line.value.get("systemPayload"))
    if line.subtype == "chat_compression":
        _compress(draft, payload, line.location)
    elif line.subtype == "slash_command":
        _forget_command(draft, payload)
    elif line.subtype == _BOOTSTRAP:
        history = payload.get("history")
        draft.messages += _messages(draft, history if isinstance(history, list) else [], line.location)


def _compress(draft: Draft, payload: Values, at: Location) -> None:
    """Put the compressed history in place of what was live; what it ends with may be live already."""
    history = payload.get("compressedHistory")
    if not isinstance(history, list):
        draft.report("a compression has a list 'compressedHistory'; it was not read", at, skipped=1)
        return
    fresh = _messages(draft, history, at)
    live = [number for number, message in enumerate(draft.messages) if message.superseded is None]
    kept = 0
    while kept < min(len(live), len(fresh)):
        one, other = draft.messages[live[-1 - kept]], fresh[-1 - kept]
        if (one.role, one.content) != (other.role, other.content):
            break
        kept += 1
    gone = live[: len(live) - kept]
    for number in gone:
        draft.messages[number] = draft.messages[number].model_copy(update={"superseded": "compaction"})
    recaps = [message.model_copy(update={"recap": True}) for message in fresh[: len(fresh) - kept]]
    start = gone[-1] + 1 if gone else (live[0] if live else len(draft.messages))
    draft.messages[start:start] = recaps
    info = mapping(payload.get("info"))
    before, after = first_number(info, "originalTokenCount"), first_number(info, "newTokenCount")
    draft.compactions.append(RecordedCompaction(at, "summary", before, after))


def _forget_command(draft: Draft, payload: Values) -> None:
    """Leave out the typed command before its own result, which never reached the model."""
    last = draft.messages[-1] if draft.messages else None
    if last is None or payload.get("phase") != "result" or payload.get("sentToModel") is True:
        return
    command = first_text(payload, "rawCommand")
    is_typed = last.role == "user" and len(last.content) == 1 and last.superseded is None
    if is_typed and command is not None and getattr(last.content[0], "text", None) == command:
        draft.messages.pop()
