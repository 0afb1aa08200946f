"""Messages of an inspect_ai sample, wherever in it their text is stored."""

from __future__ import annotations

import re
from typing import Any

from contextctl.errors import Location
from contextctl.findings import Finding, finding
from contextctl.messages import RequestSettings, Usage, canonical_json
from contextctl.transcripts.chat_messages import MessageReading
from contextctl.transcripts.json_shapes import (
    chat_call,
    chat_message,
    count,
    image_url,
    listed,
    mapping,
    string,
    total,
    usage_of,
    with_thinking,
)

_REFERENCE = re.compile(r"(?:attachment|tc)://([0-9a-f]{16,64})")


class SampleMessages:
    """Reads messages of one sample: references are resolved, inputs taken from the pool of messages."""

    def __init__(self, sample: dict[str, object], at: Location) -> None:
        self._at = at
        older = mapping(mapping(sample.get("transcript")).get("content"))
        self._attachments = {**older, **mapping(sample.get("attachments"))}
        pool = sample.get("message_pool")
        self._pool = listed(mapping(sample.get("events_data")).get("messages") if pool is None else pool)
        self._missing = False
        self._sent: dict[int, MessageReading] = {}

    def resolve(self, value: Any) -> Any:
        """The value with every reference to an attachment replaced by what is attached."""
        match value:
            case str():
                return _REFERENCE.sub(self._attached, value) if "://" in value else value
            case list():
                return [self.resolve(item) for item in value]
            case dict():
                return {key: self.resolve(item) for key, item in value.items()}
            case _:
                return value

    def _attached(self, reference: re.Match[str]) -> str:
        text = self._attachments.get(reference[1])
        if isinstance(text, str):
            return text
        self._missing = True
        return reference[0]

    def findings(self) -> list[Finding]:
        """What was wrong with the references and with the messages of the requests, each told once."""
        found = [problem for reading in self._sent.values() for problem in reading.findings]
        if self._missing:
            missing = "an attachment that is referred to is not in the log; the reference was kept"
            hint = "where it stands for something long, the counts are too low"
            found.append(finding("CTX011", missing, location=self._at, hint=hint))
        return list(dict.fromkeys(found))

    def inputs(self, event: dict[str, object]) -> list[object]:
        """The messages that a model event sent: its own, or ranges of the pool."""
        own = listed(event.get("input"))
        if own:
            return own
        found: list[object] = []
        for pair in listed(event.get("input_refs")):
            bounds = [count(bound) for bound in listed(pair)]
            if len(bounds) == 2 and None not in bounds:
                found += self._pool[slice(*bounds)]
        return found

    def key(self, value: object) -> str:
        """What tells a message from others: its id, else what it holds."""
        message = mapping(value)
        identity = string(message.get("id"))
        if identity is not None:
            return identity
        held = [self.resolve(message.get(name)) for name in ("role", "content", "tool_calls", "tool_call_id")]
        return canonical_json(held)

    def sent(self, value: object) -> MessageReading:
        """A message of a request; the same one is read once."""
        reading = self._sent.get(id(value))
        if reading is None:
            reading = self._sent[id(value)] = self.read(value, self._at)
        return reading

    def read(self, value: object, location: Location) -> MessageReading:
        """One message as the provider got it; where a tool failed, it got the error."""
        if not isinstance(value, dict):
            return chat_message(value, location)
        message = self.resolve(value)
        content = message.get("content")
        error = string(mapping(message.get("error")).get("message"))
        blocks = listed(content)
        read: dict[str, object] = {
            "role": message.get("role"),
            "content": content if error is None else error,
            "reasoning_content": message.get("reasoning"),
        }
        if isinstance(content, list) and error is None:
            read["content"] = [_part(block) for block in blocks if not _is_reasoning(block)]
        if message.get("role") == "tool":
            read |= {"tool_call_id": message.get("tool_call_id"), "name": message.get("function")}
        if message.get("role") == "assistant":
            read["tool_calls"] = [_call(call) for call in listed(message.get("tool_calls"))]
        reasoning = [_reasoning(mapping(block)) for block in blocks if _is_reasoning(block)]
        return with_thinking(chat_message(read, location), reasoning)

    def settings(self, event: dict[str, object]) -> RequestSettings:
        """What a model event sent beside its messages, its tools as they are recorded."""
        tools = self.resolve(event.get("tools"))
        return RequestSettings(
            tools=tuple(tool for tool in tools if isinstance(tool, dict))
            if isinstance(tools, list)
            else None,
            tool_choice=self.resolve(event.get("tool_choice")),
            response_format=self.resolve(mapping(event.get("config")).get("response_schema")),
        )


def _is_reasoning(block: object) -> bool:
    return mapping(block).get("type") == "reasoning"


def _reasoning(block: dict[str, object]) -> dict[str, object]:
    """Reasoning that was redacted cannot be read and is kept as a signature."""
    text, signature = block.get("reasoning"), block.get("signature")
    if block.get("redacted") is True:
        return {"thinking": block.get("summary"), "signature": text}
    return {"thinking": text, "signature": signature}


def _part(block: object) -> object:
    part = mapping(block)
    match part.get("type"):
        case "image":
            return image_url(part.get("image"), part.get("detail"))
        case "audio":
            return {**part, "type": "input_audio"}
        case "document":
            return {"type": "file", "file": {**part, "filename": part.get("filename")}}
        case _:
            return block


def _call(call: object) -> object:
    """A call whose function is its name."""
    value = mapping(call)
    return chat_call(value.get("id"), value.get("function"), value.get("arguments")) if value else call


def reported_usage(event: dict[str, object]) -> Usage | None:
    """What the provider reported for one call. Some count cached tokens among the input tokens and some
    beside them; the total has them all."""
    usage = mapping(mapping(event.get("output")).get("usage"))
    own, output, whole = (count(usage.get(key)) for key in ("input_tokens", "output_tokens", "total_tokens"))
    read = count(usage.get("input_tokens_cache_read"))
    if own is not None and whole is not None and output is not None and whole - output >= own:
        return usage_of(whole - output, read, output)
    return usage_of(total(own, read, usage.get("input_tokens_cache_write")), read, output)
