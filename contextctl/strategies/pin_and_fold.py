"""pin-and-fold: everything that is not locked becomes one short note of counts."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict, Field

from contextctl.entries import Entry, note_entry, stand_in_id
from contextctl.messages import FoldCounts
from contextctl.outcome import CompactionOutcome
from contextctl.ports import Count, Fits
from contextctl.strategies.cuts import with_stand_in


class PinAndFold(BaseModel):
    """Keeps locked entries verbatim and folds all others into one note that holds only numbers.

    The note stands where the first folded entry stood. A note that would not be smaller than what it
    replaces is not made.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    keep_recent: int = Field(1, ge=0, description="Messages at the end that are never folded.")

    async def compact(
        self,
        entries: tuple[Entry, ...],
        *,
        budget_tokens: int,
        count: Count,
        note_role: str = "user",
        fits: Fits | None = None,
    ) -> CompactionOutcome:
        """Fold everything that is not locked; left as it is where that is one note, or saves nothing."""
        loose = [entry for entry in entries if not entry.pinned]
        if not loose or (len(loose) == 1 and loose[0].is_stand_in):
            return CompactionOutcome(entries=entries)
        tokens = count(loose)
        note = _note(loose, count, note_role)
        if count((note,)) >= tokens:
            return CompactionOutcome(entries=entries)
        kept = with_stand_in(entries, loose, note)
        return CompactionOutcome(entries=kept, folded=tuple(entry.id for entry in loose))


def _note(loose: Sequence[Entry], count: Count, role: str) -> Entry:
    """One note for all of these; an earlier note among them adds its numbers in place of its own."""
    entries = messages = tokens = 0
    stands_for: list[str] = []
    for entry in loose:
        earlier = entry.messages[0].folded
        entries += earlier.entries if earlier else 1
        messages += earlier.messages if earlier else len(entry.messages)
        tokens += earlier.tokens if earlier else count((entry,))
        stands_for += [entry.id, *entry.stands_for]
    first = loose[0]
    return note_entry(
        f"[{messages} earlier messages ({tokens} tokens) were left out to save room.]",
        id=stand_in_id("note", first),
        section=first.section,
        role=role,
        stands_for=stands_for,
        counts=FoldCounts(entries=entries, messages=messages, tokens=tokens),
    )
