"""Cutting the middle out of one entry that is too large (``max_entry_tokens``)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from contextctl.entries import Entry
from contextctl.messages import Message, TextPart, ToolResultPart

MARKER = "\n[... {removed} characters trimmed ...]\n"
"""Stands where the middle of a text was."""

Slot = tuple[int, int, int]
"""Message, part and inner part (-1: the part itself) of one text in an entry."""


def trim_entry(entry: Entry, max_tokens: int, charge: Callable[[Sequence[Message]], int]) -> Entry | None:
    """The entry with the middle of its largest texts replaced by a marker, charged at most ``max_tokens``.

    Texts of messages and of tool results are cut, never a call or its arguments; the beginning and the end
    stay. None where even that does not make it small enough.
    """
    messages = entry.messages
    slots = sorted(_slots(messages), key=lambda slot: -len(_text(messages, slot)))
    for slot in slots:
        text = _text(messages, slot)
        keep = _most_kept(messages, slot, text, max_tokens, charge)
        messages = _replaced(messages, slot, _cut(text, keep))
        if charge(messages) <= max_tokens:
            return replace(entry, messages=messages)
    return None


def _most_kept(
    messages: tuple[Message, ...],
    slot: Slot,
    text: str,
    max_tokens: int,
    charge: Callable[[Sequence[Message]], int],
) -> int:
    """The most characters of the text that still fit, by bisection; 0 where none do."""
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        if charge(_replaced(messages, slot, _cut(text, middle))) <= max_tokens:
            low = middle
        else:
            high = middle - 1
    return low


def _cut(text: str, keep: int) -> str:
    if keep >= len(text):
        return text
    head = (keep + 1) // 2
    tail = keep - head
    return text[:head] + MARKER.format(removed=len(text) - keep) + text[len(text) - tail :]


def _slots(messages: Sequence[Message]) -> list[Slot]:
    slots: list[Slot] = []
    for m, message in enumerate(messages):
        for p, part in enumerate(message.content):
            if isinstance(part, TextPart):
                slots.append((m, p, -1))
            elif isinstance(part, ToolResultPart):
                slots += [(m, p, i) for i, inner in enumerate(part.content) if isinstance(inner, TextPart)]
    return slots


def _text(messages: Sequence[Message], slot: Slot) -> str:
    part = messages[slot[0]].content[slot[1]]
    inner = part.content[slot[2]] if isinstance(part, ToolResultPart) else part
    assert isinstance(inner, TextPart)
    return inner.text


def _replaced(messages: tuple[Message, ...], slot: Slot, text: str) -> tuple[Message, ...]:
    m, p, i = slot
    part = messages[m].content[p]
    changed = TextPart(text=text)
    new: TextPart | ToolResultPart = changed
    if isinstance(part, ToolResultPart):
        inner = (*part.content[:i], changed, *part.content[i + 1 :])
        new = part.model_copy(update={"content": inner})
    content = (*messages[m].content[:p], new, *messages[m].content[p + 1 :])
    message = messages[m].model_copy(update={"content": content})
    return (*messages[:m], message, *messages[m + 1 :])
