"""One part of a message, in whichever shape a framework recorded it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from contextctl.messages import (
    AudioPart,
    ContentPart,
    FilePart,
    ImagePart,
    OpaquePart,
    Part,
    RefusalPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolResultPart,
    canonical_json,
)
from contextctl.transcripts.nested_json import first_present, first_text, mapping, text_or_json

Values = Mapping[str, object]


def parts_from_any(content: object) -> tuple[Part, ...]:
    """The parts of a ``content`` or ``parts`` field: text, one part, a list of them, null. Never raises."""
    if content is None:
        return ()
    if isinstance(content, list):
        return tuple(part_from_any(item) for item in content)
    return (part_from_any(content),)


def part_from_any(value: object) -> Part:
    """One part. What is of no known kind is kept as an opaque part."""
    if isinstance(value, str):
        return TextPart(text=value)
    if not isinstance(value, dict):
        return OpaquePart(kind="untyped", data=canonical_json(value))
    kind = value.get("type")
    if not isinstance(kind, str):
        return _untyped(value)
    read = _BY_TYPE.get(kind)
    return read(value) if read is not None else opaque(value, kind)


def opaque(value: Values, kind: str) -> OpaquePart:
    """A part that is kept as recorded."""
    return OpaquePart(kind=kind, data=canonical_json(value))


def content_from_any(value: object) -> tuple[ContentPart, ...]:
    """What a tool answered: text, a list of parts, or any other JSON as its text."""
    if value is None:
        return ()
    if isinstance(value, list) and value and all(_is_part(item) for item in value):
        parts = (part_from_any(item) for item in value)
        return tuple(part for part in parts if not isinstance(part, _NOT_IN_RESULTS))
    return (TextPart(text=text_or_json(value)),)


_NOT_IN_RESULTS = (ToolCallPart, ToolResultPart, ThinkingPart)


def _is_part(value: object) -> bool:
    kind = value.get("type") if isinstance(value, dict) else None
    return isinstance(kind, str) and kind in _CONTENT_TYPES


def tool_call(value: Values) -> ToolCallPart:
    """A call in any shape: chat, LangChain, Anthropic, Gemini, Responses item, OTel part, Vercel part."""
    function = mapping(value.get("function")) or mapping(value.get("custom"))
    inner = {**value, **function}
    arguments = first_present(inner, "arguments", "args", "input")
    return ToolCallPart(
        id=first_text(value, "call_id", "tool_call_id", "toolCallId", "toolUseId", "id"),
        name=first_text(inner, "name", "toolName", "tool_name") or "",
        arguments=text_or_json(arguments),
    )


def tool_result(value: Values) -> ToolResultPart:
    """A result in any shape, whatever its field is called."""
    found = first_present(value, "response", "result", "output", "content")
    if isinstance(found, dict) and set(found) <= {"type", "value"} and "value" in found:
        found = found["value"]
    return ToolResultPart(
        call_id=first_text(value, "tool_use_id", "call_id", "tool_call_id", "toolCallId", "toolUseId", "id"),
        name=first_text(value, "name", "toolName", "tool_name"),
        content=content_from_any(found),
    )


def _untyped(value: Values) -> Part:
    """Gemini's parts, which have no type, and the bare calls of the Vercel AI SDK."""
    for key, read in _BY_KEY:
        inner = value.get(key)
        if isinstance(inner, dict):
            return read(inner)
    if isinstance(value.get("toolCallId"), str):
        return tool_result(value) if "output" in value or "result" in value else tool_call(value)
    text = value.get("text")
    if not isinstance(text, str):
        return opaque(value, "untyped")
    if value.get("thought") is True:
        signature = first_text(value, "thoughtSignature", "thought_signature")
        return ThinkingPart(text=text, signature=signature)
    return TextPart(text=text)


def _text(value: Values) -> Part:
    text = first_present(value, "text", "content")
    return TextPart(text=text) if isinstance(text, str) else opaque(value, str(value["type"]))


def _refusal(value: Values) -> Part:
    return RefusalPart(text=text_or_json(first_present(value, "refusal", "content")))


def _thinking(value: Values) -> Part:
    text = first_present(value, "thinking", "text", "content", "reasoning", "summary")
    if isinstance(text, list):
        steps = (first_text(item, "text") for item in text if isinstance(item, dict))
        text = "\n".join(step for step in steps if step)
    return ThinkingPart(
        text=text_or_json(text),
        signature=first_text(value, "signature", "encrypted_content", "data"),
    )


def _image(value: Values) -> Part:
    found = first_present(value, "image_url", "image", "url", "uri", "data")
    address = mapping(found)
    url = first_text(address, "url") or (found if isinstance(found, str) else None)
    source = mapping(value.get("source"))
    if source:
        url = first_text(source, "url") or _data_url(source)
    return ImagePart(url=url, detail=first_text(address, "detail") or first_text(value, "detail"))


def _data_url(value: Values) -> str | None:
    """The data URL of inline bytes, whatever the fields are called."""
    data = first_text(value, "data", "content")
    kind = first_text(value, "media_type", "mime_type", "mimeType", "mediaType") or "application/octet-stream"
    return f"data:{kind};base64,{data}" if data else None


def _media(value: Values) -> Part:
    """Inline or linked bytes that say of what kind they are."""
    kind = (
        first_text(value, "modality", "media_type", "mime_type", "mimeType", "mediaType", "mime") or ""
    ).split("/")[0]
    if kind == "image":
        url = first_text(value, "uri", "url", "fileUri", "file_uri")
        return ImagePart(url=url or _data_url(value))
    if kind == "audio":
        return AudioPart(data=canonical_json(value))
    return _file(value)


def _file(value: Values) -> Part:
    file = mapping(value.get("file"))
    name = first_text(file, "filename") or first_text(value, "filename", "name", "displayName")
    return FilePart(name=name, data=canonical_json(value))


def _audio(value: Values) -> Part:
    return AudioPart(data=canonical_json(value))


_BY_TYPE: dict[str, Callable[[Values], Part]] = {
    **dict.fromkeys(("text", "input_text", "output_text", "text-plain", "summary_text"), _text),
    **dict.fromkeys(("thinking", "redacted_thinking", "reasoning"), _thinking),
    **dict.fromkeys(("tool_use", "tool_call", "tool-call", "function_call", "custom_tool_call"), tool_call),
    **dict.fromkeys(("tool_result", "tool-result", "tool_call_response"), tool_result),
    **dict.fromkeys(("function_call_output", "custom_tool_call_output"), tool_result),
    **dict.fromkeys(("image_url", "image", "input_image"), _image),
    **dict.fromkeys(("blob", "uri"), _media),
    **dict.fromkeys(("file", "input_file", "document", "file_data"), _media),
    **dict.fromkeys(("input_audio", "audio"), _audio),
    "refusal": _refusal,
}

_CONTENT_TYPES = frozenset(_BY_TYPE) - {"tool_use", "tool_call", "tool-call", "function_call"}

_BY_KEY: tuple[tuple[str, Callable[[Values], Part]], ...] = (
    ("toolUse", tool_call),
    ("toolResult", tool_result),
    ("functionCall", tool_call),
    ("function_call", tool_call),
    ("functionResponse", tool_result),
    ("function_response", tool_result),
    ("inlineData", _media),
    ("inline_data", _media),
    ("fileData", _media),
    ("file_data", _media),
)
