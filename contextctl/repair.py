"""Repairing a conversation, so that a provider takes it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from contextctl.checks.provider_rules import Fault, provider_faults
from contextctl.checks.provider_rules.profiles import RESULTS_FOLLOW
from contextctl.errors import InternalError, Location
from contextctl.findings import Severity
from contextctl.messages import SYSTEM_ROLES, Message, Part, TextPart, ToolCallPart, ToolResultPart

NO_RESULT = "[no result was recorded]"
"""What is put in place of a result that a call never got."""

NO_BEGINNING = "[the beginning was not recorded]"
"""What the user says in a conversation that begins with the assistant."""

COVERED = frozenset({"CTX212", "CTX213", "CTX214", "CTX215", "CTX216", "CTX217", "CTX218"})
"""The rules that a repaired conversation keeps; notes are left alone."""

RepairKind = Literal[
    "empty-removed",
    "result-removed",
    "answer-joined",
    "result-moved",
    "results-put-first",
    "result-put",
    "user-put",
]
"""What a step of a repair did."""


@dataclass(frozen=True, slots=True)
class Repair:
    """One step: what was done at a message, where it was read, and its id, ``m<n>`` where it has none."""

    kind: RepairKind
    location: Location
    id: str
    sentence: str


@dataclass(frozen=True, slots=True)
class Repaired:
    """The messages as they are after ``done``, every step in order."""

    messages: tuple[Message, ...]
    done: tuple[Repair, ...] = ()


def repair(messages: Sequence[Message], profile: str) -> Repaired:
    """These messages without the faults of :data:`COVERED` that the profile has, step by step until none is
    left, so that repairing again changes nothing.

    Results without a call and second results are removed, and what is empty; with them a message of which
    nothing is left. A result that must stand directly after its call is moved there, together with the
    lines of its answer where they stand apart. A call that never got a result gets one that says so:
    every provider takes it, and what was asked for stays in sight. It is not removed, as other calls and
    thinking of its answer would go with it. A call that waits at the end stays as it is. Where the
    first message must be the user's, one that says so is put before an assistant's: removing what leads
    would lose all that was recorded before the user's next message.

    What is put has an id ``repair-<n>`` that no message has. What is superseded stays where it is. No other
    message is lost or changed. Raises :class:`~contextctl.errors.UsageError` for a profile that is not known.
    """
    work = _Work(profile, [_Item(message, message.id or f"m{n}") for n, message in enumerate(messages, 1)])
    while work.step():
        pass
    return Repaired(tuple(item.message for item in work.items), tuple(work.done))


@dataclass(frozen=True, slots=True)
class _Item:
    """A message, and what reports call it."""

    message: Message
    id: str


@dataclass(slots=True)
class _Work:
    """A conversation under repair. Each step mends all faults of one kind that it has by then.

    Removal comes first: it can leave a call to wait at the end that has then no need of a result.
    """

    profile: str
    items: list[_Item]
    done: list[Repair] = field(default_factory=list)
    put: int = 0
    steps: int = 0

    def step(self) -> bool:
        """Mend faults of the first kind there is; False where there is none."""
        found = provider_faults(self.profile, [item.message for item in self.items])
        faults = [fault for fault in found if fault.code in COVERED and fault.severity is not Severity.NOTE]
        self.steps += 1
        if self.steps > 10 + 10 * sum(1 + len(item.message.content) for item in self.items):
            raise InternalError("a repair does not come to an end")
        for codes, mend in (
            ({"CTX215", "CTX212", "CTX213"}, self._remove),
            ({"CTX216", "CTX217"}, self._move),
            ({"CTX214"}, self._answer),
            ({"CTX218"}, self._lead),
        ):
            due = [fault for fault in faults if fault.code in codes]
            if due:
                mend(due)
                return True
        return False

    def _remove(self, faults: Iterable[Fault]) -> None:
        gone: dict[int, set[int]] = {}
        for fault in faults:
            gone.setdefault(fault.at.position, set()).update(fault.parts)
            is_empty = fault.code == "CTX215"
            kind: RepairKind = "empty-removed" if is_empty else "result-removed"
            self._say(kind, fault.at.position, f"{fault.sentence}; it was removed")
        left = []
        for position, item in enumerate(self.items, 1):
            if position not in gone:
                left.append(item)
                continue
            parts = [part for n, part in enumerate(item.message.content) if n not in gone[position]]
            if parts:
                left.append(_Item(_with(item.message, parts), item.id))
        self.items = left

    def _move(self, faults: Sequence[Fault]) -> None:
        """Put results where they belong: first in their message, or directly after their answer."""
        for fault in faults:
            if fault.answer is not None and self._joined(fault.answer):
                return
        first = {fault.at.position for fault in faults if fault.code == "CTX217"}
        moved = [fault for fault in faults if fault.answer is not None]
        after: dict[int, list[_Item]] = {}
        gone: dict[int, set[int]] = {}
        for fault in moved:
            gone.setdefault(fault.at.position, set()).update(fault.parts)
        for fault in moved:
            after.setdefault(self._place_after(fault.answer or 0), []).append(self._piece(fault))
            self._say("result-moved", fault.at.position, f"{fault.sentence}; it was moved there")
        items: list[_Item] = []
        for position, item in enumerate(self.items, 1):
            parts = [part for n, part in enumerate(item.message.content) if n not in gone.get(position, ())]
            if position in first:
                parts.sort(key=lambda part: not isinstance(part, ToolResultPart))
                self._say("results-put-first", position, "a result stood after other content; now before it")
            if parts or not gone.get(position):
                items.append(_Item(_with(item.message, parts), item.id))
            items += after.get(position, [])
        self.items = items

    def _piece(self, fault: Fault) -> _Item:
        """What moves of a message: the whole of it, or its results under an id of their own."""
        item = self.items[fault.at.position - 1]
        parts = [item.message.content[place] for place in fault.parts]
        if len(parts) == len(item.message.content):
            return item
        name = self._name()
        return _Item(_with(item.message, parts).model_copy(update={"id": name, "usage": None}), name)

    def _lines_of(self, answer: int) -> list[int]:
        """The positions of an answer's messages; its number is that of the first."""
        first = self.items[answer - 1].message
        response = first.response_id
        if response is None or first.role != "assistant":
            return [answer]
        return [
            position
            for position, item in enumerate(self.items, 1)
            if item.message.response_id == response
            and item.message.role == "assistant"
            and item.message.superseded is None
        ]

    def _joined(self, answer: int) -> bool:
        """Bring the lines of an answer together; False where they are."""
        lines = self._lines_of(answer)
        between = [item.message.superseded for item in self.items[lines[0] - 1 : lines[-1]]]
        if between.count(None) == len(lines):
            return False
        for position in lines[1:]:
            self._say("answer-joined", position, "the lines of an answer stand apart; this one was moved up")
        apart = [self.items[position - 1] for position in lines[1:]]
        rest = [item for position, item in enumerate(self.items, 1) if position not in lines[1:]]
        self.items = [*rest[: lines[0]], *apart, *rest[lines[0] :]]
        return True

    def _place_after(self, answer: int) -> int:
        """The position of the last message that directly follows an answer and holds results only."""
        place = self._lines_of(answer)[-1]
        for position in range(place + 1, len(self.items) + 1):
            message = self.items[position - 1].message
            if message.superseded is not None:
                continue
            if len(message.results) != len(message.content) or message.role in SYSTEM_ROLES:
                break
            place = position
        return place

    def _answer(self, faults: Iterable[Fault]) -> None:
        """Put a result after each answer with calls that never got one."""
        by_answer: dict[int, list[ToolCallPart]] = {}
        if self.profile in RESULTS_FOLLOW and any(self._joined(fault.at.answer) for fault in faults):
            return
        for fault in faults:
            calls = [part for n, part in enumerate(fault.at.message.content) if n in fault.parts]
            by_answer.setdefault(fault.at.answer, []).extend(
                part for part in calls if isinstance(part, ToolCallPart)
            )
            self._say("result-put", fault.at.position, f"{fault.sentence}; one was put that says so")
        for answer, open_calls in sorted(by_answer.items(), reverse=True):
            place = self._lines_of(answer)[-1]
            self.items[place:place] = [self._result(call) for call in open_calls]

    def _result(self, call: ToolCallPart) -> _Item:
        name = self._name()
        part = ToolResultPart(call_id=call.id, name=call.name, content=(TextPart(text=NO_RESULT),))
        role = "function" if call.legacy else "tool"
        return _Item(Message(role=role, content=(part,), id=name), name)

    def _lead(self, faults: Iterable[Fault]) -> None:
        for fault in faults:
            self._say("user-put", fault.at.position, f"{fault.sentence}; one of the user was put before it")
            name = self._name()
            item = _Item(Message(role="user", content=NO_BEGINNING, id=name), name)
            self.items.insert(fault.at.position - 1, item)

    def _name(self) -> str:
        taken = {item.id for item in self.items}
        self.put += 1
        while f"repair-{self.put}" in taken:
            self.put += 1
        return f"repair-{self.put}"

    def _say(self, kind: RepairKind, position: int, sentence: str) -> None:
        item = self.items[position - 1]
        location = item.message.location or Location()
        self.done.append(Repair(kind, location, item.id, sentence))


def _with(message: Message, parts: Iterable[Part]) -> Message:
    content = tuple(parts)
    return message if content == message.content else message.model_copy(update={"content": content})
