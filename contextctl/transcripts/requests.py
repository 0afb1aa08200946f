"""Request bodies of a provider -> drafts: a request or batch line a line, a document, a list, bare items."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from contextctl.errors import Location
from contextctl.messages import ThinkingPart
from contextctl.transcripts.chat_messages import json_kind
from contextctl.transcripts.conversations import Draft, nearest_draft, place
from contextctl.transcripts.json_shapes import string
from contextctl.transcripts.records import Record
from contextctl.transcripts.request_signs import BATCH_KEYS

Item = tuple[object, Location]
"""One value of a request's list, and where it stands."""


@dataclass(frozen=True, slots=True)
class RequestShape:
    """One provider's request.

    ``key`` names its list of items, ``is_item`` tells an object that is one of them and stands alone,
    ``fill`` reads a request (an empty one for items that stand alone) and its items into a draft.
    """

    key: str
    is_item: Callable[[Mapping[str, object]], bool]
    fill: Callable[[Draft, Mapping[str, object], Sequence[Item], Location], None]


def request_drafts(records: Sequence[Record], path: str, shape: RequestShape) -> list[Draft]:
    """Every request of a file; all items that stand alone, one a record, are one conversation."""
    drafts: list[Draft] = []
    loose: list[Item] = []
    strays: list[Record] = []
    for record in records:
        value = record.value
        if isinstance(value, dict) and shape.is_item(value):
            if not loose:
                drafts.append(Draft(record.line))
            loose.append((value, place(record, path)))
            continue
        found = _record_drafts(record, path, shape)
        drafts += found
        if not found:
            strays.append(record)
    if loose:
        first = loose[0][1]
        owner = next(draft for draft in drafts if draft.line == first.line and not draft.messages)
        shape.fill(owner, {}, loose, first)
    for record in strays:
        nearest_draft(drafts, record.line).report(_stray(record.value, shape), place(record, path), skipped=1)
    return drafts


def request_of(value: Mapping[str, object], key: str) -> Mapping[str, object] | None:
    """The request in a record that holds one, be it wrapped for a batch or not."""
    if key in value:
        return value
    inner = (value.get(wrapper) for wrapper in BATCH_KEYS)
    return next((request for request in inner if isinstance(request, dict) and key in request), None)


def holds_request(value: object, shape: RequestShape) -> bool:
    """True for a record that is a request, or a list of requests or items."""
    if isinstance(value, dict):
        return request_of(value, shape.key) is not None
    items = [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
    return any(shape.is_item(item) or request_of(item, shape.key) is not None for item in items)


def _record_drafts(record: Record, path: str, shape: RequestShape) -> list[Draft]:
    value = record.value
    if isinstance(value, dict):
        draft = _request_draft(value, record, path, shape)
        return [] if draft is None else [draft]
    if not isinstance(value, list):
        return []
    if any(isinstance(item, dict) and shape.is_item(item) for item in value):
        draft = Draft(record.line)
        shape.fill(draft, {}, _items(value, record, path), place(record, path))
        return [draft]
    found = [_request_draft(item, record, path, shape) if isinstance(item, dict) else None for item in value]
    drafts = [draft for draft in found if draft is not None]
    for number, item in enumerate(found, 1):
        if item is None and drafts:
            wrong = f"item {number} of the list is no request; it was not read"
            drafts[0].report(wrong, Location(path, record.line, index=number), skipped=1)
    return drafts


def _request_draft(
    value: Mapping[str, object], record: Record, path: str, shape: RequestShape
) -> Draft | None:
    request = request_of(value, shape.key)
    if request is None:
        return None
    draft = Draft(record.line)
    items = request[shape.key]
    if isinstance(items, str):
        items = [items]
    if isinstance(items, list):
        shape.fill(draft, request, _items(items, record, path), place(record, path))
    else:
        wrong = f"'{shape.key}' is a list, not {json_kind(items)}; the request was not read"
        draft.report(wrong, place(record, path), skipped=1)
    draft.id = string(value.get("custom_id")) or string(value.get("key")) or draft.id
    return draft


def _items(values: list[object], record: Record, path: str) -> list[Item]:
    return [(value, Location(path, record.line, index=index)) for index, value in enumerate(values, 1)]


def _stray(value: object, shape: RequestShape) -> str:
    if isinstance(value, dict):
        return f"the record has no '{shape.key}'; it was not read"
    if value == []:
        return "the record is an empty list; it was not read"
    return f"a record is an object, not {json_kind(value)}; it was not read"


def missing_parts(draft: Draft, *, system: bool = False, history: bool = False) -> tuple[str, ...]:
    """What of the request is not in the recording: tools that were called and are not defined, reasoning
    that is there in sealed form only, and the system prompt or earlier turns where the request says so."""
    seen = [message for message in draft.messages if message.superseded is None]
    sealed = [message for message in seen if any(_is_sealed(part) for part in message.content)]
    called = any(message.calls for message in draft.messages)
    told = {
        "system": system,
        "tools": called and not draft.settings.tools,
        "reasoning": any(not message.recap for message in sealed),
        "history": history or any(message.recap for message in sealed),
    }
    return tuple(what for what, missing in told.items() if missing)


def _is_sealed(part: object) -> bool:
    return isinstance(part, ThinkingPart) and not part.text
