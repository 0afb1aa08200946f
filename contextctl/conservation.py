"""What every strategy must leave true (rule 5.5): checked after each one, built-in or a caller's own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from contextctl.entries import Entry
from contextctl.outcome import CompactionOutcome


def broken_promise(given: Sequence[Entry], outcome: CompactionOutcome) -> str | None:
    """The first promise that the outcome breaks, in words that name entries, or None.

    ``given`` are the entries as the strategy saw them, locked ones ``pinned``.
    """
    return (
        _unaccounted(given, outcome)
        or _lost_lock(given, outcome)
        or _altered(given, outcome)
        or _out_of_order(given, outcome)
        or _without_stand_in(given, outcome)
    )


def _unaccounted(given: Sequence[Entry], outcome: CompactionOutcome) -> str | None:
    known = {entry.id for entry in given}
    kept = [entry.id for entry in outcome.entries if entry.id in known]
    tally = Counter(kept) + Counter(outcome.evicted) + Counter(outcome.summarised) + Counter(outcome.folded)
    for entry_id in tally:
        if entry_id not in known:
            return f"it reports entry {entry_id!r}, which it was not given"
    for entry in given:
        if tally[entry.id] == 0:
            return f"entry {entry.id!r} is neither kept nor reported as lost"
        if tally[entry.id] > 1:
            return f"entry {entry.id!r} is accounted for {tally[entry.id]} times"
    trimmed_and_gone = set(outcome.trimmed) - set(kept)
    if trimmed_and_gone:
        return f"entry {min(trimmed_and_gone)!r} is reported as trimmed but is not there"
    for entry in outcome.entries:
        if entry.id not in known and not entry.is_stand_in:
            return f"it returns entry {entry.id!r}, which it was not given and which is no note or summary"
    return None


def _lost_lock(given: Sequence[Entry], outcome: CompactionOutcome) -> str | None:
    kept = {entry.id for entry in outcome.entries}
    for entry in given:
        if entry.pinned and entry.id not in kept:
            return f"locked entry {entry.id!r} is gone"
        if entry.pinned and entry.id in outcome.trimmed:
            return f"locked entry {entry.id!r} is trimmed"
    return None


def _altered(given: Sequence[Entry], outcome: CompactionOutcome) -> str | None:
    originals = {entry.id: entry for entry in given}
    for entry in outcome.entries:
        original = originals.get(entry.id)
        if original is None:
            continue
        if entry.id in outcome.trimmed:
            if _pairing(entry) != _pairing(original):
                return f"trimming broke the calls and results of entry {entry.id!r}"
        elif entry.messages != original.messages:
            return f"entry {entry.id!r} is not verbatim"
    return None


def _pairing(entry: Entry) -> list[str | None]:
    ids = [call.id for message in entry.messages for call in message.calls]
    return ids + [result.call_id for message in entry.messages for result in message.results]


def _out_of_order(given: Sequence[Entry], outcome: CompactionOutcome) -> str | None:
    rank = {entry.id: place for place, entry in enumerate(given)}
    kept = [rank[entry.id] for entry in outcome.entries if entry.id in rank]
    return None if kept == sorted(kept) else "what it keeps is out of order"


def _without_stand_in(given: Sequence[Entry], outcome: CompactionOutcome) -> str | None:
    known = {entry.id for entry in given}
    stood_for = {
        entry_id for entry in outcome.entries if entry.id not in known for entry_id in entry.stands_for
    }
    for entry_id in (*outcome.summarised, *outcome.folded):
        if entry_id not in stood_for:
            return f"entry {entry_id!r} is reported as replaced, but no note or summary stands for it"
    return None
