"""What an assembly came to: per strategy, per section and for the whole prompt."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal

from contextctl.entries import Entry
from contextctl.errors import ContextBudgetError
from contextctl.messages import Message


class Fate(StrEnum):
    """What became of an entry."""

    KEPT = "kept"
    EVICTED = "evicted"
    SUMMARISED = "summarised"
    FOLDED = "folded"
    TRIMMED = "trimmed"
    DROPPED = "dropped"
    SUPERSEDED = "superseded"


Status = Literal["fits", "compacted", "over_target", "over_budget", "refused"]
"""``fits``: nothing was done. ``compacted``: something was lost or folded, within budget.
``over_target``: above the soft line, within budget. ``over_budget`` and ``refused``: no prompt exists."""


@dataclass(frozen=True, slots=True)
class CompactionOutcome:
    """What a strategy made of a section: the entries that stay, in order, and the ids of the others.

    Every id that the strategy was given is in exactly one place. ``trimmed`` ids are also in ``entries``,
    with less in them than before.
    """

    entries: tuple[Entry, ...]
    evicted: tuple[str, ...] = ()
    summarised: tuple[str, ...] = ()
    folded: tuple[str, ...] = ()
    trimmed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SectionOutcome:
    """What became of one declared section. The fates hold entry ids, in transcript order; tokens are what
    the framing charges for the section's entries (notes included after). ``compacted`` is True where this
    assembly changed something, ``entries`` are the recorded ones, whenever they were lost."""

    name: str
    share: str
    strategy: str
    allotted_tokens: int
    room_tokens: int
    tokens_before: int
    tokens_after: int | None
    entries: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    evicted: tuple[str, ...] = ()
    summarised: tuple[str, ...] = ()
    folded: tuple[str, ...] = ()
    trimmed: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    compacted: bool = False

    @property
    def empty(self) -> bool:
        """True where no entry was routed to it."""
        return not self.entries


@dataclass(frozen=True, slots=True)
class AssembledContext:
    """A prompt within its budget.

    ``messages`` stand in plan order and carry the ids, sections, pins and protection that make assembling
    them again a no-op. ``tokens`` is the model's own count of the whole prompt; ``tokens_upper`` adds the
    margin of an estimate; ``budget_tokens`` is what there was room for. ``entries`` are what the prompt
    holds, in its order; ``notes`` those of them that stand in for others, ``made`` the ids of the notes that
    this assembly made. Where the ``maker`` is the application itself, ``added`` are messages of its own, an
    entry each. A ``hypothetical`` prompt holds a summary that is only planned, as a message without
    content.
    """

    messages: tuple[Message, ...]
    tokens: int
    tokens_upper: int
    budget_tokens: int
    status: Status
    sections: tuple[SectionOutcome, ...]
    fates: Mapping[str, Fate] = field(default_factory=dict)
    entries: tuple[Entry, ...] = ()
    notes: tuple[Entry, ...] = ()
    made: frozenset[str] = frozenset()
    added: tuple[Entry, ...] = ()
    maker: Literal["plan", "application"] = "plan"
    hypothetical: bool = False
    joint_tokens: int = 0
    history_fingerprint: str = ""
    prompt_fingerprint: str = ""

    def span_attributes(self) -> dict[str, int]:
        """Counts for a trace, and nothing that was said."""
        fates = list(self.fates.values())
        attributes = {
            "context.tokens": self.tokens,
            "context.budget_tokens": self.budget_tokens,
            "context.evicted": fates.count(Fate.EVICTED),
            "context.summarised": fates.count(Fate.SUMMARISED),
            "context.folded": fates.count(Fate.FOLDED),
        }
        for section in self.sections:
            attributes[f"context.section.{section.name}.tokens"] = section.tokens_after or 0
            attributes[f"context.section.{section.name}.kept"] = len(section.kept) + len(section.trimmed)
        return attributes


def summaries_made(assembled: AssembledContext) -> int:
    """How many summaries the assembly made or planned; earlier ones that it carries do not count."""
    return sum(note.kind == "summary" and note.id in assembled.made for note in assembled.notes)


class SentOverBudgetError(ContextBudgetError):
    """The application's own assembler sends more than its budget; ``assembled`` is what it sends."""

    def __init__(self, message: str, *, assembled: AssembledContext, **more: Any) -> None:
        super().__init__(message, **more)
        self.assembled = assembled
