"""Cuts that more than one strategy makes: dropping from the front, putting one entry in place of several."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate

from contextctl.entries import Entry
from contextctl.ports import Count, Fits


def fewest_dropped(
    entries: tuple[Entry, ...],
    *,
    budget_tokens: int,
    count: Count,
    fits: Fits | None,
    step_tokens: int | None = None,
) -> tuple[tuple[Entry, ...], tuple[str, ...]]:
    """What is left once the fewest oldest entries that are not locked are dropped, and the ids of those.

    What is left is within ``budget_tokens`` and ``fits``, or only locked entries are left. With
    ``step_tokens`` the tokens dropped are at least the next multiple of it.
    """
    loose = [entry for entry in entries if not entry.pinned]
    dropped_tokens = list(accumulate((count((entry,)) for entry in loose), initial=0))
    wanted = count([entry for entry in entries if entry.pinned]) + dropped_tokens[-1] - budget_tokens
    if step_tokens and wanted > 0:
        wanted = -(-wanted // step_tokens) * step_tokens
    fewest = min(bisect_left(dropped_tokens, wanted), len(loose))

    def without(dropped: int) -> tuple[Entry, ...]:
        gone = {entry.id for entry in loose[:dropped]}
        return tuple(entry for entry in entries if entry.id not in gone)

    if fits is not None:
        fewest = bisect_left(range(len(loose)), True, lo=fewest, key=lambda dropped: fits(without(dropped)))
    return without(fewest), tuple(entry.id for entry in loose[:fewest])


def with_stand_in(entries: Sequence[Entry], span: Sequence[Entry], stand_in: Entry) -> tuple[Entry, ...]:
    """The entries with ``stand_in`` where the first of the span stood, and without the rest of it."""
    first, gone = span[0].id, {entry.id for entry in span}
    return tuple(
        stand_in if entry.id == first else entry
        for entry in entries
        if entry.id == first or entry.id not in gone
    )
