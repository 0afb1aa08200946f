"""A recorded input and output of a model call -> :class:`~contextctl.transcripts.call_threads.ModelCall`."""

from __future__ import annotations

from collections.abc import Mapping

from contextctl.errors import Location
from contextctl.messages import SYSTEM_ROLES, RequestSettings, Usage
from contextctl.transcripts.any_message import messages_from_any
from contextctl.transcripts.call_threads import ModelCall
from contextctl.transcripts.nested_json import decoded, first_present, first_text, listed, mapping, objects

Values = Mapping[str, object]


def call_from(
    asked: object,
    answered: object,
    location: Location,
    *,
    system: object = None,
    tools: object = None,
    model: str | None = None,
    usage: Usage | None = None,
    time: str | None = None,
    response_id: str | None = None,
) -> ModelCall:
    """The call with this input and output, each in any shape. Never raises.

    ``system`` and ``tools`` are used where the input and output do not have them; ``response_id`` likewise.
    """
    call = ModelCall(location, model=model, usage=usage)
    request, response = mapping(asked), mapping(answered)
    path, line = location.path or "-", location.line or 1
    found = messages_from_any(asked, path, line)
    call.input = found.messages
    if not any(message.role in SYSTEM_ROLES for message in call.input):
        said = first_present({"system": system, **_instructions(response)}, "system", "instructions")
        text = messages_from_any({"role": "system", "content": decoded(said)}, path, line)
        call.input = [*(text.messages if said else ()), *call.input]
    answer = messages_from_any(answered, path, line, role="assistant", called=call.input)
    call.output = [message.model_copy(update={"time": time}) for message in answer.messages]
    call.findings = [*found.findings, *answer.findings]
    call.skipped = found.skipped + answer.skipped
    call.settings = _settings(request, response, tools)
    call.model = call.model or first_text(response, "model") or first_text(request, "model")
    call.response_id = first_text(response, "id") or response_id
    return call


def _instructions(response: Values) -> dict[str, object]:
    """The system prompt that an answer of the Responses API repeats."""
    return {"instructions": response.get("instructions")} if response.get("object") == "response" else {}


def _settings(request: Values, response: Values, tools: object) -> RequestSettings:
    config = {**mapping(request.get("config")), **request}
    legacy = config.get("tools") is None and config.get("functions") is not None
    found = first_present(config, "tools", "functions")
    if found is None:
        found = response.get("tools") if response.get("object") == "response" else None
    return RequestSettings(
        tools=definitions(found if found is not None else tools),
        tool_choice=first_present(config, "tool_choice", "toolConfig", "tool_config", "function_call"),
        response_format=first_present(config, "response_format", "response_schema"),
        legacy=legacy,
    )


def definitions(value: object) -> tuple[dict[str, object], ...] | None:
    """Tool definitions: a list of objects, of JSON texts, or a name -> definition object; None for none."""
    value = decoded(value)
    if isinstance(value, dict):
        return tuple(item for item in value.values() if isinstance(item, dict))
    if not isinstance(value, list):
        return None
    return tuple(objects(value)) if listed(value) else ()
