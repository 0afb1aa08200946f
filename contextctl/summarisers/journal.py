"""Recorded summaries, found by what they were made of; a live summariser is asked only for the others."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field

from contextctl.errors import Location, SummaryUnusableError
from contextctl.findings import Finding, finding
from contextctl.messages import canonical_json, visible_content
from contextctl.ports import Summariser, Summary, SummaryRequest

RECORD_HINT = "record it with --summariser, or leave --journal out to plan for it only"


@dataclass(frozen=True, slots=True)
class JournalRow:
    """One recorded summary.

    ``key`` is a hash over the span's content, section, summariser and instructions; ``ids`` are the entries
    of the span. ``transcript``, ``call`` (1-based; None for the end of the recording) and ``carry`` say
    where it was asked for first; ``tokens`` is what it was charged there.
    """

    key: str
    transcript: str
    call: int | None
    carry: bool
    section: str
    ids: tuple[str, ...]
    summariser: str
    instructions: str
    summary: str
    tokens: int

    @property
    def moment(self) -> Moment:
        """Where it was asked for first."""
        return self.transcript, self.call, self.carry


Moment = tuple[str, int | None, bool]
"""A conversation, a recorded call of it or None for its end, and whether history was carried."""


def key_of(request: SummaryRequest, summariser: str) -> str:
    """SHA-256 of what a summary depends on: what the span says, section, summariser and instructions."""
    said = [visible_content(message) for entry in request.entries for message in entry.messages]
    content = canonical_json([said, request.section, summariser, request.instructions])
    return "sha256:" + hashlib.sha256(content.encode()).hexdigest()


@dataclass
class JournalSummariser:
    """Serves recorded rows; every request of one key gets the same summary, and it is asked for once a run.

    ``live`` is asked for what is not recorded, under the name ``summariser``, and ``record`` keeps its answer
    before it is used; an answer that cannot be used is not kept. Without ``live`` a span that is not recorded
    is an error: missing, or stale where the same entries of the section were recorded with other content.
    ``path`` is where the rows came from, for places; ``note`` what there is to say of that file.
    """

    rows: list[JournalRow]
    summariser: str = ""
    live: Summariser | None = None
    record: Callable[[JournalRow], None] | None = None
    path: str | None = None
    note: str | None = None
    _now: Moment = ("", None, False)
    _by_key: dict[str, JournalRow] = field(init=False)
    _names: dict[str, None] = field(init=False)
    _used: set[str] = field(default_factory=set)
    _audited: set[Moment] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._by_key = {row.key: row for row in self.rows}
        self._names = dict.fromkeys([self.summariser, *(row.summariser for row in self.rows)])

    def begin(self, transcript: str, call: int | None, *, carry: bool) -> None:
        """From now on requests are of this conversation and call."""
        self._now = (transcript, call, carry)
        self._audited.add(self._now)

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
        tokens = request.require_usable(made.text or "")
        transcript, call, carry = self._now
        row = JournalRow(
            key=key_of(request, self.summariser),
            transcript=transcript,
            call=call,
            carry=carry,
            section=request.section,
            ids=tuple(entry.id for entry in request.entries),
            summariser=self.summariser,
            instructions=request.instructions,
            summary=made.text or "",
            tokens=tokens,
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
        if any(
            (row.transcript, row.section, row.ids) == (self._now[0], request.section, ids)
            for row in self.rows
        ):
            message = f"the journal's summary of {span} is stale: what they say, or the instructions, changed"
            return SummaryUnusableError(message, rule="CTX302", hint=RECORD_HINT)
        return SummaryUnusableError(f"the journal has no summary of {span}", rule="CTX301", hint=RECORD_HINT)

    def unconsumed(self) -> tuple[JournalRow, ...]:
        """Rows that no request used although what they were recorded for was audited in the same way."""
        return tuple(row for row in self.rows if row.key not in self._used and row.moment in self._audited)

    def unconsumed_findings(self) -> list[Finding]:
        """An error for each row that nothing asked for."""
        return [
            finding(
                "CTX303",
                f"the summary of {row.section} in {row.transcript}, {_where(row)} was not used",
                location=Location(self.path),
                hint="the plan or the recording changed: remove the row, or record again",
                section=row.section,
                call=row.call,
            )
            for row in self.unconsumed()
        ]


def _where(row: JournalRow) -> str:
    span = f"{row.ids[0]} to {row.ids[-1]}" if len(row.ids) > 1 else row.ids[0]
    return span if row.call is None else f"{span}, recorded at call {row.call},"
