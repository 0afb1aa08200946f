"""Objects of the user's own by ``MODULE:OBJECT``, named on the command line only; never in a plan."""

from __future__ import annotations

import importlib
import inspect
import json
import shlex
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

from contextctl.commands import CommandError, run_command
from contextctl.errors import ContextctlError, UsageError
from contextctl.ports import OwnAssembler, Strategy

STRATEGY_GROUP = "contextctl.strategies"
"""The entry points under which an installed package offers strategies."""

COMMAND_PREFIX = "command:"
"""What a reference begins with that is a command and not a Python object."""


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


def installed_strategies() -> dict[str, Callable[[], Strategy]]:
    """The strategies of installed packages, by the name of their entry point in the group
    ``contextctl.strategies``; each is loaded when it is called for.

    Calling one raises :class:`~contextctl.errors.UsageError` for what is no strategy.
    """

    def loader(point: EntryPoint) -> Callable[[], Strategy]:
        def load() -> Strategy:
            try:
                found = point.load()
            except Exception as error:  # whatever the package raises when it is imported
                kind = type(error).__name__
                raise UsageError(f"the installed strategy {point.name!r} cannot be loaded: {kind}") from error
            return _strategy(found, f"the installed strategy {point.name!r} ({point.value})")

        return load

    return {point.name: loader(point) for point in entry_points(group=STRATEGY_GROUP)}


def load_strategies(references: Sequence[str]) -> dict[str, Strategy]:
    """Strategies from ``NAME=MODULE:OBJECT``; a class is made without arguments.

    Raises :class:`~contextctl.errors.UsageError` for what is no strategy.
    """
    found: dict[str, Strategy] = {}
    for given in references:
        name, equals, reference = given.partition("=")
        if not equals or not name:
            raise UsageError(f"--strategy {given}: write NAME=MODULE:OBJECT")
        found[name] = _strategy(load_object(reference), f"--strategy {given}")
    return found


def _strategy(found: object, what: str) -> Strategy:
    strategy = found() if isinstance(found, type) else found
    if not inspect.iscoroutinefunction(getattr(strategy, "compact", None)):
        hint = "a strategy has `async def compact(self, entries, *, budget_tokens, count)`"
        raise UsageError(f"{what}: the object is no strategy", hint=hint)
    return strategy  # type: ignore[return-value]  # as tested, it has an asynchronous compact


def load_assembler(reference: str) -> OwnAssembler:
    """The application's own assembler from ``MODULE:FUNCTION``, or ``command:PROGRAM ARGUMENT...``.

    The function is called with the messages and ``budget_tokens=``; it may be asynchronous. Raises
    :class:`~contextctl.errors.UsageError` where there is none.
    """
    if reference.startswith(COMMAND_PREFIX):
        argv = shlex.split(reference.removeprefix(COMMAND_PREFIX))
        if not argv:
            raise UsageError(f"--assembler {reference}: write command:PROGRAM ARGUMENT...")
        return CommandAssembler(argv)
    function = load_object(reference)
    if not callable(function):
        raise UsageError(f"--assembler {reference}: it is no function")

    async def assemble(messages: list[object], *, budget_tokens: int) -> object:
        made = function(messages, budget_tokens=budget_tokens)
        return await made if inspect.isawaitable(made) else made

    return assemble


@dataclass(frozen=True)
class CommandAssembler:
    """Runs ``argv`` without a shell for every prompt, with a time limit in seconds.

    Its input is ``{"messages": [...], "budget_tokens": n}``, its output a JSON list of messages, or an
    object with ``messages``.
    """

    argv: Sequence[str]
    timeout_seconds: float = 60

    async def __call__(self, messages: list[object], *, budget_tokens: int) -> object:
        """What the command printed; raises :class:`~contextctl.errors.ContextctlError` where it fails."""
        data = json.dumps({"messages": messages, "budget_tokens": budget_tokens}).encode()
        try:
            printed = await run_command(self.argv, data, self.timeout_seconds)
        except CommandError as error:
            raise ContextctlError(error.message) from error
        try:
            value = json.loads(printed)
        except ValueError:
            raise ContextctlError("printed what is no JSON") from None
        return value.get("messages") if isinstance(value, dict) else value
