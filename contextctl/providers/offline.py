"""A provider that needs no network: the registry's facts, a tokenizer and a framing profile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from contextctl.checks.provider_rules import profile_of
from contextctl.entries import as_sent, group
from contextctl.errors import CapabilityError
from contextctl.messages import Message, RequestSettings
from contextctl.plan import ModelOverride
from contextctl.ports import Measure, ModelFacts
from contextctl.providers.framers import FRAMERS, Framer
from contextctl.providers.registry import ModelRecord, capped, find_model, registry
from contextctl.tokenizers import tokenizer as find_tokenizer


@dataclass(frozen=True)
class OfflineProvider:
    """Counts prompts as the model's provider bills them, as far as that is known."""

    record: ModelRecord
    settings: RequestSettings = field(default_factory=RequestSettings)
    extra_warnings: tuple[tuple[str, str], ...] = ()

    @property
    def context_window_tokens(self) -> int | None:
        """Input plus output tokens; None where the host decides."""
        return self.record.context_window

    @property
    def max_input_tokens(self) -> int | None:
        """The input cap where it is below the window, else None."""
        return self.record.max_input_tokens

    @property
    def max_output_tokens(self) -> int | None:
        """The longest answer, None where it is not known."""
        return self.record.max_output_tokens

    @property
    def profile(self) -> str:
        """The provider profile whose rules hold for the model's prompts."""
        return profile_of(self.record.provider, self.record.framing)

    @property
    def overhead_tokens(self) -> int:
        """Tokens of the request without messages."""
        return self.measure_overhead().tokens

    @property
    def additive(self) -> bool:
        """True where a prompt is the overhead and its entries, nothing more."""
        return self._framer.additive

    @cached_property
    def _framer(self) -> Framer:
        framing = registry().framings[self.record.framing]
        return FRAMERS[framing.family](framing, find_tokenizer(self.record.tokenizer), self.settings)

    @property
    def facts(self) -> ModelFacts:
        """What a report says of this model; no vocabulary is loaded for it."""
        used = find_tokenizer(self.record.tokenizer)
        return ModelFacts(
            name=self.record.id,
            window_tokens=self.record.context_window,
            max_input_tokens=self.record.max_input_tokens,
            max_output_tokens=self.record.max_output_tokens,
            tokenizer=used.name,
            exactness=used.exactness,
            margin=used.margin,
            warnings=registry().warnings(self.record) + self.extra_warnings,
        )

    def measure_overhead(self) -> Measure:
        """The request without messages: priming, tool definitions, tool choice, response format."""
        return self._framer.overhead()

    @cached_property
    def _charged(self) -> dict[tuple[object, ...], tuple[object, Measure]]:
        """What entries were charged, by what they say. A content is told by its identity, which a copy of its
        message keeps, and is held so that the identity stays its own."""
        return {}

    def measure_entry(self, messages: Sequence[Message]) -> Measure:
        """What the messages of one entry are charged; measured once however often it is asked."""
        key = tuple((m.role, m.name, id(m.content), m.response_id) for m in messages)
        found = self._charged.get(key)
        if found is None:
            contents = [message.content for message in messages]
            found = self._charged[key] = (contents, self._framer.entry(self._sent(messages)))
        return found[1]

    def _sent(self, messages: Sequence[Message]) -> Sequence[Message]:
        """Messages as they are sent back: in the Responses interface each item of an answer stays its own."""
        return messages if self.settings.api == "responses" else as_sent(messages)

    def measure_prompt(self, messages: Sequence[Message]) -> Measure:
        """The whole prompt, its entries paired afresh."""
        joint = getattr(self._framer, "joint", None)
        if joint is None and not self.additive:
            return self._framer.prompt(self._sent(messages))
        entries, _ = group(messages)
        charges = [self.measure_entry(entry.messages) for entry in entries]
        shared = [] if joint is None else [joint(messages)]
        return Measure.total([self.measure_overhead(), *charges, *shared])

    def count_tokens(self, messages: Sequence[Message]) -> int:
        """The best figure for a whole prompt that holds these messages."""
        return self.measure_prompt(messages).tokens

    def with_settings(self, settings: RequestSettings) -> OfflineProvider:
        """The same model, asked with these tools, tool choice and response format."""
        return replace(self, settings=settings)


def offline_provider(
    model: str,
    *,
    window_tokens: int | None = None,
    tokenizer: str | None = None,
    settings: RequestSettings | None = None,
    overrides: Mapping[str, ModelOverride] | None = None,
    warnings: tuple[tuple[str, str], ...] = (),
) -> OfflineProvider:
    """The provider of a model by name.

    ``window_tokens`` and ``tokenizer`` come before what registry and ``overrides`` (a plan's ``models``)
    say; an input cap below the window stays in force.
    Raises :class:`~contextctl.errors.CapabilityError` for an unknown model, tokenizer or framing. Nothing is
    loaded before the first count.
    """
    record = find_model(model, overrides)
    if window_tokens is not None:
        record = capped(replace(record, context_window=window_tokens))
    if tokenizer is not None:
        record = replace(record, tokenizer=tokenizer)
    find_tokenizer(record.tokenizer)
    if record.framing not in registry().framings:
        known = ", ".join(registry().framings)
        raise CapabilityError(f"unknown framing {record.framing!r}", hint=f"one of: {known}", rule="CTX401")
    return OfflineProvider(record, settings or RequestSettings(), warnings)
