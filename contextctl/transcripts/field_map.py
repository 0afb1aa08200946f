"""Where the records of a house's own keep what a request holds: paths by which they are taken apart."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from contextctl.errors import UsageError
from contextctl.transcripts.chat_messages import json_kind
from contextctl.transcripts.nested_json import decoded

FIELDS = ("messages", "id", "model", "tools", "system")
"""What a map gives a path for; ``messages`` is needed."""

PLAIN_KEY = re.compile(r"[A-Za-z_$][A-Za-z0-9_.$-]{0,39}")
"""A key that may be told; any other could be something that was said."""

_INDEX = re.compile(r"\[(-?\d{1,9})\]")
_NUMBER = re.compile(r"-?\d{1,9}")
_EXAMPLE = "--map messages=request.messages,id=trace_id,model=request.model"


@dataclass(frozen=True, slots=True)
class Missing:
    """Why a path leads to nothing, with the keys that were seen on the way."""

    reason: str


@dataclass(frozen=True, slots=True)
class FieldMap:
    """Field of a request -> path in the record that wraps it.

    A path is keys and indexes of lists with dots between them; an index below 0 counts from the end, and
    ``[0]`` is the same as ``.0``. Keys that have dots themselves are found. JSON inside a string is read.
    """

    paths: Mapping[str, str]

    def find(self, field: str, record: object) -> object | Missing | None:
        """What a record has for a field; None where the map gives no path for it."""
        path = self.paths.get(field)
        return None if path is None else _found(record, _steps(path), ())


def field_map(paths: Mapping[str, str]) -> FieldMap:
    """The map of these paths. Raises :class:`~contextctl.errors.UsageError` for one that cannot be used."""
    for field, path in paths.items():
        if field not in FIELDS:
            raise UsageError(f"a map has no field '{field}'", hint=f"the fields are {', '.join(FIELDS)}")
        if not isinstance(path, str) or not all(_steps(path)):
            raise UsageError(
                f"the map's path for '{field}' is not keys with dots between them", hint=f"as in {_EXAMPLE}"
            )
    if "messages" not in paths:
        raise UsageError("a map says where the messages are", hint=f"as in {_EXAMPLE}")
    return FieldMap(dict(paths))


def field_map_from_text(text: str) -> dict[str, str]:
    """``messages=a.b,id=c`` taken apart. Raises :class:`~contextctl.errors.UsageError`."""
    paths: dict[str, str] = {}
    for part in text.split(","):
        field, equals, path = (piece.strip() for piece in part.partition("="))
        if not equals:
            raise UsageError(f"--map {text}: '{part}' is not FIELD=PATH", hint=f"as in {_EXAMPLE}")
        if field in paths:
            raise UsageError(f"--map {text}: '{field}' stands twice", hint="give each field one path")
        paths[field] = path
    return dict(field_map(paths).paths)


def _steps(path: str) -> tuple[str, ...]:
    return tuple(_INDEX.sub(r".\1", path).removeprefix(".").split("."))


def _found(value: object, steps: Sequence[str], passed: tuple[str, ...]) -> object | Missing:
    if not steps:
        return value
    inner = decoded(value)
    if isinstance(inner, list) and _NUMBER.fullmatch(steps[0]):
        index = int(steps[0])
        if -len(inner) <= index < len(inner):
            return _found(inner[index], steps[1:], (*passed, steps[0]))
    if isinstance(inner, dict):
        for end in range(len(steps), 0, -1):
            key = ".".join(steps[:end])
            if key in inner:
                return _found(inner[key], steps[end:], (*passed, key))
    at = f"'{'.'.join(passed)}' is" if passed else "the record is"
    return Missing(f"nothing stands at '{'.'.join((*passed, *steps))}': {at} {_described(inner)}")


def _described(value: object) -> str:
    if isinstance(value, dict):
        return f"an object with {told_keys(value)}"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    return json_kind(value)


def told_keys(keys: Iterable[str]) -> str:
    """The first of the keys that may be told, as words of a sentence."""
    plain = sorted(key for key in keys if PLAIN_KEY.fullmatch(key))
    told = ", ".join(plain[:12]) + (", ..." if len(plain) > 12 else "")
    return f"the keys {told}" if told else "no plain keys"


_PASTED_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,39}")
_DEEPEST = 5


def suggested_map(records: Sequence[Mapping[str, object]]) -> str | None:
    """The option that would read such records, as far as their keys tell it; None where none can be told."""
    for record in records:
        path = _messages_in(record, ())
        if path:
            return "--map " + ",".join([f"messages={'.'.join(path)}", *_beside(record, path)])
    keys = sorted(key for record in records for key in record if _PASTED_KEY.fullmatch(key))
    return f"--map messages={keys[0]}" if keys else None


def _messages_in(value: object, passed: tuple[str, ...]) -> tuple[str, ...] | None:
    """The path to the first list of objects of which one has a role."""
    inner = decoded(value)
    if isinstance(inner, list):
        objects = [item for item in inner if isinstance(item, dict)]
        if passed and any(isinstance(item.get("role"), str) for item in objects):
            return passed
        named = [(str(index), item) for index, item in enumerate(inner[:1])]
    else:
        named = list(inner.items()) if isinstance(inner, dict) else []
    if len(passed) >= _DEEPEST:
        return None
    found = (_messages_in(item, (*passed, key)) for key, item in named if _is_step(key))
    return next((path for path in found if path), None)


def _is_step(key: str) -> bool:
    return key == "0" or _PASTED_KEY.fullmatch(key) is not None


def _beside(record: Mapping[str, object], path: tuple[str, ...]) -> list[str]:
    """Paths of the other fields, where they stand under their own names beside the messages or above."""
    told = []
    for field in FIELDS[1:]:
        for end in range(len(path) - 1, -1, -1):
            steps = (*path[:end], field)
            value = _found(record, steps, ())
            if value is not None and not isinstance(value, Missing):
                told.append(f"{field}={'.'.join(steps)}")
                break
    return told
