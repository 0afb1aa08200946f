"""Every protocol that a part of contextctl, or a caller's own code, can stand behind."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Protocol, runtime_checkable

from contextctl.entries import Entry, text_of
from contextctl.errors import SummaryUnusableError
from contextctl.memory import MemoryRecord
from contextctl.messages import Message, RequestSettings
from contextctl.outcome import CompactionOutcome
from contextctl.recording import Transcript


class Exactness(StrEnum):
    """How far a token number can be trusted, best first.

    ``exact``: the provider's own tokenizer and framing. ``reconstructed``: rebuilt from measurements.
    ``estimate``: stated with a margin. ``floor``: something that costs tokens is not recorded.
    """

    EXACT = "exact"
    RECONSTRUCTED = "reconstructed"
    ESTIMATE = "estimate"
    FLOOR = "floor"

    @property
    def rank(self) -> int:
        """0 for exact, growing with doubt."""
        return _RANKS[self]


_RANKS = {exactness: rank for rank, exactness in enumerate(Exactness)}


@dataclass(frozen=True, slots=True)
class Measure:
    """A number of tokens: the best figure, the same with its margin added and rounded up, and what it is.

    ``reasons`` says why it is not exact. Measures add up; the sum is as good as its worst part.
    """

    tokens: int
    upper_tokens: int
    exactness: Exactness = Exactness.EXACT
    reasons: tuple[str, ...] = ()

    def __add__(self, other: Measure) -> Measure:
        tokens, upper = self.tokens + other.tokens, self.upper_tokens + other.upper_tokens
        if other.exactness is Exactness.EXACT:
            return Measure(tokens, upper, self.exactness, self.reasons)
        worst = max(self.exactness, other.exactness, key=lambda exactness: exactness.rank)
        reasons = self.reasons + tuple(reason for reason in other.reasons if reason not in self.reasons)
        return Measure(tokens, upper, worst, reasons)

    @classmethod
    def exact(cls, tokens: int) -> Measure:
        """A number that needs no margin."""
        return cls(tokens, tokens)

    @classmethod
    def total(cls, measures: Iterable[Measure]) -> Measure:
        """The sum; 0 exact tokens for none."""
        tokens = upper = 0
        worst = Exactness.EXACT
        reasons: dict[str, None] = {}
        for measure in measures:
            tokens += measure.tokens
            upper += measure.upper_tokens
            if measure.exactness is not Exactness.EXACT:
                worst = max(worst, measure.exactness, key=lambda exactness: exactness.rank)
                reasons |= dict.fromkeys(measure.reasons)
        return cls(tokens, upper, worst, tuple(reasons))


class Tokenizer(Protocol):
    """Counts the tokens of one text; ``margin`` is the share by which the true count may be higher."""

    @property
    def name(self) -> str:
        """The tokenizer's name in reports."""
        ...

    @property
    def exactness(self) -> Exactness:
        """How far its counts can be trusted in general."""
        ...

    @property
    def margin(self) -> Fraction:
        """0 for an exact tokenizer."""
        ...

    def measure(self, text: str) -> Measure:
        """Tokens of the text; special-token text is plain text, a lone surrogate counts as U+FFFD."""
        ...


@runtime_checkable
class ModelProvider(Protocol):
    """What the engine needs to know of a model; a caller's own object will do.

    It may also have ``max_input_tokens`` (int or None), ``max_output_tokens``, ``name``, and
    ``overhead_tokens``: tokens of the request without messages, where ``count_tokens(())`` does not say.
    """

    @property
    def context_window_tokens(self) -> int | None:
        """Input plus output tokens that the model accepts; None where it is not known."""
        ...

    def count_tokens(self, messages: Sequence[Message]) -> int:
        """The model's own count of a whole prompt that holds these messages."""
        ...


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """What a report says of a model. Numbers are tokens; None is unknown (or, for the input cap, none).

    ``warnings`` are (rule code, sentence) pairs about the model itself, such as a retired one.
    """

    name: str
    window_tokens: int | None
    max_input_tokens: int | None
    max_output_tokens: int | None
    tokenizer: str
    exactness: Exactness
    margin: Fraction
    warnings: tuple[tuple[str, str], ...] = ()


@runtime_checkable
class MeasuringProvider(ModelProvider, Protocol):
    """A provider that also says how exact its numbers are, and what an entry is charged."""

    @property
    def facts(self) -> ModelFacts:
        """What a report says of this model."""
        ...

    @property
    def additive(self) -> bool:
        """True where a prompt's tokens are the overhead and what each entry is charged, nothing more."""
        ...

    def measure_overhead(self) -> Measure:
        """The request without messages: priming, tool definitions, tool choice, response format."""
        ...

    def measure_entry(self, messages: Sequence[Message]) -> Measure:
        """What the messages of one entry are charged in a prompt."""
        ...

    def measure_prompt(self, messages: Sequence[Message]) -> Measure:
        """The whole prompt, counted afresh; ``count_tokens`` is its ``tokens``."""
        ...

    def with_settings(self, settings: RequestSettings) -> MeasuringProvider:
        """The same model, asked with these tools, tool choice and response format."""
        ...


Count = Callable[[Sequence[Entry] | Sequence[Message]], int]
"""Tokens of entries or messages, as the engine judges them: margin included, overhead not."""


def measuring(provider: ModelProvider) -> MeasuringProvider | None:
    """The provider as one that measures, where it does; asked often, and ``isinstance`` is slow here."""
    return provider if hasattr(provider, "measure_entry") else None  # type: ignore[return-value]


Fits = Callable[[Sequence[Entry]], bool]
"""Whether these entries are within the section's limits of messages and turns (tokens apart)."""


@dataclass(frozen=True, slots=True)
class SummaryRequest:
    """A span of one section to be summarised in at most ``max_summary_tokens``, framing included.

    ``count`` says how many tokens a summary of a text would be charged in the prompt.
    """

    entries: tuple[Entry, ...]
    section: str
    instructions: str
    max_summary_tokens: int
    count: Callable[[str], int]

    @property
    def said(self) -> str:
        """The span as one text, a role before each entry."""
        return "\n\n".join(f"{entry.role}: {text_of(entry)}" for entry in self.entries)

    def messages(self) -> list[Message]:
        """What a model is sent to make the summary: the instructions, and the span."""
        return [Message(role="system", content=self.instructions), Message(role="user", content=self.said)]

    def require_usable(self, text: str) -> int:
        """The tokens that a summary of this text is charged.

        Raises :class:`~contextctl.errors.SummaryUnusableError` where it is blank or larger than allowed.
        """
        if not text.strip():
            raise SummaryUnusableError("the summary is empty", rule="CTX304")
        tokens = self.count(text)
        if tokens > self.max_summary_tokens:
            message = f"the summary has {tokens:,} tokens; {self.max_summary_tokens:,} were set aside for it"
            raise SummaryUnusableError(message, rule="CTX304")
        return tokens


@dataclass(frozen=True, slots=True)
class Summary:
    """The text of a summary; None where it is only planned and nobody has written it."""

    text: str | None


class Summariser(Protocol):
    """Makes summaries, replays recorded ones, or only plans for them."""

    async def summarise(self, request: SummaryRequest) -> Summary:
        """The summary of a span.

        Raises :class:`~contextctl.errors.SummaryUnusableError` where there is none to be had.
        """
        ...


class CompletionProvider(Protocol):
    """A language model that can be asked: what :class:`SummariseSpan` needs of the caller's own."""

    async def complete(
        self, messages: Sequence[Message], *, model: str, max_output_tokens: int
    ) -> tuple[str, str | None]:
        """The answer's text and why it ended (``"length"`` where it was cut off)."""
        ...


class Summarise(Protocol):
    """What a strategy of the caller's own is given to have a summary made, recorded as any other is."""

    async def __call__(self, entries: Sequence[Entry], instructions: str | None = None) -> str:
        """The summary of these entries, of at most the section's own room.

        Raises :class:`~contextctl.errors.SummaryUnusableError` where there is none to be had, as where
        summaries are only planned.
        """
        ...


class Strategy(Protocol):
    """Works a section down to a number of tokens.

    The engine passes locked entries with ``pinned`` set. Attributes ``keep_first`` and ``keep_recent``
    (messages), where present, tell it what else to lock. ``compact`` never changes what it is given. It
    may also declare the keywords ``fits`` (:data:`Fits`), ``note_role`` and ``summarise``
    (:class:`Summarise`) and is then given them.
    """

    async def compact(
        self, entries: tuple[Entry, ...], *, budget_tokens: int, count: Count
    ) -> CompactionOutcome:
        """What is left in at most ``budget_tokens``, and the ids of what is not, each exactly once."""
        ...


class OwnAssembler(Protocol):
    """The application's own code that makes prompts."""

    async def __call__(self, messages: list[object], *, budget_tokens: int) -> object:
        """The messages to send, as JSON values: made of the history before a call, within so many tokens,
        overhead included. Raises whatever it likes."""
        ...


class MemoryStore(Protocol):
    """Keeps the summaries that assemblies made."""

    async def log(self, scope: str, record: MemoryRecord) -> None:
        """Keep one record under a scope. Whatever it raises fails the assembly."""
        ...


class Reader(Protocol):
    """Reads one transcript format from bytes."""

    def __call__(self, data: bytes, path: str) -> tuple[Transcript, ...]:
        """Every conversation in the data, in order; what could not be read is among their findings.

        Raises :class:`~contextctl.errors.TranscriptError` where nothing could be read.
        """
        ...
