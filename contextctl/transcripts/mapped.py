"""Records that wrap requests in a shape of a house's own, taken apart by a map of paths."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from contextctl.errors import Location
from contextctl.findings import Finding, Severity, finding
from contextctl.messages import Message
from contextctl.recording import Transcript
from contextctl.transcripts.any_message import messages_from_any, system_message
from contextctl.transcripts.chat_messages import json_kind
from contextctl.transcripts.conversations import place, transcript_error
from contextctl.transcripts.field_map import FIELDS, FieldMap, Missing
from contextctl.transcripts.inner_requests import definitions
from contextctl.transcripts.json_shapes import string
from contextctl.transcripts.nested_json import decoded
from contextctl.transcripts.records import Record, Records
from contextctl.transcripts.request_signs import list_key

LIST_KEYS = {"gemini": "contents", "openai-responses": "input"}
"""Format -> the key of a request's list, where it is not ``messages``."""

_REQUEST_KEYS = ("messages", "contents", "input")
_HINT = "give the path from the top of a record to its list of messages or to its request"


@dataclass(frozen=True, slots=True)
class Unwrapped:
    """The requests that a file's records wrap, and the system prompt that stands beside each, if any."""

    records: Records
    systems: tuple[object, ...]

    def completed(self, transcripts: tuple[Transcript, ...]) -> tuple[Transcript, ...]:
        """The transcripts of these requests, one each, with what the requests had no place for."""
        if len(transcripts) != len(self.systems):
            return transcripts
        each = zip(transcripts, self.records.records, self.systems, strict=True)
        return tuple(_completed(*item) for item in each)


def unwrap(records: Records, path: str, fields: FieldMap, format: str | None) -> Unwrapped:
    """The request in each record; ``format`` is that of the requests, where it is known.

    A record of which the map finds no messages is a finding. Raises
    :class:`~contextctl.errors.TranscriptError` where that is so for all of them.
    """
    wrappers = [item for record in records.records for item in _wrappers(record)]
    inner = [_inner(fields.find("messages", wrapper.value)) for wrapper in wrappers]
    wrong = [
        finding("CTX011", f"{item.reason}; it was not read", location=place(wrapper, path), hint=_HINT)
        for wrapper, item in zip(wrappers, inner, strict=True)
        if isinstance(item, Missing)
    ]
    if len(wrong) == len(wrappers):
        raise transcript_error([*wrong[:1], *records.findings])
    lists = [item for item in inner if isinstance(item, list)]
    key = LIST_KEYS.get(format, "messages") if format else list_key(value for item in lists for value in item)
    found = [
        (wrapper, item if isinstance(item, dict) else {key: item})
        for wrapper, item in zip(wrappers, inner, strict=True)
        if not isinstance(item, Missing)
    ]
    requests = tuple(replace(at, value={**item, **_beside(fields, at.value)}) for at, item in found)
    told = (*records.findings, *wrong, *_never_found(fields, wrappers, path))
    systems = tuple(_value(fields, "system", at.value) for at, _ in found)
    return Unwrapped(Records(requests, told, records.skipped + len(wrong)), systems)


def _wrappers(record: Record) -> Iterator[Record]:
    """A record, or those of the list that it is."""
    if not isinstance(record.value, list):
        yield record
        return
    for number, value in enumerate(record.value, 1):
        yield Record(value, record.line, number)


def _inner(value: object) -> dict[str, object] | list[object] | Missing:
    """A list of messages or a request that holds one."""
    if isinstance(value, Missing):
        return value
    value = decoded(value)
    if isinstance(value, list):
        return value
    if isinstance(value, dict) and any(isinstance(value.get(key), list) for key in _REQUEST_KEYS):
        return value
    return Missing(f"at the path of the messages stands {json_kind(value)}, not a list of messages")


def _value(fields: FieldMap, field: str, record: object) -> object:
    found = fields.find(field, record)
    return None if isinstance(found, Missing) else found


def _beside(fields: FieldMap, record: object) -> dict[str, object]:
    """What else a request has, under the names of its fields."""
    identity = _value(fields, "id", record)
    if isinstance(identity, int) and not isinstance(identity, bool):
        identity = str(identity)
    tools = definitions(_value(fields, "tools", record))
    told = {
        "id": string(identity),
        "model": string(_value(fields, "model", record)),
        "tools": None if tools is None else list(tools),
    }
    return {key: value for key, value in told.items() if value is not None}


def _never_found(fields: FieldMap, wrappers: list[Record], path: str) -> Iterator[Finding]:
    """A field that no record has: its path is wrong."""
    for field in FIELDS[1:]:
        found = [fields.find(field, wrapper.value) for wrapper in wrappers]
        first = found[0]
        if isinstance(first, Missing) and all(isinstance(item, Missing) for item in found):
            yield finding(
                "CTX011",
                f"the map's '{field}' was found in no record: {first.reason}",
                severity=Severity.WARNING,
                location=place(wrappers[0], path),
                hint="correct its path, or leave it out of the map",
            )


def _completed(transcript: Transcript, request: Record, system: object) -> Transcript:
    value = request.value if isinstance(request.value, Mapping) else {}
    tools = definitions(value.get("tools")) if transcript.settings.tools is None else None
    if tools:
        settings = transcript.settings.model_copy(update={"tools": tools})
        transcript = _no_longer_lacking(replace(transcript, settings=settings), "tools")
    if transcript.model is None:
        transcript = replace(transcript, model=string(value.get("model")))
    if system in (None, "", [], {}):
        return transcript
    said = system_message(system)
    messages = _read_system(said, place(request, transcript.path))
    records = (said, *transcript.records) if transcript.records and len(messages) == 1 else ()
    transcript = replace(transcript, messages=(*messages, *transcript.messages), records=records)
    return _no_longer_lacking(transcript, "system")


def _read_system(said: object, at: Location) -> list[Message]:
    found = messages_from_any(said, at.path or "-", at.line or 1)
    return [message.model_copy(update={"location": at}) for message in found.messages]


def _no_longer_lacking(transcript: Transcript, what: str) -> Transcript:
    return replace(transcript, lacks=tuple(item for item in transcript.lacks if item != what))
