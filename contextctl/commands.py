"""Running a program of the user's own: no shell, its standard input and output, a time limit."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence


class CommandError(Exception):
    """A program that could not be started, failed or was late; ``message`` goes on from its name."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


async def run_command(argv: Sequence[str], data: bytes, timeout_seconds: float) -> bytes:
    """What a program prints that is given this data; its standard error is ours.

    Raises :class:`CommandError`; a program that is late, or whose caller was cancelled, is killed.
    """
    pipe = asyncio.subprocess.PIPE
    try:
        process = await asyncio.create_subprocess_exec(*argv, stdin=pipe, stdout=pipe, stderr=None)
    except OSError as error:
        raise CommandError(f"{argv[0]!r} cannot be started: {error.strerror or 'unknown reason'}") from error
    try:
        async with asyncio.timeout(timeout_seconds):
            printed, _ = await process.communicate(data)
    except TimeoutError as error:
        raise CommandError(f"{argv[0]!r} gave no answer within {timeout_seconds:g} seconds") from error
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode != 0:
        raise CommandError(f"{argv[0]!r} ended with {process.returncode}")
    return printed
