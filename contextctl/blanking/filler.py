"""Text that says nothing, of an exact number of tokens."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from typing import Any

WORDS = ("blank", "empty", "plain", "dummy", "sample", "nothing", "void", "zero")
"""Words that are one token with and without a leading blank in the vocabularies that are bundled."""

_TRIES = 12
_MOST_DIGITS = 1_000
_NO_TEXT = object()


class Filler:
    """Makes filler of one word; ``count`` says how many tokens a text has."""

    def __init__(self, word: str, count: Callable[[str], int]) -> None:
        self.word = word
        self.count = count
        self.text = cache(self._text)

    @property
    def usable(self) -> bool:
        """True where the word is one token, also after a blank, and repeating it adds one token each."""
        return [self.count(self._repeated(times)) for times in (1, 2, 9)] == [1, 2, 9]

    def _repeated(self, times: int) -> str:
        return " ".join([self.word] * times)

    def _text(self, tokens: int) -> str:
        """Filler of so many tokens, or as near as it gets; empty for none."""
        return self._fitted(self._repeated, tokens, tokens) if tokens > 0 else ""

    def _fitted(self, made: Callable[[int], str], tokens: int, start: int) -> str:
        """What ``made`` gives of the size that comes nearest to so many tokens."""
        size = max(1, start)
        best, distance = made(size), abs(self.count(made(size)) - tokens)
        for _ in range(_TRIES):
            if not distance:
                break
            size = max(1, size + tokens - self.count(made(size)))
            off = abs(self.count(made(size)) - tokens)
            if off < distance:
                best, distance = made(size), off
        return best

    def like(self, text: str, change: int = 0) -> str:
        """Filler for a text, with so many tokens more; empty for an empty one.

        A number or a string in JSON gives one again, because some who charge it look for that; anything else
        gives words.
        """
        tokens = self.count(text) + change if text else 0
        if tokens <= 0:
            return ""
        value = parsed(text)
        is_scalar = value is not _NO_TEXT and not isinstance(value, dict | list)
        return self.json_scalar(tokens) if is_scalar else self.text(tokens)

    def json_scalar(self, tokens: int) -> str:
        """A JSON string of so many tokens, or a number where a string has none of that size."""
        quoted = self._fitted(lambda size: f'"{self._repeated(size)}"', tokens, tokens - 2)
        if self.count(quoted) == tokens or tokens > _MOST_DIGITS:
            return quoted
        return self._fitted(lambda size: "111" * size, tokens, tokens)


def parsed(text: str) -> Any:
    """The JSON value of a text; :func:`is_json` tells whether there is one."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return _NO_TEXT


def is_json(value: object) -> bool:
    """False for what :func:`parsed` gives for a text that is no JSON."""
    return value is not _NO_TEXT
