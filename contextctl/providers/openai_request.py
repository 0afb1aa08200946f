"""What an OpenAI request is charged beside its messages: tools, tool choice, response format.

Some of it depends on how the system prompt ends, because the definitions are written behind it and text
merges there: :meth:`RequestRules.merged` is what a prompt with that system prompt costs more or less.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from contextctl.messages import RequestSettings
from contextctl.ports import Exactness, Measure
from contextctl.providers.openai_tools import function_of, rendered_tools
from contextctl.providers.registry import Framing

TOOLS_HEAD = "# Tools\n\n## functions\n\n"
"""What stands before the definitions; models that reason have it counted in a constant."""

_KEPT = frozenset(
    {
        "type",
        "properties",
        "items",
        "description",
        "title",
        "enum",
        "anyOf",
        "oneOf",
        "allOf",
        "$ref",
        "$defs",
    }
    | {"definitions", "const", "prefixItems"}
)
"""Keys of a response format's schema that are shown to the model; all others are free."""

_NAMED = frozenset({"properties", "$defs", "definitions"})
"""Keys whose own keys are names and not keywords."""

Count = Callable[[str], Measure]


class RequestRules:
    """The rules of one framing profile for one set of tools, choice and format."""

    def __init__(self, framing: Framing, settings: RequestSettings, count: Count) -> None:
        self._framing = framing
        self._count = count
        self._responses = settings.api == "responses"
        self._choice = settings.tool_choice
        self._functions = [f for tool in settings.tools or () if (f := function_of(tool)) is not None]
        self._hosted = len(settings.tools or ()) - len(self._functions)
        self._rendered = rendered_tools(settings.tools or ()) if self._functions else ""
        self._schema = _schema_of(settings.response_format)

    @property
    def merges(self) -> bool:
        """True where what is written depends on the system prompt's end."""
        if self._responses:
            return False
        by_tools = bool(self._rendered) and (not self._framing.reasoning or self._framing.tools_behind_system)
        return by_tools or (self._schema is not None and not self._framing.reasoning and not self._rendered)

    def alone(self) -> Measure:
        """Tools, choice and format of a request that has no system prompt."""
        measure = self._tools() + self._choosing() + self._format()
        if self._hosted:
            reason = "hosted tools add tokens that do not follow from the request"
            measure += Measure(0, 0, Exactness.ESTIMATE, (reason,))
        return measure

    def merged(self, system: str) -> int:
        """Tokens that the same costs more, or less, behind this system prompt."""
        if not self.merges:
            return 0
        if self._rendered and self._framing.reasoning:
            return self._behind(system, "\n\n") - 1
        if self._rendered:
            head = TOOLS_HEAD + self._rendered
            return self._behind(system, "\n\n" + head) - 1 - (self._count(head).tokens + 3)
        assert self._schema is not None
        text = _format_text(self._schema)
        return self._behind(system, "\n\n" + text) - (self._count(text).tokens + 4)

    def answered(self) -> Measure:
        """What every plain answer in the history costs more where a response format has a name."""
        if self._schema is None or self._responses or self._framing.reasoning:
            return Measure.exact(0)
        return Measure.exact(2) + self._count(str(self._schema["name"]))

    def _behind(self, system: str, text: str) -> int:
        return self._count(system + text).tokens - self._count(system).tokens

    def _tools(self) -> Measure:
        framing = self._framing
        if not self._rendered:
            return Measure.exact(0)
        if framing.reasoning:
            more = framing.tools_described if self._functions[0].get("description") else 0
            more += framing.tools_responses if self._responses else framing.tools_chat
            return Measure.exact(more) + self._count(self._rendered)
        if self._responses:
            return Measure.exact(framing.tools_responses) + self._count(self._rendered)
        return Measure.exact(3) + self._count(TOOLS_HEAD + self._rendered)

    def _choosing(self) -> Measure:
        if self._framing.reasoning or not self._rendered:
            return Measure.exact(0)
        choice = self._choice
        if choice == "none":
            return Measure.exact(1)
        name = None
        if isinstance(choice, Mapping):
            inner = choice.get("function")
            name = inner.get("name") if isinstance(inner, Mapping) else choice.get("name")
        elif choice == "required" and self._responses and len(self._functions) == 1:
            name = self._functions[0].get("name")
        return Measure.exact(7) + self._count(name) if isinstance(name, str) else Measure.exact(0)

    def _format(self) -> Measure:
        if self._schema is None:
            return Measure.exact(0)
        text = self._count(_format_text(self._schema))
        if self._framing.reasoning:
            return text
        if self._responses or self._rendered:
            return text + Measure.exact(1)
        return text + Measure.exact(4 + 2) + self._count(str(self._schema["name"]))


def _schema_of(response_format: Any) -> Mapping[str, Any] | None:
    """The named schema of a response format, in chat's or in Responses' shape; None for any other format."""
    if not isinstance(response_format, Mapping):
        return None
    inner = response_format.get("json_schema", response_format)
    is_one = isinstance(inner, Mapping) and isinstance(inner.get("name"), str)
    return inner if is_one and isinstance(inner.get("schema"), Mapping) else None


def _format_text(schema: Mapping[str, Any]) -> str:
    described = f"// {schema['description']}\n" if schema.get("description") else ""
    body = json.dumps(_shown(schema["schema"]), separators=(",", ":"))
    return f"# Response Formats\n\n## {schema['name']}\n\n{described}{body}"


def _shown(value: Any, *, named: bool = False) -> Any:
    """A schema with only the keys that are shown, in the order sent."""
    if isinstance(value, Mapping):
        kept = value.items() if named else [(key, item) for key, item in value.items() if key in _KEPT]
        return {key: _shown(item, named=not named and key in _NAMED) for key, item in kept}
    return [_shown(item) for item in value] if isinstance(value, list) else value
