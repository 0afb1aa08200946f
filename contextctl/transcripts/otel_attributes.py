"""What the attributes of an OpenTelemetry span or event say of a model call, under all their names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from contextctl.messages import Usage
from contextctl.transcripts.nested_json import (
    decoded,
    first_number,
    first_present,
    first_text,
    listed,
    mapping,
    objects,
)

Values = Mapping[str, object]

_INPUT = ("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.token_count.prompt")
_OUTPUT = ("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens", "llm.token_count.completion")
_CACHED = (
    "gen_ai.usage.cache_read.input_tokens",
    "gen_ai.usage.cache_read_input_tokens",
    "gen_ai.usage.details.cache_read_tokens",
    "gen_ai.usage.cached_input_tokens",
    "llm.token_count.prompt_details.cache_read",
    "ai.usage.cachedInputTokens",
)


_WHOLE_INPUT = ("gen_ai.prompt", "ai.prompt", "input.value")


@dataclass(frozen=True, slots=True)
class Asked:
    """What was sent and what came back, each in whichever shape it was recorded."""

    input: object = None
    output: object = None


def plain_attributes(value: object) -> dict[str, object]:
    """Attributes as a plain mapping: OTLP's list of keys and typed values, or already plain."""
    if isinstance(value, dict):
        return dict(value)
    found: dict[str, object] = {}
    for item in value if isinstance(value, list) else []:
        if isinstance(item, dict) and isinstance(item.get("key"), str):
            found[str(item["key"])] = plain_value(item.get("value"))
    return found


def plain_value(value: object) -> object:
    """What OTLP's typed value holds; anything else is itself."""
    if not isinstance(value, dict) or len(value) != 1:
        return value
    ((kind, inner),) = value.items()
    match str(kind).replace("_", "").lower():
        case "stringvalue" | "doublevalue" | "boolvalue" | "intvalue" | "bytesvalue":
            return inner
        case "arrayvalue":
            return [plain_value(item) for item in listed(mapping(inner).get("values"))]
        case "kvlistvalue":
            return plain_attributes(listed(mapping(inner).get("values")))
        case _:
            return value


def usage_of(attributes: Values) -> Usage | None:
    """The reported usage; cached tokens are part of the input, and are added where they are more than it."""
    given = first_number(attributes, *_INPUT, "ai.usage.inputTokens", "ai.usage.promptTokens")
    answered = first_number(attributes, *_OUTPUT, "ai.usage.outputTokens", "ai.usage.completionTokens")
    if given is None and answered is None:
        return None
    cached = first_number(attributes, *_CACHED)
    if given is not None and cached is not None and cached > given:
        given += cached
    return Usage(input_tokens=given, cached_tokens=cached, output_tokens=answered)


def tools_of(attributes: Values) -> object:
    """Tool definitions, or None."""
    request = mapping(attributes.get("model_request_parameters"))
    functions = [item for key in ("function_tools", "output_tools") for item in listed(request.get(key))]
    numbered = [attributes[key] for key in attributes if key.startswith("llm.tools.")]
    declared = [
        item if "function" in item else {"type": "function", "function": item}
        for item in numbered_values(attributes, "llm.request.functions.")
    ]
    found = first_present(attributes, "gen_ai.tool.definitions", "gen_ai.request.tools", "ai.prompt.tools")
    return found or functions or numbered or declared or None


def exchange_of(attributes: Values) -> Asked:
    """The messages that attributes hold, the newer names before the older ones."""
    given = first_present(attributes, "gen_ai.input.messages", "ai.prompt.messages") or (
        mapping(attributes.get("gcp.vertex.agent.llm_request"))
        or [_openllmetry(item, "user") for item in numbered_values(attributes, "gen_ai.prompt.")]
        or [_openinference(item, "user") for item in numbered_values(attributes, "llm.input_messages.")]
        or first_present(attributes, "gen_ai.prompt", "ai.prompt", "input.value")
    )
    answered = first_present(attributes, "gen_ai.output.messages") or (
        mapping(attributes.get("gcp.vertex.agent.llm_response"))
        or [_openllmetry(item, "assistant") for item in numbered_values(attributes, "gen_ai.completion.")]
        or [_openinference(item, "assistant") for item in numbered_values(attributes, "llm.output_messages.")]
        or _vercel_answer(attributes)
        or first_present(attributes, "gen_ai.completion", "output.value")
    )
    return Asked(given, answered)


def numbered_values(attributes: Values, prefix: str) -> list[dict[str, object]]:
    """The objects that attributes like ``prefix0.name`` and ``prefix0.list.1.name`` spell, in order."""
    root: dict[str, object] = {}
    for key, value in attributes.items():
        steps = key.removeprefix(prefix).split(".") if key.startswith(prefix) else []
        if not steps or not _is_index(steps[0]):
            continue
        node = root
        for step in steps[:-1]:
            inner = node.setdefault(step, {})
            if not isinstance(inner, dict):
                inner = node[step] = {}
            node = inner
        node.setdefault(steps[-1], value)
    return [item for item in in_order(root) if isinstance(item, dict)]


def _is_index(step: str) -> bool:
    return step.isascii() and step.isdigit() and len(step) < 7


def in_order(value: object) -> list[object]:
    """The values of an object whose keys are numbers, by number."""
    found = value if isinstance(value, dict) else {}
    return [found[key] for key in sorted((key for key in found if _is_index(key)), key=int)]


def _openllmetry(value: Values, role: str) -> dict[str, object]:
    message: dict[str, object] = {"role": role, **value, "content": structured(value.get("content"))}
    if "tool_calls" in value:
        message["tool_calls"] = in_order(value["tool_calls"])
    return message


def structured(content: object) -> object:
    """Content, its parts where it is the JSON text of a list of parts."""
    found = decoded(content)
    return (
        found
        if isinstance(found, list) and found and all(isinstance(item, dict) for item in found)
        else content
    )


def _openinference(value: Values, role: str) -> dict[str, object]:
    inner = {"role": role, **mapping(value.get("message"))}
    parts = [_openinference_part(mapping(item)) for item in in_order(inner.pop("contents", None))]
    if parts:
        inner["content"] = parts
    if "tool_calls" in inner:
        calls = [mapping(item).get("tool_call") for item in in_order(inner["tool_calls"])]
        inner["tool_calls"] = objects(calls)
    return inner


def _openinference_part(value: Values) -> dict[str, object]:
    inner = dict(mapping(value.get("message_content")))
    image = mapping(mapping(inner.get("image")).get("image"))
    if image:
        inner["image"] = image.get("url")
    return inner


def _vercel_answer(attributes: Values) -> object:
    text = first_text(attributes, "ai.response.text")
    calls = objects(attributes.get("ai.response.toolCalls"))
    if text is None and not calls:
        return attributes.get("ai.response.object")
    return [{"role": "assistant", "content": text, "tool_calls": calls}]
