"""Gemini ``contents`` requests, in camelCase or snake_case: one a line, in a document, or bare contents."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from contextctl.errors import Location
from contextctl.findings import finding
from contextctl.messages import (
    AudioPart,
    ContentPart,
    FilePart,
    ImagePart,
    Message,
    OpaquePart,
    Part,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolResultPart,
)
from contextctl.recording import Transcript
from contextctl.transcripts.chat_messages import (
    Malformed,
    MessageReading,
    json_kind,
    json_text,
    needed_object,
    needed_text,
    optional_text,
    read_message,
)
from contextctl.transcripts.conversations import Draft, read_envelope, transcripts_from
from contextctl.transcripts.json_shapes import data_url, json_schema_format, mapping, string
from contextctl.transcripts.records import Records, split_records
from contextctl.transcripts.requests import Item, RequestShape, missing_parts, request_drafts

NAME = "gemini"

_HINT = "a content of Gemini has a role, user or model, and a list of parts"
_ROLES = {"model": "assistant", "function": "tool"}
_KNOWN_ROLES = frozenset({"user", "model", "function", "tool", "system", "assistant"})
_BESIDE = frozenset(
    {"thought", "thoughtSignature", "thought_signature", "videoMetadata", "video_metadata", "partMetadata"}
)
_CODE = ("executableCode", "codeExecutionResult")
_CAPITAL = re.compile(r"[A-Z]")


def read_gemini(data: bytes, path: str, records: Records | None = None) -> tuple[Transcript, ...]:
    """See :class:`~contextctl.ports.Reader`; every request is a transcript of its own."""
    records = records or split_records(data, path)
    return transcripts_from(request_drafts(records.records, path, SHAPE), records, path, NAME)


def content_from_gemini(value: object, location: Location) -> MessageReading:
    """The message that a content holds; ``model`` is the assistant. Never raises."""
    return read_message(_message, value, location, roles=_KNOWN_ROLES, hint=_HINT)


def either(value: Mapping[str, object], name: str) -> object:
    """The field of this camelCase name, also where it is written in snake_case."""
    found = value.get(name)
    return value.get(_CAPITAL.sub(lambda match: f"_{match[0].lower()}", name)) if found is None else found


def _fill(draft: Draft, request: Mapping[str, object], items: Sequence[Item], location: Location) -> None:
    flat = {**mapping(request.get("config")), **request}
    read_envelope(draft, flat, location)
    draft.model = draft.model and draft.model.removeprefix("models/")
    generation = mapping(either(request, "generationConfig")) | mapping(request.get("config"))
    schema = either(generation, "responseJsonSchema") or either(generation, "responseSchema")
    more = {"tool_choice": either(flat, "toolConfig"), "response_format": json_schema_format(schema)}
    draft.settings = draft.settings.model_copy(update=more)
    system = either(flat, "systemInstruction")
    if system not in (None, "", [], {}):
        parts = system.get("parts") if isinstance(system, dict) and "parts" in system else system
        draft.add(content_from_gemini({"role": "system", "parts": parts}, location))
    for value, at in items:
        draft.add(content_from_gemini(value, at))
    draft.messages = list(_paired(draft.messages))
    cached = either(flat, "cachedContent")
    if cached:
        told = "the request begins with content that is cached at the provider and not in the recording"
        hint = "audit a recording of the whole request"
        draft.findings.append(finding("CTX407", told, location=location, hint=hint))
    draft.lacks = missing_parts(draft, system=bool(cached) and not system, history=bool(cached))


SHAPE = RequestShape("contents", lambda value: "parts" in value and "contents" not in value, _fill)


def _message(value: object, location: Location) -> Message:
    if isinstance(value, str):
        return Message(role="user", content=value, location=location)
    value = needed_object(value, "a content")
    role = optional_text(value, "role", "the role of a content") or "user"
    parts = gemini_parts(value.get("parts"), "a content")
    return Message(role=_ROLES.get(role, role), content=parts, location=location)


def gemini_parts(parts: object, what: str) -> tuple[Part, ...]:
    """The parts of a content: a list of them, one, text or null. Raises :class:`Malformed`."""
    if parts is None:
        return ()
    if isinstance(parts, str | dict):
        parts = [parts]
    if not isinstance(parts, list):
        raise Malformed(f"the parts of {what} are a list, not {json_kind(parts)}")
    numbered = enumerate(parts, 1)
    return tuple(read for number, part in numbered for read in _part(part, f"part {number} of {what}"))


def _part(part: object, what: str) -> Iterator[Part]:
    """One part, and before it the sealed thoughts whose signature it carries."""
    if isinstance(part, str):
        yield TextPart(text=part)
        return
    part = needed_object(part, what)
    signature = string(either(part, "thoughtSignature"))
    if part.get("thought") is True and "text" in part:
        yield ThinkingPart(text=needed_text(part, "text", what), signature=signature)
        return
    if signature is not None:
        yield ThinkingPart(signature=signature)
    call, response = either(part, "functionCall"), either(part, "functionResponse")
    if part.get("text") is not None:
        yield TextPart(text=needed_text(part, "text", what))
    elif call is not None:
        yield _call(call, what)
    elif response is not None:
        yield function_result(response, what)
    elif not part.keys() <= _BESIDE:
        yield _medium(part, what)


def _object(value: object, what: str) -> Mapping[str, object]:
    if isinstance(value, dict):
        return value
    raise Malformed(f"{what} holds an object, not {json_kind(value)}")


def _call(value: object, what: str) -> ToolCallPart:
    call = _object(value, what)
    arguments = call.get("args")
    return ToolCallPart(
        id=optional_text(call, "id", f"the id in {what}"),
        name=needed_text(call, "name", what),
        arguments=json_text({} if arguments is None else arguments, what),
    )


def function_result(value: object, what: str) -> ToolResultPart:
    """The result in a function response, with the media that came with it. Raises :class:`Malformed`."""
    response = _object(value, what)
    answer = response.get("response")
    content: list[ContentPart] = []
    if answer is not None:
        content.append(TextPart(text=answer if isinstance(answer, str) else json_text(answer, what)))
    media = response.get("parts")
    for part in media if isinstance(media, list) else []:
        content.append(_medium(_object(part, what), what))
    return ToolResultPart(
        call_id=optional_text(response, "id", f"the id in {what}"),
        name=optional_text(response, "name", f"the name in {what}"),
        content=tuple(content),
    )


def _medium(part: Mapping[str, object], what: str) -> ContentPart:
    inline, file = either(part, "inlineData"), either(part, "fileData")
    data = inline if isinstance(inline, dict) else file
    if not isinstance(data, dict):
        kind = next(
            (name for name in ("executableCode", "codeExecutionResult") if either(part, name)), "untyped"
        )
        return OpaquePart(kind=kind, data=json_text(part, what, canonical=True))
    media_type = string(either(data, "mimeType")) or ""
    if media_type.startswith("image/"):
        address = string(either(data, "fileUri"))
        return ImagePart(url=address or data_url(media_type, data.get("data")))
    if media_type.startswith("audio/"):
        return AudioPart(data=json_text(part, what, canonical=True))
    return FilePart(name=string(either(data, "displayName")), data=json_text(part, what, canonical=True))


def _paired(messages: Sequence[Message]) -> Iterator[Message]:
    """The messages with the id of the call on results that do not give it: by name, in order."""
    waiting: list[ToolCallPart] = []
    for message in messages:
        if message.role == "assistant":
            waiting = list(message.calls)
        if not message.results:
            yield message
            continue
        content = tuple(
            _with_call(part, waiting) if isinstance(part, ToolResultPart) else part
            for part in message.content
        )
        yield message.model_copy(update={"content": content})


def _with_call(result: Part, waiting: list[ToolCallPart]) -> Part:
    if not isinstance(result, ToolResultPart):
        return result
    same = (call for call in waiting if call.id is not None and call.id == result.call_id)
    named = (call for call in waiting if call.name == result.name and None in (call.id, result.call_id))
    call = next(same, None) or next(named, None)
    if call is None:
        return result
    waiting.remove(call)
    return result.model_copy(update={"call_id": call.id})
