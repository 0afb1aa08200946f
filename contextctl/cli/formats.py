"""``contextctl formats``: the transcript formats that are read, and what each of them can tell."""

from __future__ import annotations

import json
import textwrap
from dataclasses import asdict
from typing import Annotated

import typer

from contextctl.cli import options
from contextctl.cli.streams import write_out
from contextctl.errors import UsageError

COLUMNS = 80
"""The width of the text."""

_SHORT = {"yes": "yes", "no": "-", "sometimes": "some"}
_KNOWS = ("system", "tools", "usage", "times", "compactions", "requests")


def formats_command(
    format: Annotated[
        str, typer.Option("-f", "--format", metavar="text|json", help="Output format.")
    ] = "text",
    debug: options.Debug = False,
) -> int:
    """List the transcript formats: what each is, what it knows, and what it cannot know.

    A recording knows, or does not, the system prompt, tools, usage, times, compactions on the way, and each
    request as it was sent. Exit code: 0.
    """
    from contextctl.transcripts.formats_table import FORMATS_TABLE

    if format not in ("text", "json"):
        raise UsageError(f"--format {format}: one of text, json")
    if format == "json":
        rows = [{"name": name, **asdict(facts)} for name, facts in FORMATS_TABLE.items()]
        lines = ",\n".join("  " + json.dumps(row) for row in rows)
        write_out(f'{{"schema_version": 1, "formats": [\n{lines}\n]}}\n')
        return 0
    width = max(len(name) for name in FORMATS_TABLE)
    write_out(_line("format", width, list(_KNOWS)))
    for name, facts in FORMATS_TABLE.items():
        write_out(_line(name, width, [_SHORT[getattr(facts, known)] for known in _KNOWS]))
        write_out(_told(f"{facts.what}. Cannot know: {facts.cannot}."))
    write_out("\nsome: in some versions or exports; requests: each call as it was sent\n")
    return 0


def _line(name: str, width: int, cells: list[str]) -> str:
    shown = "  ".join(f"{cell:<{len(known)}}" for cell, known in zip(cells, _KNOWS, strict=True))
    return f"{name:<{width}}  {shown}".rstrip() + "\n"


def _told(text: str) -> str:
    return textwrap.fill(text, COLUMNS, initial_indent="    ", subsequent_indent="    ") + "\n"
