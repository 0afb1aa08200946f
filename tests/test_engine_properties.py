"""What holds for every plan, history and strategy, found by generating them together."""

from __future__ import annotations

import asyncio
from decimal import Decimal

from hypothesis import given, settings
from hypothesis import strategies as st

from contextctl.assembler import ContextAssembler
from contextctl.budget import PlanUnusableError
from contextctl.errors import ContextBudgetError
from contextctl.outcome import AssembledContext, Fate
from contextctl.plan import ContextPlan
from tests.engine_samples import (
    SUPPLIED,
    History,
    MergingProvider,
    WordProvider,
    check_conservation,
    dropping,
    histories,
    plans,
)

WINDOWS = st.integers(15, 700)


def assemble(
    plan: ContextPlan, history: History, provider: WordProvider
) -> AssembledContext | ContextBudgetError:
    try:
        return asyncio.run(
            ContextAssembler(plan, provider=provider, strategies=SUPPLIED).assemble(history.messages)
        )
    except ContextBudgetError as error:
        return error


@given(plans(), histories(), WINDOWS)
@settings(max_examples=300, deadline=None)
def test_every_prompt_is_within_budget_and_accounts_for_every_entry_once(
    plan: ContextPlan, history: History, window: int
) -> None:
    provider = WordProvider(window)
    result = assemble(plan, history, provider)
    if isinstance(result, AssembledContext):
        check_conservation(history, result, provider)


@given(plans(soft=False), histories(), WINDOWS)
@settings(max_examples=200, deadline=None)
def test_a_provider_whose_counts_do_not_add_up_never_gets_a_prompt_over_budget(
    plan: ContextPlan, history: History, window: int
) -> None:
    provider = MergingProvider(window)
    result = assemble(plan, history, provider)
    if isinstance(result, AssembledContext):
        check_conservation(history, result, provider)


@given(plans(), histories(), WINDOWS)
@settings(max_examples=200, deadline=None)
def test_pins_and_survivors_keep_their_transcript_order_within_a_section(
    plan: ContextPlan, history: History, window: int
) -> None:
    result = assemble(plan, history, WordProvider(window))
    if isinstance(result, ContextBudgetError):
        return
    place = {message.content: index for index, message in enumerate(history.messages)}
    for section in plan.sections:
        places = [
            place[message.content]
            for message in result.messages
            if message.section == section.name and message.content in place
        ]
        assert places == sorted(places)


@given(plans(), histories(), WINDOWS)
@settings(max_examples=200, deadline=None)
def test_6_2_the_same_input_gives_the_same_output_and_the_callers_messages_stay_as_they_were(
    plan: ContextPlan, history: History, window: int
) -> None:
    before = [message.model_copy(deep=True) for message in history.messages]
    first = assemble(plan, history, WordProvider(window))
    second = assemble(plan, history, WordProvider(window))
    assert list(history.messages) == before
    if isinstance(first, AssembledContext):
        assert first == second
    else:
        assert isinstance(second, ContextBudgetError)
        assert str(first) == str(second)


@given(plans(), histories(), WINDOWS)
@settings(max_examples=300, deadline=None)
def test_6_2_assembling_a_prompt_again_changes_nothing(
    plan: ContextPlan, history: History, window: int
) -> None:
    provider = WordProvider(window)
    result = assemble(plan, history, provider)
    if isinstance(result, ContextBudgetError):
        return
    again = asyncio.run(
        ContextAssembler(plan, provider=provider, strategies=SUPPLIED).assemble(result.messages)
    )
    assert again.messages == result.messages
    assert again.prompt_fingerprint == result.prompt_fingerprint


@given(plans(strategies=dropping(), trims=False), histories(), WINDOWS, st.integers(1, 200))
@settings(max_examples=300, deadline=None)
def test_6_2_a_larger_budget_never_loses_an_entry_that_a_smaller_one_keeps(
    plan: ContextPlan, history: History, window: int, more: int
) -> None:
    small = assemble(plan, history, WordProvider(window))
    large = assemble(plan, history, WordProvider(window + more))
    if isinstance(small, ContextBudgetError) or isinstance(large, ContextBudgetError):
        return
    for entry_id, fate in small.fates.items():
        if fate is Fate.KEPT:
            assert large.fates[entry_id] is Fate.KEPT


@given(st.integers(0, 300), st.integers(0, 300))
def test_a_plan_whose_reserve_leaves_nothing_is_refused_before_anything_is_counted(
    budget: int, reserve: int
) -> None:
    plan = ContextPlan(
        sections=({"name": "all", "share": Decimal(1)},),  # type: ignore[arg-type]
        budget_tokens=budget + 1,
        reserve_output_tokens=reserve,
    )
    assembler = ContextAssembler(plan, provider=WordProvider(10_000))
    try:
        limits = assembler.limits()
    except PlanUnusableError:
        assert reserve >= budget + 1
    else:
        assert limits.budget_tokens == budget + 1 - reserve > 0
