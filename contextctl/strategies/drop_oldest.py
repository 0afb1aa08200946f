"""drop-oldest: what is lost is always the oldest."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from contextctl.entries import Entry
from contextctl.outcome import CompactionOutcome
from contextctl.ports import Count, Fits
from contextctl.strategies.cuts import fewest_dropped


class DropOldest(BaseModel):
    """Keeps the locked entries and the longest run of newest others that fits beside them.

    Nothing older than a dropped entry stays, unless it is locked. ``keep_first`` and ``keep_recent``
    (messages) lock; ``step_tokens`` rounds what is dropped up to a multiple, so that the cut moves rarely.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    keep_first: int = Field(0, ge=0, description="Messages at the start that are never lost.")
    keep_recent: int = Field(0, ge=0, description="Messages at the end that are never lost.")
    step_tokens: int | None = Field(None, gt=0, description="Drop in multiples of this many tokens.")

    async def compact(
        self,
        entries: tuple[Entry, ...],
        *,
        budget_tokens: int,
        count: Count,
        fits: Fits | None = None,
    ) -> CompactionOutcome:
        """Drop from the front until the rest fits or only locked entries are left."""
        kept, evicted = fewest_dropped(
            entries, budget_tokens=budget_tokens, count=count, fits=fits, step_tokens=self.step_tokens
        )
        return CompactionOutcome(entries=kept, evicted=evicted)
