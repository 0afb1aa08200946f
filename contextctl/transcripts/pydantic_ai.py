"""Pydantic AI message histories: requests and responses with their parts."""

from __future__ import annotations

from collections.abc import Iterable

from contextctl.errors import Location
from contextctl.messages import SYSTEM_ROLES, Usage
from contextctl.recording import RecordedCompaction, Transcript
from contextctl.transcripts.chat_messages import MessageReading, json_kind
from contextctl.transcripts.conversations import Draft, transcripts_from
from contextctl.transcripts.json_shapes import (
    UnknownKinds,
    chat_call,
    chat_message,
    count,
    data_url,
    image_url,
    listed,
    mapping,
    note_model,
    recorded_time,
    string,
    superseded,
    text_or_json,
    usage_of,
    with_thinking,
)
from contextctl.transcripts.message_lists import message_lists
from contextctl.transcripts.records import Records, split_records

NAME = "pydantic-ai"
_MEDIA = frozenset(
    {"image-url", "audio-url", "video-url", "document-url", "binary", "uploaded-file", "text-content"}
)


def read_pydantic_ai(data: bytes, path: str, records: Records | None = None) -> tuple[Transcript, ...]:
    """A list of requests and responses, or one a line.

    Each part of a request is a message of its own. Of the instructions only the latest were sent, before
    everything but the system prompt. What a provider compacted is superseded by what it put in its place.
    """
    records = records or split_records(data, path)
    found = message_lists(records.records, path, _listed_in, _is_message)
    unknown = UnknownKinds("a part")
    for conversation in found:
        _History(conversation.draft, unknown).read(conversation.values)
    return transcripts_from([conversation.draft for conversation in found], records, path, NAME)


def _is_message(value: dict[str, object]) -> bool:
    return value.get("kind") in ("request", "response")


def _listed_in(value: dict[str, object]) -> object:
    return next((value[key] for key in ("messages", "all_messages", "message_history") if key in value), None)


class _History:
    """One conversation; ``instructions`` are the latest that a request had."""

    def __init__(self, draft: Draft, unknown: UnknownKinds) -> None:
        self._draft = draft
        self._unknown = unknown
        self._instructions: MessageReading | None = None
        self._responses = 0

    def read(self, values: Iterable[tuple[object, Location]]) -> None:
        for value, at in values:
            kind = mapping(value).get("kind")
            if not isinstance(value, dict) or kind not in ("request", "response"):
                other = "an object of another kind" if isinstance(value, dict) else json_kind(value)
                wrong = f"a message is a request or a response, not {other}; it was not read"
                self._draft.report(wrong, at, skipped=1)
                continue
            if not isinstance(value.get("parts"), list):
                wrong = f"the {kind} has no list of parts; it was not read"
                self._draft.report(wrong, at, skipped=1)
            elif kind == "request":
                self._request(value, at)
            else:
                self._response(value, at)
        if self._instructions is not None and self._instructions.message is not None:
            messages = self._draft.messages
            first = next((n for n, message in enumerate(messages) if message.role != "system"), len(messages))
            messages.insert(first, self._instructions.message)

    def _request(self, value: dict[str, object], at: Location) -> None:
        if string(value.get("instructions")):
            self._instructions = chat_message({"role": "system", "content": value["instructions"]}, at)
        for part in listed(value["parts"]):
            own = mapping(part)
            time = recorded_time(own.get("timestamp", value.get("timestamp")))
            match own.get("part_kind"):
                case "system-prompt" | "instruction":
                    message = {"role": "system", "content": own.get("content")}
                case "user-prompt":
                    message = {"role": "user", "content": _content(own.get("content"))}
                case "tool-return":
                    message = _result(own)
                case "retry-prompt":
                    is_result = string(own.get("tool_name")) is not None
                    text = text_or_json(own.get("content"))
                    message = _result(own) if is_result else {"role": "user", "content": text}
                case "speech" if string(own.get("transcript")):
                    message = {"role": "user", "content": own["transcript"]}
                case kind:
                    self._unknown_part(part, kind, at)
                    continue
            self._draft.add(chat_message(message, at, time=time))

    def _response(self, value: dict[str, object], at: Location) -> None:
        """One message, or several around what the provider's own tools answered."""
        self._responses += 1
        fallback = f"response-{self._responses}"
        response_id = string(value.get("provider_response_id")) or string(value.get("vendor_id")) or fallback
        shared: dict[str, object] = {
            "response_id": response_id,
            "time": recorded_time(value.get("timestamp")),
        }
        model = note_model(self._draft, value.get("model_name"))
        first: dict[str, object] = {"usage": _usage(mapping(value.get("usage"))), "model": model}
        parts: list[dict[str, object]] = []
        for part in listed(value["parts"]):
            own = mapping(part)
            match own.get("part_kind"):
                case "builtin-tool-return":
                    first = self._answer(parts, at, shared, first)
                    self._draft.add(chat_message(_result(own), at, time=shared["time"]))
                    parts = []
                case "compaction":
                    self._compact(own, at)
                case "text" | "thinking" | "tool-call" | "builtin-tool-call" | "file":
                    parts.append(own)
                case "speech" if string(own.get("transcript")):
                    parts.append({"part_kind": "text", "content": own["transcript"]})
                case kind:
                    self._unknown_part(part, kind, at)
        if parts or first:
            self._answer(parts, at, shared, first)

    def _answer(
        self,
        parts: list[dict[str, object]],
        at: Location,
        shared: dict[str, object],
        first: dict[str, object],
    ) -> dict[str, object]:
        """Take in part of a response; returns what is left to be said once."""
        calls = [part for part in parts if part.get("part_kind") in ("tool-call", "builtin-tool-call")]
        told = [part for part in parts if part.get("part_kind") in ("text", "file")]
        value = {
            "role": "assistant",
            "content": [_said(part) for part in told],
            "tool_calls": [
                chat_call(call.get("tool_call_id"), call.get("tool_name"), call.get("args")) for call in calls
            ],
        }
        thoughts = [
            {"thinking": part.get("content"), "signature": part.get("signature")}
            for part in parts
            if part.get("part_kind") == "thinking"
        ]
        self._draft.add(with_thinking(chat_message(value, at, **shared, **first), thoughts))
        return {}

    def _compact(self, part: dict[str, object], at: Location) -> None:
        """What stood before is out of sight, instructions left aside."""
        messages = self._draft.messages
        messages[:] = [
            message if message.role in SYSTEM_ROLES else superseded(message, "compaction")
            for message in messages
        ]
        summary = string(part.get("content"))
        content: object = summary if summary else [{**part, "type": "compaction"}]
        self._draft.compactions.append(RecordedCompaction(at, "summary", readable=summary is not None))
        self._draft.add(chat_message({"role": "assistant", "content": content}, at, recap=True))

    def _unknown_part(self, part: object, kind: object, at: Location) -> None:
        if isinstance(part, dict):
            self._unknown.tell(self._draft, kind, at)
        else:
            wrong = f"a part is an object, not {json_kind(part)}; it was not read"
            self._draft.report(wrong, at, skipped=1)


def _result(part: dict[str, object]) -> dict[str, object]:
    content = part.get("content")
    has_media = isinstance(content, list) and any(_is_media(item) for item in content)
    return {
        "role": "tool",
        "tool_call_id": part.get("tool_call_id"),
        "name": part.get("tool_name"),
        "content": _content(content) if has_media else text_or_json(content),
    }


def _is_media(item: object) -> bool:
    kind = mapping(item).get("kind")
    return isinstance(kind, str) and kind in _MEDIA


def _content(content: object) -> object:
    """Texts and media in OpenAI's shape; marks for a cache are no content."""
    if not isinstance(content, list):
        return content
    return [_medium(item) for item in content if mapping(item).get("kind") != "cache-point"]


def _said(part: dict[str, object]) -> object:
    content = part.get("content")
    return _medium(content) if part.get("part_kind") == "file" else {"type": "text", "text": content}


def _medium(item: object) -> object:
    """One item of a prompt, or a file of a response."""
    own = mapping(item)
    match own.get("kind"):
        case "image-url":
            return image_url(own.get("url"))
        case "text-content":
            return {"type": "text", "text": own.get("content")}
        case "audio-url":
            return {**own, "type": "input_audio"}
        case "document-url" | "uploaded-file":
            return {"type": "file", "file": own}
        case "video-url":
            return {**own, "type": "video"}
        case "binary":
            media_type = string(own.get("media_type")) or ""
            if media_type.startswith("image/"):
                return image_url(data_url(media_type, own.get("data")))
            if media_type.startswith("audio/"):
                return {**own, "type": "input_audio"}
            return {"type": "file", "file": {**own, "filename": own.get("identifier")}}
        case _:
            return item if isinstance(item, str) else {"type": "untyped", **own} if own else item


def _usage(usage: dict[str, object]) -> Usage | None:
    """What was reported, in the names of today or those of older histories; zeros say nothing."""
    whole = count(usage.get("input_tokens", usage.get("request_tokens")))
    output = count(usage.get("output_tokens", usage.get("response_tokens")))
    return usage_of(whole, count(usage.get("cache_read_tokens")), output) if whole or output else None
