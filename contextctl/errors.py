"""What can go wrong, told so that a person can act on it.

Every error carries a message fit to show, and where they are known a place and a way out. No error text
quotes a message of a conversation.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field

CONTEXT_WINDOW_EXCEEDED = "context_window_exceeded"
"""The ``code`` of every :class:`ContextBudgetError`, as programs that guard a window know it."""


@dataclass(frozen=True, slots=True, order=True)
class Location:
    """A place in an input file.

    ``line`` and ``column`` are 1-based; ``index`` is the 1-based place of a message inside a record that
    holds several. A part that is unknown is None.
    """

    path: str | None = None
    line: int | None = None
    column: int | None = None
    index: int | None = None

    def __str__(self) -> str:
        parts = [self.path or "-"]
        parts += [str(number) for number in (self.line, self.index or self.column) if number is not None]
        return ":".join(parts)

    @property
    def record(self) -> int | str | None:
        """The line alone, or ``"line:index"`` where one record holds several messages."""
        if self.line is None or self.index is None:
            return self.line
        return f"{self.line}:{self.index}"


def shown_name(path: str) -> str:
    """A file's name as reports show it: ``/`` between folders, read as UTF-8 whatever the locale says.

    A name that is shown already stays as it is.
    """
    with suppress(UnicodeEncodeError):
        path = os.fsencode(path).decode("utf-8", "surrogateescape")
    return path.replace(os.sep, "/")


def native_name(path: str) -> str:
    """The name by which the system opens what :func:`shown_name` shows."""
    return os.fsdecode(path.encode("utf-8", "surrogateescape"))


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with an input: rule code, sentence, place and way out."""

    code: str
    message: str
    location: Location = field(default_factory=Location)
    hint: str | None = None

    def __str__(self) -> str:
        text = f"{self.location}: error {self.code}: {self.message}"
        return f"{text}\n  fix: {self.hint}" if self.hint else text


class ContextctlError(Exception):
    """The root of the family.

    ``rule`` is the code of the rule that it breaks (``CTX`` and three digits) or None.
    """

    def __init__(
        self,
        message: str,
        *,
        hint: str | None = None,
        location: Location | None = None,
        rule: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.location = location or Location()
        self.rule = rule


class UsageError(ContextctlError):
    """The command line, an option's value or the configuration cannot be used; nothing was read."""


class InputProblems(ContextctlError, ValueError):
    """An input cannot be used; ``problems`` holds everything that is wrong with it, in file order."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        first = self.problems[0]
        super().__init__(
            "\n".join(str(problem) for problem in self.problems),
            hint=first.hint,
            location=first.location,
            rule=first.code,
        )


class PlanError(InputProblems):
    """A plan cannot be used, whatever the model and the conversation."""


class TranscriptError(InputProblems):
    """A transcript could not be read at all."""


class VocabularyError(ContextctlError):
    """A tokenizer's vocabulary is missing or is not the one that it should be."""


class CapabilityError(ContextctlError):
    """The model is unknown, or does not say what is needed to budget for it: there is no safe guess."""


class ContextBudgetError(ContextctlError):
    """No prompt within the budget can be made from this plan and these messages.

    ``tokens`` is the whole history as one prompt, ``budget_tokens`` what there is, ``missing_tokens`` what
    is short at the place that failed (at least 1), ``window_tokens`` the model's context window where it is
    known. ``entries`` names the ids that stood in the way, largest first; ``section`` the section that could
    not be made to fit, where one is to blame. ``refused``: the plan's own strategy ``refuse`` said no.
    """

    code = CONTEXT_WINDOW_EXCEEDED

    def __init__(
        self,
        message: str,
        *,
        tokens: int,
        budget_tokens: int,
        missing_tokens: int,
        window_tokens: int | None = None,
        section: str | None = None,
        entries: tuple[str, ...] = (),
        refused: bool = False,
        hint: str | None = None,
        location: Location | None = None,
        rule: str = "CTX101",
    ) -> None:
        super().__init__(message, hint=hint, location=location, rule=rule)
        self.tokens = tokens
        self.budget_tokens = budget_tokens
        self.missing_tokens = missing_tokens
        self.window_tokens = window_tokens
        self.section = section
        self.entries = entries
        self.refused = refused


class SummaryUnusableError(ContextctlError):
    """A summary that cannot stand for what it was made of; the engine turns it into a budget error.

    ``__cause__`` is the failure of the transport, where one is to blame.
    """


class MemoryStoreError(ContextctlError):
    """A memory could not keep a summary, so that the assembly failed, or could not be read."""

    def __init__(self, message: str, *, hint: str | None = None, location: Location | None = None) -> None:
        super().__init__(message, hint=hint, location=location, rule="CTX031")


class AssemblerError(ContextBudgetError):
    """The application's own assembler failed or returned what is no list of messages."""


class StrategyError(ContextBudgetError):
    """A caller's own strategy broke a promise: it lost or changed what it may not, or overran its room."""


class InternalError(ContextctlError):
    """A bug in contextctl: one of its own strategies broke a promise."""
