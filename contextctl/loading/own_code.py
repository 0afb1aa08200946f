"""Objects of the user's own by ``MODULE:OBJECT``, named on the command line only; never in a plan."""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Sequence
from pathlib import Path

from contextctl.errors import UsageError
from contextctl.ports import Strategy


def load_object(reference: str) -> object:
    """What a reference names: a module that can be imported, the working folder included, and a name in it.

    Raises :class:`~contextctl.errors.UsageError` where there is no such module or name, or the module fails
    to import.
    """
    module_name, colon, name = reference.partition(":")
    if not colon or not module_name or not name:
        raise UsageError(
            f"{reference!r} is not MODULE:OBJECT", hint="for example my_strategies:KeepQuestions"
        )
    folder = str(Path.cwd())
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        module = importlib.import_module(module_name)
    except Exception as error:  # whatever the user's module raises when it is imported
        kind = type(error).__name__
        hint = "modules are looked for where Python looks, and in the working folder"
        raise UsageError(f"module {module_name!r} cannot be imported: {kind}: {error}", hint=hint) from error
    if not hasattr(module, name):
        raise UsageError(f"module {module_name!r} has no {name!r}")
    found: object = getattr(module, name)
    return found


def load_strategies(references: Sequence[str]) -> dict[str, Strategy]:
    """Strategies from ``NAME=MODULE:OBJECT``; a class is made without arguments.

    Raises :class:`~contextctl.errors.UsageError` for what is no strategy.
    """
    found: dict[str, Strategy] = {}
    for given in references:
        name, equals, reference = given.partition("=")
        if not equals or not name:
            raise UsageError(f"--strategy {given}: write NAME=MODULE:OBJECT")
        strategy = load_object(reference)
        if isinstance(strategy, type):
            strategy = strategy()
        if not inspect.iscoroutinefunction(getattr(strategy, "compact", None)):
            hint = "a strategy has `async def compact(self, entries, *, budget_tokens, count)`"
            raise UsageError(f"--strategy {given}: the object is no strategy", hint=hint)
        found[name] = strategy  # type: ignore[assignment]  # as tested, it has an asynchronous compact
    return found
