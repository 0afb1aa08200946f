"""A memory in JSON lines."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path

from contextctl.errors import Location, MemoryStoreError, native_name
from contextctl.memory import MemoryRecord
from contextctl.stores.rows import record_from_json


class JsonlMemory:
    """Appends records to a file, a line each in one write, and waits until they are on disk."""

    def __init__(self, path: str) -> None:
        self.path = path

    async def log(self, scope: str, record: MemoryRecord) -> None:
        """Keep a record; raises :class:`~contextctl.errors.MemoryStoreError`."""
        line = json.dumps({"scope": scope, **asdict(record)}, ensure_ascii=True, sort_keys=True) + "\n"
        try:
            file = os.open(native_name(self.path), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            try:
                os.write(file, line.encode())
                os.fsync(file)
            finally:
                os.close(file)
        except OSError as error:
            raise MemoryStoreError(
                f"the memory cannot be written: {error.strerror}", location=Location(self.path)
            ) from error

    def records(self, scope: str | None = None) -> list[tuple[str, MemoryRecord]]:
        """See :class:`~contextctl.stores.ReadableMemory`; raises as :meth:`log` does."""
        try:
            data = Path(native_name(self.path)).read_bytes()
        except OSError as error:
            raise MemoryStoreError(
                f"the memory cannot be read: {error.strerror}", location=Location(self.path)
            ) from error
        found: dict[str, tuple[str, MemoryRecord]] = {}
        for number, line in enumerate(data.split(b"\n"), 1):
            if line.strip():
                said, record = record_from_json(line, Location(self.path, number))
                if scope in (None, said):
                    found.setdefault(record.id(said), (said, record))
        return list(found.values())
