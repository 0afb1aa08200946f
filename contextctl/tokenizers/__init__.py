"""Tokenizers by name. Estimates of tokenizers that are not public are o200k_base times a factor."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache

from contextctl.errors import CapabilityError
from contextctl.ports import Tokenizer
from contextctl.tokenizers.claude import ClaudeTokenizer, ctok_installed
from contextctl.tokenizers.estimate import EstimatingTokenizer
from contextctl.tokenizers.openai_bpe import VOCABULARIES, OpenAITokenizer


def _openai(name: str) -> Callable[[], Tokenizer]:
    return lambda: OpenAITokenizer(VOCABULARIES[name])


def _estimate(name: str, factor: str, margin: str) -> Callable[[], Tokenizer]:
    return lambda: EstimatingTokenizer(name, tokenizer("o200k_base"), Fraction(factor), Fraction(margin))


def _claude(name: str, family: str) -> Callable[[], Tokenizer]:
    """The rebuilt vocabulary where its package is installed, else the estimate."""
    return lambda: ClaudeTokenizer(name, family) if ctok_installed() else tokenizer(f"{name}-estimate")


TOKENIZERS: dict[str, Callable[[], Tokenizer]] = {
    "o200k_base": _openai("o200k_base"),
    "cl100k_base": _openai("cl100k_base"),
    "o200k-unconfirmed": _estimate("o200k-unconfirmed", "1", "0.05"),
    "claude-v3": _claude("claude-v3", "v3"),
    "claude-v4.7": _claude("claude-v4.7", "v4.7"),
    "claude-v4.8": _claude("claude-v4.8", "v4.8"),
    "claude-v3-estimate": _estimate("claude-v3-estimate", "1.106", "0.234"),
    "claude-v4.7-estimate": _estimate("claude-v4.7-estimate", "1.434", "0.203"),
    "claude-v4.8-estimate": _estimate("claude-v4.8-estimate", "1.458", "0.544"),
    "gemini-2.5-estimate": _estimate("gemini-2.5-estimate", "1.087", "0.227"),
    "gemini-3-estimate": _estimate("gemini-3-estimate", "1.016", "0.184"),
    "open-model-estimate": _estimate("open-model-estimate", "1.1", "0.5"),
}
"""Name -> what makes it. Factors of Claude and Gemini are the medians measured on recorded requests; with
the margins the text alone is never too low on 99% of them. Those of models with no confirmed mapping to a
vocabulary (5%) and of open models (50%) are not measured."""


@cache
def tokenizer(name: str) -> Tokenizer:
    """The tokenizer of this name, made once.

    Raises :class:`~contextctl.errors.CapabilityError` for an unknown name. A vocabulary is loaded at the
    first count, not here.
    """
    if name not in TOKENIZERS:
        known = ", ".join(TOKENIZERS)
        raise CapabilityError(f"unknown tokenizer {name!r}", hint=f"one of: {known}", rule="CTX401")
    return TOKENIZERS[name]()
