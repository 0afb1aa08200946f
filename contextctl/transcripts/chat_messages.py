"""One message in OpenAI chat shape -> :class:`~contextctl.messages.Message`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from contextctl.errors import Location
from contextctl.findings import Finding, finding
from contextctl.messages import (
    KNOWN_ROLES,
    AudioPart,
    ContentPart,
    FilePart,
    ImagePart,
    Message,
    OpaquePart,
    Part,
    RefusalPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolResultPart,
)

_SHAPE_HINT = "a message of OpenAI chat has a role, and content as text, a list of parts or null"


@dataclass(frozen=True, slots=True)
class MessageReading:
    """A message, or None where there is none to be had, what is wrong with its record, and the record."""

    message: Message | None
    findings: tuple[Finding, ...] = ()
    record: object = None


class Malformed(Exception):
    """A record that is no message; the text says why and quotes nothing of it."""


MessageBuilder = Callable[[object, Location], Message]
"""Makes a message of a JSON value, or raises :class:`Malformed`."""


def message_from_json(value: object, location: Location) -> MessageReading:
    """The message that a JSON value holds. Never raises.

    An unknown role is an error, and the message is kept, so that its tokens count. Any other fault leaves
    no message. Ids, times, usage and other fields that no provider reads are not content.
    """
    return read_message(_message, value, location, roles=KNOWN_ROLES, hint=_SHAPE_HINT)


def read_message(
    build: MessageBuilder, value: object, location: Location, *, roles: frozenset[str], hint: str
) -> MessageReading:
    """What ``build`` makes of a JSON value, its faults as findings. Never raises."""
    try:
        message = build(value, location)
    except Malformed as error:
        wrong = finding("CTX011", f"{error}; the record was not read", location=location, hint=hint)
        return MessageReading(None, (wrong,))
    if message.role in roles:
        return MessageReading(message, record=value)
    return MessageReading(message, (unknown_role(message, roles),), value)


def unknown_role(message: Message, roles: frozenset[str] = KNOWN_ROLES) -> Finding:
    """What is said of a message whose role is none of these."""
    role = message.role if len(message.role) <= 100 else f"{message.role[:99]}…"
    return finding(
        "CTX015",
        f"unknown role '{role}'; the message was kept as it is",
        location=message.location,
        hint=f"the roles are {', '.join(sorted(roles))}",
    )


def json_kind(value: object) -> str:
    """What JSON calls a value, with its article: a string, an array, null, ..."""
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case str():
            return "a string"
        case int() | float():
            return "a number"
        case list():
            return "an array"
        case _:
            return "an object"


def json_text(value: object, what: str, *, canonical: bool = False) -> str:
    """JSON without blanks: as recorded, or with sorted keys and ASCII escapes.

    Raises :class:`Malformed` for a number that JSON does not have.
    """
    try:
        return json.dumps(
            value, separators=(",", ":"), sort_keys=canonical, ensure_ascii=canonical, allow_nan=False
        )
    except ValueError as error:
        raise Malformed(f"{what} holds a number that JSON does not have") from error


def _message(value: object, location: Location) -> Message:
    value = needed_object(value, "a message")
    if "role" not in value:
        raise Malformed("a message has no 'role'")
    role = optional_text(value, "role", "a message's role")
    if role is None:
        raise Malformed("a message's role is a string, not null")
    name = optional_text(value, "name", "a message's name")
    identity = value.get("id")
    content = content_parts(value.get("content"), "a message's content")
    parts: tuple[Part, ...]
    if role in ("tool", "function"):
        call_id = optional_text(value, "tool_call_id", "'tool_call_id'") if role == "tool" else None
        parts = (ToolResultPart(call_id=call_id, name=name, content=content),)
        name = None
    else:
        parts = (*_thinking(value), *content, *_refusal(value), *_sound(value), *_calls(value))
    return Message(
        role=role,
        content=parts,
        name=name,
        id=identity if isinstance(identity, str) and identity else None,
        location=location,
    )


def optional_text(value: Mapping[str, object], key: str, what: str) -> str | None:
    """The text under a key, or None. Raises :class:`Malformed` where it is something else."""
    text = value.get(key)
    if text is None or isinstance(text, str):
        return text
    raise Malformed(f"{what} is a string, not {json_kind(text)}")


def content_parts(content: object, what: str) -> tuple[ContentPart, ...]:
    """The parts of a ``content`` field: text, a list of parts, null."""
    if content is None:
        return ()
    if isinstance(content, str):
        return (TextPart(text=content),)
    if not isinstance(content, list):
        raise Malformed(f"{what} is text, a list of parts or null, not {json_kind(content)}")
    return tuple(_part(part, f"part {number} of {what}") for number, part in enumerate(content, 1))


def _part(part: object, what: str) -> ContentPart:
    if isinstance(part, str):
        return TextPart(text=part)
    part = needed_object(part, what)
    match part.get("type"):
        case "text":
            return TextPart(text=needed_text(part, "text", what))
        case "refusal":
            return RefusalPart(text=needed_text(part, "refusal", what))
        case "image_url":
            return _image(part, what)
        case "input_audio":
            return AudioPart(data=json_text(part, what, canonical=True))
        case "file":
            file = part.get("file")
            name = file.get("filename") if isinstance(file, dict) else None
            return FilePart(
                name=name if isinstance(name, str) else None, data=json_text(part, what, canonical=True)
            )
        case _:
            return opaque_part(part, what)


def needed_object(value: object, what: str) -> dict[str, object]:
    """The object that a value is. Raises :class:`Malformed` where it is none."""
    if isinstance(value, dict):
        return value
    raise Malformed(f"{what} is an object, not {json_kind(value)}")


def opaque_part(part: Mapping[str, object], what: str) -> OpaquePart:
    """A part of a kind that is kept as it is, known by its type."""
    kind = part.get("type")
    return OpaquePart(
        kind=kind if isinstance(kind, str) else "untyped", data=json_text(part, what, canonical=True)
    )


def needed_text(part: Mapping[str, object], key: str, what: str) -> str:
    """The text under a key. Raises :class:`Malformed` where there is none."""
    text = part.get(key)
    if isinstance(text, str):
        return text
    raise Malformed(f"'{key}' in {what} is a string, not {json_kind(text)}")


def _image(part: Mapping[str, object], what: str) -> ImagePart:
    image = part.get("image_url")
    if isinstance(image, str):
        return ImagePart(url=image)
    image = needed_object(image, f"'image_url' in {what}")
    detail = image.get("detail")
    return ImagePart(url=needed_text(image, "url", what), detail=detail if isinstance(detail, str) else None)


def _thinking(value: Mapping[str, object]) -> tuple[ThinkingPart, ...]:
    text = optional_text(value, "reasoning_content", "'reasoning_content'")
    return (ThinkingPart(text=text),) if text else ()


def _refusal(value: Mapping[str, object]) -> tuple[RefusalPart, ...]:
    text = optional_text(value, "refusal", "'refusal'")
    return (RefusalPart(text=text),) if text else ()


def _sound(value: Mapping[str, object]) -> tuple[AudioPart, ...]:
    sound = value.get("audio")
    return (AudioPart(data=json_text(sound, "'audio'", canonical=True)),) if isinstance(sound, dict) else ()


def _calls(value: Mapping[str, object]) -> tuple[ToolCallPart, ...]:
    calls = value.get("tool_calls")
    if calls is None:
        calls = []
    if not isinstance(calls, list):
        raise Malformed(f"'tool_calls' is a list, not {json_kind(calls)}")
    parts = [_call(call, f"tool call {number}") for number, call in enumerate(calls, 1)]
    legacy = value.get("function_call")
    if legacy is not None:
        parts.append(_function(legacy, "'function_call'", None, legacy=True))
    return tuple(parts)


def _call(call: object, what: str) -> ToolCallPart:
    call = needed_object(call, what)
    identity = optional_text(call, "id", f"the id of {what}")
    custom = call.get("custom")
    if call.get("type") == "custom" and isinstance(custom, dict):
        return ToolCallPart(
            id=identity, name=needed_text(custom, "name", what), arguments=needed_text(custom, "input", what)
        )
    return _function(call.get("function"), what, identity)


def _function(function: object, what: str, identity: str | None, *, legacy: bool = False) -> ToolCallPart:
    function = needed_object(function, f"the function of {what}")
    arguments = function.get("arguments")
    if isinstance(arguments, dict | list):
        text = json_text(arguments, f"the function of {what}")
    elif arguments is None or isinstance(arguments, str):
        text = arguments or ""
    else:
        raise Malformed(f"the arguments of {what} are a string or an object, not {json_kind(arguments)}")
    return ToolCallPart(id=identity, name=needed_text(function, "name", what), arguments=text, legacy=legacy)
