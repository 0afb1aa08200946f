"""What our own format says of a conversation and of a message beside what OpenAI chat has a place for.

A message may have, beside ``id``, ``section``, ``pinned``, ``protected``, ``response_id``, ``kind``,
``stands_for`` and ``folded``: ``parts`` (its content part by part, where chat's shape would lose some of
it), ``usage``, ``time``, ``model``, ``superseded`` and ``recap``. A header, or a conversation a line, may
have, beside ``id``, ``model``, ``tools``, ``tool_choice`` and ``response_format``: ``settings`` (what else a
request says), ``lacks``, ``compactions`` and ``requests``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pydantic import TypeAdapter, ValidationError

from contextctl.errors import Location
from contextctl.messages import Message, Part, RequestSettings, Usage
from contextctl.recording import RecordedCompaction, RecordedRequest, Transcript
from contextctl.transcripts.conversations import Draft

_PARTS: TypeAdapter[tuple[Part, ...]] = TypeAdapter(tuple[Part, ...])
_USAGE = TypeAdapter(Usage)
_COMPACTION = TypeAdapter(RecordedCompaction)
_SETTINGS = TypeAdapter(RequestSettings)

_SHARED = frozenset({"tools", "tool_choice", "response_format", "legacy"})
"""Settings that a request in chat's shape has keys of its own for."""

MessageToJson = Callable[[Message], dict[str, Any]]
MessageFromJson = Callable[[object, Location], Message | None]


def parts_from(value: object) -> tuple[Part, ...] | None:
    """The parts that a ``parts`` field holds, or None where it holds none."""
    parts: tuple[Part, ...] | None = _valid(_PARTS, value if isinstance(value, list) else None)
    return parts


def usage_from(value: object) -> Usage | None:
    """The usage that a ``usage`` field of ours holds; None for one of another shape."""
    usage: Usage | None = _valid(_USAGE, value)
    return usage


def _valid(adapter: TypeAdapter[Any], value: object) -> Any:
    try:
        return adapter.validate_python(value)
    except ValidationError:
        return None


def envelope_of(transcript: Transcript, write: MessageToJson) -> dict[str, Any]:
    """What a header says of a conversation; ``write`` writes the messages of its requests."""
    settings = transcript.settings
    head: dict[str, Any] = {"contextctl": 1, "id": transcript.id}
    if transcript.model is not None:
        head["model"] = transcript.model
    head |= _settings_to_json(settings)
    if transcript.lacks:
        head["lacks"] = list(transcript.lacks)
    if transcript.compactions:
        head["compactions"] = [_compaction_to_json(item) for item in transcript.compactions]
    if transcript.requests:
        head["requests"] = [_request_to_json(item, write) for item in transcript.requests]
    return head


def _settings_to_json(settings: RequestSettings) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if settings.tools is not None:
        found["functions" if settings.legacy else "tools"] = list(settings.tools)
    if settings.tool_choice is not None:
        found["tool_choice"] = settings.tool_choice
    if settings.response_format is not None:
        found["response_format"] = settings.response_format
    more = settings.model_dump(mode="json", exclude_defaults=True, exclude=set(_SHARED))
    return found | ({"settings": more} if more else {})


def _compaction_to_json(compaction: RecordedCompaction) -> dict[str, Any]:
    return {
        "line": compaction.location.line,
        "index": compaction.location.index,
        "kind": compaction.kind,
        "tokens_before": compaction.tokens_before,
        "tokens_after": compaction.tokens_after,
        "readable": compaction.readable,
    }


def _request_to_json(request: RecordedRequest, write: MessageToJson) -> dict[str, Any]:
    found: dict[str, Any] = {"messages": [write(message) for message in request.messages]}
    if request.model is not None:
        found["model"] = request.model
    if request.usage is not None:
        found["usage"] = request.usage.model_dump(exclude_none=True)
    return found | _settings_to_json(request.settings)


def read_own_envelope(
    draft: Draft, value: Mapping[str, Any], location: Location, read: MessageFromJson
) -> None:
    """Take in what a header of ours says beside what chat's does; what is of another shape is reported."""
    lacks = value.get("lacks")
    if isinstance(lacks, list) and all(isinstance(item, str) for item in lacks):
        draft.lacks = tuple(lacks)
    more = value.get("settings")
    if isinstance(more, dict):
        settings = _valid(_SETTINGS, {**draft.settings.model_dump(), **more})
        if settings is None:
            draft.report("'settings' are not those of a request; they were not read", location)
        else:
            draft.settings = settings
    for item in _objects(value.get("compactions")):
        place = Location(
            location.path, _number(item.pop("line", None)), index=_number(item.pop("index", None))
        )
        compaction = _valid(_COMPACTION, {**item, "location": place})
        if compaction is not None:
            draft.compactions.append(compaction)
    for item in _objects(value.get("requests")):
        draft.requests.append(_request(item, location, read))


def _request(item: dict[str, Any], location: Location, read: MessageFromJson) -> RecordedRequest:
    given = item.get("messages")
    messages = [read(message, location) for message in (given if isinstance(given, list) else ())]
    legacy = item.get("tools") is None and item.get("functions") is not None
    shared = {
        "tools": item.get("functions" if legacy else "tools"),
        "tool_choice": item.get("tool_choice"),
        "response_format": item.get("response_format"),
        "legacy": legacy,
    }
    more = item.get("settings")
    settings = _valid(_SETTINGS, shared | (more if isinstance(more, dict) else {}))
    model = item.get("model")
    return RecordedRequest(
        messages=tuple(message for message in messages if message is not None),
        location=location,
        settings=settings or RequestSettings(),
        model=model if isinstance(model, str) else None,
        usage=usage_from(item.get("usage")),
    )


def _objects(value: object) -> list[dict[str, Any]]:
    return [dict(item) for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _number(value: object) -> int | None:
    return value if type(value) is int and value > 0 else None
