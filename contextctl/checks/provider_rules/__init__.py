"""What a provider would refuse in a recording or in a prompt.

Pure and silent: messages in, findings out, of which none quotes a message.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Literal

from contextctl.checks.provider_rules.content import empty_faults, pair_faults
from contextctl.checks.provider_rules.order import end_faults, order_faults
from contextctl.checks.provider_rules.profiles import PROFILES, profile_of
from contextctl.checks.provider_rules.sent import Fault, paired, sent_messages
from contextctl.checks.provider_rules.thinking import thinking_faults
from contextctl.entries import Irregularity, group
from contextctl.errors import UsageError
from contextctl.findings import RULES, Finding, Severity, finding
from contextctl.messages import Message

__all__ = ["PROFILES", "Fault", "newly_broken", "profile_of", "provider_faults", "provider_findings"]

_PAIRING = {
    "CTX212": "CTX020",
    "CTX213": "CTX021",
    "CTX214": "CTX023",
    "CTX216": "CTX022",
}
"""Rule of a prompt -> the rule by which the same fact is told of a recording."""

_HINTS = {
    "CTX212": "keep a call and all its results together",
    "CTX213": "keep one result for each call",
    "CTX214": "keep a call and all its results together",
    "CTX215": "leave out what is empty",
    "CTX216": "put all results of an answer directly after it",
    "CTX217": "put the results first in their message",
    "CTX218": "start on a message of the user (`start_on: user`)",
    "CTX219": "keep a tool loop whole, thinking included",
    "CTX220": "leave out the thinking of earlier turns, or keep what comes before it",
    "CTX221": "put instructions first, or give a note the role of the user (`note_role: user`)",
    "CTX222": "merge neighbours of one role",
    "CTX223": "send the signature back with the call",
    "CTX224": "keep a reasoning item and the item after it together",
    "CTX225": "end on a message of the user or on results",
}


def provider_faults(
    profile: str,
    messages: Sequence[Message],
    *,
    calls: Sequence[int] = (),
    recorded: Sequence[Message] = (),
) -> list[Fault]:
    """Every breach of a profile's rules in these messages, in their order.

    What is superseded is not looked at. ``calls`` and ``recorded`` are as in :func:`provider_findings`.
    Raises :class:`~contextctl.errors.UsageError` for a profile that is not known.
    """
    if profile not in PROFILES:
        raise UsageError(f"unknown profile '{profile}'", hint=f"the profiles are {', '.join(PROFILES)}")
    view = sent_messages(messages)
    pairing = paired(view)
    found = pair_faults(pairing) + empty_faults(profile, view) + order_faults(profile, view, pairing)
    found += thinking_faults(profile, view, sent_messages(recorded))
    found += end_faults(profile, messages, view, calls)
    return sorted(found, key=lambda fault: fault.at.position)


def provider_findings(
    profile: str,
    messages: Sequence[Message],
    *,
    where: Literal["recording", "prompt"],
    calls: Sequence[int] = (),
    recorded: Sequence[Message] = (),
) -> list[Finding]:
    """What a provider of this profile would refuse, or take for something else than it is.

    Of a ``recording`` nothing is more than a warning, and what
    :func:`~contextctl.checks.pairing.pairing_findings` says of it is not said again. ``calls`` are numbers of
    messages before an answer of the model: only for these is asked what a request ends on. ``recorded`` is
    the history that a prompt was made of. Raises :class:`~contextctl.errors.UsageError` for a profile that
    is not known.
    """
    faults = provider_faults(profile, messages, calls=calls, recorded=recorded)
    if where == "prompt":
        return [_finding(fault, fault.severity) for fault in faults]
    late = _late_places(messages)
    told = []
    for fault in faults:
        # Pairing does not call a result late that stands after text in a message of results.
        is_news = fault.code == "CTX216" and fault.at.position not in late
        if is_news or fault.code not in _PAIRING:
            severity = fault.severity or RULES[fault.code].severity
            told.append(_finding(fault, min(severity, Severity.WARNING, key=lambda item: item.weight)))
    return told


def _late_places(messages: Sequence[Message]) -> set[int]:
    live = [(place, message) for place, message in enumerate(messages, 1) if message.superseded is None]
    remarks = group([message for _, message in live])[1]
    late = (remark for remark in remarks if remark.irregularity is Irregularity.LATE_RESULT)
    return {live[remark.position - 1][0] for remark in late}


def _finding(fault: Fault, severity: Severity | None) -> Finding:
    message = fault.at.message
    return finding(
        fault.code,
        fault.sentence,
        location=message.location,
        severity=severity,
        hint=_HINTS[fault.code],
        section=message.section,
        entry=fault.at.entry,
    )


def newly_broken(recorded_findings: Iterable[Finding], prompt_findings: Iterable[Finding]) -> list[Finding]:
    """The findings of a prompt that its recording did not have already.

    ``recorded_findings`` are those of :func:`provider_findings` and of
    :func:`~contextctl.checks.pairing.pairing_findings`. A finding is the same where it is of one fact at one
    place; where messages have no place, as many of a fact are taken off as the recording had.
    """
    placed: set[object] = set()
    unplaced: Counter[str] = Counter()
    for item in recorded_findings:
        fact = _PAIRING.get(item.code, item.code)
        if item.location.line is None:
            unplaced[fact] += 1
        else:
            placed.add((fact, item.location))
    new = []
    for item in prompt_findings:
        fact = _PAIRING.get(item.code, item.code)
        if item.location.line is not None:
            if (fact, item.location) not in placed:
                new.append(item)
        elif unplaced[fact]:
            unplaced[fact] -= 1
        else:
            new.append(item)
    return new
