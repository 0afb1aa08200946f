"""Recorded summaries, found by what they were made of; a live summariser is asked only for the others."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field

from contextctl.errors import SummaryUnusableError
from contextctl.messages import canonical_json, visible_content
from contextctl.ports import Summariser, Summary, SummaryRequest

RECORD_HINT = "record it with --summariser, or leave --journal out to plan for it only"


@dataclass(frozen=True, slots=True)
class JournalRow:
    """One recorded summary. ``key`` is a hash over the span's content, section, summariser and instructions;
    ``ids`` are the entries of the span; ``transcript`` the conversation that it was recorded for."""

    key: str
    transcript: str
    section: str
    ids: tuple[str, ...]
    summariser: str
    instructions: str
    summary: str


def key_of(request: SummaryRequest, summariser: str) -> str:
    """SHA-256 of what a summary depends on: what the span says, section, summariser and instructions."""
    said = [visible_content(message) for entry in request.entries for message in entry.messages]
    content = canonical_json([said, request.section, summariser, request.instructions])
    return "sha256:" + hashlib.sha256(content.encode()).hexdigest()


@dataclass
class JournalSummariser:
    """Serves recorded rows; every request of one key gets the same summary, and it is asked for once a run.

    ``live`` is asked for what is not recorded, under the name ``summariser``, and ``record`` keeps its answer
    before it is used. Without it a span that is not recorded is an error: missing, or stale where the same
    entries of the section were recorded with other content.
    """

    rows: list[JournalRow]
    summariser: str = ""
    live: Summariser | None = None
    record: Callable[[JournalRow], None] | None = None
    transcript: str = ""
    _by_key: dict[str, JournalRow] = field(init=False)
    _names: dict[str, None] = field(init=False)
    _used: set[str] = field(default_factory=set)
    _audited: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._by_key = {row.key: row for row in self.rows}
        self._names = dict.fromkeys([self.summariser, *(row.summariser for row in self.rows)])

    def begin(self, transcript: str) -> None:
        """From now on requests are of this conversation."""
        self.transcript = transcript
        self._audited.add(transcript)

    async def summarise(self, request: SummaryRequest) -> Summary:
        """The recorded summary of this span, else the live summariser's, recorded first."""
        for name in self._names:
            row = self._by_key.get(key_of(request, name))
            if row is not None:
                self._used.add(row.key)
                return Summary(row.summary)
        if self.live is None:
            raise self._absent(request)
        made = await self.live.summarise(request)
        ids = tuple(entry.id for entry in request.entries)
        row = JournalRow(
            key=key_of(request, self.summariser),
            transcript=self.transcript,
            section=request.section,
            ids=ids,
            summariser=self.summariser,
            instructions=request.instructions,
            summary=made.text or "",
        )
        if self.record is not None:
            self.record(row)
        self.rows.append(row)
        self._by_key[row.key] = row
        self._used.add(row.key)
        return made

    def _absent(self, request: SummaryRequest) -> SummaryUnusableError:
        ids = tuple(entry.id for entry in request.entries)
        span = f"{len(ids)} entries, {ids[0]} to {ids[-1]}" if len(ids) > 1 else f"entry {ids[0]}"
        if any((row.section, row.ids) == (request.section, ids) for row in self.rows):
            message = f"the journal's summary of {span} is stale: what they say, or the instructions, changed"
            return SummaryUnusableError(message, rule="CTX302", hint=RECORD_HINT)
        return SummaryUnusableError(f"the journal has no summary of {span}", rule="CTX301", hint=RECORD_HINT)

    def unconsumed(self) -> tuple[JournalRow, ...]:
        """Rows of the conversations that were audited which no request used."""
        return tuple(
            row for row in self.rows if row.key not in self._used and row.transcript in self._audited
        )
