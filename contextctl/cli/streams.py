"""The only writer: UTF-8 and LF on every platform, and nothing that a CI runner would obey."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import TextIO

from contextctl.errors import UsageError
from contextctl.reports.visible import guard_lines, visible


class ReaderGoneError(Exception):
    """Whoever read our output has closed it; no ``OSError``, which the command-line library would take."""


def write_out(text: str) -> None:
    """The report on stdout, as UTF-8 whatever the locale says."""
    _write(sys.stdout, text)


def write_note(text: str) -> None:
    """A note or an error on stderr, with control characters made visible."""
    shown = "\n".join(visible(line) for line in text.splitlines())
    _write(sys.stderr, guard_lines(shown) + "\n")


def _write(stream: TextIO, text: str) -> None:
    """Raises :class:`ReaderGoneError` where nobody reads any more."""
    try:
        stream.flush()
        buffer = getattr(stream, "buffer", None)
        if buffer is None:
            stream.write(text)
        else:
            buffer.write(text.encode("utf-8", "backslashreplace"))
            buffer.flush()
    except BrokenPipeError:
        raise ReaderGoneError from None


def write_file(path: str, text: str) -> None:
    """The text in a file, whole or not at all.

    Raises :class:`~contextctl.errors.UsageError` where the file cannot be written.
    """
    target = Path(path)
    try:
        descriptor, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(text.encode("utf-8", "backslashreplace"))
            Path(temporary).chmod(0o644)
            Path(temporary).replace(target)
        except OSError:
            Path(temporary).unlink(missing_ok=True)
            raise
    except OSError as error:
        reason = error.strerror or "cannot be written"
        raise UsageError(f"output {path}: {reason}", hint="name a folder that can be written to") from None


def silence_stdout() -> None:
    """Point stdout at nothing, so that the interpreter's last flush cannot fail on a closed pipe."""
    try:
        descriptor = sys.stdout.fileno()
    except (OSError, ValueError):
        return
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, descriptor)
    os.close(nothing)


def wants_color(choice: str) -> bool:
    """Whether stdout gets colour: the flag, then NO_COLOR, then FORCE_COLOR, then a real terminal.

    An empty variable does not count, and neither does ``FORCE_COLOR=0``.
    """
    if choice != "auto":
        return choice == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR", "") not in {"", "0"}:
        return True
    return is_terminal()


def is_terminal() -> bool:
    """Whether stdout is a terminal that can do more than print lines."""
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def carries_blocks() -> bool:
    """Whether stdout's own encoding has block characters."""
    try:
        "█░".encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
