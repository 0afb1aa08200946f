"""What a request is charged beside its texts: one framer for each family of providers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from contextctl.messages import Message, RequestSettings
from contextctl.ports import Measure, Tokenizer
from contextctl.providers.claude_framing import ClaudeFramer
from contextctl.providers.openai_framing import OpenAIFramer


class Framer(Protocol):
    """Counts requests of one model with one set of tools and formats as the provider bills them."""

    @property
    def additive(self) -> bool:
        """True where a prompt is the overhead and its entries, nothing more."""
        ...

    def overhead(self) -> Measure:
        """The request without messages: priming, tools, tool choice, response format."""
        ...

    def entry(self, messages: Sequence[Message]) -> Measure:
        """What the messages of one entry are charged in a prompt."""
        ...

    def prompt(self, messages: Sequence[Message]) -> Measure:
        """The whole prompt, counted afresh."""
        ...


FRAMERS: dict[str, Callable[[Any, Tokenizer, RequestSettings], Framer]] = {
    "openai": OpenAIFramer,
    "claude": ClaudeFramer,
}
"""The ``family`` of a framing profile -> what counts for it; each takes profiles of its own kind."""
