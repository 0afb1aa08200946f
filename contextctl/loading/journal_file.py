"""The journal of summaries: JSON lines, each on disk before its summary is used."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import BinaryIO

from contextctl.errors import ContextctlError, Location, native_name
from contextctl.summarisers.journal import JournalRow


class JournalError(ContextctlError):
    """A journal cannot be read or written."""


def read_journal(path: str) -> tuple[list[JournalRow], str | None]:
    """The rows of a journal, and a note where its torn last line was dropped; none of a file that is not
    there yet.

    Raises :class:`JournalError` with the line of what is no row.
    """
    try:
        data = Path(native_name(path)).read_bytes()
    except FileNotFoundError:
        return [], None
    except OSError as error:
        raise _unusable(path, error.strerror or "cannot be read") from None
    lines = data.split(b"\n")
    rows: list[JournalRow] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        row = _row(line)
        if row is not None:
            rows.append(row)
        elif number == len(lines):
            return rows, f"{path}:{number}: the torn last line of the journal was dropped"
        else:
            raise _unusable(path, "this line is no row of a journal", number)
    return rows, None


def _row(line: bytes) -> JournalRow | None:
    names = ("key", "transcript", "section", "summariser", "instructions", "summary")
    try:
        value = json.loads(line)
        texts = {name: value[name] for name in names}
        ids = value["ids"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    if not all(isinstance(item, str) for item in (*texts.values(), *ids)):
        return None
    return JournalRow(ids=tuple(ids), **texts)


def append_row(path: str, row: JournalRow) -> None:
    """Add a row and wait until it is on disk; a torn last line is cut off first."""
    line = json.dumps(asdict(row), ensure_ascii=True, sort_keys=True).encode() + b"\n"
    try:
        with Path(native_name(path)).open("a+b") as file:
            _cut_torn_end(file)
            file.write(line)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise _unusable(path, error.strerror or "cannot be written") from None


def _cut_torn_end(file: BinaryIO) -> None:
    """Remove what stands after the last line feed of a file."""
    end = file.seek(0, os.SEEK_END)
    while end:
        file.seek(end - 1)
        if file.read(1) == b"\n":
            break
        end -= 1
    file.truncate(end)


def _unusable(path: str, reason: str, line: int | None = None) -> JournalError:
    return JournalError(f"journal: {reason}", location=Location(path, line), rule="CTX030")
