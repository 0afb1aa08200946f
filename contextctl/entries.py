"""What moves together: a tool call with its results, the lines of one model response.

:func:`group` turns messages into entries and says which results had no call, came twice or came late.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Literal

from contextctl.messages import FoldCounts, Message, TextPart, ToolCallPart, ToolResultPart, part_texts


class Irregularity(StrEnum):
    """What can be wrong with the pairing of calls and results in a recording."""

    REUSED_CALL_ID = "reused-call-id"
    ORPHAN_RESULT = "orphan-result"
    DUPLICATE_RESULT = "duplicate-result"
    LATE_RESULT = "late-result"
    UNANSWERED_CALL = "unanswered-call"
    REPEATED_ENTRY_ID = "repeated-entry-id"


@dataclass(frozen=True, slots=True)
class Remark:
    """One irregularity, at the message (1-based place in the list given) where it shows."""

    irregularity: Irregularity
    position: int
    name: str


@dataclass(frozen=True, slots=True)
class Entry:
    """The smallest thing that is kept or lost.

    ``positions`` are the 1-based places of its messages in the list given, ascending. ``pinned`` is what a
    strategy must respect; the engine sets it for every locked entry before a strategy sees it.
    ``pending`` is a call that still waits for its results at the end of the list. A note or summary has a
    ``kind`` and the ids that it ``stands_for``; ``planned_tokens`` are set aside for a summary that is not
    made, and are what it is charged.
    """

    id: str
    messages: tuple[Message, ...]
    section: str = ""
    pinned: bool = False
    protected: bool = False
    pending: bool = False
    positions: tuple[int, ...] = ()
    kind: Literal["note", "summary"] | None = None
    stands_for: tuple[str, ...] = ()
    planned_tokens: int | None = None

    @property
    def role(self) -> str:
        """The role of the first message."""
        return self.messages[0].role

    @property
    def has_user_turn(self) -> bool:
        """True where a user said something in it."""
        return any(message.is_user_turn for message in self.messages)

    @property
    def is_stand_in(self) -> bool:
        """True for a note or a summary, whether made now or earlier."""
        return self.kind is not None


def text_of(item: Message | Entry) -> str:
    """All text of a message or entry, tool names, arguments and results included, joined by line feeds."""
    messages = (item,) if isinstance(item, Message) else item.messages
    return "\n".join(text for message in messages for text in part_texts(message.content))


def as_sent(messages: Sequence[Message]) -> Sequence[Message]:
    """The messages with the lines of one model response put together into one message, where the first stood:
    as the response is sent back to the model."""
    shared = Counter(m.response_id for m in messages if m.response_id is not None and m.role == "assistant")
    if not any(count > 1 for count in shared.values()):
        return messages
    parts: dict[str, list[Message]] = {}
    for message in messages:
        if message.response_id is not None and message.role == "assistant":
            parts.setdefault(message.response_id, []).append(message)
    sent: list[Message] = []
    for message in messages:
        lines = parts.get(message.response_id or "", []) if message.role == "assistant" else []
        if len(lines) < 2:
            sent.append(message)
        elif message is lines[0]:
            content = tuple(part for line in lines for part in line.content)
            sent.append(message.model_copy(update={"content": content}))
    return sent


def note_entry(
    text: str, *, id: str, section: str, role: str, stands_for: Sequence[str], counts: FoldCounts
) -> Entry:
    """An entry that holds one note, standing for the entries of these ids."""
    message = Message(
        role=role,
        content=(TextPart(text=text),),
        id=id,
        section=section,
        kind="note",
        stands_for=tuple(stands_for),
        folded=counts,
    )
    return Entry(id=id, messages=(message,), section=section, kind="note", stands_for=tuple(stands_for))


def summary_entry(text: str, *, id: str, section: str, role: str, stands_for: Sequence[str]) -> Entry:
    """An entry that holds one summary, standing for the entries of these ids."""
    content = (TextPart(text=text),) if text else ()
    ids = tuple(stands_for)
    message = Message(role=role, content=content, id=id, section=section, kind="summary", stands_for=ids)
    return Entry(id=id, messages=(message,), section=section, kind="summary", stands_for=ids)


def stand_in_id(kind: Literal["note", "summary"], first: Entry) -> str:
    """The id of a note or summary that stands where ``first`` stood: ``summary:<section>:<entry>``, and with
    ``+1``, ``+2``, ... where that is an earlier one, so that no two of a conversation have the same."""
    if not first.is_stand_in:
        return f"{kind}:{first.section}:{first.id}"
    base, plus, number = first.id.rpartition("+")
    return f"{base}+{int(number) + 1}" if plus and number.isdecimal() else f"{first.id}+1"


@dataclass(slots=True)
class _Draft:
    """An entry under construction: indexes of its messages and the calls still without a result."""

    members: list[int] = field(default_factory=list)
    open_calls: list[ToolCallPart] = field(default_factory=list)
    answered: set[str] = field(default_factory=set)

    def takes(self, result: ToolResultPart) -> ToolCallPart | None:
        """The first unanswered call of this draft that the result answers."""
        for call in self.open_calls:
            if call.id == result.call_id and (call.id is not None or _same_legacy(call, result)):
                return call
        return None


def _same_legacy(call: ToolCallPart, result: ToolResultPart) -> bool:
    return result.name is None or call.name == result.name


class _Grouping:
    """One pass over the messages, keeping drafts in order of their first message."""

    def __init__(self, messages: Sequence[Message]) -> None:
        self.messages = messages
        self.drafts: list[_Draft] = []
        self.waiting: list[_Draft] = []
        self.by_response: dict[str, _Draft] = {}
        self.seen_call_ids: set[str] = set()
        self.remarks: list[Remark] = []

    def run(self) -> None:
        for index, message in enumerate(self.messages):
            draft = self._home(index, message)
            if draft is None:
                draft = _Draft()
                self.drafts.append(draft)
            draft.members.append(index)
            if message.response_id is not None and message.role == "assistant":
                self.by_response.setdefault(message.response_id, draft)
            self._open_calls(index, message, draft)

    def _home(self, index: int, message: Message) -> _Draft | None:
        if message.response_id is not None and message.role == "assistant":
            home = self.by_response.get(message.response_id)
            if home is not None:
                return home
        home = None
        for result in message.results:
            answered = self._answer(index, result)
            home = home or answered
        return home

    def _answer(self, index: int, result: ToolResultPart) -> _Draft | None:
        for draft in reversed(self.waiting):
            call = draft.takes(result)
            if call is not None:
                self._settle(draft, call)
                if draft.members[-1] != index - 1:
                    self._remark(Irregularity.LATE_RESULT, index, result.call_id or call.name)
                return draft
        known = any(result.call_id in draft.answered for draft in self.drafts) if result.call_id else False
        kind = Irregularity.DUPLICATE_RESULT if known else Irregularity.ORPHAN_RESULT
        self._remark(kind, index, result.call_id or result.name or "")
        return None

    def _settle(self, draft: _Draft, call: ToolCallPart) -> None:
        draft.open_calls.remove(call)
        if call.id:
            draft.answered.add(call.id)
        if not draft.open_calls:
            self.waiting.remove(draft)

    def _open_calls(self, index: int, message: Message, draft: _Draft) -> None:
        calls = message.calls
        for call in calls:
            if call.id is not None and not call.legacy:
                if call.id in self.seen_call_ids:
                    self._remark(Irregularity.REUSED_CALL_ID, index, call.id)
                self.seen_call_ids.add(call.id)
        if calls:
            if not draft.open_calls:
                self.waiting.append(draft)
            draft.open_calls.extend(calls)

    def _remark(self, irregularity: Irregularity, index: int, name: str) -> None:
        self.remarks.append(Remark(irregularity, index + 1, name))


def group(messages: Sequence[Message]) -> tuple[tuple[Entry, ...], tuple[Remark, ...]]:
    """Entries of these messages in order of their first message, and what was irregular.

    A result goes to the nearest earlier unanswered call of its id; the older shape pairs by name. A result
    whose call stands further back than the message before it still moves with its call, and is remarked
    on; one without a call, before its call or for a call that has its result is an entry of its own.
    Assistant messages that share a ``response_id`` are one entry. Nothing is repaired or moved.
    """
    grouping = _Grouping(messages)
    grouping.run()
    entries: list[Entry] = []
    taken: dict[str, int] = {}
    for draft in sorted(grouping.drafts, key=lambda draft: draft.members[0]):
        first = messages[draft.members[0]]
        position = draft.members[0] + 1
        entry_id, repeated = _unique(first.id or f"m{position}", taken)
        if repeated:
            grouping.remarks.append(Remark(Irregularity.REPEATED_ENTRY_ID, position, first.id or entry_id))
        pending = bool(draft.open_calls) and draft.members[-1] == len(messages) - 1
        if draft.open_calls and not pending:
            name = draft.open_calls[0].id or draft.open_calls[0].name
            grouping.remarks.append(Remark(Irregularity.UNANSWERED_CALL, position, name))
        entries.append(_entry(entry_id, draft, messages, pending))
    return tuple(entries), tuple(sorted(grouping.remarks, key=lambda remark: remark.position))


def _entry(entry_id: str, draft: _Draft, messages: Sequence[Message], pending: bool) -> Entry:
    members = tuple(messages[index] for index in draft.members)
    return Entry(
        id=entry_id,
        messages=members,
        pinned=any(message.pinned for message in members),
        pending=pending,
        positions=tuple(index + 1 for index in draft.members),
        kind=members[0].kind if len(members) == 1 else None,
        stands_for=members[0].stands_for if len(members) == 1 else (),
    )


def _unique(wanted: str, taken: dict[str, int]) -> tuple[str, bool]:
    """The id itself, or with ``#2``, ``#3``, ... where it was taken before."""
    if wanted not in taken:
        taken[wanted] = 1
        return wanted, False
    while True:
        taken[wanted] += 1
        candidate = f"{wanted}#{taken[wanted]}"
        if candidate not in taken:
            taken[candidate] = 1
            return candidate, True


def newest_user_entry(entries: Iterable[Entry]) -> str | None:
    """The id of the entry that holds the newest user turn by transcript order, or None."""
    newest: tuple[int, str] | None = None
    for entry in entries:
        for position, message in zip(entry.positions, entry.messages, strict=True):
            if message.is_user_turn and (newest is None or position > newest[0]):
                newest = (position, entry.id)
    return newest[1] if newest else None


def locked(entry: Entry) -> Entry:
    """The entry as a strategy sees it when it may not be lost."""
    return entry if entry.pinned else replace(entry, pinned=True)
