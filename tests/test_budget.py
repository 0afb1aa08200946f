"""Rule 2: from window, reserve, pins and shares to rooms, in exact arithmetic."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextctl.budget import PlanUnusableError, limits_for, rooms_for, share_that_keeps
from contextctl.errors import CapabilityError
from contextctl.plan import ContextPlan, SectionPlan


def plan(**fields: object) -> ContextPlan:
    return ContextPlan(sections=(SectionPlan(name="a", share=Decimal(1)),), **fields)  # type: ignore[arg-type]


def test_the_published_numbers_of_the_history_guard_come_out() -> None:
    limits = limits_for(
        plan(reserve_output_tokens=4096, compaction_fraction=Decimal("0.75")), window=200_000, max_input=None
    )
    assert (limits.soft_tokens, limits.budget_tokens) == (146_928, 195_904)


def test_an_input_cap_below_the_window_binds() -> None:
    limits = limits_for(plan(reserve_output_tokens=4096), window=400_000, max_input=272_000)
    assert (limits.budget_tokens, limits.capped) == (272_000, True)
    limits = limits_for(plan(reserve_output_tokens=200_000), window=400_000, max_input=272_000)
    assert (limits.budget_tokens, limits.capped) == (200_000, False)


def test_no_window_and_no_budget_is_a_capability_error() -> None:
    with pytest.raises(CapabilityError):
        limits_for(plan(), window=None, max_input=None)
    assert limits_for(plan(budget_tokens=100), window=None, max_input=None).budget_tokens == 100


@pytest.mark.parametrize(("reserve", "left"), [(8192, "0"), (9000, "-808")])
def test_a_reserve_that_leaves_nothing_is_refused_with_the_numbers(reserve: int, left: str) -> None:
    with pytest.raises(PlanUnusableError, match=rf"8,192 and .*: {left} tokens are left") as caught:
        limits_for(plan(reserve_output_tokens=reserve), window=8192, max_input=None)
    assert caught.value.rule == "CTX008"


def test_a_budget_above_the_window_is_refused() -> None:
    with pytest.raises(PlanUnusableError) as caught:
        limits_for(plan(budget_tokens=9000), window=8192, max_input=None)
    assert caught.value.rule == "CTX108"


def test_the_seed_plan_gets_its_share_of_what_messages_may_use() -> None:
    shares = [Fraction(1, 10), Fraction(2, 10), Fraction(1, 10), Fraction(6, 10)]
    rooms = rooms_for(shares, [0, 500, 0, 0], 7168)
    assert rooms.room_tokens == (716, 1433, 716, 4300)
    assert rooms.overcommitted_tokens == 0


def test_pins_beyond_their_share_shrink_the_others_in_proportion_and_are_said() -> None:
    shares = [Fraction(1, 10), Fraction(2, 10), Fraction(1, 10), Fraction(6, 10)]
    rooms = rooms_for(shares, [0, 2000, 0, 0], 7168)
    assert rooms.room_tokens == (646, 2000, 646, 3876)
    assert rooms.overcommitted_tokens == 567


shares_and_pins = st.lists(
    st.tuples(st.integers(0, 100), st.integers(0, 400), st.integers(0, 2000)), min_size=1, max_size=6
)


def split(rows: list[tuple[int, int, int]]) -> tuple[list[Fraction], list[int], list[int]]:
    """Shares that add up to at most 1, pins, and needs of at least the pins."""
    whole = max(1, sum(weight for weight, _, _ in rows))
    return (
        [Fraction(weight, whole) for weight, _, _ in rows],
        [pins for _, pins, _ in rows],
        [pins + need for _, pins, need in rows],
    )


@given(shares_and_pins, st.integers(0, 5000), st.booleans())
def test_rooms_never_add_up_to_more_than_messages_may_use(
    rows: list[tuple[int, int, int]], tokens: int, lend: bool
) -> None:
    shares, pins, needs = split(rows)
    rooms = rooms_for(shares, pins, tokens, needs if lend else None)
    assert sum(rooms.room_tokens) <= max(tokens, sum(pins))
    assert all(room >= pinned for room, pinned in zip(rooms.room_tokens, pins, strict=True))


@given(shares_and_pins, st.integers(0, 5000), st.integers(0, 500))
def test_more_for_messages_never_makes_a_room_smaller(
    rows: list[tuple[int, int, int]], tokens: int, more: int
) -> None:
    shares, pins, _ = split(rows)
    small = rooms_for(shares, pins, tokens).room_tokens
    large = rooms_for(shares, pins, tokens + more).room_tokens
    assert all(a <= b for a, b in zip(small, large, strict=True))


@given(shares_and_pins, st.integers(0, 5000))
def test_while_pins_stay_inside_their_allotments_every_room_is_its_allotment(
    rows: list[tuple[int, int, int]], tokens: int
) -> None:
    shares, pins, _ = split(rows)
    if all(pinned <= share * tokens for share, pinned in zip(shares, pins, strict=True)):
        rooms = rooms_for(shares, pins, tokens)
        assert rooms.room_tokens == rooms.allotted_tokens
        assert rooms.overcommitted_tokens == 0


@given(shares_and_pins, st.integers(0, 5000))
def test_lending_never_makes_a_short_section_shorter_and_takes_only_what_is_unused(
    rows: list[tuple[int, int, int]], tokens: int
) -> None:
    shares, pins, needs = split(rows)
    kept = rooms_for(shares, pins, tokens).room_tokens
    lent = rooms_for(shares, pins, tokens, needs).room_tokens
    for own, new, need in zip(kept, lent, needs, strict=True):
        assert new >= min(own, need)


@given(st.integers(1, 10_000), st.integers(1, 20_000))
def test_the_share_that_keeps_is_enough_and_the_next_smaller_is_not(tokens: int, usable: int) -> None:
    share = share_that_keeps(tokens, usable)
    if share is None:
        assert tokens > usable
    else:
        assert share * usable >= tokens > (share - Fraction(1, 10_000)) * usable
