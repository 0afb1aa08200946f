"""The texts of one message, each of which can be replaced by filler of a chosen size."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from contextctl.blanking.filler import Filler, is_json, parsed
from contextctl.blanking.json_leaves import JsonLeaves, compact, fit
from contextctl.images import size_of_data_url
from contextctl.messages import (
    AudioPart,
    ContentPart,
    FilePart,
    ImagePart,
    Message,
    OpaquePart,
    Part,
    RefusalPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolResultPart,
)

_SEALED = "blank"
"""Stands for a signature, of which nothing is ever counted."""


@dataclass(slots=True)
class Slot:
    """One text: ``made`` gives its filler, ``change`` tokens longer; ``least`` is the smallest change that
    leaves something of it."""

    made: Callable[[int], str]
    least: int
    change: int = 0

    @property
    def text(self) -> str:
        """The filler as it is now."""
        return self.made(self.change)


class BlankMessage:
    """A message with filler for every text; its slots can be made longer and shorter."""

    def __init__(self, message: Message, filler: Filler, names: frozenset[str]) -> None:
        self._message = message
        self._filler = filler
        self._names = names
        self.slots: list[Slot] = []
        self._builders = [self._part(part) for part in message.content]

    def message(self) -> Message:
        """The message as its slots are now."""
        update: dict[str, object] = {"content": tuple(build() for build in self._builders)}
        name = self._message.name
        if name is not None and name != self._message.role and name not in self._names:
            update["name"] = self._filler.text(self._filler.count(name))
        return self._message.model_copy(update=update)

    def _slot(self, made: Callable[[int], str], tokens: int) -> Slot:
        """A slot for a text of so many tokens; one that is empty stays so."""
        slot = Slot(made, 1 - tokens)
        if tokens:
            self.slots.append(slot)
        return slot

    def _text(self, text: str) -> Slot:
        tokens = self._filler.count(text) if text else 0
        return self._slot(lambda change: self._filler.like(text, change), tokens)

    def _part(self, part: Part) -> Callable[[], Part]:
        match part:
            case ToolCallPart(arguments=arguments):
                blank = _Arguments(arguments, self._filler)
                slot = self._slot(blank.made, blank.tokens)
                return lambda: part.model_copy(update={"arguments": slot.text})
            case ToolResultPart(content=content):
                inner = [self._content(item) for item in content]
                return lambda: part.model_copy(update={"content": tuple(build() for build in inner)})
            case ThinkingPart(text=text, signature=signature):
                slot = self._text(text)
                sealed = None if signature is None else _SEALED
                return lambda: ThinkingPart(text=slot.text, signature=sealed)
            case _:
                return self._content(part)

    def _content(self, part: ContentPart) -> Callable[[], ContentPart]:
        match part:
            case TextPart(text=text) | RefusalPart(text=text):
                slot = self._text(text)
                return lambda: part.model_copy(update={"text": slot.text})
            case OpaquePart(data=data):
                filled = self._filler.json_scalar(self._filler.count(data)) if data else ""
                return lambda: part.model_copy(update={"data": filled})
            case _:
                return lambda: without_data(part)


def without_data(part: ContentPart) -> ContentPart:
    """An image of the same detail and size without its data; sound or a file of the same length."""
    match part:
        case ImagePart(url=url):
            size = size_of_data_url(url) if url is not None and not part.width else None
            known = {"width": size[0], "height": size[1]} if size is not None else {}
            return part.model_copy(update={"url": None, **known})
        case AudioPart(data=data):
            return AudioPart(data=_of_length(data))
        case FilePart(data=data):
            return FilePart(data=_of_length(data))
        case _:
            return part


def _of_length(data: str) -> str:
    return f'"{"x" * (len(data) - 2)}"' if len(data) > 1 else "0" * len(data)


def media_blanked(message: Message) -> Message:
    """The message with all its text, and without the data of images, sound and files."""
    parts: list[Part] = []
    for part in message.content:
        if isinstance(part, ToolResultPart):
            inner = tuple(without_data(item) for item in part.content)
            parts.append(part.model_copy(update={"content": inner}))
        elif isinstance(part, ImagePart | AudioPart | FilePart):
            parts.append(without_data(part))
        else:
            parts.append(part)
    return message.model_copy(update={"content": tuple(parts)})


class _Arguments:
    """The arguments of a call: keys and structure stay where the count can be met so, else a JSON string."""

    def __init__(self, text: str, filler: Filler) -> None:
        self._text = text
        self._filler = filler
        value = parsed(text)
        self.tokens = filler.count(compact(value) if is_json(value) else text)
        self._leaves = JsonLeaves(value, filler) if isinstance(value, dict | list) else None

    def made(self, change: int) -> str:
        tokens = self.tokens + change
        if tokens <= 0:
            return ""
        structured = self._structured(tokens)
        return self._filler.json_scalar(tokens) if structured is None else structured

    def _structured(self, tokens: int) -> str | None:
        leaves = self._leaves
        if leaves is None:
            return None

        def counted(change: int) -> int:
            return self._filler.count(compact(leaves.blanked(change)))

        best = fit(counted, tokens, -leaves.spare)
        return compact(leaves.blanked(best)) if counted(best) == tokens else None
