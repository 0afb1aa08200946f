"""Files that hold lists of messages which are not in OpenAI's shape."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from contextctl.errors import Location
from contextctl.transcripts.chat_messages import json_kind
from contextctl.transcripts.conversations import Draft, place
from contextctl.transcripts.records import Record


@dataclass(slots=True)
class MessageList:
    """A conversation to be read: the values that stand where its messages should, each with its place."""

    draft: Draft
    values: list[tuple[object, Location]] = field(default_factory=list)


def message_lists(
    records: Sequence[Record],
    path: str,
    listed_in: Callable[[dict[str, object]], object],
    is_message: Callable[[dict[str, object]], bool],
) -> list[MessageList]:
    """The conversations of a file: all messages that stand alone are one, every list of messages its own.

    ``listed_in`` gives what an object holds as its list of messages, or None where it is of no such shape.
    """
    found: list[MessageList] = []
    loose: MessageList | None = None
    for record in records:
        value = record.value
        if isinstance(value, dict) and (is_message(value) or listed_in(value) is None):
            if loose is None:
                loose = MessageList(Draft(record.line))
                found.append(loose)
            loose.values.append((value, place(record, path)))
        else:
            found += _lists(value, record, path, listed_in)
    return found


def _lists(
    value: object, record: Record, path: str, listed_in: Callable[[dict[str, object]], object]
) -> Iterable[MessageList]:
    if isinstance(value, dict):
        return [_one(value, record, path, place(record, path), listed_in)]
    if not isinstance(value, list):
        return [_refused(f"a record is an object, not {json_kind(value)}", record, place(record, path))]
    if not any(isinstance(item, list) or (isinstance(item, dict) and listed_in(item)) for item in value):
        return [MessageList(Draft(record.line), _placed(value, record, path))]
    return [
        _one(item, record, path, Location(path, record.line, index=number), listed_in)
        for number, item in enumerate(value, 1)
    ]


def _one(
    item: object,
    record: Record,
    path: str,
    at: Location,
    listed_in: Callable[[dict[str, object]], object],
) -> MessageList:
    values = listed_in(item) if isinstance(item, dict) else item
    if not isinstance(values, list):
        return _refused(f"a conversation has a list of messages, not {json_kind(values)}", record, at)
    draft = Draft(record.line)
    identity = item.get("id") if isinstance(item, dict) else None
    if isinstance(identity, str) and identity:
        draft.id = identity
    return MessageList(draft, _placed(values, record, path))


def _placed(values: list[object], record: Record, path: str) -> list[tuple[object, Location]]:
    return [(value, Location(path, record.line, index=number)) for number, value in enumerate(values, 1)]


def _refused(message: str, record: Record, at: Location) -> MessageList:
    draft = Draft(record.line)
    draft.report(f"{message}; it was not read", at, skipped=1)
    return MessageList(draft)
