"""Sessions of Google's Agent Development Kit: events of the user, the agents and their tools.

Events of all agents are one conversation. A compaction stands in place of the events of its time span; a
rewind takes back an invocation and all that came after.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from contextctl.errors import Location
from contextctl.findings import Severity, finding
from contextctl.messages import Message
from contextctl.recording import RecordedCompaction, Transcript
from contextctl.transcripts.any_message import messages_from_any
from contextctl.transcripts.chat_messages import json_kind
from contextctl.transcripts.conversations import Draft, transcripts_from
from contextctl.transcripts.gemini_usage import gemini_usage
from contextctl.transcripts.nested_json import first_present, first_text, mapping
from contextctl.transcripts.records import Record, Records, split_records

NAME = "google-adk"

Values = Mapping[str, object]


@dataclass(slots=True)
class _Event:
    """An event's message; for a recap the time span that it stands for."""

    message: Message
    time: float | None
    invocation: str | None
    span: tuple[float, float] | None = None

    def supersede(self, how: str) -> None:
        if self.message.superseded is None:
            self.message = self.message.model_copy(update={"superseded": how})


def read_google_adk(data: bytes, path: str, records: Records | None = None) -> tuple[Transcript, ...]:
    """A session a record, or a list of them; otherwise as :class:`~contextctl.ports.Reader`."""
    records = records or split_records(data, path)
    drafts = [draft for record in records.records for draft in _drafts(record, path)]
    return transcripts_from(drafts, records, path, NAME, lacks=("system", "tools"))


def _drafts(record: Record, path: str) -> list[Draft]:
    if isinstance(record.value, list):
        return [
            _session(value, record, path, Location(path, record.line, index=number))
            for number, value in enumerate(record.value, 1)
        ]
    return [_session(record.value, record, path, Location(path, record.line, index=record.index))]


def _session(value: object, record: Record, path: str, at: Location) -> Draft:
    draft = Draft(record.line)
    if not isinstance(value, dict) or not isinstance(value.get("events"), list):
        is_object = isinstance(value, dict)
        wrong = "a session has a list 'events'" if is_object else _NO_SESSION.format(json_kind(value))
        draft.report(f"{wrong}; it was not read", at, skipped=1)
        return draft
    draft.id = first_text(value, "id", "session_id", "sessionId")
    events: list[_Event] = []
    heard: Location | None = None
    for index, item in enumerate(value["events"], 1):
        here = Location(path, record.line, index=index)
        if not isinstance(item, dict):
            draft.report(f"an event is an object, not {json_kind(item)}; it was not read", here, skipped=1)
            continue
        _take_in(draft, events, item, here)
        if item.get("content") is None and first_present(item, *_TRANSCRIPTIONS):
            heard = heard or here
    draft.messages = [event.message for event in events]
    if heard is not None:
        told = "what was spoken is recorded as transcriptions only, which were left out"
        draft.findings.append(finding("CTX014", told, location=heard, severity=Severity.WARNING))
    return draft


_NO_SESSION = "a session is an object, not {}"
_TRANSCRIPTIONS = ("input_transcription", "output_transcription", "inputTranscription", "outputTranscription")


def _take_in(draft: Draft, events: list[_Event], value: Values, at: Location) -> None:
    actions = mapping(value.get("actions"))
    rewound = first_text(actions, "rewind_before_invocation_id", "rewindBeforeInvocationId")
    if rewound is not None:
        _rewind(events, rewound)
        return
    compaction = mapping(actions.get("compaction"))
    if compaction:
        _compact(draft, events, compaction, at)
        return
    if value.get("content") is None or value.get("partial") is True:
        return
    model = first_text(value, "model_version", "modelVersion")
    for message in _messages(draft, value.get("content"), first_text(value, "author"), at):
        told: dict[str, object] = {"time": _text(value.get("timestamp"))}
        if message.role == "assistant":
            told["response_id"] = first_text(value, "id")
            told["usage"] = gemini_usage(first_present(value, "usage_metadata", "usageMetadata"))
            told["model"] = model if model and draft.model and model != draft.model else None
            draft.model = model or draft.model
        invocation = first_text(value, "invocation_id", "invocationId")
        events.append(_Event(message.model_copy(update=told), _number(value.get("timestamp")), invocation))


def _messages(draft: Draft, content: object, author: str | None, at: Location) -> list[Message]:
    role = "user" if author == "user" else "assistant"
    found = messages_from_any([content], at.path or "-", at.line or 1, first=at.index or 1, role=role)
    draft.findings += found.findings
    draft.skipped += found.skipped
    return found.messages


def _rewind(events: list[_Event], invocation: str) -> None:
    """Take back an invocation and all that came after it."""
    places = (place for place, event in enumerate(events) if event.invocation == invocation)
    start = next(places, None)
    for event in events[start:] if start is not None else ():
        event.supersede("rewind")


def _compact(draft: Draft, events: list[_Event], compaction: Values, at: Location) -> None:
    """Put a summary in place of the events of its time span, earlier summaries of parts of it included."""
    start = _number(first_present(compaction, "start_timestamp", "startTimestamp"))
    end = _number(first_present(compaction, "end_timestamp", "endTimestamp"))
    content = first_present(compaction, "compacted_content", "compactedContent")
    if start is None or end is None or content is None:
        draft.report("a compaction has a time span and content; it was not read", at, skipped=1)
        return
    last = 0
    for place, event in enumerate(events):
        began, ended = event.span or (event.time, event.time)
        if began is not None and ended is not None and start <= began and ended <= end:
            event.supersede("compaction")
            last = place + 1
    recaps = [
        _Event(message.model_copy(update={"recap": True}), end, None, (start, end))
        for message in _messages(draft, content, "agent", at)
    ]
    events[last:last] = recaps
    draft.compactions.append(RecordedCompaction(at, "summary", readable=bool(recaps)))


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and abs(value) < 10**18 else None


def _text(value: object) -> str | None:
    return str(value) if isinstance(value, str | int | float) else None
