"""``contextctl trace``: from a summary back to the entries that it stands for."""

from __future__ import annotations

from typing import Annotated

import typer

from contextctl.cli import options
from contextctl.cli.streams import is_terminal, write_out
from contextctl.errors import UsageError


def trace_command(
    summary: Annotated[
        str | None,
        typer.Argument(
            metavar="[SUMMARY]", help="A record's id or its beginning, or a summary's id; left out, all."
        ),
    ] = None,
    memory: Annotated[
        str, typer.Option("--memory", metavar="FILE", help="The memory that audits wrote to.")
    ] = "",
    scope: Annotated[str | None, typer.Option("--scope", metavar="NAME", help="Only this scope.")] = None,
    format: Annotated[
        str, typer.Option("-f", "--format", metavar="FORMAT", help="What stdout gets: text, json.")
    ] = "text",
    show_text: options.ShowText = False,
) -> int:
    """Follow a summary back to the entries that it stands for, through earlier summaries within it.

    Exit codes: 0 found, 2 usage, 3 the memory cannot be used or has no such summary.
    """
    from contextctl.reports.trace import render_trace_json, render_trace_text
    from contextctl.stores import open_memory
    from contextctl.tracing import find, trace

    if not memory:
        raise UsageError("trace needs --memory FILE, the one that audits wrote to")
    if format not in ("text", "json"):
        raise UsageError(f"--format {format}: text or json")
    records = open_memory(memory).records(scope)
    traced = [trace(item, records) for item in find(records, summary, memory)]
    if format == "json":
        write_out(render_trace_json(traced, show_text=show_text))
    else:
        width = options.terminal_width() if is_terminal() else None
        listed = summary is None or len(traced) > 1
        write_out(render_trace_text(traced, width=width, listed=listed, show_text=show_text))
    return 0
