"""The JSON Schema of a plan, as editors read it: draft-07, with every strategy's parameters."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from contextctl.plan import ContextPlan
from contextctl.strategies import STRATEGIES, SUPPLIED

DRAFT = "http://json-schema.org/draft-07/schema#"
"""The newest draft that YAML editors document support for."""


def plan_schema() -> dict[str, Any]:
    """The schema, made from the same classes that refuse a plan."""
    schema = ContextPlan.model_json_schema(ref_template="#/definitions/{model}")
    definitions = schema.pop("$defs", {})
    definitions.pop("CompactionPlan", None)
    definitions.pop("RequestSettings", None)
    section = definitions["SectionPlan"]["properties"]
    known = {**STRATEGIES, **SUPPLIED}
    section["compaction"] = {
        "description": section["compaction"].get("description", ""),
        "anyOf": [{"enum": list(known)}, *(_with_parameters(name, known[name]) for name in known)],
    }
    section["match"] = {
        "description": section["match"].get("description", ""),
        "anyOf": [{"$ref": "#/definitions/Matcher"}, {"const": "rest"}],
    }
    properties = schema["properties"]
    for name in ("sections", "pins", "expect"):
        properties[name] = {"type": "array", **properties[name]}
    properties["sections"]["minItems"] = properties["sections"].pop("minLength")
    return {
        "$schema": DRAFT,
        "title": "contextctl plan",
        **{key: value for key, value in schema.items() if key != "title"},
        "patternProperties": {"^x-": {}},
        "definitions": definitions,
    }


def _with_parameters(name: str, kind: type[BaseModel]) -> dict[str, Any]:
    parameters = kind.model_json_schema()["properties"] if kind.model_fields else {}
    return {
        "type": "object",
        "properties": {"strategy": {"const": name}, **parameters},
        "required": ["strategy"],
        "additionalProperties": False,
    }
