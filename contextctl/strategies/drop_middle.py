"""drop-middle: the first and the newest stay, the older half of the rest goes at each pass."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from contextctl.entries import Entry
from contextctl.outcome import CompactionOutcome
from contextctl.ports import Count, Fits


class DropMiddle(BaseModel):
    """Each pass drops the older half, rounded up, of the entries that are not locked, until the rest fits.

    ``keep_first`` and ``keep_recent`` (messages) lock the task and the newest exchange.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    keep_first: int = Field(1, ge=0, description="Messages at the start that are never lost.")
    keep_recent: int = Field(6, ge=0, description="Messages at the end that are never lost.")

    async def compact(
        self,
        entries: tuple[Entry, ...],
        *,
        budget_tokens: int,
        count: Count,
        fits: Fits | None = None,
    ) -> CompactionOutcome:
        """Halve the middle until the rest fits or only locked entries are left."""
        kept = entries
        while not (count(kept) <= budget_tokens and (fits is None or fits(kept))):
            loose = [entry.id for entry in kept if not entry.pinned]
            if not loose:
                break
            gone = set(loose[: (len(loose) + 1) // 2])
            kept = tuple(entry for entry in kept if entry.id not in gone)
        left = {entry.id for entry in kept}
        return CompactionOutcome(
            entries=kept, evicted=tuple(entry.id for entry in entries if entry.id not in left)
        )
