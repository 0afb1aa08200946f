"""Recorded and live summaries on the command line: ``--journal`` and ``--summariser``."""

from __future__ import annotations

import shlex

from contextctl.cli.streams import write_note
from contextctl.errors import UsageError
from contextctl.loading.journal_file import append_row, read_journal
from contextctl.summarisers.command import CommandSummariser
from contextctl.summarisers.journal import JournalSummariser

COMMAND_PREFIX = "command:"
"""What a summariser begins with that is a command."""


def open_journal(path: str | None, summariser: str | None) -> JournalSummariser | None:
    """The journal that the options name; None where summaries are only planned.

    Raises :class:`~contextctl.errors.UsageError` for a summariser without a journal or of no known kind.
    """
    if path is None:
        if summariser is not None:
            raise UsageError("--summariser needs --journal FILE, so that no summary is paid for twice")
        return None
    live = None
    if summariser is not None:
        argv = shlex.split(summariser.removeprefix(COMMAND_PREFIX))
        if not summariser.startswith(COMMAND_PREFIX) or not argv:
            raise UsageError(f"--summariser {summariser}: write command:PROGRAM ARGUMENT...")
        live = CommandSummariser(argv)
    rows, note = read_journal(path)
    if note is not None:
        write_note(f"note: {note}")
    return JournalSummariser(
        rows, summariser=summariser or "", live=live, record=lambda row: append_row(path, row), path=path
    )
