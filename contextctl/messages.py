"""A message and its parts, and the settings that a request sends beside its messages."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from contextctl.errors import Location

SYSTEM_ROLES = frozenset({"system", "developer"})
"""Roles that carry instructions rather than conversation."""

KNOWN_ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "function"})
"""The roles of OpenAI chat; any other is reported by its exact name."""


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


class TextPart(_Frozen):
    """Plain text."""

    type: Literal["text"] = "text"
    text: str


class ImagePart(_Frozen):
    """An image by address or data URL; ``width`` and ``height`` in pixels where they are known."""

    type: Literal["image"] = "image"
    url: str | None = None
    detail: str | None = None
    width: int | None = None
    height: int | None = None


class AudioPart(_Frozen):
    """Recorded sound; ``data`` is the JSON text of the part as recorded."""

    type: Literal["audio"] = "audio"
    data: str = ""


class FilePart(_Frozen):
    """An attached file; ``data`` is the JSON text of the part as recorded."""

    type: Literal["file"] = "file"
    name: str | None = None
    data: str = ""


class ToolCallPart(_Frozen):
    """A call of a tool. ``arguments`` is the text as recorded, usually JSON.

    ``legacy`` marks the older ``function_call`` field, which has no id; ``stored`` an item of OpenAI's
    Responses interface that was sent back with its own id and status.
    """

    type: Literal["tool-call"] = "tool-call"
    id: str | None = None
    name: str
    arguments: str = ""
    legacy: bool = False
    stored: bool = False


class ThinkingPart(_Frozen):
    """Reasoning that came with an answer; the signature is opaque and never counted as prose."""

    type: Literal["thinking"] = "thinking"
    text: str = ""
    signature: str | None = None


class RefusalPart(_Frozen):
    """The text with which a model refused."""

    type: Literal["refusal"] = "refusal"
    text: str


class OpaquePart(_Frozen):
    """A part of a kind that contextctl does not know: ``kind`` as recorded, ``data`` its JSON text."""

    type: Literal["opaque"] = "opaque"
    kind: str
    data: str


ContentPart = Annotated[
    TextPart | ImagePart | AudioPart | FilePart | RefusalPart | OpaquePart, Field(discriminator="type")
]


class ToolResultPart(_Frozen):
    """What a tool answered. ``call_id`` pairs it with its call; the older shape has ``name`` only."""

    type: Literal["tool-result"] = "tool-result"
    call_id: str | None = None
    name: str | None = None
    content: tuple[ContentPart, ...] = ()


Part = Annotated[
    TextPart
    | ImagePart
    | AudioPart
    | FilePart
    | ToolCallPart
    | ToolResultPart
    | ThinkingPart
    | RefusalPart
    | OpaquePart,
    Field(discriminator="type"),
]


class FoldCounts(_Frozen):
    """What a note stands for, in numbers: entries, messages and their tokens before folding."""

    entries: int
    messages: int
    tokens: int


class Usage(_Frozen):
    """What the provider reported for the call that a message answers, in tokens; None where not recorded.

    ``input_tokens`` is the whole request, cached tokens included, whatever the provider calls it.
    """

    input_tokens: int | None = None
    cached_tokens: int | None = None
    output_tokens: int | None = None
    window_tokens: int | None = None


class Message(_Frozen):
    """One role plus its content parts, frozen.

    ``pinned`` travels on the message, also through ``model_copy``. ``section`` names the plan's section
    it goes to; ``id`` is its own name; ``response_id`` is shared by all messages of one model response.
    ``protected`` is set on the messages of an assembled prompt and says whether no strategy may lose them;
    None on any other message. A message that the engine put in place of others says so by ``kind`` and
    ``stands_for`` (entry ids). ``location`` is where it was read. A plain string is accepted for
    ``content`` and means one text part.

    A recording may say more: ``usage`` of the call that this answers (on the first message of a response),
    ``time`` as it was written, ``model`` where it changed on the way. ``superseded`` names what took the
    message out of the model's sight before the recording ended; a ``recap`` is what the recording's own
    compaction put in place of others.
    """

    role: str
    content: tuple[Part, ...] = ()
    name: str | None = None
    id: str | None = None
    section: str | None = None
    pinned: bool = False
    protected: bool | None = None
    response_id: str | None = None
    kind: Literal["note", "summary"] | None = None
    stands_for: tuple[str, ...] = ()
    folded: FoldCounts | None = None
    location: Location | None = Field(default=None, repr=False)
    usage: Usage | None = None
    time: str | None = None
    model: str | None = None
    superseded: Literal["compaction", "rewind", "fork"] | None = None
    recap: bool = False

    @field_validator("content", mode="before")
    @classmethod
    def _text_is_one_part(cls, content: object) -> object:
        if isinstance(content, str):
            return (TextPart(text=content),)
        return tuple(content) if isinstance(content, list) else content

    @property
    def text(self) -> str:
        """All text in it, tool names, arguments and results included, joined by line feeds."""
        return "\n".join(part_texts(self.content))

    @property
    def calls(self) -> tuple[ToolCallPart, ...]:
        """The tool calls of this message, in order."""
        return tuple(part for part in self.content if isinstance(part, ToolCallPart))

    @property
    def results(self) -> tuple[ToolResultPart, ...]:
        """The tool results of this message, in order."""
        return tuple(part for part in self.content if isinstance(part, ToolResultPart))

    @property
    def is_user_turn(self) -> bool:
        """True where a user said something: role user, something beside tool results, no note, no recap."""
        return (
            self.role == "user"
            and self.kind is None
            and not self.recap
            and any(not isinstance(part, ToolResultPart) for part in self.content)
        )


class RequestSettings(_Frozen):
    """What a request sends beside its messages, as recorded: plain JSON values.

    ``tools`` is the list of tool definitions; None means that the recording does not say. ``legacy`` marks
    definitions that were recorded as ``functions``. ``api`` says which interface of OpenAI was used (None:
    chat), ``thinking`` the reasoning that was asked for. A request that ``continues`` an earlier one by its
    id holds only what is new.
    """

    tools: tuple[dict[str, Any], ...] | None = None
    tool_choice: Any = None
    response_format: Any = None
    legacy: bool = False
    api: Literal["chat", "responses"] | None = None
    thinking: Any = None
    parallel_tool_calls: bool | None = None
    continues: bool = False


def pinned(message: Message) -> Message:
    """The same message with a pin on it, which no strategy may evict."""
    return message.model_copy(update={"pinned": True})


def part_texts(parts: Iterable[object]) -> list[str]:
    """Every text that a model would read in these parts, tool names, arguments and results included."""
    texts: list[str] = []
    for part in parts:
        match part:
            case TextPart(text=text) | RefusalPart(text=text) | ThinkingPart(text=text):
                texts.append(text)
            case ToolCallPart(name=name, arguments=arguments):
                texts += [name, arguments]
            case ToolResultPart(content=content):
                texts += part_texts(content)
            case OpaquePart(data=data):
                texts.append(data)
            case _:
                pass
    return texts


def part_kinds(message: Message) -> frozenset[str]:
    """The kinds of part in a message: text, image, audio, file, tool-call, tool-result, thinking, ..."""
    kinds = {part.type for part in message.content}
    for result in message.results:
        kinds |= {inner.type for inner in result.content}
    return frozenset(kinds)


def canonical_json(value: object) -> str:
    """Compact JSON with sorted keys and ASCII escapes: the same text for the same value, everywhere."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def visible_content(message: Message) -> str:
    """Canonical JSON of what a provider reads of a message: role, name and parts; no ids of ours."""
    parts = [part.model_dump(mode="json") for part in message.content]
    return canonical_json([message.role, message.name, parts])
