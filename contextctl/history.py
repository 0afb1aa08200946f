"""Which history of a recording is meant: what the model had at its end, or everything that was ever said."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from contextctl.findings import Finding, Severity, finding
from contextctl.messages import Message
from contextctl.recording import RecordedCompaction, Transcript

History = Literal["effective", "full"]
"""``effective``: what the model had at the end of the recording; what a recorded compaction, rewind or fork
replaced is not part of it. ``full``: the whole conversation as if nothing had been compacted."""

_HOW = {"compaction": "compacted away", "rewind": "taken back", "fork": "left on another branch"}


def chosen_history(transcript: Transcript, history: History) -> Transcript:
    """The recording with only the messages of that history; the others are its ``set_aside``.

    Where anything is set aside, each message without an id gets ``m<n>``, n its place among all that was
    read, so that ids do not depend on the history that is chosen. Findings say what was set aside and which
    compactions the recording tells of.
    """
    told = [
        *transcript.findings,
        *(_compaction_finding(transcript, number) for number in range(len(transcript.compactions))),
    ]
    aside = [_is_aside(message, history) for message in transcript.messages]
    if not any(aside):
        return replace(transcript, findings=tuple(told))
    named = [
        message if message.id is not None else message.model_copy(update={"id": f"m{place}"})
        for place, message in enumerate(transcript.messages, 1)
    ]
    kept = [_marked(message) for message, gone in zip(named, aside, strict=True) if not gone]
    whole = len(transcript.records) == len(named)
    records = [r for r, gone in zip(transcript.records, aside, strict=True) if not gone] if whole else []
    gone = [message for message, is_gone in zip(named, aside, strict=True) if is_gone]
    return replace(
        transcript,
        messages=tuple(kept),
        records=tuple(records),
        set_aside=tuple(gone),
        findings=(*told, _aside_finding(gone, history)),
    )


def _marked(message: Message) -> Message:
    """A recap as the summary that it is, so that no strategy takes it for something that was said."""
    is_recap = message.recap and message.kind is None
    return message.model_copy(update={"kind": "summary"}) if is_recap else message


def _is_aside(message: Message, history: History) -> bool:
    if history == "effective":
        return message.superseded is not None
    return message.recap or message.superseded in ("rewind", "fork")


def why_set_aside(message: Message) -> str:
    """What took a message out of the history: ``compaction``, ``rewind``, ``fork``, or ``recap`` for one that
    stood in for others which are there themselves."""
    return message.superseded or "recap"


def _aside_finding(gone: Sequence[Message], history: History) -> Finding:
    counts = Counter(_HOW.get(why_set_aside(message), "recaps of others") for message in gone)
    parts = ", ".join(f"{count:,} {how}" for how, count in sorted(counts.items()))
    other = "effective" if history == "full" else "full"
    what = "as if nothing had been compacted" if history == "full" else "as it was at the end"
    return finding(
        "CTX033",
        f"the history is audited {what}; set aside: {parts}",
        location=gone[0].location,
        hint=f"--history {other} audits the other one",
    )


def _compaction_finding(transcript: Transcript, number: int) -> Finding:
    compaction = transcript.compactions[number]
    call = calls_before(transcript, compaction)
    before, after = compaction.tokens_before, compaction.tokens_after
    tokens = ""
    if before is not None:
        tokens = f", {before:,} tokens before"
        tokens += "" if after is None else f", {after:,} after"
    unread = "" if compaction.readable else "; what it put in place cannot be read"
    return finding(
        "CTX032",
        f"the recording compacted its history itself ({compaction.kind}) after call {call}{tokens}{unread}",
        location=compaction.location,
        severity=None if compaction.readable else Severity.WARNING,
    )


def calls_before(transcript: Transcript, compaction: RecordedCompaction) -> int:
    """How many recorded calls stand before a compaction, those that were superseded later included."""
    lines = [
        (message.location.line or 0, message.location.index or 0)
        for place in transcript.call_places
        if (message := transcript.messages[place]).location is not None
    ]
    at = (compaction.location.line or 0, compaction.location.index or 0)
    return bisect_right(sorted(lines), at)
