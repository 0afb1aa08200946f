"""The built-in compaction strategies, by the name that a plan gives them."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from pydantic import BaseModel, ValidationError

from contextctl.plan import CompactionPlan
from contextctl.ports import Strategy
from contextctl.strategies.clear_tool_results import ClearToolResults
from contextctl.strategies.drop_middle import DropMiddle
from contextctl.strategies.drop_oldest import DropOldest
from contextctl.strategies.pin_and_fold import PinAndFold
from contextctl.strategies.refuse import Refuse
from contextctl.strategies.summarise_span import SpanParameters, SummariseSpan

STRATEGIES: dict[str, type[BaseModel]] = {
    "drop-oldest": DropOldest,
    "drop-middle": DropMiddle,
    "pin-and-fold": PinAndFold,
    "clear-tool-results": ClearToolResults,
    "refuse": Refuse,
}
"""Name -> class; the fields of the class are the parameters that a plan may set."""

SUPPLIED: dict[str, type[BaseModel]] = {"summarise-span": SpanParameters}
"""Strategies that a plan may name and that need something from outside: name -> parameters. A library's
caller supplies them in ``strategies=``; the command line does so itself."""


def is_built_in(strategy: Strategy) -> bool:
    """True for a strategy that contextctl ships, so that a broken promise is contextctl's own bug."""
    if isinstance(strategy, SummariseSpan):
        return True
    return isinstance(strategy, BaseModel) and type(strategy) in STRATEGIES.values()


class UnknownStrategyError(ValueError):
    """A plan names a strategy that there is not."""

    def __init__(self, name: str, known: tuple[str, ...]) -> None:
        near = get_close_matches(name, known, n=1)
        guess = f"; did you mean {near[0]!r}?" if near else ""
        super().__init__(f"unknown strategy {name!r}{guess}")
        self.known = known


class StrategyParametersError(ValueError):
    """A strategy cannot be used with these parameters; ``parameter`` names the one to blame."""

    def __init__(self, message: str, parameter: str) -> None:
        super().__init__(message)
        self.parameter = parameter


def build_strategy(compaction: CompactionPlan, own: Mapping[str, Strategy] | None = None) -> Strategy:
    """The strategy that a section names, with its parameters; the caller's ``own`` come first.

    Raises :class:`UnknownStrategyError` or :class:`StrategyParametersError`.
    """
    own = own or {}
    name, parameters = compaction.strategy, compaction.parameters
    if name in own:
        supplied = own[name]
        if isinstance(supplied, SummariseSpan):
            check_parameters(name, parameters, SUPPLIED["summarise-span"])
            return supplied.with_parameters(parameters) if parameters else supplied
        if parameters:
            message = f"parameters of the strategy {name!r} are set where it is made"
            raise StrategyParametersError(message, next(iter(parameters)))
        return supplied
    if name not in STRATEGIES:
        raise UnknownStrategyError(name, tuple(sorted({*STRATEGIES, *own})))
    built = check_parameters(name, parameters, STRATEGIES[name])
    assert hasattr(built, "compact")
    return built


def check_parameters(name: str, parameters: Mapping[str, Any], kind: type[BaseModel]) -> BaseModel:
    """The parameters as a value of their class; raises :class:`StrategyParametersError`."""
    try:
        return kind.model_validate(dict(parameters))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        parameter = str(first["loc"][0]) if first["loc"] else "strategy"
        if first["type"] == "extra_forbidden":
            known = ", ".join(kind.model_fields) or "none"
            message = f"{name} has no parameter {parameter!r}; it has: {known}"
        else:
            message = f"{parameter} of {name}: {first['msg'].lower()}"
        raise StrategyParametersError(message, parameter) from None
