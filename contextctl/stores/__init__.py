"""Where a memory keeps its records: one file, by the end of its name."""

from __future__ import annotations

from typing import Protocol

from contextctl.memory import MemoryRecord
from contextctl.ports import MemoryStore
from contextctl.stores.jsonl import JsonlMemory
from contextctl.stores.sqlite import SqliteMemory


class ReadableMemory(MemoryStore, Protocol):
    """A memory that can also be read back."""

    def records(self, scope: str | None = None) -> list[tuple[str, MemoryRecord]]:
        """Every (scope, record), of one scope where it is named, in the order in which they came; each
        record once."""
        ...


def open_memory(path: str) -> ReadableMemory:
    """The memory in a file: JSON lines where its name ends in ``.jsonl``, else SQLite.

    The file is made when the first record is written.
    """
    return JsonlMemory(path) if path.lower().endswith(".jsonl") else SqliteMemory(path)
