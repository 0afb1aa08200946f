"""Recorded model calls -> conversations: what the readers of traces have in common.

A trace records the input of each call, and mostly repeats the whole history in it. Calls whose inputs go on
from one another are one conversation; a call that starts another history is a conversation of its own.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from contextctl.errors import Location
from contextctl.findings import Finding, Severity, finding
from contextctl.messages import Message, RequestSettings
from contextctl.recording import RecordedRequest
from contextctl.transcripts.call_threads import (
    Cell,
    ModelCall,
    Thread,
    append,
    common_start,
    go_on,
    is_retold,
    same,
)
from contextctl.transcripts.conversations import Draft


def drafts_from_calls(calls: Sequence[ModelCall], id: str | None) -> list[Draft]:
    """The conversations of a trace or session whose calls are given in order, each a draft.

    The messages of a draft are the last call's input and output. What an earlier call saw and a later one
    does not stays in its place, superseded. Where inputs hold only what is new, they are joined, and a
    warning says so, as one does of calls that were recorded without their messages.
    """
    threads = _Threads()
    for call in calls:
        if call.input or call.output:
            threads.take(call)
    drafts = [_draft(thread, id) for thread in threads.all]
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


@dataclass(slots=True)
class _Threads:
    """All conversations, and by what each may be known, so that a call is held against few of them."""

    all: list[Thread] = field(default_factory=list)
    _known: dict[Hashable, dict[int, Thread]] = field(default_factory=dict)

    def take(self, call: ModelCall) -> None:
        """Take a call to the conversation that it belongs to, the latest where several fit equally."""
        candidates = self._candidates(call)
        best: Thread | None = None
        length = -1
        for thread in candidates:
            common = _continues(thread, call)
            if common is not None and common >= length:
                best, length = thread, common
        if best is not None:
            go_on(best, call)
        else:
            best = next((thread for thread in reversed(candidates) if _is_news_for(thread, call)), None)
            if best is None:
                best = Thread()
                self.all.append(best)
            else:
                best.joined_at = best.joined_at or call.location
            append(best, call)
        for key in _keys_of(best):
            self._known.setdefault(key, {})[id(best)] = best

    def _candidates(self, call: ModelCall) -> list[Thread]:
        found: dict[int, Thread] = {}
        for key in _keys_for(call):
            found.update(self._known.get(key, {}))
        return [thread for thread in self.all if id(thread) in found] if len(found) > 1 else [*found.values()]


def _keys_of(thread: Thread) -> Iterator[Hashable]:
    """What a call that belongs to the conversation has one of."""
    call = thread.last
    for message in (*call.input[-1:], *call.output):
        yield _key(message)
    yield from (("call", part.id) for message in (*call.input, *call.output) for part in message.calls)
    yield from (("conversation", known) for known in (call.conversation, call.response_id) if known)
    if thread.joined_at is not None:
        yield "group", call.group


def _keys_for(call: ModelCall) -> Iterator[Hashable]:
    for message in call.input:
        yield _key(message)
        yield from (("call", part.id) for part in message.calls)
        yield from (("call", part.call_id) for part in message.results)
    if call.conversation is not None:
        yield "conversation", call.conversation
    yield "group", call.group


def _key(message: Message) -> Hashable:
    return "message", message.role, message.content


def _continues(thread: Thread, call: ModelCall) -> int | None:
    """How many messages the call has in common with the conversation, or None where it is another one."""
    base = thread.base
    common = common_start(thread.live, call.input)
    if base and common >= base:
        is_repeated = len(call.input) == base
        return None if is_repeated and call.group != thread.last.group else common
    return _kept_by_rewriting(thread, call)


def _kept_by_rewriting(thread: Thread, call: ModelCall) -> int | None:
    """The same for a call whose history was rewritten: it is of the same run, and the last answer is still
    in it."""
    if call.group != thread.last.group or not thread.answered:
        return None
    if not any(is_retold(answer, message) for answer in thread.answers for message in call.input):
        return None
    kept = [cell for cell in thread.live if any(same(cell.message, message) for message in call.input)]
    return len(kept)


def _is_news_for(thread: Thread, call: ModelCall) -> bool:
    """True where the call's input holds only what is new in this conversation: no system prompt of its own,
    and it answers the last calls, or is recorded as of the same conversation."""
    if call.starts_anew or not call.input:
        return False
    waiting = {part.id for cell in thread.live for part in cell.message.calls if part.id}
    own = {part.id for message in call.input for part in message.calls}
    results = [part.call_id for message in call.input for part in message.results]
    if any(result in waiting and result not in own for result in results):
        return True
    if call.conversation is None:
        return thread.joined_at is not None and call.group == thread.last.group
    last = thread.last
    return call.conversation in (last.conversation, last.response_id)


def _draft(thread: Thread, id: str | None) -> Draft:
    first = thread.calls[0][0]
    draft = Draft(first.location.line or 1, id=id)
    for place, cell in enumerate(thread.cells, 1):
        cell.message = _placed(cell, place)
    draft.messages = [cell.message for cell in thread.cells]
    for call, sent in thread.calls:
        messages = tuple(_as_sent(cell.message) for cell in sent)
        draft.requests.append(RecordedRequest(messages, call.location, call.settings, call.model, call.usage))
        draft.findings += call.findings
        draft.skipped += call.skipped
        draft.model = call.model or draft.model
        if call.settings.tools is not None or draft.settings == RequestSettings():
            draft.settings = call.settings
    draft.compactions = thread.compactions
    if thread.joined_at is not None:
        draft.findings.append(_joined(thread.joined_at))
    return draft


def _placed(cell: Cell, place: int) -> Message:
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
