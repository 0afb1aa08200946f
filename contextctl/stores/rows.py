"""A record of a memory as JSON."""

from __future__ import annotations

from pydantic import TypeAdapter

from contextctl.errors import Location, MemoryStoreError
from contextctl.memory import MemoryRecord

_RECORD = TypeAdapter(MemoryRecord)
_SCOPED = TypeAdapter(dict[str, object])


def record_from_json(data: bytes | str, location: Location) -> tuple[str, MemoryRecord]:
    """The scope and the record that a line holds.

    Raises :class:`~contextctl.errors.MemoryStoreError` where it holds none.
    """
    try:
        value = _SCOPED.validate_json(data)
        scope = value.pop("scope")
        if not isinstance(scope, str):
            raise ValueError("no scope")
        return scope, _RECORD.validate_python(value)
    except (ValueError, KeyError):
        raise MemoryStoreError("this is no record of a memory", location=location) from None
