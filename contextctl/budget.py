"""From window, plan, reserve, pins and shares to tokens: pure, exact arithmetic.

Rules 2.1 to 2.5 and 5.8, 5.10 of the contract. Fractions are exact and floored once, so that rooms never add
up to more than there is and never differ between machines.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor

from contextctl.errors import CapabilityError, ContextctlError
from contextctl.plan import ContextPlan


@dataclass(frozen=True, slots=True)
class Limits:
    """What plan and model allow, in tokens, before anything is counted.

    ``budget_tokens`` is ``min(limit - reserve, input cap)``; ``soft_tokens`` the soft line, where the plan
    has one. ``capped`` is True where the input cap is what binds.
    """

    limit_tokens: int
    reserve_output_tokens: int
    budget_tokens: int
    soft_tokens: int | None
    window_tokens: int | None
    max_input_tokens: int | None

    @property
    def capped(self) -> bool:
        """True where the model's input cap binds, and not window or plan."""
        return self.budget_tokens < self.limit_tokens - self.reserve_output_tokens


@dataclass(frozen=True, slots=True)
class Rooms:
    """Tokens of each section, in plan order: its allotment and the room that it may really use.

    ``overcommitted_tokens`` is by how much pins and unpinned shares together exceed what there is.
    """

    allotted_tokens: tuple[int, ...]
    room_tokens: tuple[int, ...]
    overcommitted_tokens: int


class PlanUnusableError(ContextctlError):
    """The plan leaves no room at all with this model."""


def limits_for(plan: ContextPlan, *, window: int | None, max_input: int | None) -> Limits:
    """The limits of a plan with a model.

    Raises :class:`~contextctl.errors.CapabilityError` where neither plan nor model says how much there is,
    :class:`PlanUnusableError` where the plan asks for more than the window or its reserve leaves nothing.
    """
    source, reserve = plan.source, plan.reserve_output_tokens
    if plan.budget_tokens is None and window is None:
        raise CapabilityError(
            "the model's context window is not known and the plan sets no budget_tokens",
            hint="set budget_tokens in the plan, or the model's context_window under models:",
            location=source.place("model"),
            rule="CTX402",
        )
    if plan.budget_tokens is not None and window is not None and plan.budget_tokens > window:
        raise PlanUnusableError(
            f"budget_tokens is {plan.budget_tokens:,}; the model's window is {window:,}",
            hint="lower budget_tokens, or choose a model with a larger window",
            location=source.place("budget_tokens"),
            rule="CTX108",
        )
    limit = plan.budget_tokens if plan.budget_tokens is not None else window
    assert limit is not None
    budget = limit - reserve if max_input is None else min(limit - reserve, max_input)
    if budget <= 0:
        what = "budget_tokens" if plan.budget_tokens is not None else "the model's window"
        raise PlanUnusableError(
            f"{what} is {limit:,} and reserve_output_tokens {reserve:,}: {limit - reserve:,} tokens are left",
            hint="lower reserve_output_tokens, or choose a model with a larger window",
            location=source.place("reserve_output_tokens"),
            rule="CTX008",
        )
    soft = None
    if plan.compaction_fraction is not None:
        soft = floor(budget * Fraction(plan.compaction_fraction))
    return Limits(limit, reserve, budget, soft, window, max_input)


def rooms_for(
    shares: Sequence[Fraction],
    pinned_tokens: Sequence[int],
    message_tokens: int,
    needs: Sequence[int] | None = None,
) -> Rooms:
    """Allotments and rooms when messages may use ``message_tokens`` and pins take theirs first.

    The rooms add up to at most ``max(message_tokens, sum of pins)``. With ``needs`` (tokens each section
    would use) unused room is lent to sections that are short, in proportion to their shares.
    """
    after_pins = max(0, message_tokens - sum(pinned_tokens))
    spares = [
        max(Fraction(0), share * message_tokens - pinned)
        for share, pinned in zip(shares, pinned_tokens, strict=True)
    ]
    total_spare = sum(spares, Fraction(0))
    scale = min(Fraction(1), after_pins / total_spare) if total_spare else Fraction(1)
    exact = [pinned + spare * scale for pinned, spare in zip(pinned_tokens, spares, strict=True)]
    if needs is not None:
        exact = _lend(exact, needs, shares)
    over = sum(pinned_tokens) + total_spare - message_tokens
    return Rooms(
        allotted_tokens=tuple(floor(share * message_tokens) for share in shares),
        room_tokens=tuple(floor(room) for room in exact),
        overcommitted_tokens=max(0, ceil(over)),
    )


def _lend(rooms: Sequence[Fraction], needs: Sequence[int], shares: Sequence[Fraction]) -> list[Fraction]:
    if all(need <= room for need, room in zip(needs, rooms, strict=True)):
        return list(rooms)
    given = [min(Fraction(need), room) for need, room in zip(needs, rooms, strict=True)]
    rest = sum(rooms, Fraction(0)) - sum(given, Fraction(0))
    while rest > 0:
        short = [i for i, need in enumerate(needs) if given[i] < need and shares[i] > 0]
        total = sum((shares[i] for i in short), Fraction(0))
        if not short:
            break
        lent = Fraction(0)
        for i in short:
            more = min(rest * shares[i] / total, needs[i] - given[i])
            given[i] += more
            lent += more
        rest -= lent
    return given


def share_that_keeps(tokens: int, message_tokens: int) -> Fraction | None:
    """The smallest share in ten-thousandths whose allotment holds this many tokens, or None above 1."""
    if message_tokens <= 0:
        return None
    share = Fraction(ceil(Fraction(tokens * 10_000, message_tokens)), 10_000)
    return share if share <= 1 else None
