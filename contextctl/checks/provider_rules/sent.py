"""A conversation as a request would hold it, and which result answers which call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from contextctl.entries import group
from contextctl.findings import Severity
from contextctl.messages import SYSTEM_ROLES, Message, Part, ToolCallPart, ToolResultPart


@dataclass(frozen=True, slots=True)
class Sent:
    """A message of a request: its 1-based place in the list given, its entry's id, and its answer.

    ``answer`` is one number for all messages of one model response; each other message has its own.
    """

    position: int
    message: Message
    entry: str
    answer: int

    @property
    def is_system(self) -> bool:
        """True for instructions."""
        return self.message.role in SYSTEM_ROLES

    @property
    def is_assistant(self) -> bool:
        """True for a part of a model's answer."""
        return self.message.role == "assistant"


@dataclass(frozen=True, slots=True)
class Fault:
    """One breach of a provider's rule, at some parts (0-based) of a message; no parts: at all of it.

    ``answer`` is that of the call which a displaced result belongs to; ``severity`` None is the rule's own.
    """

    code: str
    at: Sent
    sentence: str
    parts: tuple[int, ...] = ()
    answer: int | None = None
    severity: Severity | None = None


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call: the message that holds it, and its place (0-based) among that message's parts."""

    sent: Sent
    part: int
    call: ToolCallPart


@dataclass(slots=True)
class Pairing:
    """Results by message place and part: the answered call, or why there is none; calls left open."""

    answered: dict[tuple[int, int], Call] = field(default_factory=dict)
    orphans: list[tuple[Sent, int]] = field(default_factory=list)
    duplicates: list[tuple[Sent, int]] = field(default_factory=list)
    open: list[Call] = field(default_factory=list)


def sent_messages(messages: Sequence[Message]) -> tuple[Sent, ...]:
    """What a request holds of these messages: nothing superseded, the lines of one response side by side.

    A recording may write the lines of a response between the results of its calls.
    """
    live = [(place, message) for place, message in enumerate(messages, 1) if message.superseded is None]
    entry_of: dict[int, str] = {}
    for entry in group([message for _, message in live])[0]:
        name = entry.id if entry.messages[0].id else f"m{live[entry.positions[0] - 1][0]}"
        entry_of |= {live[position - 1][0]: name for position in entry.positions}
    runs: list[list[Sent]] = []
    of_response: dict[str, list[Sent]] = {}
    for place, message in live:
        response = message.response_id if message.role == "assistant" else None
        run = of_response.get(response) if response is not None else None
        if run is None:
            run = []
            runs.append(run)
            if response is not None:
                of_response[response] = run
        run.append(Sent(place, message, entry_of[place], run[0].answer if run else place))
    return tuple(sent for run in runs for sent in run)


def paired(view: Sequence[Sent]) -> Pairing:
    """Each result with the nearest earlier unanswered call of its id; without ids, of its name.

    A call is not open that still waits at the end: the last message is its own or answers it in part.
    """
    found = Pairing()
    waiting: list[list[Call]] = []
    done: set[str] = set()
    last: set[int] = set()
    for sent in view:
        last = {sent.answer}
        calls: list[Call] = []
        for place, part in enumerate(sent.message.content):
            if isinstance(part, ToolCallPart):
                calls.append(Call(sent, place, part))
            elif isinstance(part, ToolResultPart):
                call = _taken(waiting, part)
                if call is not None:
                    found.answered[sent.position, place] = call
                    last.add(call.sent.answer)
                    done |= {call.call.id} if call.call.id else set()
                else:
                    known = part.call_id in done if part.call_id else False
                    (found.duplicates if known else found.orphans).append((sent, place))
        if calls and waiting and waiting[-1][-1].sent.answer == sent.answer:
            waiting[-1] += calls
        elif calls:
            waiting.append(calls)
    found.open = [call for calls in waiting for call in calls if call.sent.answer not in last]
    return found


def _taken(waiting: list[list[Call]], result: ToolResultPart) -> Call | None:
    for calls in reversed(waiting):
        for call in calls:
            if _answers(result, call.call):
                calls.remove(call)
                if not calls:
                    waiting.remove(calls)
                return call
    return None


def _answers(result: ToolResultPart, call: ToolCallPart) -> bool:
    if call.id is not None or result.call_id is not None:
        return call.id == result.call_id
    return result.name is None or call.name == result.name


def answers(view: Sequence[Sent]) -> list[list[Sent]]:
    """The model's answers in order, each with all its messages."""
    found: list[list[Sent]] = []
    for sent in view:
        if not sent.is_assistant:
            continue
        if found and found[-1][0].answer == sent.answer:
            found[-1].append(sent)
        else:
            found.append([sent])
    return found


def parts_of(answer: Sequence[Sent]) -> list[Part]:
    """All parts of an answer in order."""
    return [part for sent in answer for part in sent.message.content]


def has_part(answer: Sequence[Sent], test: Callable[[Part], bool]) -> bool:
    """Whether a part of an answer passes the test."""
    return any(test(part) for part in parts_of(answer))
