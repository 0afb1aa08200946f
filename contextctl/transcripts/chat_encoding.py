"""A :class:`~contextctl.messages.Message` -> one message in OpenAI chat shape, with the fields of our own."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from contextctl.errors import Location
from contextctl.messages import (
    AudioPart,
    FilePart,
    ImagePart,
    Message,
    OpaquePart,
    RefusalPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolResultPart,
)

MessageFromJson = Callable[[object, Location], Message | None]
"""Reads a message back."""


def message_to_json(message: Message) -> dict[str, Any]:
    """What :func:`~contextctl.transcripts.contextctl_jsonl.own_message_from_json` reads as this message.

    A message of several tool results has no such shape: the first is written, and its text joined; see
    :func:`lossless_json` for one that is read as the same.
    """
    value: dict[str, Any] = {"role": message.role}
    if message.name is not None:
        value["name"] = message.name
    results = message.results
    if results and message.role in ("tool", "function"):
        if results[0].call_id is not None:
            value["tool_call_id"] = results[0].call_id
        if results[0].name is not None:
            value["name"] = results[0].name
        value["content"] = _content([part for result in results for part in result.content])
    else:
        said = [part for part in message.content if not isinstance(part, ToolCallPart | ThinkingPart)]
        value["content"] = _content(said) if said else None
        value |= _calls(message.calls)
        thinking = "\n".join(part.text for part in message.content if isinstance(part, ThinkingPart))
        if thinking:
            value["reasoning_content"] = thinking
    own = {
        "id": message.id,
        "section": message.section,
        "pinned": message.pinned or None,
        "protected": message.protected,
        "response_id": message.response_id,
        "kind": message.kind,
        "stands_for": list(message.stands_for) or None,
        "folded": message.folded.model_dump() if message.folded else None,
        "usage": message.usage.model_dump(exclude_none=True) if message.usage else None,
        "time": message.time,
        "model": message.model,
        "superseded": message.superseded,
        "recap": message.recap or None,
    }
    return value | {key: item for key, item in own.items() if item is not None}


def lossless_json(message: Message, read: MessageFromJson) -> dict[str, Any]:
    """The same, with the content part by part where ``read`` would not make the same message of it."""
    value = message_to_json(message)
    bare = message.model_copy(update={"location": None})
    if read(value, Location()) == bare.model_copy(update={"location": Location()}):
        return value
    kept = {key: item for key, item in value.items() if key not in _CONTENT_KEYS}
    if message.name is not None:
        kept["name"] = message.name
    parts = [part.model_dump(mode="json", exclude_none=True) for part in message.content]
    return {**kept, "parts": parts}


_CONTENT_KEYS = frozenset(
    {"content", "tool_calls", "function_call", "tool_call_id", "name", "reasoning_content", "refusal"}
)
"""Keys of a chat message that say what its parts say."""


def _calls(calls: tuple[ToolCallPart, ...]) -> dict[str, Any]:
    if not calls:
        return {}
    if calls[0].legacy:
        return {"function_call": {"name": calls[0].name, "arguments": calls[0].arguments}}
    return {
        "tool_calls": [
            {
                **({"id": call.id} if call.id is not None else {}),
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            }
            for call in calls
        ]
    }


def _content(parts: list[Any]) -> object:
    """A text where there is one and nothing else, null for none, else a list of parts."""
    if not parts:
        return None
    if len(parts) == 1 and isinstance(parts[0], TextPart):
        return parts[0].text
    return [_part(part) for part in parts]


def _part(part: object) -> object:
    match part:
        case TextPart(text=text):
            return {"type": "text", "text": text}
        case RefusalPart(text=text):
            return {"type": "refusal", "refusal": text}
        case ImagePart(url=url, detail=detail):
            image = {"url": url} | ({"detail": detail} if detail is not None else {})
            return {"type": "image_url", "image_url": image}
        case AudioPart(data=data) | FilePart(data=data) | OpaquePart(data=data):
            return json.loads(data)
        case ToolResultPart(content=content):
            return {"type": "text", "text": "\n".join(p.text for p in content if isinstance(p, TextPart))}
    raise TypeError(f"not a part of a message: {type(part).__name__}")
