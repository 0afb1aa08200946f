"""Tool definitions as OpenAI shows them to its models: a namespace of TypeScript functions.

Found on recorded requests with the provider's own counts; each rule moves exact counts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

Schema = Mapping[str, Any]

_NUMBERS = {"integer": "number", "number": "number", "string": "string", "boolean": "boolean", "null": "null"}
_LIMITS = ("minimum", "maximum")
NESTED = 2
"""The depth from which on a list of types repeats the description before each of them."""

MAX_DEPTH = 40
"""Definitions inside one another that are followed; one that refers to itself ends there."""


def rendered_tools(tools: Sequence[Mapping[str, Any]]) -> str:
    """The namespace of these definitions; tools without a function (hosted ones) are left out."""
    functions = [function for tool in tools if (function := function_of(tool)) is not None]
    return "namespace functions {\n\n" + "".join(map(_tool, functions)) + "} // namespace functions"


def function_of(tool: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The function that a definition holds, whichever interface it is for; None for a hosted tool."""
    inner = tool.get("function")
    if isinstance(inner, Mapping):
        return inner
    is_flat = tool.get("type", "function") == "function" and isinstance(tool.get("name"), str)
    return tool if is_flat else None


def _tool(function: Mapping[str, Any]) -> str:
    schema = function.get("parameters")
    schema = schema if isinstance(schema, Mapping) else {}
    signature = "()"
    if schema.get("properties"):
        writer = _Writer(schema)
        head = _comment(schema.get("title"), schema.get("description"))
        signature = f"(_: {head}{writer.write_object(schema, 1)})"
    return (
        f"{_comment(None, function.get('description'))}type {function.get('name')} = {signature} => any;\n\n"
    )


def _comment(title: object, description: object) -> str:
    """Title and description as comment lines, each ended by a line feed; nothing for neither."""
    lines: list[str] = []
    if isinstance(title, str) and title:
        lines += _lines(title)
    if isinstance(description, str) and description:
        lines += ["//"] if lines else []
        lines += _lines(description)
    return "".join(f"{line}\n" for line in lines)


def _lines(text: str) -> list[str]:
    stripped = (line.strip() for line in text.strip().split("\n"))
    return [f"// {line}" if line else "//" for line in stripped]


def _limits_of(variant: Schema) -> list[str]:
    """What is said behind a variant of a union: limits of a number, the format of a text."""
    keys = (*_LIMITS, *(("format",) if variant.get("type") == "string" else ()))
    return [f"{key}: {json.dumps(variant[key])}" for key in keys if key in variant]


class _Writer:
    """Writes the types of one function; ``$ref`` is looked up in its own schema."""

    def __init__(self, root: Schema) -> None:
        self._root = root

    def write_object(self, schema: Schema, depth: int) -> str:
        """An object type: on one line unless something in it has to be said in a comment."""
        properties: Mapping[str, Any] = schema.get("properties") or {}
        required = schema.get("required") or ()
        many = depth < MAX_DEPTH and any(self._is_told(item, depth) for item in properties.values())
        fields = [
            self._field(name, item, name in required, many=many, depth=depth)
            for name, item in properties.items()
        ]
        return "{\n" + "".join(fields) + "}" if many else "{ " + ", ".join(fields) + " }"

    def _field(self, name: str, given: object, required: bool, *, many: bool, depth: int) -> str:
        schema = self._resolved(given)
        mark = "" if required else "?"
        if not many:
            return f"{name}{mark}: {self.write_type(schema, depth, many=False)}"
        default = ""
        if "default" in schema:
            default = f" // default: {json.dumps(schema['default'], ensure_ascii=False)}"
        head = _comment(schema.get("title"), schema.get("description"))
        kind = self.write_type(schema, depth, many=True)
        gap = "" if kind.startswith("\n") else " "
        return f"{head}{name}{mark}:{gap}{kind},{default}\n"

    def _resolved(self, given: object, depth: int = 0) -> Schema:
        """The schema itself with what its ``$ref`` says; its own title and description come first."""
        if not isinstance(given, Mapping):
            return {}
        schema: Schema = given
        whole = schema.get("allOf")
        if isinstance(whole, list) and len(whole) == 1 and depth < MAX_DEPTH:
            inner = self._resolved(whole[0], depth + 1)
            return {**inner, **{key: item for key, item in schema.items() if key != "allOf"}}
        reference = schema.get("$ref")
        if not isinstance(reference, str) or depth >= MAX_DEPTH:
            return schema
        target: object = self._root
        for step in reference.removeprefix("#/").split("/"):
            target = target.get(step) if isinstance(target, Mapping) else None
        inner = self._resolved(target, depth + 1)
        return {**inner, **{key: item for key, item in schema.items() if key != "$ref"}}

    def _is_told(self, given: object, depth: int) -> bool:
        """Whether anything in a property's tree needs a comment."""
        schema = self._resolved(given)
        if depth >= MAX_DEPTH:
            return False
        if any(schema.get(key) for key in ("title", "description")) or "default" in schema:
            return True
        for variant in self._variants(schema):
            if _limits_of(variant) or self._is_told(variant, depth + 1):
                return True
        inner = [*(schema.get("properties") or {}).values(), schema.get("items")]
        return any(self._is_told(item, depth + 1) for item in inner if isinstance(item, Mapping))

    def _variants(self, schema: Schema) -> list[Schema]:
        """The variants of a union; a list of types is one where numbers in it have limits."""
        found = schema.get("anyOf") or schema.get("oneOf")
        if isinstance(found, list):
            return [self._resolved(item) for item in found]
        kinds = schema.get("type")
        limits = {key: schema[key] for key in _LIMITS if key in schema}
        if not isinstance(kinds, list) or not limits:
            return []
        return [{"type": kind} | (limits if kind in ("integer", "number") else {}) for kind in kinds]

    def write_type(self, schema: Schema, depth: int, *, many: bool) -> str:
        """The type of a schema; ``many`` where the object around it is on several lines."""
        if depth >= MAX_DEPTH:
            return "any"
        if isinstance(schema.get("enum"), list):
            return " | ".join(json.dumps(item, ensure_ascii=False) for item in schema["enum"])
        if "const" in schema:
            return json.dumps(schema["const"], ensure_ascii=False)
        variants = self._variants(schema)
        if variants:
            return self._union(variants, depth, many=many)
        kind = schema.get("type")
        if isinstance(kind, list):
            types = [self.write_type({**schema, "type": one}, depth, many=many) for one in kind]
            told = _comment(None, schema.get("description")) if many and depth >= NESTED else ""
            return "".join(f"\n | {told}{one}" for one in types) if told else " | ".join(types)
        if kind == "array":
            return self._array(schema, depth, many=many)
        if kind == "object" or "properties" in schema:
            return self.write_object(schema, depth + 1) if schema.get("properties") else "object"
        return _NUMBERS.get(kind, "any") if isinstance(kind, str) else "any"

    def _union(self, variants: Sequence[Schema], depth: int, *, many: bool) -> str:
        if not many:
            return " | ".join(self.write_type(variant, depth + 1, many=False) for variant in variants)
        lines = []
        for variant in variants:
            told = _limits_of(variant)
            suffix = f" // {', '.join(told)}" if told else ""
            lines.append(f"\n | {self.write_type(variant, depth + 1, many=True)}{suffix}")
        return "".join(lines)

    def _array(self, schema: Schema, depth: int, *, many: bool) -> str:
        item = self._resolved(schema.get("items"))
        head = _comment(item.get("title"), item.get("description")) if item.get("properties") else ""
        inner = self.write_type(item, depth + 1, many=many)
        if "\n" in inner or head:
            return f"Array<\n{head}{inner}\n>"
        return f"{inner}[]"
