"""summarise-span: the oldest entries that are not locked give way to one summary of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field

from contextctl.entries import Entry, stand_in_id, summary_entry
from contextctl.errors import SummaryUnusableError
from contextctl.outcome import CompactionOutcome
from contextctl.ports import (
    CompletionProvider,
    Count,
    Fits,
    ModelProvider,
    Summariser,
    Summary,
    SummaryRequest,
    measuring,
)
from contextctl.strategies.cuts import with_stand_in

INSTRUCTIONS = (
    "Summarise the following part of a conversation for the model that continues it. Be concise. Keep facts, "
    "decisions, constraints and open tasks; leave out small talk. Add nothing that was not said."
)
"""What a summariser is told where the plan says nothing else."""

MOST_SUMMARY_TOKENS = 512
"""What is set aside for a summary at most, where the plan says nothing: this, or a quarter of the room."""


class SpanParameters(BaseModel):
    """What a plan may set for summarise-span."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    keep_first: int = Field(0, ge=0, description="Messages at the start that are never summarised.")
    keep_recent: int = Field(0, ge=0, description="Messages at the end that are never summarised.")
    span: Literal["shortest", "all"] = Field("shortest", description="As few entries as do, or all.")
    max_summary_tokens: int | None = Field(
        None, gt=0, description="Tokens of the summary at most, framing included."
    )
    instructions: str = Field(INSTRUCTIONS, min_length=1, description="What the summariser is told.")
    summariser: str | None = Field(
        None, min_length=1, description="The model that makes it; what it reads must fit its window."
    )


def require_readable(request: SummaryRequest, reader: ModelProvider, name: str) -> None:
    """Raise :class:`~contextctl.errors.SummaryUnusableError` where instructions, span and summary together
    are more than the window of the model that reads them, or its input cap is less than the first two."""
    measured = measuring(reader)
    messages = request.messages()
    tokens = measured.measure_prompt(messages).upper_tokens if measured else reader.count_tokens(messages)
    window, cap = reader.context_window_tokens, getattr(reader, "max_input_tokens", None)
    room = min(
        (window - request.max_summary_tokens) if window is not None else tokens,
        cap if cap is not None else tokens,
    )
    if tokens > room:
        raise SummaryUnusableError(
            f"the span to be summarised has {tokens:,} tokens with its instructions; {name} can read "
            f"{max(0, room):,} beside a summary of {request.max_summary_tokens:,}",
            rule="CTX306",
            hint="name a summariser with a larger window, or let the section be compacted earlier",
        )


@dataclass(frozen=True)
class CompletionSummariser:
    """Asks the caller's model, with a time limit in seconds."""

    provider: CompletionProvider
    model: str
    timeout_seconds: float

    async def summarise(self, request: SummaryRequest) -> Summary:
        """One call of the model; cancellation passes through."""
        messages = request.messages()
        try:
            async with asyncio.timeout(self.timeout_seconds):
                text, finish_reason = await self.provider.complete(
                    messages, model=self.model, max_output_tokens=request.max_summary_tokens
                )
        except TimeoutError as error:
            limit = f"{self.timeout_seconds:g} seconds"
            raise SummaryUnusableError(f"no summary came within {limit}", rule="CTX304") from error
        except Exception as error:  # whatever the caller's transport raises is the cause
            kind = type(error).__name__
            raise SummaryUnusableError(f"making the summary failed: {kind}", rule="CTX304") from error
        if finish_reason == "length":
            raise SummaryUnusableError("the summary was cut off by its length limit", rule="CTX304")
        return Summary(text)


@dataclass(frozen=True)
class SummariseSpan:
    """Replaces the fewest oldest entries that are not locked by a summary that makes the rest fit.

    ``max_summary_tokens`` are set aside for it before any is made. Where no span is enough, all of them are
    summarised; a span that is no larger than what is set aside is left alone. The summary stands where the
    span began. ``provider`` is the caller's own and is asked for
    ``model``; a ``summariser`` takes its place. Where a plan names the ``summariser``'s model, ``models`` is
    asked for it, and no span is given to it that it cannot read. A summary that is empty, failed, late, cut
    off or larger than allowed is never used.
    """

    provider: CompletionProvider | None = None
    model: str = ""
    timeout_seconds: float = 60
    summariser: Summariser | None = None
    parameters: SpanParameters = field(default_factory=SpanParameters)
    models: Callable[[str], ModelProvider] | None = None
    reader: ModelProvider | None = None

    @property
    def keep_first(self) -> int:
        """Messages at the start that the engine locks."""
        return self.parameters.keep_first

    @property
    def keep_recent(self) -> int:
        """Messages at the end that the engine locks."""
        return self.parameters.keep_recent

    def with_parameters(self, parameters: Mapping[str, Any]) -> Self:
        """The same, with what a plan sets.

        Raises pydantic's ``ValidationError`` for what it may not, ``ValueError`` where it names a summariser
        and there are no ``models``, :class:`~contextctl.errors.CapabilityError` where they do not have it.
        """
        made = SpanParameters.model_validate(dict(parameters))
        if made.summariser is None:
            return replace(self, parameters=made)
        if self.models is None:
            raise ValueError("the plan names a summariser: give SummariseSpan `models`, to look it up")
        return replace(self, parameters=made, reader=self.models(made.summariser))

    async def compact(
        self,
        entries: tuple[Entry, ...],
        *,
        budget_tokens: int,
        count: Count,
        note_role: str = "user",
        fits: Fits | None = None,
    ) -> CompactionOutcome:
        """Everything but the span, and its summary; untouched where a summary could not make it smaller."""
        loose = [entry for entry in entries if not entry.pinned]
        locked_tokens = count([entry for entry in entries if entry.pinned])
        most = self.parameters.max_summary_tokens
        if most is None:
            most = min(MOST_SUMMARY_TOKENS, max(0, budget_tokens - locked_tokens) // 4)
        excess = count(entries) - budget_tokens
        span = self._span(
            loose, lambda gone, freed: _enough(entries, gone, freed - excess - most, fits), count
        )
        if count(span) <= most or (len(loose) == 1 and loose[0].is_stand_in):
            return CompactionOutcome(entries=entries)
        summary = await self._summary(span, most, note_role, count)
        kept = with_stand_in(entries, span, summary)
        return CompactionOutcome(entries=kept, summarised=tuple(entry.id for entry in span))

    def _span(
        self, loose: Sequence[Entry], enough: Callable[[Sequence[Entry], int], bool], count: Count
    ) -> list[Entry]:
        """The fewest oldest entries that are enough, given the tokens that they free; else all."""
        if self.parameters.span == "shortest":
            freed = accumulate(count((entry,)) for entry in loose)
            for number, tokens in enumerate(freed, 1):
                if enough(loose[:number], tokens):
                    return list(loose[:number])
        return list(loose)

    async def _summary(self, span: Sequence[Entry], most: int, role: str, count: Count) -> Entry:
        summariser = self.summariser
        if summariser is None:
            if self.provider is None:
                raise SummaryUnusableError("nobody was named to make the summary", rule="CTX301")
            summariser = CompletionSummariser(self.provider, self.model, self.timeout_seconds)
        first = span[0]

        def summary(text: str) -> Entry:
            return summary_entry(
                text,
                id=stand_in_id("summary", first),
                section=first.section,
                role=role,
                stands_for=[entry_id for one in span for entry_id in (one.id, *one.stands_for)],
            )

        request = SummaryRequest(
            entries=tuple(span),
            section=first.section,
            instructions=self.parameters.instructions,
            max_summary_tokens=most,
            count=lambda text: count((summary(text),)),
        )
        if self.reader is not None:
            require_readable(request, self.reader, self.parameters.summariser or "")
        made = await summariser.summarise(request)
        if made.text is None:
            return replace(summary(""), planned_tokens=most)
        request.require_usable(made.text)
        return summary(made.text)


def _enough(entries: Sequence[Entry], gone: Sequence[Entry], spare_tokens: int, fits: Fits | None) -> bool:
    """Whether the rest and a summary fit: by tokens, and by the section's counts of messages and turns."""
    if spare_tokens < 0 or fits is None:
        return spare_tokens >= 0
    ids = {entry.id for entry in gone}
    summary = summary_entry("", id="", section="", role="user", stands_for=())
    return fits([summary, *(entry for entry in entries if entry.id not in ids)])
