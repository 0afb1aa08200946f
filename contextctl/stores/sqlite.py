"""A memory in one SQLite file, which several processes may write to at once."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict
from pathlib import Path

from contextctl.errors import Location, MemoryStoreError, native_name
from contextctl.memory import MemoryRecord
from contextctl.stores.rows import record_from_json

BUSY_SECONDS = 60.0
"""How long a writer waits for another one."""

_TABLE = (
    "CREATE TABLE IF NOT EXISTS memory "
    "(number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, scope TEXT NOT NULL, record TEXT NOT NULL)"
)


class SqliteMemory:
    """Keeps each record once, under its own id; a record is on disk when :meth:`log` returns."""

    def __init__(self, path: str) -> None:
        self.path = path

    async def log(self, scope: str, record: MemoryRecord) -> None:
        """Keep a record; one that is there already is left as it is.

        Raises :class:`~contextctl.errors.MemoryStoreError`.
        """
        await asyncio.to_thread(self._log, scope, record)

    def _log(self, scope: str, record: MemoryRecord) -> None:
        content = json.dumps({"scope": scope, **asdict(record)}, ensure_ascii=True, sort_keys=True)
        with self._opened("rwc") as connection:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute(_TABLE)
            connection.execute(
                "INSERT OR IGNORE INTO memory (id, scope, record) VALUES (?, ?, ?)",
                (record.id(scope), scope, content),
            )
            connection.execute("COMMIT")

    def records(self, scope: str | None = None) -> list[tuple[str, MemoryRecord]]:
        """See :class:`~contextctl.stores.ReadableMemory`; raises as :meth:`log` does."""
        with self._opened("ro") as connection:
            rows = connection.execute("SELECT scope, record FROM memory ORDER BY number").fetchall()
        return [
            record_from_json(record, Location(self.path)) for said, record in rows if scope in (None, said)
        ]

    @contextmanager
    def _opened(self, mode: str) -> Iterator[sqlite3.Connection]:
        name = Path(native_name(self.path)).absolute().as_uri()
        try:
            with closing(
                sqlite3.connect(f"{name}?mode={mode}", uri=True, timeout=BUSY_SECONDS, isolation_level=None)
            ) as connection:
                yield connection
        except sqlite3.Error as error:
            raise MemoryStoreError(
                f"the memory cannot be used: {error}",
                location=Location(self.path),
                hint="name a file that contextctl made, or a new one in a folder that can be written to",
            ) from error
