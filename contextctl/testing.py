"""The promises that every strategy keeps, to be checked on one of your own in any test runner.

Example::

    from contextctl.testing import check_strategy

    def test_my_strategy_keeps_its_promises():
        check_strategy(MyStrategy())
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from random import Random

from contextctl.conservation import broken_promise
from contextctl.entries import Entry, group
from contextctl.messages import Message, TextPart, ToolCallPart, ToolResultPart, part_texts
from contextctl.ports import Strategy

MESSAGE_TOKENS = 4
"""What a message is charged beside its words in :func:`count_words`."""

SPARE_TOKENS = 24
"""Room beside the locked entries that every strategy is given: enough for a note."""


def count_words(items: Sequence[Entry] | Sequence[Message]) -> int:
    """A count for tests: a token a word, and four a message."""
    total = 0
    for item in items:
        for message in item.messages if isinstance(item, Entry) else (item,):
            total += MESSAGE_TOKENS + sum(len(text.split()) for text in part_texts(message.content))
    return total


def sample_entries(seed: int) -> tuple[Entry, ...]:
    """A history of up to 40 messages with parallel calls, pins and questions, the same for the same seed."""
    random = Random(seed)
    messages: list[Message] = []

    def text() -> str:
        return " ".join(["word"] * random.randint(0, 30) + [f"n{len(messages)}{random.choice('?.')}"])

    def add(role: str, *parts: TextPart | ToolCallPart | ToolResultPart) -> None:
        messages.append(Message(role=role, content=parts, pinned=random.random() < 0.1))

    for turn in range(random.randint(0, 16)):
        if random.random() < 0.3:
            calls = [
                ToolCallPart(id=f"c{turn}_{n}", name="find", arguments=text())
                for n in range(random.randint(1, 3))
            ]
            add("assistant", *calls)
            for call in calls:
                add("tool", ToolResultPart(call_id=call.id, content=(TextPart(text=text()),)))
        else:
            add(random.choice(["user", "assistant", "user", "system"]), TextPart(text=text()))
    entries, _ = group(messages)
    return tuple(replace(entry, section="recent") for entry in entries)


def check_strategy(strategy: Strategy, *, histories: int = 60, overruns: bool = False) -> None:
    """Run a strategy over sample histories and rooms; ``AssertionError`` names the first broken promise.

    The promises: each entry is kept or reported as lost, exactly once; pinned ones are there, verbatim and
    in order; no call is parted from its results; a note or summary stands for whatever it replaced; what is
    left is within the room (unless ``overruns``: a strategy may refuse); the same input gives the same
    output; what it was given is not changed.
    """
    for seed in range(histories):
        entries = sample_entries(seed)
        pinned = count_words([entry for entry in entries if entry.pinned])
        whole = count_words(entries)
        for room in {pinned + SPARE_TOKENS, max(pinned + SPARE_TOKENS, whole // 2), whole}:
            _check_once(strategy, entries, room, f"history {seed}, room {room}", overruns=overruns)


def _check_once(
    strategy: Strategy, entries: tuple[Entry, ...], room: int, where: str, *, overruns: bool
) -> None:
    before = [(entry, [message.model_dump() for message in entry.messages]) for entry in entries]
    outcome = asyncio.run(strategy.compact(entries, budget_tokens=room, count=count_words))
    again = asyncio.run(strategy.compact(entries, budget_tokens=room, count=count_words))
    broken = broken_promise(entries, outcome)
    if broken is not None:
        raise AssertionError(f"{where}: {broken}")
    left = count_words(outcome.entries)
    if left > room and not overruns:
        raise AssertionError(f"{where}: {left} tokens are left")
    if again != outcome:
        raise AssertionError(f"{where}: a second run gives another outcome")
    if [(entry, [message.model_dump() for message in entry.messages]) for entry in entries] != before:
        raise AssertionError(f"{where}: what it was given is changed")
