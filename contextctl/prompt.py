"""Putting the prompt together from what the sections came to."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace

from contextctl.budget import Rooms
from contextctl.carried import placed
from contextctl.entries import Entry
from contextctl.messages import Message, visible_content
from contextctl.outcome import AssembledContext, CompactionOutcome, Fate, SectionOutcome, Status
from contextctl.ports import Measure
from contextctl.preparation import Prepared
from contextctl.sections import Section


def fingerprint(messages: Sequence[Message]) -> str:
    """SHA-256 of what a provider reads of these messages, in order."""
    digest = hashlib.sha256()
    for message in messages:
        digest.update(visible_content(message).encode())
        digest.update(b"\n")
    return "sha256:" + digest.hexdigest()


def _stamped(entry: Entry, original: Entry | None) -> list[Message]:
    """The entry's messages, carrying what makes assembling them again a no-op."""
    source = original or entry
    stamped = []
    for place, message in enumerate(entry.messages):
        update: dict[str, object] = {
            "section": source.section,
            "pinned": original is not None and source.pinned,
            "protected": source.protected,
        }
        if place == 0:
            update["id"] = entry.id
        stamped.append(message.model_copy(update=update))
    return stamped


def _messages_of(section: Section, outcome: CompactionOutcome) -> list[Message]:
    """A section's messages in transcript order; a note stands where the first of its entries stood."""
    stamped: list[tuple[int, Message]] = []
    for entry in _left(section, outcome):
        messages = _stamped(entry, section.originals.get(entry.id))
        stamped += zip(entry.positions, messages, strict=True)
    return [message for _, message in sorted(stamped, key=lambda item: item[0])]


def _left(section: Section, outcome: CompactionOutcome) -> list[Entry]:
    """The entries that stay, each with its places; a new note has those of the first it stands for."""
    left: list[Entry] = []
    last = 0
    for entry in outcome.entries:
        original = section.originals.get(entry.id)
        if original is not None:
            entry = replace(entry, positions=original.positions)  # noqa: PLW2901
        else:
            entry = placed(replace(entry, section=section.plan.name), section.originals, last)  # noqa: PLW2901
        left.append(entry)
        last = entry.positions[-1]
    return left


def _fates(section: Section, outcome: CompactionOutcome) -> dict[str, Fate]:
    fates = dict.fromkeys(outcome.evicted, Fate.EVICTED)
    fates |= dict.fromkeys(outcome.summarised, Fate.SUMMARISED)
    fates |= dict.fromkeys(outcome.folded, Fate.FOLDED)
    fates |= dict.fromkeys(outcome.trimmed, Fate.TRIMMED)
    return {entry_id: fates.get(entry_id, Fate.KEPT) for entry_id in section.originals}


def _section_outcome(
    prepared: Prepared,
    section: Section,
    outcome: CompactionOutcome,
    whole: Mapping[str, Fate],
    numbers: tuple[int, int],
) -> SectionOutcome:
    """``whole`` are the fates of all recorded entries, ``numbers`` the section's allotment and room."""
    fates = {entry.id: whole[entry.id] for entry in prepared.routed.of(section.plan.name)}
    ids = {fate: tuple(i for i, found in fates.items() if found is fate) for fate in Fate}
    given = [(entry.id, entry.messages) for entry in section.originals.values()]
    allotted, room = numbers
    return SectionOutcome(
        name=section.plan.name,
        share=str(section.plan.share),
        strategy=section.plan.compaction.strategy,
        allotted_tokens=allotted,
        room_tokens=room,
        tokens_before=prepared.charges.tokens(section.originals.values()),
        tokens_after=prepared.charges.tokens(outcome.entries),
        entries=tuple(fates),
        kept=ids[Fate.KEPT],
        evicted=ids[Fate.EVICTED],
        summarised=ids[Fate.SUMMARISED],
        folded=ids[Fate.FOLDED],
        trimmed=ids[Fate.TRIMMED],
        compacted=[(entry.id, entry.messages) for entry in outcome.entries] != given,
    )


def put_together(
    prepared: Prepared, sections: Sequence[Section], outcomes: Sequence[CompactionOutcome], rooms: Rooms
) -> AssembledContext:
    """The prompt of these outcomes in plan order, counted afresh as a whole."""
    messages: list[Message] = []
    live: dict[str, Fate] = {}
    entries: list[Entry] = []
    for section, outcome in zip(sections, outcomes, strict=True):
        messages += _messages_of(section, outcome)
        live |= _fates(section, outcome)
        entries += _left(section, outcome)
    fates = prepared.carried.fates(live)
    notes = [entry for entry in entries if entry.id not in fates]
    planned = [note for note in notes if note.planned_tokens is not None]
    unwritten = {note.id for note in planned}
    measure = prepared.ruler.prompt([message for message in messages if message.id not in unwritten])
    measure = measure + Measure.total(map(prepared.charges.measure, planned))
    line = prepared.limits.soft_tokens
    status: Status = "fits" if set(fates.values()) <= {Fate.KEPT} else "compacted"
    if line is not None and measure.upper_tokens > line:
        status = "over_target"
    return AssembledContext(
        messages=tuple(messages),
        tokens=measure.tokens,
        tokens_upper=measure.upper_tokens,
        budget_tokens=prepared.limits.budget_tokens,
        status=status,
        sections=tuple(
            _section_outcome(prepared, section, outcome, fates, numbers)
            for section, outcome, numbers in zip(
                sections,
                outcomes,
                zip(rooms.allotted_tokens, rooms.room_tokens, strict=True),
                strict=True,
            )
        ),
        fates=fates,
        entries=tuple(entries),
        notes=tuple(notes),
        made=frozenset(note.id for note in notes if note.id not in live),
        hypothetical=bool(planned),
        joint_tokens=prepared.joint_tokens,
        history_fingerprint=prepared.history_fingerprint,
        prompt_fingerprint=fingerprint(messages),
    )
