"""Exit codes, and the one line that an error becomes."""

from __future__ import annotations

import traceback

from contextctl.errors import ContextctlError, InputProblems, InternalError, UsageError

OK, FINDINGS, USAGE, INPUT, INTERNAL, INTERRUPTED, PIPE = 0, 1, 2, 3, 70, 130, 141
"""What a run ends with; 130 and 141 come before 70, 70 before 3, 3 before 1."""


def code_of(error: ContextctlError) -> int:
    """The exit code of an error that ends a run."""
    if isinstance(error, UsageError):
        return USAGE
    return INTERNAL if isinstance(error, InternalError) else INPUT


def told(error: ContextctlError) -> str:
    """An error in up to three lines: where and what, then the way out."""
    if isinstance(error, InputProblems):
        return "\n".join(str(problem) for problem in error.problems)
    place = f"{error.location}: " if error.location.path else ""
    rule = f" {error.rule}" if error.rule else ""
    text = f"{place}error{rule}: {error.message}"
    return f"{text}\n  fix: {error.hint}" if error.hint else text


def told_of_bug(error: Exception, *, debug: bool) -> str:
    """A bug in one line without the text of the exception, which may quote a transcript."""
    if debug:
        return "".join(traceback.format_exception(error))
    frame = traceback.extract_tb(error.__traceback__)[-1]
    module = frame.filename.replace("\\", "/").rsplit("/", 1)[-1]
    return (
        f"internal error: {type(error).__name__} at {module}:{frame.lineno}; "
        "this is a bug in contextctl, --debug shows more (and may show message text)"
    )
