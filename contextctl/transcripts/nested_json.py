"""Small readings of JSON values that several formats share; none of them raises."""

from __future__ import annotations

import json
from collections.abc import Mapping

from contextctl.transcripts.records import MAX_DEPTH, is_deeper_than


def json_text(value: object) -> str:
    """Compact JSON text, keys in recorded order and characters as they are."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def text_or_json(value: object) -> str:
    """The string itself, nothing for null, else compact JSON text."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json_text(value)


def decoded(value: object) -> object:
    """What a value holds once JSON inside JSON strings is read, however often it was encoded.

    A string that holds no object, array or string is left as it is: plain text may look like a number.
    """
    while isinstance(value, str) and value.lstrip()[:1] in ("{", "[", '"'):
        try:
            inner: object = json.loads(value)
        except (ValueError, RecursionError):
            return value
        if is_deeper_than(inner, MAX_DEPTH):
            return value
        value = inner
    return value


def whole_number(value: object) -> int | None:
    """A count: a number that is whole and not negative, or text that spells one."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 19:
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if 0 <= value < 10**18 and value == int(value) else None


def first_number(value: Mapping[str, object], *keys: str) -> int | None:
    """The first of the keys that holds a count."""
    for key in keys:
        number = whole_number(value.get(key))
        if number is not None:
            return number
    return None


def first_text(value: Mapping[str, object], *keys: str) -> str | None:
    """The first of the keys that holds text which is not empty."""
    for key in keys:
        text = value.get(key)
        if isinstance(text, str) and text:
            return text
    return None


def first_present(value: Mapping[str, object], *keys: str) -> object:
    """The first of the keys that holds anything but null, else None."""
    for key in keys:
        if value.get(key) is not None:
            return value[key]
    return None


def mapping(value: object) -> Mapping[str, object]:
    """The object, decoded where it is text; an empty one where there is none."""
    found = decoded(value)
    return found if isinstance(found, dict) else {}


def listed(value: object) -> list[object]:
    """The list, decoded where it is text; an empty one where there is none."""
    found = decoded(value)
    return found if isinstance(found, list) else []


def objects(value: object) -> list[dict[str, object]]:
    """The objects of a list, each decoded where it is text."""
    found = (decoded(item) for item in listed(value))
    return [item for item in found if isinstance(item, dict)]
