"""A summariser that is a command: the span on its standard input, the summary on its standard output."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from contextctl.commands import CommandError, run_command
from contextctl.errors import SummaryUnusableError
from contextctl.ports import Summary, SummaryRequest


@dataclass(frozen=True)
class CommandSummariser:
    """Runs ``argv`` without a shell, with a time limit in seconds.

    Its input is the instructions, a blank line, and the span with a role before each entry.
    """

    argv: Sequence[str]
    timeout_seconds: float = 60

    async def summarise(self, request: SummaryRequest) -> Summary:
        """What the command printed.

        Raises :class:`~contextctl.errors.SummaryUnusableError` where it cannot be started, fails or is late;
        a command that is late is killed.
        """
        data = f"{request.instructions}\n\n{request.said}\n".encode("utf-8", "replace")
        try:
            printed = await run_command(self.argv, data, self.timeout_seconds)
        except CommandError as error:
            raise SummaryUnusableError(f"the summariser {error.message}", rule="CTX304") from (
                error.__cause__ or error
            )
        return Summary(printed.decode("utf-8", "replace").strip())
