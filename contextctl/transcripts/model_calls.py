"""Recorded model calls -> conversations: what the readers of traces have in common.

A trace records the input of each call, and mostly repeats the whole history in it. Calls whose inputs go on
from one another are one conversation; a call that starts another history is a conversation of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from typing import Literal

from contextctl.errors import Location
from contextctl.findings import Finding, Severity, finding
from contextctl.messages import SYSTEM_ROLES, Message, RequestSettings, Usage
from contextctl.recording import RecordedCompaction, RecordedRequest
from contextctl.transcripts.conversations import Draft

_Superseded = Literal["compaction", "rewind", "fork"]


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
class _Cell:
    """A message's place in a conversation; what it holds and what became of it may change."""

    message: Message
    superseded: _Superseded | None = None
    recap: bool = False


@dataclass(slots=True)
class _Conversation:
    """Calls that go on from one another."""

    cells: list[_Cell] = field(default_factory=list)
    answered: int = 0
    calls: list[tuple[ModelCall, tuple[_Cell, ...]]] = field(default_factory=list)
    compactions: list[RecordedCompaction] = field(default_factory=list)
    joined_at: Location | None = None

    @property
    def live(self) -> list[_Cell]:
        return [cell for cell in self.cells if cell.superseded is None]

    @property
    def last(self) -> ModelCall:
        return self.calls[-1][0]


def drafts_from_calls(calls: Sequence[ModelCall], id: str | None) -> list[Draft]:
    """The conversations of a trace or session whose calls are given in order, each a draft.

    The messages of a draft are the last call's input and output. What an earlier call saw and a later one
    does not stays in its place, superseded. Where inputs hold only what is new, they are joined, and a
    warning says so, as one does of calls that were recorded without their messages.
    """
    conversations: list[_Conversation] = []
    told = [call for call in calls if call.input or call.output]
    for call in told:
        _take_in(conversations, call)
    drafts = [_draft(conversation, id) for conversation in conversations]
    untold = [call for call in calls if not call.input and not call.output]
    if untold and not drafts:
        drafts.append(Draft(untold[0].location.line or 1, id=id))
    for call in untold[:1]:
        drafts[0].findings.append(_untold(call.location, len(untold)))
    for call in untold:
        drafts[0].findings += call.findings
        drafts[0].skipped += call.skipped
    return drafts


def _untold(location: Location, count: int) -> Finding:
    many = "a model call is" if count == 1 else f"{count} model calls are"
    return finding(
        "CTX014",
        f"{many} recorded without any message, and left out",
        location=location,
        severity=Severity.WARNING,
        hint="switch the capture of message content on where the calls are traced",
    )


def _take_in(conversations: list[_Conversation], call: ModelCall) -> None:
    best: _Conversation | None = None
    length = -1
    for conversation in conversations:
        common = _continues(conversation, call)
        if common is not None and common >= length:
            best, length = conversation, common
    if best is not None:
        _go_on(best, call)
        return
    joinable = (item for item in reversed(conversations) if _is_news_for(item, call))
    conversation = next(joinable, None) or _Conversation()
    if conversation.calls:
        conversation.joined_at = conversation.joined_at or call.location
    else:
        conversations.append(conversation)
    conversation.cells += [_Cell(message) for message in call.input]
    _answer(conversation, call)


def _same(one: Message, other: Message) -> bool:
    return one.role == other.role and one.name == other.name and one.content == other.content


def _common_start(cells: Sequence[_Cell], messages: Sequence[Message]) -> int:
    pairs = zip(cells, messages, strict=False)
    for count, (cell, message) in enumerate(pairs):
        if not _same(cell.message, message):
            return count
    return min(len(cells), len(messages))


def _continues(conversation: _Conversation, call: ModelCall) -> int | None:
    """How many messages the call has in common with the conversation, or None where it is another one."""
    live = conversation.live
    base = len(live) - conversation.answered
    common = _common_start(live, call.input)
    if base and common >= base:
        is_repeated = len(call.input) == base
        return None if is_repeated and call.group != conversation.last.group else common
    return _kept_by_rewriting(conversation, call)


def _kept_by_rewriting(conversation: _Conversation, call: ModelCall) -> int | None:
    """The same for a call whose history was rewritten: it is of the same run, and the last answer is still
    in it."""
    if call.group != conversation.last.group or not conversation.answered:
        return None
    live = conversation.live
    answers = [cell.message for cell in live[-conversation.answered :]]
    if not any(_is_retold(answer, message) for answer in answers for message in call.input):
        return None
    kept = [cell for cell in live if any(_same(cell.message, message) for message in call.input)]
    return len(kept)


def _is_retold(answer: Message, message: Message) -> bool:
    """True for the same answer, or the same calls beside other words."""
    ids = [part.id for part in answer.calls if part.id]
    return _same(answer, message) or (bool(ids) and ids == [part.id for part in message.calls])


def _is_news_for(conversation: _Conversation, call: ModelCall) -> bool:
    """True where the call's input holds only what is new in this conversation: no system prompt of its own,
    and it answers the last calls, or is recorded as of the same conversation."""
    if call.starts_anew or not call.input:
        return False
    waiting = {part.id for cell in conversation.live for part in cell.message.calls if part.id}
    own = {part.id for message in call.input for part in message.calls}
    results = [part.call_id for message in call.input for part in message.results]
    if any(result in waiting and result not in own for result in results):
        return True
    if call.conversation is None:
        return conversation.joined_at is not None and call.group == conversation.last.group
    last = conversation.last
    return call.conversation in (last.conversation, last.response_id)


def _answer(conversation: _Conversation, call: ModelCall) -> None:
    """Take in a call, all of whose input is live, and its answer."""
    sent = tuple(conversation.live)
    conversation.calls.append((call, sent))
    for number, message in enumerate(call.output):
        told = {"response_id": call.response_id, "usage": None if number else call.usage}
        conversation.cells.append(_Cell(message.model_copy(update=told)))
    conversation.answered = len(call.output)


def _go_on(conversation: _Conversation, call: ModelCall) -> None:
    """Take in a call whose input repeats the history."""
    live = conversation.live
    base = len(live) - conversation.answered
    common = _common_start(live, call.input)
    merged: list[_Cell] = live[:common]
    rest, news = live[common:], call.input[common:]
    if common >= base:
        while rest and news and news[0].role == rest[0].message.role == "assistant":
            merged.append(_retold(rest.pop(0), news[0]))
            news = news[1:]
        for cell in rest:
            cell.superseded = "fork"
        merged += [*rest, *(_Cell(message) for message in news)]
    else:
        merged += _rewritten(conversation, call, rest, news)
    conversation.cells = _woven(conversation.cells, merged)
    _answer(conversation, call)


def _retold(cell: _Cell, message: Message) -> _Cell:
    """The answer as the next input repeats it, with what is known of the call that gave it."""
    known = cell.message
    told = {"response_id": known.response_id, "usage": known.usage, "time": known.time}
    cell.message = message.model_copy(update={**told, "location": known.location})
    return cell


def _rewritten(
    conversation: _Conversation, call: ModelCall, rest: list[_Cell], news: list[Message]
) -> list[_Cell]:
    """The rest of a conversation after its history was rewritten: what went stays, superseded, and what
    stands in its place is a recap."""
    for cell in rest[-conversation.answered :]:
        retold = [message for message in news if _is_retold(cell.message, message)]
        if retold:
            _retold(cell, retold[-1])
    before = [(cell.message.role, cell.message.name, cell.message.content) for cell in rest]
    after = [(message.role, message.name, message.content) for message in news]
    merged: list[_Cell] = []
    lost = summarised = False
    for tag, i, j, k, m in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag == "equal":
            merged += rest[i:j]
            continue
        gone, fresh = rest[i:j], [_Cell(message) for message in news[k:m]]
        for cell in gone:
            cell.superseded = "fork" if cell.message.role in SYSTEM_ROLES else "compaction"
            lost = lost or cell.superseded == "compaction"
        for cell in fresh:
            cell.recap = cell.message.role not in SYSTEM_ROLES and j < len(rest) and bool(gone or not i)
            summarised = summarised or cell.recap
        merged += [*gone, *fresh]
    if lost:
        kind: Literal["replaced", "trimmed"] = "replaced" if summarised else "trimmed"
        before_tokens = conversation.last.usage.input_tokens if conversation.last.usage else None
        after_tokens = call.usage.input_tokens if call.usage else None
        conversation.compactions.append(RecordedCompaction(call.location, kind, before_tokens, after_tokens))
    return merged


def _woven(cells: Sequence[_Cell], merged: Sequence[_Cell]) -> list[_Cell]:
    """All cells: the merged ones in their order, and those superseded long ago where they were."""
    known = {id(cell) for cell in merged}
    woven: list[_Cell] = []
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


def _draft(conversation: _Conversation, id: str | None) -> Draft:
    first = conversation.calls[0][0]
    draft = Draft(first.location.line or 1, id=id)
    for place, cell in enumerate(conversation.cells, 1):
        cell.message = _placed(cell, place)
    draft.messages = [cell.message for cell in conversation.cells]
    for call, sent in conversation.calls:
        messages = tuple(_as_sent(cell.message) for cell in sent)
        draft.requests.append(RecordedRequest(messages, call.location, call.settings, call.model, call.usage))
        draft.findings += call.findings
        draft.skipped += call.skipped
        draft.model = call.model or draft.model
        if call.settings.tools is not None or draft.settings == RequestSettings():
            draft.settings = call.settings
    draft.compactions = conversation.compactions
    if conversation.joined_at is not None:
        draft.findings.append(_joined(conversation.joined_at))
    return draft


def _placed(cell: _Cell, place: int) -> Message:
    location = cell.message.location
    if location is not None:
        location = replace(location, index=place)
    told = {"location": location, "superseded": cell.superseded, "recap": cell.recap}
    return cell.message.model_copy(update=told)


def _as_sent(message: Message) -> Message:
    if message.superseded is None:
        return message
    return message.model_copy(update={"superseded": None})


def _joined(location: Location) -> Finding:
    return finding(
        "CTX014",
        "the recorded input of a model call holds only what is new; the inputs and outputs of the calls were"
        " joined in order",
        location=location,
        severity=Severity.WARNING,
        hint="record the whole input of each call, so that what the model saw need not be put together",
    )
