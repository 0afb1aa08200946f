"""Following a summary in a memory back to what it stands for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from contextctl.errors import Location, MemoryStoreError
from contextctl.memory import SOURCE_PREFIX, MemoryRecord, SpanEntry

Scoped = tuple[str, MemoryRecord]
"""A scope and a record in it."""


@dataclass(frozen=True, slots=True)
class TracedEntry:
    """An entry that a summary stands for, or an id of which no more is known; ``depth`` is 0 for one that it
    was made of directly, 1 for one within an earlier summary, and so on."""

    id: str
    depth: int
    entry: SpanEntry | None


@dataclass(frozen=True, slots=True)
class Traced:
    """One summary and the way back; ``entries`` stand below the earlier summary that they are within."""

    id: str
    scope: str
    record: MemoryRecord
    entries: tuple[TracedEntry, ...]

    @property
    def section(self) -> str:
        """The section that was compacted."""
        return self.record.source.removeprefix(SOURCE_PREFIX)


def find(records: Sequence[Scoped], summary: str | None, path: str) -> list[Scoped]:
    """The records of a summary: by its record id or the beginning of it, else by the summary's own id.

    All of them without a ``summary``. Raises :class:`~contextctl.errors.MemoryStoreError` for none.
    """
    if summary is None:
        found = list(records)
    else:
        found = [item for item in records if item[1].id(item[0]).startswith(summary)]
        found = found or [item for item in records if item[1].summary_id == summary]
    if found:
        return found
    known = ", ".join(dict.fromkeys(record.summary_id for _, record in records[-5:]))
    empty = summary is None or not records
    raise MemoryStoreError(
        "the memory holds no summary" if empty else f"there is no summary {summary!r}",
        location=Location(path),
        hint=f"among others it has {known}" if known else "audit with --memory FILE --scope NAME first",
    )


def trace(item: Scoped, records: Sequence[Scoped]) -> Traced:
    """The summary with all it stands for; earlier ones are looked up in the same scope and transcript."""
    scope, record = item
    earlier: dict[str, MemoryRecord] = {}
    for other_scope, other in records:
        same = (other_scope, other.transcript) == (scope, record.transcript)
        if same and set(other.ids) < set(record.ids):
            earlier[other.summary_id] = other
    entries = _entries(record, earlier, 0)
    return Traced(record.id(scope), scope, record, tuple(entries))


def _entries(record: MemoryRecord, earlier: dict[str, MemoryRecord], depth: int) -> list[TracedEntry]:
    known = {entry.id: entry for entry in record.entries}
    nested = {i for part in record.ids if part in earlier for i in earlier[part].ids}
    found: list[TracedEntry] = []
    for entry_id in record.ids:
        if entry_id in nested:
            continue
        found.append(TracedEntry(entry_id, depth, known.get(entry_id)))
        if entry_id in earlier:
            inner = {name: other for name, other in earlier.items() if name != entry_id}
            found += _entries(earlier[entry_id], inner, depth + 1)
    return found
