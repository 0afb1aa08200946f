"""Aligned columns for a pipe, and for a terminal as narrow as it may be, without cutting a number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.text import Text

GAP = "  "
NARROWEST_FOLD = 8
"""Columns below which a name is not folded further."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its title, whether it stands to the right, whether it may be folded, and how early it is
    left out where the terminal is too narrow (0: never, 1: first)."""

    title: str
    right: bool = False
    folds: bool = False
    leaves: int = 0


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell's text, harmless already, and its style."""

    text: str
    style: str = ""


def table(columns: Sequence[Column], rows: Sequence[Sequence[Cell]], width: int | None) -> list[Text]:
    """The title line and a line for each row; more lines for a row whose name had to be folded.

    ``width`` None never folds or leaves out anything.
    """
    places = list(range(len(columns)))
    widths = [max([cell_len(columns[n].title), *(cell_len(row[n].text) for row in rows)]) for n in places]
    if width is not None:
        for leaves in sorted({column.leaves for column in columns} - {0}):
            if _total(widths, places) > width:
                places = [n for n in places if columns[n].leaves != leaves]
        excess = _total(widths, places) - width
        for n in places:
            if columns[n].folds and excess > 0:
                narrower = max(NARROWEST_FOLD, widths[n] - excess)
                excess -= widths[n] - narrower
                widths[n] = narrower
    titles = [Cell(column.title, "bold") for column in columns]
    lines: list[Text] = []
    for row in [titles, *rows]:
        lines += _row(columns, row, places, widths)
    return lines


def _total(widths: Sequence[int], places: Sequence[int]) -> int:
    return sum(widths[n] for n in places) + len(GAP) * (len(places) - 1)


def _row(
    columns: Sequence[Column], row: Sequence[Cell], places: Sequence[int], widths: Sequence[int]
) -> list[Text]:
    pieces = {n: _folded(row[n].text, widths[n]) for n in places}
    lines = []
    for height in range(max(len(piece) for piece in pieces.values())):
        text = Text()
        for n in places:
            shown = pieces[n][height] if height < len(pieces[n]) else ""
            blank = " " * (widths[n] - cell_len(shown))
            text.append(GAP if n != places[0] else "")
            text.append(blank if columns[n].right else "")
            text.append(shown, row[n].style or None)
            text.append("" if columns[n].right else blank)
        text.rstrip()
        lines.append(text)
    return lines


def _folded(text: str, width: int) -> list[str]:
    """The text in pieces of at most so many terminal cells."""
    pieces = [""]
    for character in text:
        if pieces[-1] and cell_len(pieces[-1] + character) > width:
            pieces.append("")
        pieces[-1] += character
    return pieces
