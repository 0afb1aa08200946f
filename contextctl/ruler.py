"""One ruler for trigger, share, verdict and report, whatever the provider can say."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from contextctl.entries import Entry
from contextctl.messages import Message
from contextctl.ports import Measure, ModelProvider, measuring


class Ruler:
    """Measures overhead, entries and whole prompts with one provider.

    For a provider that only has ``count_tokens`` an entry is charged what it adds to a prompt without
    messages. ``overhead_tokens`` of such a provider counts where ``count_tokens(())`` leaves it out.
    """

    def __init__(self, provider: ModelProvider) -> None:
        self._provider = provider
        self._measuring = measuring(provider)
        if self._measuring is not None:
            self.overhead = self._measuring.measure_overhead()
            self._bare = self.overhead.tokens
        else:
            self._bare = provider.count_tokens(())
            declared = getattr(provider, "overhead_tokens", None) or 0
            self.overhead = Measure.exact(max(self._bare, declared))

    def entry(self, messages: Sequence[Message]) -> Measure:
        """What the messages of one entry are charged in a prompt."""
        if self._measuring is not None:
            return self._measuring.measure_entry(messages)
        return Measure.exact(self._provider.count_tokens(messages) - self._bare)

    def prompt(self, messages: Sequence[Message]) -> Measure:
        """T, the count of a whole prompt that holds these messages, made afresh."""
        if self._measuring is not None:
            return self._measuring.measure_prompt(messages)
        missing = self.overhead.tokens - self._bare
        return Measure.exact(self._provider.count_tokens(messages) + missing)

    def history(self, messages: Sequence[Message], charges: Iterable[Measure]) -> Measure:
        """T of messages whose entries are charged so: summed where that is all there is to it."""
        if self._measuring is not None and self._measuring.additive:
            return self.overhead + Measure.total(charges)
        return self.prompt(messages)

    def charge(self, items: Sequence[Entry] | Sequence[Message]) -> int:
        """Tokens of entries or messages as the engine judges them: margin included, overhead not.

        Messages are taken as one entry.
        """
        if not items:
            return 0
        if isinstance(items[0], Message):
            messages = [item for item in items if isinstance(item, Message)]
            return self.entry(messages).upper_tokens
        return sum(self.entry(item.messages).upper_tokens for item in items if isinstance(item, Entry))
