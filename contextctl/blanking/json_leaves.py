"""JSON whose texts give way to filler while keys, structure, numbers and names stay."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator
from typing import Any

from contextctl.blanking.filler import Filler

Path = tuple[str | int, ...]

SCHEMA_WORDS = frozenset({"name", "type", "format", "$ref", "required", "strict", "$schema"})
"""Keys of tool definitions and schemas whose texts are names or structure and no prose."""


class JsonLeaves:
    """A JSON value and the texts in it that are to be replaced, all but those under the keys that stay."""

    def __init__(self, value: Any, filler: Filler, stays: Collection[str] = ()) -> None:
        self._value = value
        self._filler = filler
        self._leaves = [(path, text) for path, text in _texts(value, (), stays) if text]
        self._sizes = [filler.count(text) for _, text in self._leaves]

    @property
    def spare(self) -> int:
        """By how many tokens the filler can be made shorter, so that each text keeps one."""
        return sum(self._sizes) - len(self._sizes)

    def blanked(self, change: int = 0) -> Any:
        """The value with filler, in all so many tokens longer, the longest texts first."""
        sizes = list(self._sizes)
        for index in sorted(range(len(sizes)), key=lambda index: -sizes[index]):
            new = max(1, sizes[index] + change)
            change -= new - sizes[index]
            sizes[index] = new
        texts = {path: self._filler.text(size) for (path, _), size in zip(self._leaves, sizes, strict=True)}
        return _replaced(self._value, (), texts)


def _texts(value: object, path: Path, stays: Collection[str]) -> Iterator[tuple[Path, str]]:
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for key, item in value.items():
            is_name = key in stays and not isinstance(item, dict)
            if not is_name:
                yield from _texts(item, (*path, key), stays)
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from _texts(item, (*path, index), stays)


def _replaced(value: Any, path: Path, texts: dict[Path, str]) -> Any:
    if isinstance(value, str):
        return texts.get(path, value)
    if isinstance(value, dict):
        return {key: _replaced(item, (*path, key), texts) for key, item in value.items()}
    if isinstance(value, list):
        return [_replaced(item, (*path, index), texts) for index, item in enumerate(value)]
    return value


def compact(value: object) -> str:
    """JSON as providers write arguments again."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def fit(made: Callable[[int], int], target: int, least: int, start: int = 0) -> int:
    """The change, at least ``least``, for which ``made`` comes nearest to the target; from ``start`` on."""
    change, missing = start, target - made(start)
    while missing:
        for step in dict.fromkeys((missing, missing * 2 // 3, missing // 2, 1 if missing > 0 else -1)):
            new = max(least, change + step)
            left = target - made(new)
            if abs(left) < abs(missing):
                change, missing = new, left
                break
        else:
            break
    return change
