"""Our own format: OpenAI chat with ids, sections and pins on its messages, after an optional header."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from contextctl.errors import Location
from contextctl.findings import Finding, finding
from contextctl.messages import FoldCounts, Message
from contextctl.recording import Transcript
from contextctl.transcripts.chat_messages import MessageReading, json_kind, message_from_json
from contextctl.transcripts.conversations import (
    Draft,
    chat_drafts,
    place,
    read_envelope,
    transcript_error,
    transcripts_from,
)
from contextctl.transcripts.own_envelope import parts_from, read_own_envelope, usage_from
from contextctl.transcripts.records import Record, Records, split_records

NAME = "contextctl"
VERSION = 1
"""The version of the format that is read, as the header's ``contextctl`` key gives it."""


def read_contextctl(data: bytes, path: str, records: Records | None = None) -> tuple[Transcript, ...]:
    """See :class:`~contextctl.ports.Reader`; ``records`` are those of ``data`` where they are known.

    Raises :class:`~contextctl.errors.TranscriptError` for a version that is not known.
    """
    records = records or split_records(data, path)
    _check_versions(records.records, path)
    header, rest = _split_header(records.records)
    drafts = chat_drafts(rest, path, own_message_from_json)
    if header is not None:
        _apply_header(drafts, header, rest, path)
    by_line = {draft.line: draft for draft in drafts}
    for record in rest:
        value, draft = record.value, by_line.get(record.line)
        if isinstance(value, dict) and "contextctl" in value and "messages" in value and draft is not None:
            read_own_envelope(draft, value, place(record, path), _own_message)
    return transcripts_from(drafts, records, path, NAME)


def own_message_from_json(value: object, location: Location) -> MessageReading:
    """The message that a JSON value holds, with the fields of our own. Never raises.

    A field of our own that has the wrong type is an error; the message is kept without it.
    """
    reading = message_from_json(value, location)
    if reading.message is None or not isinstance(value, dict):
        return reading
    fields: dict[str, object] = {}
    findings = list(reading.findings)
    for name, (expected, convert) in _FIELDS.items():
        if value.get(name) is None:
            continue
        field = convert(value[name])
        if field is None:
            findings.append(_wrong_field(name, expected, value[name], location))
        elif name == "usage":
            fields[name] = usage_from(field)
        elif name == "parts":
            fields["content"] = field
        else:
            fields[name] = field
    return MessageReading(reading.message.model_copy(update=fields), tuple(findings), value)


def _name(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _flag(value: object) -> bool | None:
    return value if isinstance(value, bool) else None


def _kind(value: object) -> str | None:
    return value if isinstance(value, str) and value in ("note", "summary") else None


def _superseded(value: object) -> str | None:
    return value if isinstance(value, str) and value in ("compaction", "rewind", "fork") else None


def _ids(value: object) -> tuple[str, ...] | None:
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return tuple(value)
    return None


def _counts(value: object) -> FoldCounts | None:
    if not isinstance(value, dict) or value.keys() != {"entries", "messages", "tokens"}:
        return None
    numbers = {key: number for key, number in value.items() if type(number) is int and number >= 0}
    return FoldCounts(**numbers) if len(numbers) == 3 else None


def _object(value: object) -> Mapping[str, object] | None:
    return value if isinstance(value, dict) else None


_FIELDS: dict[str, tuple[str, Callable[[object], object | None]]] = {
    "id": ("a string that is not empty", _name),
    "section": ("a string that is not empty", _name),
    "pinned": ("true or false", _flag),
    "protected": ("true or false", _flag),
    "response_id": ("a string that is not empty", _name),
    "kind": ("'note' or 'summary'", _kind),
    "stands_for": ("a list of entry ids", _ids),
    "folded": ("an object of the whole numbers entries, messages and tokens", _counts),
    "usage": ("an object", _object),
    "parts": ("a list of parts, each with its type", parts_from),
    "time": ("a string that is not empty", _name),
    "model": ("a string that is not empty", _name),
    "superseded": ("'compaction', 'rewind' or 'fork'", _superseded),
    "recap": ("true or false", _flag),
}


def _wrong_field(name: str, expected: str, value: object, location: Location) -> Finding:
    return finding(
        "CTX011",
        f"'{name}' is {expected}, and this is {json_kind(value)}; the message was read without it",
        location=location,
        hint=f"write {expected}, or leave '{name}' out",
    )


def _check_versions(records: Sequence[Record], path: str) -> None:
    for record in records:
        value = record.value
        if not isinstance(value, dict) or "contextctl" not in value or "role" in value:
            continue
        version = value["contextctl"]
        if type(version) is int and version == VERSION:
            continue
        told = f"version {version}" if type(version) is int and abs(version) < 10**6 else json_kind(version)
        raise transcript_error(
            [
                finding(
                    "CTX014",
                    f"the header says {told}, and version {VERSION} of the format is the one that is known",
                    location=place(record, path),
                    hint=f'write {{"contextctl": {VERSION}}}, or use a release that knows this version',
                )
            ]
        )


def _split_header(records: Sequence[Record]) -> tuple[Record | None, Sequence[Record]]:
    """The first record where it is a header, and the others."""
    if not records or not isinstance(records[0].value, dict):
        return None, records
    first = records[0].value
    is_header = "contextctl" in first and "role" not in first and "messages" not in first
    return (records[0], records[1:]) if is_header else (None, records)


def _apply_header(drafts: list[Draft], header: Record, rest: Sequence[Record], path: str) -> None:
    """Give the header's facts to the conversation that stands a message a line."""
    value = header.value
    if not isinstance(value, dict):
        return
    loose_lines = {
        record.line for record in rest if isinstance(record.value, dict) and "role" in record.value
    }
    owner = next((draft for draft in drafts if draft.line in loose_lines), None)
    if owner is None:
        owner = Draft(header.line)
        if not drafts:
            drafts.append(owner)
        else:
            owner = drafts[0]
            owner.report("a header belongs to a file of one message a line", place(header, path))
            return
    read_envelope(owner, value, place(header, path))
    read_own_envelope(owner, value, place(header, path), _own_message)


def _own_message(value: object, location: Location) -> Message | None:
    return own_message_from_json(value, location).message
