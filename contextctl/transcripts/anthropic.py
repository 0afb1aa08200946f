"""Anthropic Messages: requests one a line or in a document, batch lines, or messages that stand alone."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence

from contextctl.errors import Location
from contextctl.messages import (
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
from contextctl.recording import RecordedCompaction, Transcript
from contextctl.transcripts.chat_messages import (
    Malformed,
    MessageReading,
    json_kind,
    json_text,
    needed_object,
    needed_text,
    opaque_part,
    optional_text,
    read_message,
)
from contextctl.transcripts.conversations import Draft, read_envelope, transcripts_from
from contextctl.transcripts.json_shapes import data_url, json_schema_format, mapping, string, superseded
from contextctl.transcripts.records import Records, split_records
from contextctl.transcripts.requests import Item, RequestShape, missing_parts, request_drafts

NAME = "anthropic"
ROLES = frozenset({"user", "assistant", "system"})

_HINT = "a message of Anthropic has a role, and content as text or a list of blocks"
_COMPACTION = "compaction"


def read_anthropic(data: bytes, path: str, records: Records | None = None) -> tuple[Transcript, ...]:
    """See :class:`~contextctl.ports.Reader`; every request is a transcript of its own."""
    records = records or split_records(data, path)
    return transcripts_from(request_drafts(records.records, path, SHAPE), records, path, NAME)


def message_from_anthropic(value: object, location: Location) -> MessageReading:
    """The message that a JSON value holds, its results in a user message as recorded. Never raises."""
    return read_message(_message, value, location, roles=ROLES, hint=_HINT)


def _fill(draft: Draft, request: Mapping[str, object], items: Sequence[Item], location: Location) -> None:
    read_envelope(draft, request, location)
    wanted = mapping(mapping(request.get("output_config")).get("format") or request.get("output_format"))
    response_format = json_schema_format(wanted.get("schema"))
    draft.settings = draft.settings.model_copy(
        update={"response_format": response_format, "thinking": request.get("thinking")}
    )
    system = request.get("system")
    if system not in (None, "", []):
        draft.add(message_from_anthropic({"role": "system", "content": system}, location))
    for value, at in items:
        draft.add(message_from_anthropic(value, at))
    draft.messages = _compacted(draft.messages, draft.compactions)
    draft.lacks = missing_parts(draft)


SHAPE = RequestShape("messages", lambda value: "role" in value and "messages" not in value, _fill)


def _message(value: object, location: Location) -> Message:
    value = needed_object(value, "a message")
    role = needed_text(value, "role", "a message")
    content = value.get("content")
    identity = string(value.get("id"))
    parts = tuple(anthropic_parts(content, "a message's content"))
    return Message(role=role, content=parts, id=identity, location=location)


def anthropic_parts(content: object, what: str) -> Iterable[Part]:
    """The parts of a message's content: text, or a list of blocks. Raises :class:`Malformed`."""
    for block, name in _blocks(content, what):
        kind = block.get("type") if isinstance(block, dict) else None
        if isinstance(block, dict) and isinstance(kind, str) and kind in _MESSAGE_BLOCKS:
            yield _MESSAGE_BLOCKS[kind](block, name)
        else:
            yield from _content(block, name)


def _blocks(content: object, what: str) -> list[tuple[object, str]]:
    if content is None:
        return []
    if isinstance(content, str):
        return [(content, what)]
    if not isinstance(content, list):
        raise Malformed(f"{what} is text or a list of blocks, not {json_kind(content)}")
    return [(block, f"block {number} of {what}") for number, block in enumerate(content, 1)]


def _content(block: object, what: str) -> tuple[ContentPart, ...]:
    """What a block holds that may stand in a message and in a result alike."""
    if isinstance(block, str):
        return (TextPart(text=block),)
    block = needed_object(block, what)
    match block.get("type"):
        case "text":
            return (TextPart(text=needed_text(block, "text", what)),)
        case "image":
            return (_image(block, what),)
        case "document":
            return _document(block, what)
        case _:
            return (opaque_part(block, what),)


def _image(block: Mapping[str, object], what: str) -> ImagePart:
    source = _source(block, what)
    if source.get("type") == "base64":
        return ImagePart(url=data_url(source.get("media_type"), source.get("data")))
    return ImagePart(url=string(source.get("url")) or string(source.get("file_id")))


def _document(block: Mapping[str, object], what: str) -> tuple[ContentPart, ...]:
    """A document of plain text or of blocks is text; any other is a file."""
    source = _source(block, what)
    title = string(block.get("title"))
    match source.get("type"):
        case "text":
            inner: tuple[ContentPart, ...] = (TextPart(text=needed_text(source, "data", what)),)
        case "content":
            blocks = _blocks(source.get("content"), what)
            inner = tuple(part for item, name in blocks for part in _content(item, name))
        case _:
            return (FilePart(name=title, data=json_text(block, what, canonical=True)),)
    beside = (title, string(block.get("context")))
    return (*(TextPart(text=text) for text in beside if text), *inner)


def _source(block: Mapping[str, object], what: str) -> Mapping[str, object]:
    return needed_object(block.get("source"), f"the source of {what}")


def _call(block: Mapping[str, object], what: str) -> ToolCallPart:
    given = block.get("input")
    return ToolCallPart(
        id=optional_text(block, "id", f"the id of {what}"),
        name=needed_text(block, "name", what),
        arguments=given if isinstance(given, str) else json_text({} if given is None else given, what),
    )


def _result(block: Mapping[str, object], what: str) -> ToolResultPart:
    blocks = _blocks(block.get("content"), f"the content of {what}")
    return ToolResultPart(
        call_id=optional_text(block, "tool_use_id", f"'tool_use_id' of {what}"),
        content=tuple(part for item, name in blocks for part in _content(item, name)),
    )


def _thinking(block: Mapping[str, object], what: str) -> ThinkingPart:
    text = optional_text(block, "thinking", f"'thinking' of {what}")
    return ThinkingPart(
        text=text or "", signature=optional_text(block, "signature", f"a signature of {what}")
    )


def _redacted(block: Mapping[str, object], what: str) -> ThinkingPart:
    return ThinkingPart(signature=needed_text(block, "data", what))


_MESSAGE_BLOCKS: dict[str, Callable[[Mapping[str, object], str], Part]] = {
    "tool_use": _call,
    "tool_result": _result,
    "thinking": _thinking,
    "redacted_thinking": _redacted,
}
"""Blocks that stand in a message only. A tool that the server runs has its call and its result in one
message, so that neither is a call that waits for an answer: both are opaque parts."""


def _compacted(messages: Iterable[Message], compactions: list[RecordedCompaction]) -> list[Message]:
    """What stands before a compaction block is out of the model's sight, the system prompt excepted."""
    done: list[Message] = []
    for message in messages:
        blocks = [part for part in message.content if _is_compaction(part)]
        if not blocks:
            done.append(message)
            continue
        # The pieces share a response, so that they stay one entry and one call.
        name = f"compaction-{len(compactions) + 1}"
        start = 0
        for block in blocks:
            place = message.content.index(block, start)
            done += _piece(message, message.content[start:place], name)
            done = [item if item.role == "system" else superseded(item, "compaction") for item in done]
            done.append(_recap(message, block, name, compactions))
            start = place + 1
        done += _piece(message, message.content[start:], name)
    return done


def _is_compaction(part: Part) -> bool:
    """True for a block that stands for history; one with neither text nor sealed text changes nothing."""
    if not isinstance(part, OpaquePart) or part.kind != _COMPACTION:
        return False
    block = json.loads(part.data)
    return bool(block.get("content") or block.get("encrypted_content"))


def _piece(message: Message, parts: tuple[Part, ...], name: str) -> list[Message]:
    return [message.model_copy(update={"content": parts, "response_id": name})] if parts else []


def _recap(message: Message, block: Part, name: str, compactions: list[RecordedCompaction]) -> Message:
    recorded = json.loads(block.data) if isinstance(block, OpaquePart) else {}
    summary = recorded.get("content")
    if isinstance(summary, str) and summary:
        part: Part = TextPart(text=summary)
    else:
        part = block if summary else ThinkingPart(signature=str(recorded["encrypted_content"]))
    readable = not isinstance(part, ThinkingPart)
    compactions.append(RecordedCompaction(message.location or Location(), "summary", readable=readable))
    return message.model_copy(update={"content": (part,), "response_id": name, "recap": True, "id": None})
