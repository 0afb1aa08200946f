"""An estimate for models whose tokenizer is not public: o200k_base times a measured factor, with a margin."""

from __future__ import annotations

from fractions import Fraction
from math import ceil

from contextctl.ports import Exactness, Measure, Tokenizer


class EstimatingTokenizer:
    """Counts with another tokenizer and scales. ``upper_tokens`` adds the margin, rounded up."""

    exactness = Exactness.ESTIMATE

    def __init__(self, name: str, base: Tokenizer, factor: Fraction, margin: Fraction) -> None:
        self.name = name
        self.margin = margin
        self._base = base
        self._factor = factor

    @property
    def base(self) -> Tokenizer:
        """What it counts with before it scales; texts that this counts alike are estimated alike."""
        return self._base

    def measure(self, text: str) -> Measure:
        """The estimate for a text; 0 only for the empty text."""
        base = self._base.measure(text)
        tokens = ceil(base.upper_tokens * self._factor)
        reason = f"{self.name}: the tokenizer is not public"
        return Measure(tokens, ceil(tokens * (1 + self.margin)), Exactness.ESTIMATE, (reason,))
