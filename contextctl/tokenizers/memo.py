"""Counts of recent texts, so that a text is encoded once a run."""

from __future__ import annotations

from collections.abc import Callable

from contextctl.ports import Measure

MEMO_CHARACTERS = 32_000_000
"""Characters of text whose counts are remembered."""


class Memo:
    """Remembers what ``count`` said of a text; forgets everything where it holds too many characters."""

    def __init__(self, count: Callable[[str], Measure]) -> None:
        self._count = count
        self._known: dict[str, Measure] = {}
        self._characters = 0

    def measure(self, text: str) -> Measure:
        """The count of this text, made once."""
        known = self._known.get(text)
        if known is not None:
            return known
        measure = self._count(text)
        if self._characters > MEMO_CHARACTERS:
            self._known.clear()
            self._characters = 0
        self._known[text] = measure
        self._characters += len(text)
        return measure
