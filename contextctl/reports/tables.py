"""Aligned columns for a pipe, and for a terminal as narrow as it may be, without cutting a number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.text import Text

from contextctl.reports.visible import visible

GAP = 2
"""Blanks between columns; one where the terminal is too narrow."""

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
    """A cell's text and its style."""

    text: str
    style: str = ""


def table(columns: Sequence[Column], rows: Sequence[Sequence[Cell]], width: int | None) -> list[Text]:
    """The title line and a line for each row; more lines for a row whose name had to be folded.

    Hidden characters in cells are made visible. ``width`` None never folds or leaves out anything.
    """
    titles = [Cell(column.title, "bold") for column in columns]
    cells = [titles, *([Cell(visible(cell.text), cell.style) for cell in row] for row in rows)]
    places = list(range(len(columns)))
    widths = [max(cell_len(row[n].text) for row in cells) for n in places]
    gap = GAP
    if width is not None:
        for leaves in sorted({column.leaves for column in columns} - {0}):
            if _total(widths, places, gap) > width:
                places = [n for n in places if columns[n].leaves != leaves]
        gap = GAP if _total(widths, places, GAP) <= width else 1
        folding = [n for n in places if columns[n].folds]
        _narrow(widths, folding, _total(widths, places, gap) - width)
    lines: list[Text] = []
    for row in cells:
        lines += _row(columns, row, places, widths, gap)
    return lines


def _total(widths: Sequence[int], places: Sequence[int], gap: int) -> int:
    return sum(widths[n] for n in places) + gap * (len(places) - 1)


def _narrow(widths: list[int], folding: Sequence[int], excess: int) -> None:
    """Take the excess from the columns that may be folded, always from the widest of them."""
    while excess > 0 and folding:
        widest, *others = sorted(folding, key=lambda n: -widths[n])
        floor = max([NARROWEST_FOLD, *(widths[n] for n in others)])
        step = min(excess, max(widths[widest] - floor, 1))
        if widths[widest] <= NARROWEST_FOLD:
            return
        widths[widest] -= step
        excess -= step


def _row(
    columns: Sequence[Column], row: Sequence[Cell], places: Sequence[int], widths: Sequence[int], gap: int
) -> list[Text]:
    pieces = {n: folded(row[n].text, widths[n]) for n in places}
    lines = []
    for height in range(max(len(piece) for piece in pieces.values())):
        text = Text()
        for n in places:
            shown = pieces[n][height] if height < len(pieces[n]) else ""
            blank = " " * (widths[n] - cell_len(shown))
            text.append(" " * gap if n != places[0] else "")
            text.append(blank if columns[n].right else "")
            text.append(shown, row[n].style or None)
            text.append("" if columns[n].right else blank)
        text.rstrip()
        lines.append(text)
    return lines


def folded(text: str, width: int) -> list[str]:
    """The text in pieces of at most so many terminal cells, cut after a blank or ``/`` where one is near.

    Joined, the pieces are the text.
    """
    if cell_len(text) <= width:
        return [text]
    pieces: list[str] = []
    start, used = 0, 0
    for place, character in enumerate(text):
        size = cell_len(character)
        if used + size > width and place > start:
            cut = max(text.rfind(" ", start, place), text.rfind("/", start, place)) + 1
            cut = cut if cut - start > width // 2 else place
            pieces.append(text[start:cut])
            used = cell_len(text[cut:place])
            start = cut
        used += size
    return [*pieces, text[start:]]
