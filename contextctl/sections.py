"""A section at work: its entries with their charges and locks, and what a budget error has to say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from contextctl.entries import Entry, locked
from contextctl.errors import ContextBudgetError
from contextctl.messages import Message
from contextctl.plan import SectionPlan
from contextctl.ports import Exactness, Measure, Strategy
from contextctl.ruler import Ruler
from contextctl.trimming import trim_entry

StartOn = Literal["any", "user", "first"]
"""What a cut goes on to: nothing more; the next user entry; the same where nothing stands before the cut."""


class Charges:
    """What each entry is charged, measured once."""

    def __init__(self, ruler: Ruler, entries: Iterable[Entry]) -> None:
        self._ruler = ruler
        self._known = {entry.id: (entry.messages, ruler.entry(entry.messages)) for entry in entries}

    def measure(self, entry: Entry) -> Measure:
        """The charge of an entry; an altered or new one is measured as it is now."""
        if entry.planned_tokens is not None:
            return Measure(
                entry.planned_tokens, entry.planned_tokens, Exactness.ESTIMATE, ("a summary is not made yet",)
            )
        messages, measure = self._known.get(entry.id, (None, None))
        if messages is entry.messages and measure is not None:
            return measure
        return self._ruler.entry(entry.messages)

    def whole(self, entries: Sequence[Entry]) -> Measure:
        """T of a prompt that holds these entries, its messages in transcript order."""
        written = [entry for entry in entries if entry.planned_tokens is None]
        messages = [
            message
            for _, message in sorted(
                (pair for entry in written for pair in zip(entry.positions, entry.messages, strict=True)),
                key=lambda pair: pair[0],
            )
        ]
        measure = self._ruler.history(messages, map(self.measure, written))
        planned = (self.measure(entry) for entry in entries if entry.planned_tokens is not None)
        return measure + Measure.total(planned)

    def upper(self, entries: Iterable[Entry]) -> int:
        """Tokens of these entries with every margin added."""
        return sum(self.measure(entry).upper_tokens for entry in entries)

    def tokens(self, entries: Iterable[Entry]) -> int:
        """Tokens of these entries, margins left out."""
        return sum(self.measure(entry).tokens for entry in entries)

    def count(self, items: Sequence[Entry] | Sequence[Message]) -> int:
        """What a strategy calls: entries, or messages taken as one entry, with every margin added."""
        entries = [item for item in items if isinstance(item, Entry)]
        messages = [item for item in items if isinstance(item, Message)]
        loose = self._ruler.entry(messages).upper_tokens if messages else 0
        return self.upper(entries) + loose


@dataclass(frozen=True, slots=True)
class Section:
    """One section at work: its plan, its strategy, its entries as a strategy sees them (locked ones
    ``pinned``), the entries as they were, the ids that were trimmed, and what a cut goes on to."""

    plan: SectionPlan
    strategy: Strategy
    entries: tuple[Entry, ...]
    originals: Mapping[str, Entry]
    trimmed: tuple[str, ...] = ()
    start_on: StartOn = "any"

    @property
    def locked(self) -> tuple[Entry, ...]:
        """The entries that may not be lost."""
        return tuple(entry for entry in self.entries if entry.pinned)


@dataclass(frozen=True, slots=True)
class Situation:
    """What a budget error has to say beside its section: the whole history's tokens and the limits."""

    tokens: int
    budget_tokens: int
    window_tokens: int | None
    overflow_rule: str | None

    def error(
        self,
        message: str,
        *,
        missing: int,
        rule: str,
        kind: type[ContextBudgetError] = ContextBudgetError,
        **more: Any,
    ) -> ContextBudgetError:
        """A budget error of the given kind with these numbers in it."""
        return kind(
            message,
            tokens=self.tokens,
            budget_tokens=self.budget_tokens,
            missing_tokens=max(1, missing),
            window_tokens=self.window_tokens,
            rule=rule,
            **more,
        )


def lock(
    plan: SectionPlan, strategy: Strategy, entries: Sequence[Entry], *, start_on: StartOn = "any"
) -> Section:
    """The section with every entry locked that is pinned, protected or inside keep_first/keep_recent.

    The two count messages of the section in transcript order and grow outward to whole entries.
    """
    places = sorted(position for entry in entries for position in entry.positions)
    keep_first = getattr(strategy, "keep_first", 0)
    keep_recent = getattr(strategy, "keep_recent", 0)
    kept = set(places[:keep_first]) | set(places[len(places) - keep_recent :] if keep_recent else ())
    seen = tuple(
        locked(entry) if entry.protected or not kept.isdisjoint(entry.positions) else entry
        for entry in entries
    )
    return Section(plan, strategy, seen, {entry.id: entry for entry in entries}, start_on=start_on)


def trim(section: Section, charges: Charges, ruler: Ruler) -> Section:
    """The section with every giant that is not locked cut down to ``max_entry_tokens`` where that works."""
    most = section.plan.max_entry_tokens
    if most is None:
        return section
    entries: list[Entry] = []
    trimmed: list[str] = []
    for entry in section.entries:
        smaller = None
        if not entry.pinned and charges.measure(entry).upper_tokens > most:
            smaller = trim_entry(entry, most, ruler.charge)
        entries.append(smaller or entry)
        if smaller is not None:
            trimmed.append(entry.id)
    return replace(section, entries=tuple(entries), trimmed=(*section.trimmed, *trimmed))


def name_largest(entries: Sequence[Entry], charges: Charges) -> tuple[list[Entry], str]:
    """The entries, largest first, and the first three of them in words with their tokens."""
    largest = sorted(entries, key=lambda entry: (-charges.measure(entry).upper_tokens, entry.id))
    names = ", ".join(f"{entry.id} ({charges.measure(entry).upper_tokens:,} tokens)" for entry in largest[:3])
    return largest, names + (f" and {len(largest) - 3} more" if len(largest) > 3 else "")
