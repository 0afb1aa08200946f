"""What goes next when more arrives, and the smallest budget that loses nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import repeat
from math import ceil

from contextctl.budget import rooms_for
from contextctl.entries import Entry
from contextctl.plan import ContextPlan
from contextctl.preparation import Prepared
from contextctl.report import NextToGo
from contextctl.sections import Charges, Section
from contextctl.strategies.refuse import Refuse

MOST_TOKENS = 2**40
"""Above every budget; the search for one that loses nothing ends there."""


def next_to_go(plan: ContextPlan, prepared: Prepared) -> NextToGo | None:
    """The oldest entry that may be lost in the section that the newest message went to, and after how many
    more tokens in that section it goes. None where nothing of it may be lost, or something was already."""
    if not prepared.routed.entries:
        return None
    newest = max(prepared.routed.entries, key=lambda entry: entry.positions[-1]).section
    index = [section.name for section in plan.sections].index(newest)
    section = prepared.sections[index]
    loose = [entry for entry in section.entries if not entry.pinned]
    if not loose or isinstance(section.strategy, Refuse):
        return None
    used = [prepared.charges.upper(other.entries) for other in prepared.sections]
    if prepared.limits.soft_tokens is not None:
        left = prepared.limits.soft_tokens - prepared.before.upper_tokens
    elif plan.unused == "lend":
        left = prepared.message_tokens - sum(used)
    else:
        left = prepared.rooms().room_tokens[index] - used[index]
    if left < 0:
        return None
    oldest = loose[0]
    place = oldest.messages[0].location
    return NextToGo(
        entry=oldest.id,
        section=newest,
        line=place.record if place is not None else None,
        role=oldest.role,
        tokens=prepared.charges.measure(oldest).tokens,
        after_tokens=left,
    )


def lossless_budget(plan: ContextPlan, prepared: Prepared) -> int | None:
    """The smallest ``budget_tokens``, reserve included, at which every section fits its room untouched; of a
    carried history, the smallest that would have lost nothing on the way.

    None where no budget does (a share of 0, counts of messages and turns, an entry that is trimmed whatever
    the budget), or where the model's own input cap is in the way.
    """
    recorded = [prepared.routed.of(section.name) for section in plan.sections]
    needs = [prepared.charges.upper(entries) for entries in recorded]
    pinned = [prepared.charges.upper(e for e in entries if e.pinned) for entries in recorded]
    whole = prepared.recorded_upper_tokens
    shares = [Fraction(section.share) for section in plan.sections]
    overhead = prepared.overhead.upper_tokens
    if any(section.max_messages or section.max_turns for section in plan.sections):
        return None
    if plan.compaction_fraction is None and any(
        map(_trims, prepared.sections, recorded, repeat(prepared.charges))
    ):
        return None

    def holds(budget: int) -> bool:
        if whole > budget:
            return False
        if plan.compaction_fraction is not None:
            return whole <= budget * Fraction(plan.compaction_fraction)
        lend = needs if plan.unused == "lend" else None
        rooms = rooms_for(shares, pinned, budget - overhead, lend).room_tokens
        return all(need <= room for need, room in zip(needs, rooms, strict=True))

    least = max(whole, overhead + 1)
    low = _smallest(holds, least, max(least, _guess(plan, needs, overhead, whole)))
    if low is None:
        return None
    cap = prepared.limits.max_input_tokens
    return None if cap is not None and low > cap else low + plan.reserve_output_tokens


def _guess(plan: ContextPlan, needs: Sequence[int], overhead: int, tokens: int) -> int:
    """What the budget would be if no pin were in the way."""
    if plan.compaction_fraction is not None:
        return ceil(tokens / Fraction(plan.compaction_fraction))
    if plan.unused == "lend":
        return tokens
    wanted = [
        ceil(need / Fraction(section.share))
        for section, need in zip(plan.sections, needs, strict=True)
        if section.share and not section.pinned
    ]
    return overhead + max(wanted, default=0)


def _smallest(holds: Callable[[int], bool], least: int, guess: int) -> int | None:
    """The smallest number from ``least`` that holds; what holds for one holds for every larger one."""
    low, high, step = least, guess, 1
    while not holds(high):
        low, high, step = high + 1, high + step, step * 2
        if high > MOST_TOKENS:
            return None
    step = 1
    while high - step >= low:
        if not holds(high - step):
            low = high - step + 1
            break
        high, step = high - step, step * 2
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low


def _trims(section: Section, recorded: Sequence[Entry], charges: Charges) -> bool:
    """Whether an entry that is not locked is above the section's ``max_entry_tokens``."""
    most = section.plan.max_entry_tokens
    locked = {entry.id for entry in section.locked}
    loose = (entry for entry in recorded if entry.id not in locked)
    return most is not None and any(charges.measure(entry).upper_tokens > most for entry in loose)
