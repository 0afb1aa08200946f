"""Claude's vocabularies as the ``ctok`` package rebuilt them: the only place that imports it.

ctok prices one user message. What is needed here is the price of a text in the middle of a prompt, which
takes functions that ctok does not promise to keep: hence one pinned version, and :func:`adapter_problem`.
"""

from __future__ import annotations

import copy
from fractions import Fraction
from functools import cache
from importlib import import_module, metadata
from typing import Any

from contextctl.errors import VocabularyError
from contextctl.ports import Exactness, Measure
from contextctl.tokenizers.memo import Memo

CTOK_VERSION = "1.3.0"
"""The version of ctok whose private functions this was written against."""

RECONSTRUCTED = "Claude's vocabulary is a reconstruction (ctok), not Anthropic's own"


@cache
def ctok_installed() -> bool:
    """True where ctok is there in the pinned version. Nothing of it is imported."""
    try:
        return metadata.version("ctok") == CTOK_VERSION
    except metadata.PackageNotFoundError:
        return False


def adapter_problem() -> str | None:
    """Why the installed ctok cannot be used, None where it can: the names and the prices relied on."""
    try:
        found = [ClaudeTokenizer("claude", family).measure("Human: hello\n\n").tokens for family in FAMILIES]
    except (AttributeError, ImportError, KeyError, TypeError, ValueError) as error:
        return f"{type(error).__name__} in ctok {CTOK_VERSION}"
    return None if found == list(FAMILIES.values()) else f"ctok counts {found}, not {list(FAMILIES.values())}"


FAMILIES = {"v3": 4, "v4.7": 6, "v4.8": 6}
"""ctok's names of Claude's vocabularies -> tokens of ``Human: hello`` and a blank line, as a check."""


class ClaudeTokenizer:
    """Counts a text in the middle of a prompt: no message frame, newlines at the end kept."""

    exactness = Exactness.RECONSTRUCTED
    margin = Fraction(0)

    def __init__(self, name: str, family: str) -> None:
        self.name = name
        self._family = family
        self._loaded: _Parts | None = None
        self._memo = Memo(self._measure)

    def measure(self, text: str) -> Measure:
        """Tokens of a text that follows a line feed or a special token."""
        return self._memo.measure(text)

    def _measure(self, text: str) -> Measure:
        tokens = self._parts.count(text)
        return Measure(tokens, tokens, Exactness.RECONSTRUCTED, (RECONSTRUCTED,))

    @property
    def _parts(self) -> _Parts:
        if self._loaded is None:
            try:
                self._loaded = _Parts(self._family)
            except (AttributeError, ImportError, OSError) as error:
                raise VocabularyError(
                    f"the vocabulary {self.name} cannot be loaded ({type(error).__name__})",
                    hint="install it again: pip install 'contextctl[claude]' (Python 3.12 or newer)",
                ) from None
        return self._loaded


class _Parts:
    """The functions of ctok, and its model of one family without the frame of a message."""

    def __init__(self, family: str) -> None:
        engine, normalize = import_module("ctok.engine"), import_module("ctok.normalize")
        model = copy.copy(import_module("ctok.main")._model(family))
        model.frame_bow = False
        self._model: Any = model
        self._nfc, self._stream, self._tile = normalize.nfc, normalize.stream_norm, engine.min_vocab_tile
        self._price = engine.char_cost
        self._markers = import_module("ctok.constants").MARKER_GLYPHS

    def count(self, text: str) -> int:
        model = self._model
        normal = self._nfc(text, fold_quotes=model.fold_quotes)
        newlines = len(normal) - len(normal.rstrip("\n"))
        stream = self._stream(normal, model) + "\n" * newlines

        def unit(place: int) -> int:
            character = stream[place]
            return 1 if character in self._markers else int(self._price(model, character))

        return int(self._tile(stream, model.trie, unit)[0])
