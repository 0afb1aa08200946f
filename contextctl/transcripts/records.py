"""Bytes -> JSON records with their lines, whatever is wrong between them.

JSON Lines are split at line feeds only. A document of one JSON value over several lines is recognised by
its content. What cannot be read is a finding with its line, and the rest is still read. No finding quotes
what a line holds.
"""

from __future__ import annotations

import json
import math
import re
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from contextctl.errors import Location
from contextctl.findings import Finding, finding

MAX_DEPTH = 200
"""Arrays and objects inside one another that a record may hold; recorded requests stay under 50."""

MAX_DIGITS = 4300
"""Digits of an integer that a record may hold: Python's own default limit for int(str)."""

_TELLABLE_KEYS = frozenset(
    {"arguments", "content", "function", "function_call", "functions", "id", "messages", "model", "name"}
    | {"parameters", "pinned", "role", "section", "tool_call_id", "tool_calls", "tools", "type"}
)
"""Keys of a message's own shape; any other key could be something that was said."""

_BLANK = re.compile(r"[ \t\r\n]*")
_CLOSERS = {"{": "}", "[": "]"}
_TORN_HINT = "the writer may have died while writing; complete the record or remove it"


@dataclass(frozen=True, slots=True)
class Record:
    """One JSON value and where it starts: the 1-based line, and its 1-based place among glued ones."""

    value: object
    line: int
    index: int | None = None


@dataclass(frozen=True, slots=True)
class Records:
    """What a file holds, in file order; ``skipped`` counts records that could not be read."""

    records: tuple[Record, ...]
    findings: tuple[Finding, ...]
    skipped: int


@dataclass(frozen=True, slots=True)
class _Decoded:
    value: object
    end: int
    repeated: str | None
    non_finite: bool


@dataclass(frozen=True, slots=True)
class _Failed:
    message: str
    position: int | None
    torn: bool = False


class _Unreadable(Exception):
    """JSON that is well formed and still cannot be taken in."""


class _Decoder:
    """Python's JSON decoder, noting repeated keys and non-finite numbers on the way."""

    def __init__(self) -> None:
        self._repeated: str | None = None
        self._non_finite = False
        self._json = json.JSONDecoder(
            object_pairs_hook=self._object,
            parse_constant=self._constant,
            parse_float=self._float,
            parse_int=self._integer,
        )

    def decode(self, text: str, start: int) -> _Decoded | _Failed:
        """The value that starts there, or why there is none."""
        self._repeated, self._non_finite = None, False
        try:
            value, end = self._json.raw_decode(text, start)
        except json.JSONDecodeError as error:
            return _explain(text, start, error)
        except _Unreadable as error:
            return _Failed(str(error), None)
        except RecursionError:
            return _Failed(_too_deep(), None)
        brackets = text.count("[", start, end) + text.count("{", start, end)
        if brackets > MAX_DEPTH and is_deeper_than(value, MAX_DEPTH):
            return _Failed(_too_deep(), None)
        return _Decoded(value, end, self._repeated, self._non_finite)

    def _object(self, pairs: list[tuple[str, object]]) -> dict[str, object]:
        result = dict(pairs)
        if len(result) != len(pairs):
            key = Counter(key for key, _ in pairs).most_common(1)[0][0]
            self._repeated = f"the key '{key}'" if key in _TELLABLE_KEYS else "a key"
        return result

    def _constant(self, text: str) -> float:
        self._non_finite = True
        return float(text)

    def _float(self, text: str) -> float:
        number = float(text)
        self._non_finite = self._non_finite or not math.isfinite(number)
        return number

    def _integer(self, text: str) -> int:
        if len(text) > MAX_DIGITS:
            raise _Unreadable(f"a number has more than {MAX_DIGITS:,} digits")
        try:
            return int(text)
        except ValueError as error:
            raise _Unreadable("a number has more digits than this Python is set to read") from error


def _too_deep() -> str:
    return f"arrays and objects are nested more than {MAX_DEPTH} deep"


def is_deeper_than(value: object, limit: int) -> bool:
    """True where arrays and objects stand in one another more often than that."""
    level = [value]
    for _ in range(limit + 1):
        level = [
            inner
            for outer in level
            if isinstance(outer, dict | list)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
        if not level:
            return False
    return True


def _explain(text: str, start: int, error: json.JSONDecodeError) -> _Failed:
    """The same error in every Python version, with a stray comma at the comma."""
    spot = _BLANK.match(text, error.pos)
    position = spot.end() if spot else error.pos
    before = text[start:position].rstrip(" \t\r\n")
    if text[position : position + 1] == "," and _after_blank(text, position + 1) in ("]", "}"):
        return _Failed("a stray comma stands before the closing bracket", position)
    if text[position : position + 1] in ("]", "}") and before.endswith(","):
        return _Failed("a stray comma stands before the closing bracket", start + len(before) - 1)
    whole = text.rstrip(" \t\r\n")
    closer = _CLOSERS.get(text[start : start + 1])
    unfinished = (
        error.msg.startswith("Unterminated") or position >= len(whole) or not whole.endswith(closer or "")
    )
    reason = error.msg.split(":")[0].strip()
    reason = reason[:1].lower() + reason[1:].removesuffix(" at").removesuffix(" starting")
    return _Failed(f"this is not JSON: {reason}", error.pos, closer is not None and unfinished)


def _after_blank(text: str, position: int) -> str:
    spot = _BLANK.match(text, position)
    return text[spot.end() : spot.end() + 1] if spot else ""


def json_value(text: str) -> object:
    """The one JSON value that a text holds, within the limits of a record, or None where it holds none."""
    outcome = _Decoder().decode(text, _skip_blank(text, 0))
    if isinstance(outcome, _Failed) or _skip_blank(text, outcome.end) < len(text):
        return None
    return outcome.value


def split_records(data: bytes, path: str) -> Records:
    """Every record of a file; ``path`` is only for the places of findings. Never raises."""
    reading = _Reading(path)
    data = data.removeprefix(BOM_UTF8)
    lines = data.split(b"\n")
    if is_one_document(lines):
        reading.read_document(data)
    else:
        full = [number for number, line in enumerate(lines, 1) if line.strip(b" \t\r")]
        for number in full:
            reading.read_line(lines[number - 1].removesuffix(b"\r"), number, last=number == full[-1])
    return reading.taken()


def iter_lines(chunks: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
    """The lines that are not blank and their numbers, from the bytes of a file in pieces of any size."""
    parts: list[bytes] = []
    number = 1
    for chunk in chunks:
        first, *others = chunk.split(b"\n")
        parts.append(first)
        for start in others:
            yield from _filled(number, b"".join(parts))
            number, parts = number + 1, [start]
    yield from _filled(number, b"".join(parts))


def _filled(number: int, line: bytes) -> Iterator[tuple[int, bytes]]:
    line = line.removeprefix(BOM_UTF8) if number == 1 else line
    if line.strip(b" \t\r"):
        yield number, line


def iter_records(lines: Iterable[tuple[int, bytes]], path: str) -> Iterator[Records]:
    """What :func:`split_records` finds in JSON Lines, a line at a time."""
    reading = _Reading(path)
    ahead = iter(lines)
    at = next(ahead, None)
    while at is not None:
        (number, line), at = at, next(ahead, None)
        reading.read_line(line.removesuffix(b"\r"), number, last=at is None)
        yield reading.taken()


def is_one_document(lines: Iterable[bytes]) -> bool:
    """True where the first line that is not blank begins a value that goes on in the next one."""
    filled = (line.strip(b" \t\r") for line in lines)
    filled = (line for line in filled if line)
    first, second = next(filled, b""), next(filled, b"")
    if not second or first[:1] not in (b"{", b"["):
        return False
    text = first.decode("utf-8", "replace")
    outcome = _Decoder().decode(text, 0)
    if isinstance(outcome, _Decoded):
        return False
    if outcome.position is None:
        return False
    return first.startswith(b"[") or (outcome.position >= len(text) and not second.startswith(b"{"))


class _Reading:
    """One pass over a file."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.records: list[Record] = []
        self.findings: list[Finding] = []
        self.skipped = 0
        self._decoder = _Decoder()

    def taken(self) -> Records:
        """What was read since this was asked last."""
        records = Records(tuple(self.records), tuple(self.findings), self.skipped)
        self.records, self.findings, self.skipped = [], [], 0
        return records

    def read_line(self, raw: bytes, line: int, *, last: bool) -> None:
        """Take in one line that is not blank: one value, or several glued together."""
        try:
            text = raw.removeprefix(BOM_UTF8).decode("utf-8")
        except UnicodeDecodeError as error:
            self._refuse_bytes(error, line, torn=last and error.end >= len(error.object) and _is_cut(error))
            return
        values: list[_Decoded] = []
        position = _skip_blank(text, 0)
        failure: _Failed | None = None
        while failure is None and position < len(text):
            outcome = self._decoder.decode(text, position)
            if isinstance(outcome, _Decoded):
                values.append(outcome)
                position = _skip_blank(text, outcome.end)
            else:
                failure = outcome
        if failure is not None and not all(isinstance(value.value, dict | list) for value in values):
            values = []
        if len(values) > 1:
            glued = f"{len(values)} records stand on one line without a line feed between them; each was read"
            self._note("CTX018", glued, line, hint="end each record with a line feed")
        for index, value in enumerate(values, 1):
            self._add(value, line, index if len(values) > 1 else None)
        if failure is not None:
            column = None if failure.position is None else failure.position + 1
            self._refuse(failure, line, column, torn=last and failure.torn)

    def read_document(self, data: bytes) -> None:
        """Take in JSON that is laid out over lines: one value, or several one after another."""
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            self._refuse_bytes(error, line, torn=error.end >= len(data) and _is_cut(error))
            return
        position = _skip_blank(text, 0)
        while position < len(text):
            outcome = self._decoder.decode(text, position)
            at = position if isinstance(outcome, _Decoded) or outcome.position is None else outcome.position
            line = text.count("\n", 0, at) + 1
            if isinstance(outcome, _Failed):
                self._refuse(outcome, line, at - text.rfind("\n", 0, at), torn=outcome.torn)
                return
            self._add(outcome, line, None)
            position = _skip_blank(text, outcome.end)

    def _add(self, decoded: _Decoded, line: int, index: int | None) -> None:
        self.records.append(Record(decoded.value, line, index))
        if decoded.repeated is not None:
            repeated = f"{decoded.repeated} stands twice in one object; the last one was taken"
            self._note("CTX026", repeated, line, index=index, hint="keep one of the two")
        if decoded.non_finite:
            self._note(
                "CTX025",
                "a number is NaN, infinite or too large for a float, which JSON does not have",
                line,
                index=index,
                hint="write null, or a number that JSON has",
            )

    def _refuse(self, failure: _Failed, line: int, column: int | None, *, torn: bool) -> None:
        self.skipped += 1
        if torn:
            message = "the last record ends before it is complete; it was not read"
            self._note("CTX016", message, line, column=column, hint=_TORN_HINT)
        else:
            hint = "one JSON object a line, or one JSON document, is expected"
            self._note("CTX010", failure.message, line, column=column, hint=hint)

    def _refuse_bytes(self, error: UnicodeDecodeError, line: int, *, torn: bool) -> None:
        self.skipped += 1
        if torn:
            message = "the last record ends inside a character; it was not read"
            self._note("CTX016", message, line, hint=_TORN_HINT)
        else:
            message = f"byte 0x{error.object[error.start]:02x} is not UTF-8; the record was not read"
            self._note("CTX017", message, line, hint="save the file as UTF-8")

    def _note(
        self,
        code: str,
        message: str,
        line: int,
        *,
        column: int | None = None,
        index: int | None = None,
        hint: str | None = None,
    ) -> None:
        place = Location(self.path, line, column, index)
        self.findings.append(finding(code, message, location=place, hint=hint))


def _is_cut(error: UnicodeDecodeError) -> bool:
    return error.reason == "unexpected end of data"


def _skip_blank(text: str, position: int) -> int:
    spot = _BLANK.match(text, position)
    return spot.end() if spot else position
