"""Putting the prompt together from what the sections came to."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace

from contextctl.budget import Rooms
from contextctl.entries import Entry
from contextctl.messages import Message, visible_content
from contextctl.outcome import AssembledContext, CompactionOutcome, Fate, SectionOutcome, Status
from contextctl.ports import Measure
from contextctl.preparation import Prepared
from contextctl.sections import Charges, Section


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
    placed: list[tuple[int, Message]] = []
    last = 0
    for entry in outcome.entries:
        original = section.originals.get(entry.id)
        messages = _stamped(entry, original)
        if original is not None:
            places: Sequence[int] = original.positions
        else:
            stood = [section.originals[i].positions[0] for i in entry.stands_for if i in section.originals]
            places = [min(stood, default=last)] * len(messages)
        placed += zip(places, messages, strict=True)
        last = places[-1]
    return [message for _, message in sorted(placed, key=lambda item: item[0])]


def _fates(section: Section, outcome: CompactionOutcome) -> dict[str, Fate]:
    fates = dict.fromkeys(outcome.evicted, Fate.EVICTED)
    fates |= dict.fromkeys(outcome.summarised, Fate.SUMMARISED)
    fates |= dict.fromkeys(outcome.folded, Fate.FOLDED)
    fates |= dict.fromkeys(outcome.trimmed, Fate.TRIMMED)
    return {entry_id: fates.get(entry_id, Fate.KEPT) for entry_id in section.originals}


def _section_outcome(
    section: Section, outcome: CompactionOutcome, allotted: int, room: int, charges: Charges
) -> SectionOutcome:
    fates = _fates(section, outcome)
    ids = {fate: tuple(i for i, found in fates.items() if found is fate) for fate in Fate}
    return SectionOutcome(
        name=section.plan.name,
        share=str(section.plan.share),
        strategy=section.plan.compaction.strategy,
        allotted_tokens=allotted,
        room_tokens=room,
        tokens_before=charges.tokens(section.originals.values()),
        tokens_after=charges.tokens(outcome.entries),
        entries=tuple(section.originals),
        kept=ids[Fate.KEPT],
        evicted=ids[Fate.EVICTED],
        summarised=ids[Fate.SUMMARISED],
        folded=ids[Fate.FOLDED],
        trimmed=ids[Fate.TRIMMED],
    )


def put_together(
    prepared: Prepared, sections: Sequence[Section], outcomes: Sequence[CompactionOutcome], rooms: Rooms
) -> AssembledContext:
    """The prompt of these outcomes in plan order, counted afresh as a whole."""
    messages: list[Message] = []
    fates: dict[str, Fate] = {}
    notes: list[Entry] = []
    for section, outcome in zip(sections, outcomes, strict=True):
        messages += _messages_of(section, outcome)
        fates |= _fates(section, outcome)
        notes += [
            replace(e, section=section.plan.name) for e in outcome.entries if e.id not in section.originals
        ]
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
            _section_outcome(section, outcome, allotted, room, prepared.charges)
            for section, outcome, allotted, room in zip(
                sections, outcomes, rooms.allotted_tokens, rooms.room_tokens, strict=True
            )
        ),
        fates=fates,
        notes=tuple(notes),
        hypothetical=bool(planned),
        joint_tokens=prepared.joint_tokens,
        history_fingerprint=prepared.history_fingerprint,
        prompt_fingerprint=fingerprint(messages),
    )
