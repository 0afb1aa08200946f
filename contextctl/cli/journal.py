"""Recorded and live summaries on the command line: ``--journal`` and ``--summariser``."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator

from contextctl.cli.streams import write_note
from contextctl.errors import Location, UsageError
from contextctl.findings import Finding, finding
from contextctl.loading.journal_file import append_row, read_journal
from contextctl.loading.transcript_files import TranscriptFailure
from contextctl.recording import Transcript
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
        rows, summariser=summariser or "", live=live, record=lambda row: append_row(path, row)
    )


def followed(
    journal: JournalSummariser | None, transcripts: Iterable[Transcript | TranscriptFailure]
) -> Iterator[Transcript | TranscriptFailure]:
    """The same transcripts, each told to the journal when it is about to be audited."""
    for transcript in transcripts:
        if journal is not None and isinstance(transcript, Transcript):
            journal.begin(transcript.id)
        yield transcript


def unconsumed_findings(journal: JournalSummariser, path: str) -> list[Finding]:
    """An error for each recorded summary of an audited conversation that nothing asked for."""
    return [
        finding(
            "CTX303",
            f"the summary of {row.section} in {row.transcript}, {row.ids[0]} to {row.ids[-1]}, was not used",
            location=Location(path),
            hint="the plan or the recording changed: remove the row, or record again",
            section=row.section,
        )
        for row in journal.unconsumed()
    ]
