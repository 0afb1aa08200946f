"""The journal of summaries: JSON lines, each on disk before its summary is used."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, BinaryIO

from pydantic import BaseModel, ConfigDict, Field

from contextctl.errors import ContextctlError, Location, native_name
from contextctl.ports import Summariser
from contextctl.summarisers.journal import JournalRow, JournalSummariser


class JournalError(ContextctlError):
    """A journal cannot be read or written."""


def open_journal(path: str, *, summariser: str = "", live: Summariser | None = None) -> JournalSummariser:
    """The journal in a file, to be given to an audit; a file that is not there yet is an empty journal.

    ``live`` makes what is not recorded, under the name ``summariser``, and each answer is on disk before it
    is used. A torn last line is dropped, and said in ``note``. Raises as :func:`read_journal`.
    """
    rows, note = read_journal(path)
    return JournalSummariser(
        rows,
        summariser=summariser,
        live=live,
        record=lambda row: append_row(path, row),
        path=path,
        note=note,
    )


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


class _RowShape(BaseModel):
    """A row as it stands in a file; rows of before calls were kept have neither call, carry nor tokens."""

    model_config = ConfigDict(strict=True, frozen=True, extra="ignore")

    key: str
    transcript: str
    call: int | None = None
    carry: bool = False
    section: str
    ids: Annotated[list[str], Field(min_length=1)]
    summariser: str
    instructions: str
    summary: str
    tokens: int = 0


def _row(line: bytes) -> JournalRow | None:
    try:
        shape = _RowShape.model_validate_json(line)
    except ValueError:
        return None
    return JournalRow(**{**shape.model_dump(), "ids": tuple(shape.ids)})


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
