"""A history measured against a plan and a model, before anything is compacted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from contextctl.budget import Limits, Rooms, rooms_for
from contextctl.carried import NOTHING_YET, Carried
from contextctl.ports import Measure
from contextctl.routing import Routed
from contextctl.ruler import Ruler
from contextctl.sections import Charges, Section, Situation, name_largest


@dataclass(frozen=True, slots=True)
class Prepared:
    """What an assembly starts from.

    ``before`` is T of the whole history as it is ``carried``; ``pinned_tokens`` are those of the pinned
    entries of each section.
    """

    limits: Limits
    routed: Routed
    charges: Charges
    ruler: Ruler
    overhead: Measure
    before: Measure
    joint_tokens: int
    history_fingerprint: str
    sections: tuple[Section, ...]
    pinned_tokens: tuple[int, ...]
    carried: Carried = NOTHING_YET
    transcript_id: str | None = None

    @property
    def message_tokens(self) -> int:
        """M: the budget without the overhead; 0 or less where the overhead alone fills it."""
        return self.limits.budget_tokens - self.overhead.upper_tokens

    @property
    def recorded_upper_tokens(self) -> int:
        """T of the whole recorded history, margin added: what it would be if nothing had been lost."""
        live = sum(self.charges.upper(section.originals.values()) for section in self.sections)
        return self.before.upper_tokens - live + self.charges.upper(self.routed.entries)

    @property
    def soft(self) -> bool:
        """True where a soft line was crossed, so that sections are compacted toward it."""
        line = self.limits.soft_tokens
        return line is not None and self.before.upper_tokens > line

    def rooms(self, lowered_tokens: int = 0, needs: Sequence[int] | None = None) -> Rooms:
        """Allotments and rooms, toward the soft line where the plan has one, with M lowered by so much."""
        line = self.limits.budget_tokens if self.limits.soft_tokens is None else self.limits.soft_tokens
        usable = max(0, line - self.overhead.upper_tokens - lowered_tokens)
        shares = [Fraction(section.plan.share) for section in self.sections]
        return rooms_for(shares, self.pinned_tokens, usable, needs)

    def situation(self) -> Situation:
        """What every budget error of this assembly has to say."""
        rule = None
        if self.before.upper_tokens > self.limits.budget_tokens:
            without_cap = self.limits.limit_tokens - self.limits.reserve_output_tokens
            capped = self.limits.capped and self.before.upper_tokens <= without_cap
            rule = "CTX102" if capped else "CTX101"
        return Situation(self.before.upper_tokens, self.limits.budget_tokens, self.limits.window_tokens, rule)

    def require_room(self) -> None:
        """Raise :class:`~contextctl.errors.ContextBudgetError` where overhead and pins fill the budget."""
        budget = self.limits.budget_tokens
        overhead, usable = self.overhead.upper_tokens, self.message_tokens
        if usable <= 0:
            raise self.situation().error(
                f"tool definitions and framing need {overhead:,} tokens; the budget is {budget:,}",
                missing=1 - usable,
                rule="CTX101",
                hint="send fewer tools, raise budget_tokens, or choose a model with a larger window",
            )
        pins = [e for section in self.sections for e in section.originals.values() if e.pinned]
        needed = self.charges.upper(pins)
        if needed <= usable:
            return
        largest, names = name_largest(pins, self.charges)
        raise self.situation().error(
            f"pinned entries need {needed:,} tokens; messages may use {usable:,} "
            f"(budget {budget:,}, overhead {overhead:,}): {names}",
            missing=needed - usable,
            rule="CTX103",
            entries=tuple(entry.id for entry in largest),
            location=largest[0].messages[0].location,
            hint="unpin an entry, raise budget_tokens, or choose a model with a larger window",
        )
