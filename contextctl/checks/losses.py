"""What an assembly lost, in which section, beside how much unused room; what can never be kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from contextctl.budget import share_that_keeps
from contextctl.entries import Entry, Irregularity, Remark, group
from contextctl.errors import Location
from contextctl.findings import Finding, Severity, finding
from contextctl.outcome import AssembledContext, SectionOutcome


@dataclass(frozen=True, slots=True)
class Ledger:
    """Entries by id, what each is charged with its margin, the tokens that locked ones take in each section,
    where each section stands in the plan, and what its entries are trimmed to where they are."""

    entries: Mapping[str, Entry]
    charges: Mapping[str, int]
    locked_tokens: Mapping[str, int]
    places: Mapping[str, Location]
    max_entry_tokens: Mapping[str, int | None]
    message_tokens: int

    def tokens(self, ids: Sequence[str]) -> int:
        """Tokens of these entries."""
        return sum(self.charges[entry_id] for entry_id in ids)


def loss_findings(assembled: AssembledContext, ledger: Ledger) -> list[Finding]:
    """One finding a section and kind of loss, then what could never fit and what starved beside room."""
    found: list[Finding] = []
    for section in assembled.sections:
        found += _lost(section, section.evicted, "CTX201", "evicted", ledger)
        found += _lost(section, section.folded, "CTX207", "folded into a note", ledger)
        found += _lost(section, section.summarised, "CTX209", "summarised", ledger)
        found += _lost(section, section.trimmed, "CTX208", "trimmed", ledger)
        found += _lost(section, section.dropped, "CTX211", "dropped by the application", ledger)
        found += _lost_pins(assembled, section, ledger)
        found += _impossible(section, ledger)
        found += _starved(section, assembled.sections, ledger)
    return found


def _lost(section: SectionOutcome, ids: Sequence[str], code: str, how: str, ledger: Ledger) -> list[Finding]:
    if not ids:
        return []
    largest = max(ids, key=lambda entry_id: ledger.charges[entry_id])
    place = ledger.entries[largest].messages[0].location or Location()
    noun = "entry" if len(ids) == 1 else "entries"
    where = f" (line {place.record})" if place.record is not None else ""
    return [
        finding(
            code,
            f"{section.name}: {len(ids):,} {noun}, {ledger.tokens(ids):,} tokens {how}, "
            f"largest {largest}{where}",
            location=place,
            section=section.name,
        )
    ]


def _lost_pins(assembled: AssembledContext, section: SectionOutcome, ledger: Ledger) -> list[Finding]:
    """Pinned entries that are not in the prompt as they were; only an application's own code loses any."""
    lost = [i for i in (*section.dropped, *section.trimmed) if ledger.entries[i].pinned]
    if not lost or assembled.maker == "plan":
        return []
    noun = "pinned entry is" if len(lost) == 1 else "pinned entries are"
    return [
        finding(
            "CTX210",
            f"{section.name}: {len(lost):,} {noun} not sent as recorded, {ledger.tokens(lost):,} tokens",
            location=ledger.entries[lost[0]].messages[0].location,
            hint="the application drops what the plan pins: keep it, or unpin it",
            section=section.name,
            entry=lost[0],
        )
    ]


def broken_pair_findings(assembled: AssembledContext, recorded: Iterable[Remark]) -> list[Finding]:
    """Calls without a result, and results without a call, that the recording did not have."""
    if assembled.status == "fits":
        return []
    known = Counter((remark.irregularity, remark.name) for remark in recorded)
    _, remarks = group(assembled.messages)
    found: list[Finding] = []
    for remark in remarks:
        key = (remark.irregularity, remark.name)
        if remark.irregularity not in BROKEN:
            continue
        known[key] -= 1
        if known[key] >= 0:
            continue
        message = assembled.messages[remark.position - 1]
        found.append(
            finding(
                "CTX202",
                f"{BROKEN[remark.irregularity].format(name=remark.name)} in the prompt",
                location=message.location,
                hint="a call and all its results are kept or dropped together",
                section=message.section,
            )
        )
    return found


BROKEN = {
    Irregularity.ORPHAN_RESULT: "the result of call {name!r} has no call before it",
    Irregularity.DUPLICATE_RESULT: "call {name!r} has two results",
    Irregularity.UNANSWERED_CALL: "call {name!r} has no result",
}
"""What a prompt may not have unless the recording has it."""


def _impossible(section: SectionOutcome, ledger: Ledger) -> list[Finding]:
    room = max(0, section.room_tokens - ledger.locked_tokens[section.name])
    least = ledger.max_entry_tokens[section.name]
    if least is not None and least <= room:
        return []
    giants = [i for i in (*section.evicted, *section.folded) if ledger.charges[i] > room]
    if not giants:
        return []
    largest = max(giants, key=lambda entry_id: ledger.charges[entry_id])
    noun = "entry is" if len(giants) == 1 else "entries are"
    message = (
        f"{section.name}: {len(giants):,} {noun} larger than the {room:,} tokens of room beside what may not "
        f"be lost and can never be kept; the largest, {largest}, has {ledger.charges[largest]:,}"
    )
    location = ledger.entries[largest].messages[0].location
    hint = "raise the section's share or the budget, or set max_entry_tokens to trim"
    return [finding("CTX203", message, location=location, hint=hint, section=section.name, entry=largest)]


def _starved(section: SectionOutcome, sections: Sequence[SectionOutcome], ledger: Ledger) -> list[Finding]:
    unused = {
        other.name: other.room_tokens - (other.tokens_after or 0)
        for other in sections
        if other.name != section.name and other.room_tokens > (other.tokens_after or 0)
    }
    if not (section.evicted or section.folded) or not unused:
        return []
    share = share_that_keeps(ledger.tokens(section.entries), ledger.message_tokens)
    if share is None:
        return []
    most = max(unused, key=lambda name: unused[name])
    message = (
        f"{section.name} lost entries while {sum(unused.values()):,} tokens of room stood unused "
        f"(most in {most}); a share of {float(share):.4g} would have kept everything"
    )
    hint = "move share from one section to the other, or set `unused: lend`"
    location = ledger.places.get(section.name)
    return [finding("CTX205", message, location=location, hint=hint, section=section.name)]


def order_findings(assembled: AssembledContext, ledger: Ledger, newest_user: str | None) -> list[Finding]:
    """Sections that put entries before older ones of a later section; one finding a section."""
    found: list[Finding] = []
    spans = {
        section.name: [ledger.entries[i].positions[0] for i in (*section.kept, *section.trimmed)]
        for section in assembled.sections
    }
    names = [section.name for section in assembled.sections]
    for index, name in enumerate(names):
        later = [place for other in names[index + 1 :] for place in spans[other]]
        if not later or not spans[name] or max(spans[name]) < min(later):
            continue
        newest = ledger.entries[newest_user] if newest_user is not None else None
        moves_newest = newest is not None and newest.section == name
        what = "the newest user message" if moves_newest else "entries"
        found.append(
            finding(
                "CTX206",
                f"{name} moves {what} before older ones",
                severity=Severity.WARNING if moves_newest else None,
                location=ledger.places.get(name),
                hint="`pins:` protects without moving",
                section=name,
            )
        )
    return found


def lost_user_finding(assembled: AssembledContext, ledger: Ledger, newest_user: str | None) -> list[Finding]:
    """Where the newest user message is not in the prompt as it was."""
    if newest_user is None or assembled.fates[newest_user] == "kept":
        return []
    entry = ledger.entries[newest_user]
    message = f"the newest user message (entry {entry.id}) is {assembled.fates[newest_user].value}"
    hint = "leave protect_last_user on, or give its section more room"
    return [
        finding(
            "CTX204",
            message,
            location=entry.messages[-1].location,
            hint=hint,
            section=entry.section,
            entry=entry.id,
        )
    ]
