"""What a memory keeps of a summary: enough to find the way back to the entries that it stands for."""

from __future__ import annotations

import hashlib
from collections.abc import Container, Mapping
from dataclasses import asdict, dataclass

from contextctl.entries import Entry
from contextctl.messages import canonical_json
from contextctl.outcome import AssembledContext

SOURCE_PREFIX = "compaction:"
"""Before the section's name in the ``source`` of a record."""


@dataclass(frozen=True, slots=True)
class SpanEntry:
    """One entry that a summary stands for: its id, the place of its first message in the recording (None
    where it was not read from one), its role, and the tokens it was charged."""

    id: str
    line: int | str | None
    role: str
    tokens: int


@dataclass(frozen=True, slots=True)
class MemoryRecord:
    """A summary as it is written back.

    ``source`` is ``compaction:<section>``, ``ids`` every entry that it stands for, those of earlier
    summaries within it included; ``entries`` what is known of them. ``tokens_before`` is what the summarised
    span was charged, ``tokens_after`` what the summary is.
    """

    source: str
    summary_id: str
    summary: str
    ids: tuple[str, ...]
    entries: tuple[SpanEntry, ...]
    transcript: str | None
    history_fingerprint: str
    prompt_fingerprint: str
    tokens_before: int
    tokens_after: int

    def id(self, scope: str) -> str:
        """16 hex digits that the same record in the same scope always has."""
        content = canonical_json([scope, asdict(self)])
        return hashlib.sha256(content.encode()).hexdigest()[:16]


def records_of(
    assembled: AssembledContext,
    known: Mapping[str, Entry],
    live: Container[str],
    tokens: Mapping[str, int],
    transcript: str | None,
) -> list[MemoryRecord]:
    """A record for each summary that an assembly made; none for one that is only planned.

    ``known`` are the entries of the whole history, earlier summaries included, ``live`` the ids of those that
    were there before this compaction, and ``tokens`` their charges and those of the new summaries, by id.
    """
    return [
        MemoryRecord(
            source=f"{SOURCE_PREFIX}{note.section}",
            summary_id=note.id,
            summary=note.messages[0].text,
            ids=note.stands_for,
            entries=tuple(_span_entry(known[i], tokens[i]) for i in note.stands_for if i in known),
            transcript=transcript,
            history_fingerprint=assembled.history_fingerprint,
            prompt_fingerprint=assembled.prompt_fingerprint,
            tokens_before=sum(tokens[i] for i in note.stands_for if i in live),
            tokens_after=tokens[note.id],
        )
        for note in assembled.notes
        if note.id in assembled.made and note.kind == "summary" and note.planned_tokens is None
    ]


def _span_entry(entry: Entry, tokens: int) -> SpanEntry:
    place = entry.messages[0].location
    return SpanEntry(entry.id, place.record if place is not None else None, entry.role, tokens)
