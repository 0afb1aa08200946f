"""The built-in compaction strategies, by the name that a plan gives them."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches

from pydantic import BaseModel, ValidationError

from contextctl.plan import CompactionPlan
from contextctl.ports import Strategy
from contextctl.strategies.clear_tool_results import ClearToolResults
from contextctl.strategies.drop_middle import DropMiddle
from contextctl.strategies.drop_oldest import DropOldest
from contextctl.strategies.pin_and_fold import PinAndFold
from contextctl.strategies.refuse import Refuse

STRATEGIES: dict[str, type[BaseModel]] = {
    "drop-oldest": DropOldest,
    "drop-middle": DropMiddle,
    "pin-and-fold": PinAndFold,
    "clear-tool-results": ClearToolResults,
    "refuse": Refuse,
}
"""Name -> class; the fields of the class are the parameters that a plan may set."""


def is_built_in(strategy: Strategy) -> bool:
    """True for a strategy that contextctl ships, so that a broken promise is contextctl's own bug."""
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
    if compaction.strategy in own:
        if compaction.parameters:
            parameter = next(iter(compaction.parameters))
            raise StrategyParametersError(
                f"parameters of the strategy {compaction.strategy!r} are set where it is made", parameter
            )
        return own[compaction.strategy]
    if compaction.strategy not in STRATEGIES:
        raise UnknownStrategyError(compaction.strategy, tuple(sorted({*STRATEGIES, *own})))
    kind = STRATEGIES[compaction.strategy]
    try:
        built = kind.model_validate(compaction.parameters)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        parameter = str(first["loc"][0]) if first["loc"] else "strategy"
        if first["type"] == "extra_forbidden":
            known = ", ".join(kind.model_fields) or "none"
            message = f"{compaction.strategy} has no parameter {parameter!r}; it has: {known}"
        else:
            message = f"{parameter} of {compaction.strategy}: {first['msg'].lower()}"
        raise StrategyParametersError(message, parameter) from None
    assert hasattr(built, "compact")
    return built
