"""A summariser that is a command: the span on its standard input, the summary on its standard output."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from contextctl.entries import text_of
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
        said = "\n\n".join(f"{entry.role}: {text_of(entry)}" for entry in request.entries)
        data = f"{request.instructions}\n\n{said}\n".encode("utf-8", "replace")
        pipe = asyncio.subprocess.PIPE
        try:
            process = await asyncio.create_subprocess_exec(*self.argv, stdin=pipe, stdout=pipe, stderr=None)
        except OSError as error:
            reason = error.strerror or "unknown reason"
            message = f"the summariser {self.argv[0]!r} cannot be started: {reason}"
            raise SummaryUnusableError(message, rule="CTX304") from error
        try:
            async with asyncio.timeout(self.timeout_seconds):
                printed, _ = await process.communicate(data)
        except TimeoutError as error:
            limit = f"{self.timeout_seconds:g} seconds"
            raise SummaryUnusableError(f"no summary came within {limit}", rule="CTX304") from error
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if process.returncode != 0:
            message = f"the summariser {self.argv[0]!r} ended with {process.returncode}"
            raise SummaryUnusableError(message, rule="CTX304")
        return Summary(printed.decode("utf-8", "replace").strip())
