"""drop-oldest: what is lost is always the oldest."""

from __future__ import annotations

from bisect import bisect_left
from itertools import accumulate

from pydantic import BaseModel, ConfigDict, Field

from contextctl.entries import Entry
from contextctl.outcome import CompactionOutcome
from contextctl.ports import Count, Fits


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
        loose = [entry for entry in entries if not entry.pinned]
        dropped_tokens = list(accumulate((count((entry,)) for entry in loose), initial=0))
        wanted = count([entry for entry in entries if entry.pinned]) + dropped_tokens[-1] - budget_tokens
        if self.step_tokens and wanted > 0:
            wanted = -(-wanted // self.step_tokens) * self.step_tokens
        fewest = min(bisect_left(dropped_tokens, wanted), len(loose))

        def without(dropped: int) -> tuple[Entry, ...]:
            gone = {entry.id for entry in loose[:dropped]}
            return tuple(entry for entry in entries if entry.id not in gone)

        if fits is not None:
            fewest = bisect_left(
                range(len(loose)), True, lo=fewest, key=lambda dropped: fits(without(dropped))
            )
        return CompactionOutcome(entries=without(fewest), evicted=tuple(entry.id for entry in loose[:fewest]))
