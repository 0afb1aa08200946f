"""Recordings in another shape: our own without loss, providers' requests with what they cannot carry told."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from contextctl.entries import as_sent
from contextctl.errors import Location
from contextctl.history import chosen_history
from contextctl.messages import (
    SYSTEM_ROLES,
    AudioPart,
    FilePart,
    ImagePart,
    Message,
    OpaquePart,
    RefusalPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolResultPart,
    part_texts,
)
from contextctl.recording import Transcript
from contextctl.transcripts.chat_encoding import lossless_json, message_to_json
from contextctl.transcripts.contextctl_jsonl import own_message_from_json
from contextctl.transcripts.own_envelope import envelope_of

SHAPES = ("contextctl", "openai", "anthropic")
"""What a recording can be converted to."""


@dataclass(slots=True)
class Losses:
    """What a shape could not carry: how often each kind, and the place of the first."""

    counts: Counter[str] = field(default_factory=Counter)
    first: dict[str, Location] = field(default_factory=dict)

    def note(self, kind: str, message: Message) -> None:
        """One more of a kind."""
        self.counts[kind] += 1
        self.first.setdefault(kind, message.location or Location())

    def told(self) -> list[str]:
        """A sentence a kind, without a word of any message."""
        return [f"{kind}: {count:,}, first at {self.first[kind]}" for kind, count in self.counts.items()]


def converted(transcripts: Sequence[Transcript], shape: str, losses: Losses) -> Iterator[str]:
    """The recordings in a shape of :data:`SHAPES`, a line of JSON each, without line feeds.

    Our own shape holds everything: one conversation is a header and a message a line, several are one a
    line. The providers' requests hold what the model had at the end; ``losses`` gets what they cannot carry.
    """
    if shape == "contextctl":
        yield from _own(transcripts)
        return
    write = _openai_request if shape == "openai" else _anthropic_request
    for transcript in transcripts:
        yield _line(write(chosen_history(transcript, "effective"), losses))


def _line(value: object) -> str:
    return json.dumps(value, ensure_ascii=True, separators=(", ", ": "))


def _read_own(value: object, location: Location) -> Message | None:
    reading = own_message_from_json(value, location)
    return None if reading.findings else reading.message


def _write_own(message: Message) -> dict[str, Any]:
    return lossless_json(message, _read_own)


def _own(transcripts: Sequence[Transcript]) -> Iterator[str]:
    if len(transcripts) == 1:
        (transcript,) = transcripts
        yield _line(_placed(envelope_of(transcript, _write_own), transcript))
        yield from (_line(_write_own(message)) for message in transcript.messages)
        return
    for number, transcript in enumerate(transcripts, 1):
        messages = [_write_own(message) for message in transcript.messages]
        head = _placed(envelope_of(transcript, _write_own), transcript, line=number)
        yield _line({**head, "messages": messages})


def _placed(head: dict[str, Any], transcript: Transcript, line: int | None = None) -> dict[str, Any]:
    """The header with its compactions placed in what is written, behind as many messages as stood before
    them: on lines of their own after the header, or all on one ``line``."""
    places = [message.location or Location() for message in transcript.messages]
    for item, compaction in zip(head.get("compactions", ()), transcript.compactions, strict=True):
        at = (compaction.location.line or 0, compaction.location.index or 0)
        before = sum((place.line or 0, place.index or 0) < at for place in places)
        item.update(line=before + 2 if line is None else line, index=None if line is None else before + 1)
    return head


# OpenAI chat


def _openai_request(transcript: Transcript, losses: Losses) -> dict[str, Any]:
    messages = [row for message in as_sent(transcript.messages) for row in _openai_rows(message, losses)]
    request: dict[str, Any] = {"model": transcript.model, "messages": messages}
    settings = transcript.settings
    if settings.tools is not None:
        tools = [_openai_tool(tool) for tool in settings.tools]
        request["functions" if settings.legacy else "tools"] = (
            list(settings.tools) if settings.legacy else tools
        )
    if settings.tool_choice is not None:
        request["tool_choice"] = settings.tool_choice
    if settings.response_format is not None:
        request["response_format"] = settings.response_format
    return {key: value for key, value in request.items() if value is not None}


def _openai_tool(tool: dict[str, Any]) -> dict[str, Any]:
    if "function" in tool or "name" not in tool:
        return tool
    parameters = tool.get("input_schema", tool.get("parameters"))
    named = {key: tool[key] for key in ("name", "description", "strict") if key in tool}
    return {"type": "function", "function": named | ({"parameters": parameters} if parameters else {})}


def _openai_rows(message: Message, losses: Losses) -> Iterator[dict[str, Any]]:
    """A chat message for each result, and one for what is said beside them."""
    said: list[Any] = []
    for part in message.content:
        match part:
            case ToolResultPart():
                single = Message(role="function" if part.call_id is None else "tool", content=(part,))
                yield message_to_json(single)
                if any(not isinstance(inner, TextPart) for inner in part.content):
                    losses.note("parts of tool results that are no text", message)
            case ThinkingPart():
                losses.note("thinking", message)
            case OpaquePart():
                losses.note(f"parts of kind {part.kind!r}", message)
            case _:
                said.append(part)
    if said or not message.results:
        plain = Message(role=message.role, content=tuple(said), name=message.name)
        yield message_to_json(plain)


# Anthropic Messages


def _anthropic_request(transcript: Transcript, losses: Losses) -> dict[str, Any]:
    system: list[dict[str, Any]] = []
    rows: list[dict[str, Any]] = []
    for number, message in enumerate(as_sent(transcript.messages)):
        if message.role in SYSTEM_ROLES:
            if rows:
                losses.note("system messages moved to the front", message)
            system += [{"type": "text", "text": text} for text in part_texts(message.content)]
            continue
        role = "assistant" if message.role == "assistant" else "user"
        blocks = [block for part in message.content for block in _blocks(part, message, number, losses)]
        if message.name:
            losses.note("names of participants", message)
        if blocks and rows and rows[-1]["role"] == role:
            rows[-1]["content"] += blocks
        elif blocks:
            rows.append({"role": role, "content": blocks})
    request: dict[str, Any] = {"model": transcript.model, "max_tokens": 1024, "messages": rows}
    if system:
        request["system"] = system
    if transcript.settings.tools is not None:
        request["tools"] = [_anthropic_tool(tool) for tool in transcript.settings.tools]
    return {key: value for key, value in request.items() if value is not None}


def _anthropic_tool(tool: dict[str, Any]) -> dict[str, Any]:
    if "input_schema" in tool or "name" not in tool.get("function", tool):
        return tool
    named = tool.get("function", tool)
    made = {key: named[key] for key in ("name", "description") if key in named}
    return made | {"input_schema": named.get("parameters") or {"type": "object"}}


def _blocks(part: object, message: Message, number: int, losses: Losses) -> Iterator[dict[str, Any]]:
    match part:
        case TextPart(text=text) | RefusalPart(text=text):
            yield {"type": "text", "text": text}
        case ThinkingPart(text=text, signature=signature) if signature is not None:
            yield {"type": "thinking", "thinking": text, "signature": signature}
        case ThinkingPart():
            losses.note("thinking without a signature", message)
        case ImagePart(url=url) if url is not None:
            yield {"type": "image", "source": _source(url)}
        case ToolCallPart():
            identity = part.id or f"call-{number}-{part.name}"
            yield {
                "type": "tool_use",
                "id": identity,
                "name": part.name,
                "input": _input(part, message, losses),
            }
        case ToolResultPart():
            content = [block for inner in part.content for block in _blocks(inner, message, number, losses)]
            yield {
                "type": "tool_result",
                "tool_use_id": part.call_id or f"call-{part.name}",
                "content": content,
            }
        case OpaquePart(kind=kind):
            losses.note(f"parts of kind {kind!r}", message)
        case AudioPart() | FilePart() | ImagePart():
            losses.note(f"{part.type} parts", message)


def _source(url: str) -> dict[str, Any]:
    head, comma, data = url.partition(",")
    if not comma or not head.startswith("data:") or not head.endswith(";base64"):
        return {"type": "url", "url": url}
    return {"type": "base64", "media_type": head[5:-7], "data": data}


def _input(call: ToolCallPart, message: Message, losses: Losses) -> dict[str, Any]:
    try:
        value = json.loads(call.arguments or "{}")
    except ValueError:
        value = None
    if isinstance(value, dict):
        return value
    losses.note("tool arguments that are no JSON object", message)
    return {"arguments": call.arguments}
