"""The text of a Claude prompt: tool definitions, calls and results as the model reads them."""

from __future__ import annotations

import json
from collections.abc import Sequence

from contextctl.messages import ToolCallPart

BLANK = "\n\n"
_PREFIX = "antml:"


def definition_line(tool: dict[str, object], *, escaped: bool) -> str:
    """One tool definition; keys of its schema sorted at every level, ``escaped`` to ASCII or not.

    Takes Anthropic's shape, and OpenAI's for a recording of that shape judged for Claude.
    """
    inner = tool.get("function")
    given = inner if isinstance(inner, dict) else tool
    schema = given.get("input_schema", given.get("parameters", {}))
    line = {"description": given.get("description"), "name": given.get("name"), "parameters": schema}
    if not line["description"]:
        del line["description"]
    return f"<function>{json.dumps(line, sort_keys=True, ensure_ascii=escaped)}</function>"


def calls_block(calls: Sequence[ToolCallPart]) -> str:
    """Calls in one block, a line a parameter."""
    return "\n".join(
        [f"<{_PREFIX}function_calls>", *(invocation(call) for call in calls), f"</{_PREFIX}function_calls>"]
    )


def invocation(call: ToolCallPart) -> str:
    """One call without the block around it; arguments that are no JSON object stand as they are."""
    lines = [f'<{_PREFIX}invoke name="{call.name}">']
    arguments = parsed(call.arguments)
    if isinstance(arguments, dict):
        lines += [
            f'<{_PREFIX}parameter name="{key}">{_value(value)}</{_PREFIX}parameter>'
            for key, value in arguments.items()
        ]
    elif call.arguments:
        lines.append(call.arguments)
    return "\n".join([*lines, f"</{_PREFIX}invoke>"])


def parsed(text: str) -> object:
    """The JSON value of a text, None where it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _value(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def results_block(named: Sequence[tuple[str, str]]) -> str:
    """Results as (tool name, text): one alone, several in a list."""
    if len(named) == 1:
        return f"<function_results>{named[0][1]}</function_results>"
    listed = "\n".join(
        f"<result>\n<name>{name}</name>\n<output>{text}</output>\n</result>" for name, text in named
    )
    return f"<function_results>\n{listed}\n</function_results>"


def schema_text(response_format: object) -> str | None:
    """The schema that an answer must follow, as the model reads it; None where none is asked for."""
    if not isinstance(response_format, dict) or not isinstance(response_format.get("json_schema"), dict):
        return None
    wanted = response_format["json_schema"]
    schema = wanted["schema"] if isinstance(wanted.get("schema"), dict) else wanted
    return json.dumps(schema, indent=2)


def tool_choice_of(choice: object) -> tuple[str, str, bool]:
    """The kind of a tool choice as Anthropic has it, the forced name, whether calls come one at a time."""
    if isinstance(choice, str):
        return {"required": "any"}.get(choice, choice), "", False
    if not isinstance(choice, dict):
        return "auto", "", False
    inner = choice.get("function")
    named = inner if isinstance(inner, dict) else choice
    kind = str(choice.get("type", "auto"))
    single = choice.get("disable_parallel_tool_use") is True
    return {"function": "tool", "required": "any"}.get(kind, kind), str(named.get("name") or ""), single
