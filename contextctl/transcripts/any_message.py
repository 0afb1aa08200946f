"""Messages inside a trace, in whichever shape the traced framework keeps them.

Chat messages, Responses items, Gemini contents, OpenTelemetry messages with parts, LangChain constructors
and dumps, Anthropic blocks, model messages of the Vercel AI SDK, or plain text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from contextctl.errors import Location
from contextctl.findings import Finding, finding
from contextctl.messages import (
    KNOWN_ROLES,
    Message,
    Part,
    RefusalPart,
    TextPart,
    ThinkingPart,
    ToolResultPart,
)
from contextctl.transcripts.any_part import content_from_any, opaque, parts_from_any, tool_call, tool_result
from contextctl.transcripts.chat_messages import json_kind, unknown_role
from contextctl.transcripts.nested_json import (
    decoded,
    first_present,
    first_text,
    json_text,
    mapping,
    objects,
)

Values = Mapping[str, object]

_ROLES = {
    "human": "user",
    "ai": "assistant",
    "AIMessageChunk": "assistant",
    "model": "assistant",
    "toolResult": "tool",
}
_LANGCHAIN_TYPES = frozenset({"human", "ai", "system", "tool", "function", "chat", "AIMessageChunk"})
_CALL_ITEMS = frozenset({"function_call", "custom_tool_call"})
_RESULT_ITEMS = frozenset({"function_call_output", "custom_tool_call_output"})
_RESPONSE_ENVELOPES = ("output", "choices", "candidates", "generations")
_HINT = "a message is text or an object with a role, in a shape that a provider or a framework has"


@dataclass(slots=True)
class InnerMessages:
    """The messages of one list, and what is wrong with it; ``skipped`` counts what is no message."""

    messages: list[Message] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    skipped: int = 0


def messages_from_any(
    value: object, path: str, line: int, *, first: int = 1, role: str = "user", called: Sequence[Message] = ()
) -> InnerMessages:
    """The messages that a recorded input or output holds. Never raises.

    ``first`` is the place of the first one in its record; ``role`` that of what names none. ``called`` are
    earlier messages, by whose calls a result is known that has the called tool's name for its role.
    """
    found = InnerMessages()
    merging = False
    for index, inner in enumerate(inner_values(value), first):
        item = _unwrapped(inner)
        location = Location(path, line, index=index)
        message = _message(item, location, role)
        if message is None:
            text = f"a message is text or an object, not {json_kind(item)}; it was not read"
            found.findings.append(finding("CTX011", text, location=location, hint=_HINT))
            found.skipped += 1
            continue
        is_item = _is_answer_item(item)
        if is_item and merging:
            last = found.messages[-1]
            found.messages[-1] = last.model_copy(update={"content": (*last.content, *message.content)})
        else:
            found.messages.append(message)
        merging = is_item
    _settle_roles(found, called)
    return found


def _unwrapped(value: object) -> object:
    """The message that a string holds as JSON, else the value itself."""
    inner = decoded(value)
    return inner if isinstance(inner, dict) and _is_message(inner) else value


def inner_values(value: object) -> list[object]:
    """The values of which each is one message: what an envelope of a request or a response wraps."""
    value = decoded(value)
    if value is None:
        return []
    if isinstance(value, list):
        if value and all(isinstance(item, list) for item in value):
            return [inner for batch in value if isinstance(batch, list) for inner in batch]
        return value
    if not isinstance(value, dict) or _is_message(value):
        return [value]
    return _opened(value)


def _is_message(value: Values) -> bool:
    if isinstance(value.get("role"), str) or "lc" in value or "toolCallId" in value:
        return True
    return isinstance(value.get("type"), str) and not any(key in value for key in _RESPONSE_ENVELOPES)


def _opened(value: Values) -> list[object]:
    """The messages of a request or response object, its system prompt first."""
    config = mapping(value.get("config"))
    system = first_present(
        {**config, **value}, "system", "instructions", "systemInstruction", "system_instruction"
    )
    head = [system_message(system)] if system and any(key in value for key in _REQUEST_LISTS) else []
    for key in _REQUEST_LISTS:
        if value.get(key) is not None:
            return [*head, *inner_values(value[key])]
    for choice in objects(value.get("choices"))[:1]:
        return [first_present(choice, "message", "text")]
    for candidate in objects(value.get("candidates"))[:1]:
        return [candidate.get("content")]
    for key in ("generations", "output"):
        if value.get(key) is not None:
            return [_generation(item) for item in inner_values(value[key])]
    if isinstance(value.get("message"), dict):
        return [value["message"]]
    content = value.get("content")
    if isinstance(content, dict) and ("parts" in content or "role" in content):
        return [content]
    calls = first_present(value, "tool_calls", "toolCalls")
    if content is not None or calls is not None or isinstance(value.get("text"), str):
        text = first_present(value, "content", "text")
        return [{"role": "assistant", "content": text, "tool_calls": decoded(calls)}]
    return [value]


_REQUEST_LISTS = ("messages", "contents", "input", "prompt", "prompts")


def system_message(system: object) -> object:
    """A system prompt that stands beside the messages, as a message."""
    system = decoded(system)
    if isinstance(system, dict) and "parts" in system:
        return {**system, "role": "system"}
    return {"role": "system", "content": system}


def _generation(value: object) -> object:
    """What one generation of LangChain wraps; anything else is itself."""
    if isinstance(value, dict) and ("generation_info" in value or "message" in value):
        return first_present(value, "message", "text")
    return value


def _is_answer_item(value: object) -> bool:
    """True for an item of a Responses answer or a bare call: several of them are one message."""
    if not isinstance(value, dict) or "lc" in value:
        return False
    kind = value.get("type")
    if "role" in value:
        return kind == "message" and value["role"] == "assistant"
    if "toolCallId" in value:
        return "output" not in value and "result" not in value
    return isinstance(kind, str) and kind not in _RESULT_ITEMS and kind not in _LANGCHAIN_TYPES


def _message(value: object, location: Location, role: str) -> Message | None:
    if isinstance(value, str):
        return Message(role=role, content=(TextPart(text=value),), location=location)
    if not isinstance(value, dict):
        return None
    if value.get("lc") is not None and isinstance(value.get("kwargs"), dict):
        return _from_constructor(value, location)
    kind = value.get("type")
    if kind in _LANGCHAIN_TYPES and "role" not in value:
        inner = value.get("data")
        return _with_role(inner if isinstance(inner, dict) else value, str(kind), location)
    told = value.get("role")
    if isinstance(told, str):
        return _with_role(value, told, location)
    if isinstance(kind, str) or "toolCallId" in value:
        return _item(value, location)
    if "content" in value or "parts" in value:
        return _with_role(value, role, location)
    return Message(role=role, content=(TextPart(text=json_text(value)),), location=location)


def _from_constructor(value: Values, location: Location) -> Message:
    name = value.get("id")
    last = name[-1] if isinstance(name, list) and name and isinstance(name[-1], str) else ""
    kwargs = mapping(value.get("kwargs"))
    role = last.removesuffix("Chunk").removesuffix("Message").lower()
    return _with_role(kwargs, role or "unknown", location)


def _with_role(value: Values, told: str, location: Location) -> Message:
    role = first_text(value, "role") or "user" if told == "chat" else _ROLES.get(told, told)
    parts = parts_from_any(first_present(value, "parts", "content"))
    identity = first_text(value, "id")
    name = first_text(value, "name")
    results = [part for part in parts if isinstance(part, ToolResultPart)]
    if role in ("tool", "function") and not results:
        keys = ("tool_call_id",) if "tool_call_id" in value else ("toolCallId", "id")
        call_id = first_text(value, *keys)
        content = content_from_any(first_present(value, "content", "parts"))
        parts, name = (ToolResultPart(call_id=call_id, name=name, content=content),), None
    elif role == "assistant":
        parts = (*_reasoning(value), *parts, *_refusal(value), *_calls(value, parts))
    if role == "function" and results:
        role = "tool"
    return Message(role=role, content=parts, name=name, id=identity, location=location)


def _reasoning(value: Values) -> tuple[Part, ...]:
    extra = mapping(value.get("additional_kwargs"))
    text = first_text(value, "reasoning_content", "reasoning") or first_text(extra, "reasoning_content")
    return (ThinkingPart(text=text),) if text else ()


def _refusal(value: Values) -> tuple[Part, ...]:
    text = first_text(value, "refusal")
    return (RefusalPart(text=text),) if text else ()


def _calls(value: Values, parts: Sequence[Part]) -> tuple[Part, ...]:
    """The calls beside the content; LangChain repeats them in other places, and each counts once."""
    if any(part.type == "tool-call" for part in parts):
        return ()
    extra = mapping(value.get("additional_kwargs"))
    calls = objects(value.get("tool_calls")) or objects(extra.get("tool_calls"))
    calls += objects(value.get("invalid_tool_calls")) if "invalid_tool_calls" in value else []
    found = [tool_call(call) for call in calls]
    legacy = mapping(first_present(value, "function_call")) or mapping(extra.get("function_call"))
    if legacy and not found:
        found.append(tool_call({"function": legacy}).model_copy(update={"legacy": True}))
    return tuple(found)


def _item(value: Values, location: Location) -> Message:
    """An item of the Responses API, or the bare call or result that the Vercel AI SDK records."""
    kind = value.get("type")
    if kind in _RESULT_ITEMS or ("toolCallId" in value and ("output" in value or "result" in value)):
        return Message(role="tool", content=(tool_result(value),), location=location)
    if kind in _CALL_ITEMS or "toolCallId" in value:
        part: Part = tool_call(value)
    elif kind == "reasoning":
        (part,) = parts_from_any(value)
    elif kind in ("text", "output_text", "input_text") and isinstance(value.get("text"), str):
        part = TextPart(text=str(value["text"]))
    else:
        part = opaque(value, str(kind))
    return Message(role="assistant", content=(part,), location=location)


def _settle_roles(found: InnerMessages, called: Sequence[Message]) -> None:
    """Take a message for a tool's result where its role is the name of a tool that was called; report any
    other role that is not known."""
    waiting = [call for message in called for call in message.calls]
    for place, message in enumerate(found.messages):
        answered = {part.call_id for part in message.results}
        waiting = [call for call in waiting if call.id is None or call.id not in answered]
        waiting += message.calls
        if message.role in KNOWN_ROLES:
            continue
        call = next((call for call in waiting if call.name == message.role), None)
        if call is None:
            found.findings.append(unknown_role(message))
            continue
        waiting.remove(call)
        result = ToolResultPart(call_id=call.id, name=call.name, content=_texts(message))
        found.messages[place] = message.model_copy(
            update={"role": "tool", "content": (result,), "name": None}
        )


def _texts(message: Message) -> tuple[TextPart, ...]:
    return tuple(part for part in message.content if isinstance(part, TextPart))
