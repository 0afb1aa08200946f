"""Signs by which the requests of providers and their messages are told apart, each from one record."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Flag, auto
from functools import reduce
from operator import or_

BATCH_KEYS = ("body", "params", "request")
"""Keys under which batch files hold the request itself."""

_OWN_KEYS = frozenset({"section", "pinned", "contextctl"})
_CHAT_ROLES = ("system", "developer", "tool", "function")
_RESPONSES_ITEMS = (
    "function_call",
    "function_call_output",
    "custom_tool_call",
    "custom_tool_call_output",
    "compaction",
)
_RESPONSES_PARTS = ("input_text", "output_text", "input_image", "input_file")
_ANTHROPIC_BLOCKS = (
    "tool_use",
    "tool_result",
    "thinking",
    "redacted_thinking",
    "server_tool_use",
    "compaction",
)
_ANTHROPIC_SOURCES = ("image", "document")


class Signs(Flag):
    """What any record of a file may show, however late it comes."""

    NONE = 0
    OWN = auto()
    """A message has fields of our own."""
    REQUEST = auto()
    """There is a list of messages."""
    CHAT = auto()
    """Something that OpenAI chat has and Anthropic does not."""
    ANTHROPIC = auto()
    """The other way round, the model's name included."""


def signs_of(value: object) -> Signs:
    """The signs in one record."""
    signs = Signs.NONE
    for outer in objects_in([value]):
        for request in (outer, *objects_in(outer.get(key) for key in BATCH_KEYS)):
            listed = request.get("messages")
            if isinstance(listed, list):
                signs |= Signs.REQUEST | _request_signs(request)
                signs = reduce(or_, map(_message_signs, objects_in(listed)), signs)
        if "role" in outer:
            signs |= _message_signs(outer)
    return signs


def _request_signs(request: dict[str, object]) -> Signs:
    tools = list(objects_in([request.get("tools")]))
    signs = Signs.CHAT if any("function" in tool for tool in tools) else Signs.NONE
    if "system" in request or any("input_schema" in tool for tool in tools) or _names_claude(request):
        signs |= Signs.ANTHROPIC
    return signs


def _message_signs(message: dict[str, object]) -> Signs:
    signs = Signs.NONE if _OWN_KEYS.isdisjoint(message) else Signs.OWN
    if _has_chat_signs(message):
        signs |= Signs.CHAT
    if _has_anthropic_blocks(message) or _names_claude(message):
        signs |= Signs.ANTHROPIC
    return signs


def _names_claude(value: dict[str, object]) -> bool:
    model = value.get("model")
    return isinstance(model, str) and model.startswith("claude")


def objects_in(values: Iterable[object]) -> Iterator[dict[str, object]]:
    """The values that are objects, and those inside values that are lists."""
    for value in values:
        for item in value if isinstance(value, list) else (value,):
            if isinstance(item, dict):
                yield item


def is_response_item(value: dict[str, object]) -> bool:
    """True for what can only be an item of the Responses API."""
    kind = value.get("type")
    if kind in _RESPONSES_ITEMS or (kind == "reasoning" and "summary" in value):
        return True
    return "role" in value and _has_responses_parts(value)


def _has_responses_parts(message: dict[str, object]) -> bool:
    return any(part.get("type") in _RESPONSES_PARTS for part in objects_in([message.get("content")]))


def _has_chat_signs(message: dict[str, object]) -> bool:
    if message.get("role") in _CHAT_ROLES or "tool_calls" in message or "function_call" in message:
        return True
    return any(part.get("type") == "image_url" for part in objects_in([message.get("content")]))


def _has_anthropic_blocks(message: dict[str, object]) -> bool:
    return any(
        part.get("type") in _ANTHROPIC_BLOCKS
        or (part.get("type") in _ANTHROPIC_SOURCES and isinstance(part.get("source"), dict))
        for part in objects_in([message.get("content")])
    )


def list_key(values: Iterable[object]) -> str:
    """What a request calls its list where these values stand in it: contents, input or messages."""
    items = list(objects_in(values))
    if any(map(_is_gemini_content, items)):
        return "contents"
    return "input" if any(map(is_response_item, items)) else "messages"


def _is_gemini_content(value: dict[str, object]) -> bool:
    """A content has parts without a type, and no kind as other messages with parts have."""
    parts = list(objects_in([value.get("parts")]))
    return bool(parts) and "kind" not in value and not any("type" in part for part in parts)
