"""Rows of recorded requests with a provider's own count, and the tables made of them."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from contextctl.messages import ImagePart, Message, ToolResultPart
from contextctl.ports import Measure


@dataclass(frozen=True)
class Row:
    """One recorded request: what it was billed, and what is counted for it."""

    id: str
    model: str
    shape: str
    reported: int
    measure: Measure

    @property
    def off(self) -> int:
        return self.measure.tokens - self.reported

    @property
    def is_low(self) -> bool:
        return self.measure.upper_tokens < self.reported


def read_rows(path: Path) -> Iterator[dict[str, Any]]:
    for line in path.read_bytes().splitlines():
        yield json.loads(line)


def found_in(value: object, key: str) -> list[Any]:
    """Every value of this key, in order."""
    if isinstance(value, dict):
        own = [value[key]] if key in value else []
        return own + [item for inner in value.values() for item in found_in(inner, key)]
    return [item for inner in value for item in found_in(inner, key)] if isinstance(value, list) else []


def restored(value: Any) -> Any:
    """The request with letters in place of the signatures that were taken out."""
    if isinstance(value, dict):
        taken = value.get("_signature_len", value.get("_encrypted_len"))
        return "s" * taken if isinstance(taken, int) else {key: restored(item) for key, item in value.items()}
    return [restored(item) for item in value] if isinstance(value, list) else value


def sized(messages: Sequence[Message], blobs: Sequence[dict[str, Any]]) -> list[Message]:
    """The messages with the sizes of the pictures that were taken out, in order."""
    sizes = iter(blobs)

    def part(given: Any) -> Any:
        if isinstance(given, ImagePart):
            blob = next(sizes, {})
            return given.model_copy(update={"width": blob.get("width"), "height": blob.get("height")})
        if isinstance(given, ToolResultPart):
            return given.model_copy(update={"content": tuple(part(inner) for inner in given.content)})
        return given

    return [m.model_copy(update={"content": tuple(part(p) for p in m.content)}) for m in messages]


def exact_share(rows: Sequence[Row]) -> float:
    return sum(row.off == 0 for row in rows) / len(rows)


def table(title: str, rows: Sequence[Row], by: Callable[[Row], str]) -> str:
    """Rows, exact share, mean error, and how many are too low with the margin, a line a group."""
    groups: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        groups[by(row)].append(row)
    lines = [f"\n{title:<34}{'rows':>5}{'exact':>8}{'mean error':>12}{'too low':>9}"]
    for name, found in [*sorted(groups.items()), ("all", list(rows))]:
        mean = sum(abs(row.off) for row in found) / len(found)
        low = sum(row.is_low for row in found)
        lines.append(f"{name:<34}{len(found):>5}{exact_share(found):>8.1%}{mean:>12.2f}{low:>9}")
    return "\n".join(lines)
