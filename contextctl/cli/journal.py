"""Recorded and live summaries on the command line: ``--journal`` and ``--summariser``."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from contextctl.cli.streams import write_note
from contextctl.errors import UsageError
from contextctl.loading.journal_file import open_journal
from contextctl.loading.own_code import COMMAND_PREFIX
from contextctl.ports import Summariser, Summary, SummaryRequest
from contextctl.summarisers.command import CommandSummariser
from contextctl.summarisers.journal import JournalSummariser
from contextctl.summarisers.openai_compatible import OpenAICompatibleSummariser

LIVE_PREFIX = "live:"
"""What a summariser begins with that is a model behind an OpenAI-compatible endpoint."""


@dataclass(frozen=True, slots=True)
class Asking:
    """Who is asked for summaries, for how many seconds, how often again, and whether that is told."""

    summariser: str | None
    timeout_seconds: float
    retries: int
    quiet: bool


def journal_for(path: str | None, asking: Asking) -> JournalSummariser | None:
    """The journal that the options name; None where summaries are only planned.

    Raises :class:`~contextctl.errors.UsageError` for a summariser without a journal or of no known kind,
    :class:`~contextctl.errors.CapabilityError` where it cannot be had.
    """
    if path is None:
        if asking.summariser is not None:
            raise UsageError("--summariser needs --journal FILE, so that no summary is paid for twice")
        return None
    live = None if asking.summariser is None else _live(asking.summariser, asking)
    journal = open_journal(
        path,
        summariser=asking.summariser or "",
        live=live if live is None or asking.quiet else ToldSummariser(live),
    )
    if journal.note is not None:
        write_note(f"note: {journal.note}")
    return journal


def _live(name: str, asking: Asking) -> Summariser:
    if name.startswith(COMMAND_PREFIX) and (argv := shlex.split(name.removeprefix(COMMAND_PREFIX))):
        return CommandSummariser(argv, asking.timeout_seconds)
    if name.startswith(LIVE_PREFIX) and (model := name.removeprefix(LIVE_PREFIX)):
        return OpenAICompatibleSummariser(model, asking.timeout_seconds, asking.retries)
    raise UsageError(f"--summariser {name}: write live:MODEL, or command:PROGRAM ARGUMENT...")


@dataclass(frozen=True, slots=True)
class ToldSummariser:
    """Another summariser, told of on stderr before each request; places and counts, no text."""

    summariser: Summariser

    async def summarise(self, request: SummaryRequest) -> Summary:
        """What the other one answers."""
        first, last = request.entries[0].id, request.entries[-1].id
        span = first if first == last else f"{first} to {last}"
        write_note(f"asking for a summary of {request.section}: {span}, {len(request.entries)} entries")
        return await self.summariser.summarise(request)
