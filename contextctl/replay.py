"""Replaying a recording: what stood before each recorded call, and what a report says of all of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from contextctl.carried import IN_PROMPT
from contextctl.findings import Finding, finding
from contextctl.outcome import Fate
from contextctl.recording import Transcript
from contextctl.report import AssemblyRow, EntryRow

Calls = Literal["end", "every", "last"] | int
"""Which assemblies an audit makes: of the end of the recording, of every recorded call, of the last one, or
of the n-th (1-based)."""

LOSSES = {
    Fate.EVICTED: ("CTX201", "evicted"),
    Fate.FOLDED: ("CTX207", "folded into a note"),
    Fate.TRIMMED: ("CTX208", "trimmed"),
    Fate.SUMMARISED: ("CTX209", "summarised"),
    Fate.DROPPED: ("CTX211", "dropped by the application"),
}
"""Fate -> the rule that tells of it, and how. One finding a section, whatever the number of calls."""


@dataclass(frozen=True, slots=True)
class Moment:
    """One assembly to make: the 1-based recorded call (None: the end) and how many messages stand before.
    One that is not ``told`` is made only for what it leaves to the next."""

    call: int | None
    messages: int
    told: bool = True


def moments_of(transcript: Transcript, calls: Calls, *, carry: bool = False) -> tuple[Moment, ...]:
    """The assemblies to make of a recording; none where it has no such call.

    With carried history every call before the one that is asked for is made too, and not told.
    """
    found = [Moment(call, before) for call, before in enumerate(transcript.call_places, 1)]
    if calls == "every":
        return tuple(found)
    if calls == "end":
        before, wanted = found, [Moment(None, len(transcript.messages))]
    else:
        index = len(found) - 1 if calls == "last" else calls - 1
        before, wanted = found[: max(0, index)], found[index : index + 1] if index >= 0 else []
    if not wanted or not carry:
        return tuple(wanted)
    return (*(replace(moment, told=False) for moment in before), *wanted)


def told_once(
    said: Sequence[tuple[int | None, Iterable[Finding]]], rows: Sequence[AssemblyRow]
) -> list[Finding]:
    """The findings of every call, each kind once a section, with the first call and how many there were."""
    if len(said) == 1:
        call, found = said[0]
        return [replace(item, call=call) for item in found]
    losses = {code for code, _ in LOSSES.values()}
    first: dict[tuple[object, ...], Finding] = {}
    counts: dict[tuple[object, ...], int] = {}
    for call, found in said:
        for item in found:
            if item.code in losses:
                continue
            key = (item.code, item.section, item.severity, item.location.column)
            first.setdefault(key, replace(item, call=call))
            counts[key] = counts.get(key, 0) + 1
    told = [
        replace(item, message=f"{item.message} (first at call {item.call}, {counts[key]:,} in all)")
        for key, item in first.items()
    ]
    return _losses(rows) + told


def _losses(rows: Sequence[AssemblyRow]) -> list[Finding]:
    """One finding a section and kind of loss: entries lost at any call, the first call, the largest."""
    lost: dict[tuple[str, Fate], dict[str, tuple[int, EntryRow]]] = {}
    for row in rows:
        for entry in row.entries:
            if entry.fate in LOSSES and row.call is not None:
                lost.setdefault((entry.section, entry.fate), {}).setdefault(entry.id, (row.call, entry))
    found = []
    for (section, fate), entries in lost.items():
        code, how = LOSSES[fate]
        tokens = sum(entry.tokens for _, entry in entries.values())
        call = min(first for first, _ in entries.values())
        _, largest = max(entries.values(), key=lambda pair: pair[1].tokens)
        noun = "entry" if len(entries) == 1 else "entries"
        message = (
            f"{section}: {len(entries):,} {noun}, {tokens:,} tokens {how}, first at call {call}, "
            f"largest {largest.id} (line {largest.lines[0]})"
        )
        found.append(finding(code, message, section=section, call=call))
    return found


def with_lifetimes(rows: Sequence[AssemblyRow]) -> list[AssemblyRow]:
    """The rows of a replay as a report holds them.

    The last row is whole, and each of its entries says the first call that could have held it, the last call
    whose prompt did, and its tokens times the prompts that held it. The other rows hold the entries whose
    fate changed, and the sections that did.
    """
    if len(rows) < 2:
        return list(rows)
    first: dict[str, int] = {}
    last: dict[str, int] = {}
    carried: dict[str, int] = {}
    before: dict[str, tuple[object, ...]] = {}
    sections: dict[str, object] = {}
    slim = []
    for row in rows:
        assert row.call is not None
        changed = []
        for entry in row.entries:
            first.setdefault(entry.id, row.call)
            if entry.fate in IN_PROMPT:
                last[entry.id] = row.call
                carried[entry.id] = carried.get(entry.id, 0) + entry.tokens
            state = (entry.section, entry.fate, entry.rule, entry.pinned)
            if before.get(entry.id) != state:
                changed.append(entry)
            before[entry.id] = state
        moved = tuple(section for section in row.sections if sections.get(section.name) != section)
        sections |= {section.name: section for section in row.sections}
        slim.append(replace(row, entries=tuple(changed), sections=moved))
    whole = tuple(
        replace(
            entry,
            first_call=first[entry.id],
            last_call=last.get(entry.id),
            carried_tokens=carried.get(entry.id, 0),
        )
        for entry in rows[-1].entries
    )
    return [*slim[:-1], replace(rows[-1], entries=whole)]
