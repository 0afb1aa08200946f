"""Model calls that go on from one another, put together to one conversation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import Literal

from contextctl.errors import Location
from contextctl.findings import Finding
from contextctl.messages import SYSTEM_ROLES, Message, RequestSettings, Usage
from contextctl.recording import RecordedCompaction

Superseded = Literal["compaction", "rewind", "fork"]


@dataclass(slots=True)
class ModelCall:
    """One call of a model as a trace records it.

    ``group`` names the agent's run that made it, ``conversation`` what the recording says that it belongs
    to; ``response_id`` is the answer's own id.
    """

    location: Location
    input: list[Message] = field(default_factory=list)
    output: list[Message] = field(default_factory=list)
    settings: RequestSettings = field(default_factory=RequestSettings)
    model: str | None = None
    usage: Usage | None = None
    response_id: str | None = None
    group: str | None = None
    conversation: str | None = None
    findings: list[Finding] = field(default_factory=list)
    skipped: int = 0

    @property
    def starts_anew(self) -> bool:
        """True where the input has a system prompt, so that it is a whole request."""
        return any(message.role in SYSTEM_ROLES for message in self.input)


@dataclass(slots=True)
class Cell:
    """A message's place in a conversation; what it holds and what became of it may change."""

    message: Message
    superseded: Superseded | None = None
    recap: bool = False


@dataclass(slots=True)
class Thread:
    """A conversation: all its messages, those that are live, and each call with what was sent.

    ``answered`` of the live ones at the end are the last answer.
    """

    cells: list[Cell] = field(default_factory=list)
    live: list[Cell] = field(default_factory=list)
    answered: int = 0
    calls: list[tuple[ModelCall, tuple[Cell, ...]]] = field(default_factory=list)
    compactions: list[RecordedCompaction] = field(default_factory=list)
    joined_at: Location | None = None

    @property
    def last(self) -> ModelCall:
        """The last call."""
        return self.calls[-1][0]

    @property
    def base(self) -> int:
        """How many live messages the last call was sent."""
        return len(self.live) - self.answered

    @property
    def answers(self) -> list[Message]:
        """The messages of the last answer."""
        return [cell.message for cell in self.live[self.base :]]


def same(one: Message, other: Message) -> bool:
    """True for messages that a model reads the same."""
    return one.role == other.role and one.name == other.name and one.content == other.content


def common_start(cells: Sequence[Cell], messages: Sequence[Message]) -> int:
    """How many messages the two begin with alike."""
    pairs = zip(cells, messages, strict=False)
    for count, (cell, message) in enumerate(pairs):
        if not same(cell.message, message):
            return count
    return min(len(cells), len(messages))


def is_retold(answer: Message, message: Message) -> bool:
    """True for the same answer, or the same calls beside other words."""
    ids = [part.id for part in answer.calls if part.id]
    return same(answer, message) or (bool(ids) and ids == [part.id for part in message.calls])


def append(thread: Thread, call: ModelCall) -> None:
    """Take in a call whose input goes after all that is live."""
    fresh = [Cell(message) for message in call.input]
    thread.cells += fresh
    thread.live += fresh
    _answer(thread, call)


def _answer(thread: Thread, call: ModelCall) -> None:
    thread.calls.append((call, tuple(thread.live)))
    for number, message in enumerate(call.output):
        told = {"response_id": call.response_id, "usage": None if number else call.usage}
        cell = Cell(message.model_copy(update=told))
        thread.cells.append(cell)
        thread.live.append(cell)
    thread.answered = len(call.output)


def go_on(thread: Thread, call: ModelCall) -> None:
    """Take in a call whose input repeats the history."""
    live, base = thread.live, thread.base
    common = common_start(live, call.input)
    merged: list[Cell] = live[:common]
    rest, news = live[common:], call.input[common:]
    if common >= base:
        while rest and news and news[0].role == rest[0].message.role == "assistant":
            merged.append(_retold(rest.pop(0), news[0]))
            news = news[1:]
        for cell in rest:
            cell.superseded = "fork"
        merged += [*rest, *(Cell(message) for message in news)]
    else:
        merged += _rewritten(thread, call, rest, news)
    thread.cells = _woven(thread.cells, merged)
    thread.live = [cell for cell in merged if cell.superseded is None]
    _answer(thread, call)


def _retold(cell: Cell, message: Message) -> Cell:
    """The answer as the next input repeats it, with what is known of the call that gave it."""
    known = cell.message
    told = {"response_id": known.response_id, "usage": known.usage, "time": known.time}
    cell.message = message.model_copy(update={**told, "location": known.location})
    return cell


def _rewritten(thread: Thread, call: ModelCall, rest: list[Cell], news: list[Message]) -> list[Cell]:
    """The rest of a conversation after its history was rewritten: what went stays, superseded, and what
    stands in its place is a recap."""
    for cell in rest[-thread.answered :]:
        retold = [message for message in news if is_retold(cell.message, message)]
        if retold:
            _retold(cell, retold[-1])
    before = [(cell.message.role, cell.message.name, cell.message.content) for cell in rest]
    after = [(message.role, message.name, message.content) for message in news]
    merged: list[Cell] = []
    lost = summarised = False
    for tag, i, j, k, m in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag == "equal":
            merged += rest[i:j]
            continue
        gone, fresh = rest[i:j], [Cell(message) for message in news[k:m]]
        for cell in gone:
            cell.superseded = "fork" if cell.message.role in SYSTEM_ROLES else "compaction"
            lost = lost or cell.superseded == "compaction"
        for cell in fresh:
            cell.recap = cell.message.role not in SYSTEM_ROLES and j < len(rest) and bool(gone or not i)
            summarised = summarised or cell.recap
        merged += [*gone, *fresh]
    if lost:
        kind: Literal["replaced", "trimmed"] = "replaced" if summarised else "trimmed"
        before_tokens = thread.last.usage.input_tokens if thread.last.usage else None
        after_tokens = call.usage.input_tokens if call.usage else None
        thread.compactions.append(RecordedCompaction(call.location, kind, before_tokens, after_tokens))
    return merged


def _woven(cells: Sequence[Cell], merged: Sequence[Cell]) -> list[Cell]:
    """All cells: the merged ones in their order, and those superseded long ago where they were."""
    known = {id(cell) for cell in merged}
    woven: list[Cell] = []
    at = 0
    places = {id(cell): place for place, cell in enumerate(merged)}
    for cell in cells:
        if id(cell) not in known:
            woven.append(cell)
            continue
        upto = places[id(cell)] + 1
        woven += merged[at:upto]
        at = max(at, upto)
    return [*woven, *merged[at:]]
