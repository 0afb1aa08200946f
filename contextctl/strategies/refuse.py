"""refuse: nothing is compacted; over its room is an error."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from contextctl.entries import Entry
from contextctl.outcome import CompactionOutcome
from contextctl.ports import Count


class Refuse(BaseModel):
    """Leaves a section as it is, so that the engine refuses the assembly where it does not fit."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    async def compact(
        self, entries: tuple[Entry, ...], *, budget_tokens: int, count: Count
    ) -> CompactionOutcome:
        """Everything, unchanged."""
        return CompactionOutcome(entries=entries)
