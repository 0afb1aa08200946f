"""Fields of recorded JSON, and what readers that turn other shapes into chat messages have in common."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field

from contextctl.errors import Location
from contextctl.findings import Severity, finding
from contextctl.messages import Message, ThinkingPart, Usage
from contextctl.transcripts.chat_messages import MessageReading, message_from_json
from contextctl.transcripts.conversations import Draft

_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.:/-]{0,59}")


def mapping(value: object) -> dict[str, object]:
    """The object itself, or an empty one where it is none."""
    return value if isinstance(value, dict) else {}


def listed(value: object) -> list[object]:
    """The list itself, or an empty one where it is none."""
    return value if isinstance(value, list) else []


def string(value: object) -> str | None:
    """The text, or None where it is none or empty."""
    return value if isinstance(value, str) and value else None


def count(value: object) -> int | None:
    """A number of something, or None where it is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def total(*values: object) -> int | None:
    """The sum of the counts among the values, or None where there is none."""
    counts = [number for number in map(count, values) if number is not None]
    return sum(counts) if counts else None


def recorded_time(value: object) -> str | None:
    """A time as it was written, be it text or a number."""
    return str(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else None


def usage_of(input_tokens: int | None, cached: int | None, output: int | None) -> Usage | None:
    """What was reported for a call, or None where nothing was."""
    if input_tokens is None and cached is None and output is None:
        return None
    return Usage(input_tokens=input_tokens, cached_tokens=cached, output_tokens=output)


def openai_usage(value: object) -> Usage | None:
    """The usage of an OpenAI chat response, in which the prompt's tokens include the cached ones."""
    usage = mapping(value)
    cached = count(mapping(usage.get("prompt_tokens_details")).get("cached_tokens"))
    return usage_of(
        count(usage.get("prompt_tokens")),
        count(usage.get("cache_read_input_tokens")) if cached is None else cached,
        count(usage.get("completion_tokens")),
    )


def chat_call(identity: object, name: object, arguments: object) -> dict[str, object]:
    """A tool call in OpenAI's shape."""
    return {"id": identity, "type": "function", "function": {"name": name, "arguments": arguments}}


def image_url(url: object, detail: object = None) -> dict[str, object]:
    """An image part in OpenAI's shape."""
    return {"type": "image_url", "image_url": {"url": url, "detail": detail}}


def data_url(media_type: object, data: object) -> str:
    """The address of data that stands in the recording itself, as base64."""
    return f"data:{string(media_type) or 'application/octet-stream'};base64,{string(data) or ''}"


def json_schema_format(schema: object) -> dict[str, object] | None:
    """A response format as OpenAI chat has it, for a schema that another field asks the answer to follow."""
    return {"type": "json_schema", "json_schema": schema} if isinstance(schema, dict) else None


def chat_message(value: object, location: Location, **more: object) -> MessageReading:
    """A message in OpenAI's shape, with more of the fields of :class:`~contextctl.messages.Message`."""
    reading = message_from_json(value, location)
    if reading.message is None:
        return reading
    return MessageReading(reading.message.model_copy(update=more), reading.findings)


def with_thinking(reading: MessageReading, blocks: object) -> MessageReading:
    """The same with reasoning in signed or redacted blocks, of which ``reasoning_content`` is a copy."""
    thoughts = tuple(
        ThinkingPart(
            text=string(block.get("thinking")) or "",
            signature=string(block.get("signature")) or string(block.get("data")),
        )
        for block in map(mapping, listed(blocks))
        if block
    )
    if reading.message is None or not thoughts:
        return reading
    rest = tuple(part for part in reading.message.content if not isinstance(part, ThinkingPart))
    return MessageReading(
        reading.message.model_copy(update={"content": (*thoughts, *rest)}), reading.findings
    )


def note_model(draft: Draft, name: object) -> str | None:
    """Make this the model of the recording; its name where it is not the one before."""
    model = string(name)
    if model is None or model == draft.model:
        return None
    changed = draft.model is not None
    draft.model = model
    return model if changed else None


def superseded(message: Message, by: str) -> Message:
    """The same message, taken out of the model's sight; what took it out first stays named."""
    return message if message.superseded else message.model_copy(update={"superseded": by})


@dataclass(slots=True)
class UnknownKinds:
    """Tells once a file of each kind of record that is not known; ``done`` is what became of them."""

    what: str
    done: str = "no record of this kind was read"
    hint: str = "where it holds something that the model saw, the counts are too low"
    told: set[str] = field(default_factory=set)

    def tell(self, draft: Draft, kind: object, location: Location) -> None:
        """Note that there is a record of this kind."""
        plain = isinstance(kind, str) and _PLAIN_NAME.fullmatch(kind)
        name = f"'{kind}'" if plain else "that cannot be named"
        if name in self.told:
            return
        self.told.add(name)
        draft.findings.append(
            finding(
                "CTX014",
                f"{self.what} of a kind {name} is not known; {self.done}",
                location=location,
                severity=Severity.WARNING,
                hint=self.hint,
            )
        )


def text_or_json(value: object) -> str:
    """A text as it is, anything else as JSON, which is how it is sent."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
