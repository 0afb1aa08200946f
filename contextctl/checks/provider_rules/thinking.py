"""Rules of thinking: blocks that must come back while a tool loop goes on, and their signatures."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from contextctl.checks.provider_rules.profiles import BLOCKS
from contextctl.checks.provider_rules.sent import Fault, Sent, answers, has_part, parts_of
from contextctl.findings import Severity
from contextctl.messages import Part, ThinkingPart, ToolCallPart, visible_content


def thinking_faults(profile: str, view: Sequence[Sent], recorded: Sequence[Sent]) -> list[Fault]:
    """Every breach; ``recorded`` is what a prompt was made of, empty where there is nothing to compare."""
    if profile in BLOCKS:
        return _loop_faults(view, recorded) + _signed_faults(view, recorded)
    return _signature_faults(view, recorded) if profile == "gemini" else []


def _is_thinking(part: Part) -> bool:
    return isinstance(part, ThinkingPart)


def _is_signed(part: Part) -> bool:
    return isinstance(part, ThinkingPart) and bool(part.signature)


def _is_call(part: Part) -> bool:
    return isinstance(part, ToolCallPart)


def open_loop(view: Sequence[Sent], *, merged: bool = True) -> list[list[Sent]]:
    """The answers since the user last spoke, where the last of them calls tools; else none.

    Where neighbours are ``merged``, what stands beside results, such as a reminder, is one message with them
    and does not end a loop.
    """
    start, place = 0, 0
    for is_assistant, run in groupby(view, key=lambda sent: sent.is_assistant):
        stretch = list(run)
        place += len(stretch)
        holds_results = [bool(sent.message.results) for sent in stretch if not sent.is_system]
        if not is_assistant and holds_results and not (any if merged else all)(holds_results):
            start = place
    loop = answers(view[start:])
    return loop if loop and has_part(loop[-1], _is_call) else []


def _loop_faults(view: Sequence[Sent], recorded: Sequence[Sent]) -> list[Fault]:
    """Answers of the open loop that lost their thinking, or whose loop lost its first.

    A model may answer without thinking. So without a recording only a first answer is told of after which
    all others of the loop think.
    """
    loop = open_loop(view)
    if not loop:
        return []
    said = "the thinking of an answer with tool calls is missing while its loop goes on"
    first, rest = loop[0], loop[1:]
    if not recorded:
        is_lost = bool(rest) and all(has_part(answer, _is_signed) for answer in rest)
        lost = [first] if is_lost and not has_part(first, _is_thinking) else []
        return [Fault("CTX219", answer[0], said) for answer in lost]
    thought = {_call_of(answer): has_part(answer, _is_thinking) for answer in answers(recorded)}
    lost = [a for a in loop if not has_part(a, _is_thinking) and thought.get(_call_of(a), False)]
    if not lost and not has_part(first, _is_thinking):
        before = open_loop(recorded)
        if before and has_part(before[0], _is_thinking) and _call_of(first) != _call_of(before[0]):
            said = "the answer that began the tool loop is lost, and its thinking with it"
            lost = [first]
    return [Fault("CTX219", answer[0], said) for answer in lost]


def _call_of(answer: Sequence[Sent]) -> object:
    """What tells an answer again: the id of its first call, else what it says beside thinking."""
    for part in parts_of(answer):
        if isinstance(part, ToolCallPart) and part.id is not None:
            return part.id
    return tuple(part for part in parts_of(answer) if not isinstance(part, ThinkingPart))


def _signed_faults(view: Sequence[Sent], recorded: Sequence[Sent]) -> list[Fault]:
    """One fault for all signed blocks with another history before them than was recorded.

    It stands at the first that the open loop needs, else at the first of all, which is worth a note.
    """
    if not recorded:
        return []
    was = [visible_content(sent.message) for sent in recorded]
    now = [visible_content(sent.message) for sent in view]
    same = next(
        (place for place, pair in enumerate(zip(was, now, strict=False)) if pair[0] != pair[1]),
        min(len(was), len(now)),
    )
    known = set(was)
    changed = [
        sent
        for place, sent in enumerate(view)
        if any(map(_is_signed, sent.message.content))
        and not sent.message.recap
        and (place > same or (place == same and now[place] in known))
    ]
    if not changed:
        return []
    needed = {sent.position for answer in open_loop(view) for sent in answer}
    at = next((sent for sent in changed if sent.position in needed), None)
    many = f"{len(changed):,} signed thinking blocks stand" if len(changed) > 1 else "a signed block stands"
    said = f"{many} after a history that is not the recorded one"
    return [Fault("CTX220", at or changed[0], said, severity=None if at else Severity.NOTE)]


def _signature_faults(view: Sequence[Sent], recorded: Sequence[Sent]) -> list[Fault]:
    """Answers of the open loop whose first call has no signature, where others of it have one."""
    loop = open_loop(view, merged=False)
    if not any(_carries(answer) for answer in (*loop, *open_loop(recorded, merged=False))):
        return []
    said = "the first call of an answer has no signature, while its loop goes on"
    return [
        Fault("CTX223", answer[0], said)
        for answer in loop
        if has_part(answer, _is_call) and not _carries(answer)
    ]


def _carries(answer: Sequence[Sent]) -> bool:
    """Whether a signature stands before the first call."""
    for part in parts_of(answer):
        if isinstance(part, ToolCallPart):
            return False
        if _is_signed(part):
            return True
    return False
