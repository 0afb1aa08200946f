"""The contract that every registered strategy keeps, and the strategies one by one."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from contextctl import CompactionOutcome, text_of
from contextctl.entries import Entry, group
from contextctl.messages import Message, TextPart, ToolCallPart, ToolResultPart
from contextctl.plan import CompactionPlan
from contextctl.strategies import (
    STRATEGIES,
    StrategyParametersError,
    UnknownStrategyError,
    build_strategy,
    is_built_in,
)
from contextctl.strategies.clear_tool_results import PLACEHOLDER
from contextctl.testing import check_strategy, count_words


@pytest.mark.parametrize("name", STRATEGIES)
def test_every_registered_strategy_keeps_the_promises_of_all(name: str) -> None:
    built = build_strategy(CompactionPlan(strategy=name))
    assert is_built_in(built)
    check_strategy(built, overruns=name == "refuse")


class Broken:
    """Keeps every second entry and forgets the others."""

    async def compact(self, entries: Any, *, budget_tokens: int, count: Any) -> CompactionOutcome:
        return CompactionOutcome(entries=entries[::2])


class Overruns:
    async def compact(self, entries: Any, *, budget_tokens: int, count: Any) -> CompactionOutcome:
        return CompactionOutcome(entries=entries)


class Forgetful:
    """Gives another outcome every time."""

    def __init__(self) -> None:
        self.runs = 0

    async def compact(self, entries: Any, *, budget_tokens: int, count: Any) -> CompactionOutcome:
        self.runs += 1
        gone = {entry.id for entry in entries if not entry.pinned} if self.runs % 2 else set()
        kept = tuple(entry for entry in entries if entry.id not in gone)
        return CompactionOutcome(kept, evicted=tuple(e.id for e in entries if e.id in gone))


@pytest.mark.parametrize(
    ("strategy", "said"),
    [
        (Broken(), "neither kept nor reported"),
        (Overruns(), "tokens are left"),
        (Forgetful(), "another outcome"),
    ],
)
def test_a_strategy_that_breaks_a_promise_is_told_which(strategy: Any, said: str) -> None:
    with pytest.raises(AssertionError, match=said):
        check_strategy(strategy)


def test_an_unknown_strategy_and_an_unknown_parameter_name_the_near_and_the_known() -> None:
    with pytest.raises(UnknownStrategyError, match="did you mean 'drop-oldest'"):
        build_strategy(CompactionPlan(strategy="drop-oldst"))
    with pytest.raises(StrategyParametersError, match="it has: keep_first, keep_recent, step_tokens"):
        build_strategy(CompactionPlan(strategy="drop-oldest", parameters={"keep": 1}))


def tool_history(*sizes: int, tool: str = "read") -> tuple[Entry, ...]:
    """A user message, then a call with a result of so many words for each size, then a user message."""
    messages = [Message(role="user", content="start", pinned=True)]
    for n, size in enumerate(sizes):
        call = ToolCallPart(id=f"c{n}", name=tool, arguments="{}")
        answer = ToolResultPart(call_id=f"c{n}", content=(TextPart(text=" ".join(["w"] * size)),))
        messages += [Message(role="assistant", content=(call,)), Message(role="tool", content=(answer,))]
    messages.append(Message(role="user", content="end", pinned=True))
    return group(messages)[0]


def run(entries: tuple[Entry, ...], room: int, **parameters: Any) -> CompactionOutcome:
    strategy = build_strategy(CompactionPlan(strategy="clear-tool-results", parameters=parameters))
    return asyncio.run(strategy.compact(entries, budget_tokens=room, count=count_words))


def cleared(outcome: CompactionOutcome) -> list[str]:
    return [entry.id for entry in outcome.entries if PLACEHOLDER in text_of(entry)]


def test_results_are_cleared_one_at_a_time_oldest_first_until_the_rest_fits() -> None:
    entries = tool_history(50, 50, 50, 50)
    whole = count_words(entries)
    assert cleared(run(entries, whole, keep_results=0)) == []
    assert cleared(run(entries, whole - 1, keep_results=0)) == ["m2"]
    assert cleared(run(entries, whole - 60, keep_results=0)) == ["m2", "m4"]
    assert run(entries, whole - 60, keep_results=0).evicted == ()


def test_the_newest_results_and_those_of_excluded_tools_and_small_ones_stay() -> None:
    entries = tool_history(50, 50, 50, 50)
    least = count_words(entries) // 3
    assert cleared(run(entries, least)) == []
    assert run(entries, least).evicted == ("m2", "m4", "m6")
    assert cleared(run(entries, least, keep_results=0, exclude=["read"])) == []
    assert cleared(run(tool_history(9, 50), 60, keep_results=0, min_tokens=20)) == ["m4"]


def test_where_clearing_is_not_enough_the_oldest_entries_go_as_well() -> None:
    entries = tool_history(50, 50, 50, 50)
    outcome = run(entries, 50, keep_results=0)
    assert outcome.evicted == ("m2", "m4")
    assert outcome.trimmed == ("m6", "m8")


def test_a_result_shorter_than_the_placeholder_is_never_cleared() -> None:
    outcome = run(tool_history(2, 50), 60, keep_results=0)
    assert outcome.trimmed == ("m4",)


def test_a_preview_of_a_cleared_result_stays_before_the_placeholder() -> None:
    outcome = run(tool_history(50, 50), 60, keep_results=0, preview_tokens=5)
    text = text_of(outcome.entries[1])
    assert text.endswith(f"w w w w w\n{PLACEHOLDER}")
    assert text.count("w") - PLACEHOLDER.count("w") <= 5
