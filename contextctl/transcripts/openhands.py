"""OpenHands: the event stream of versions before 1.0, lines of evaluation output, and SDK events (V1)."""

from __future__ import annotations

from collections.abc import Iterable

from contextctl.errors import Location
from contextctl.recording import Transcript
from contextctl.transcripts.chat_messages import json_kind
from contextctl.transcripts.conversations import Draft, place, transcripts_from
from contextctl.transcripts.json_shapes import listed, mapping, note_model, string
from contextctl.transcripts.openhands_classic import ClassicEvents
from contextctl.transcripts.openhands_sdk import SdkEvents
from contextctl.transcripts.openhands_view import EventView
from contextctl.transcripts.records import Record, Records, split_records

NAME = "openhands"


def read_openhands(data: bytes, path: str, records: Records | None = None) -> tuple[Transcript, ...]:
    """A list of events, a run a line with its events in ``history``, or an event a line (one conversation).

    A tool call is one message in the place of its action, and all of one reply share a response id.
    """
    records = records or split_records(data, path)
    drafts: list[Draft] = []
    loose: list[tuple[object, Location]] = []
    for record in records.records:
        value = record.value
        if isinstance(value, dict) and isinstance(value.get("history"), list):
            drafts.append(_run(value, record, path))
        elif isinstance(value, list):
            drafts.append(_conversation(Draft(record.line), _listed(value, record, path)))
        else:
            loose.append((value, place(record, path)))
    if loose:
        drafts.append(_conversation(Draft(loose[0][1].line or 1), loose))
    drafts.sort(key=lambda draft: draft.line)
    return transcripts_from(drafts, records, path, NAME)


def _listed(values: Iterable[object], record: Record, path: str) -> list[tuple[object, Location]]:
    return [(value, Location(path, record.line, index=number)) for number, value in enumerate(values, 1)]


def _run(value: dict[str, object], record: Record, path: str) -> Draft:
    draft = Draft(record.line)
    identity = value.get("instance_id")
    if isinstance(identity, str | int) and not isinstance(identity, bool) and identity != "":
        draft.id = str(identity)
    _conversation(draft, _listed(listed(value["history"]), record, path))
    if draft.model is None:
        note_model(draft, mapping(mapping(value.get("metadata")).get("llm_config")).get("model"))
    return draft


def _conversation(draft: Draft, events: list[tuple[object, Location]]) -> Draft:
    view = EventView(draft)
    objects = [value for value, _ in events if isinstance(value, dict)]
    classic, sdk = ClassicEvents(draft, view, objects), SdkEvents(draft, view)
    for value, location in events:
        if not isinstance(value, dict):
            wrong = f"an event is an object, not {json_kind(value)}; it was not read"
            draft.report(wrong, location, skipped=1)
        elif string(value.get("kind")):
            sdk.read(value, location)
        else:
            classic.read(value, location)
    draft.messages = view.messages()
    if not any(message.role == "system" for message in draft.messages):
        draft.lacks = ("system", "tools")
    return draft
