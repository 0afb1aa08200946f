"""What the options say of plan, model, strategies, summaries, memory and assembler."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from contextctl.cli.options import RECORDED
from contextctl.errors import UsageError

if TYPE_CHECKING:
    from contextctl.cli.journal import Asking
    from contextctl.plan import ContextPlan
    from contextctl.ports import ModelProvider
    from contextctl.recording import Transcript

DEFAULT_MODEL = "gpt-4o"
"""What is assumed, with a warning, where neither option, plan nor recording names a model."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """What the options say of model and budget; they come before the plan."""

    model: str | None
    window: str | None
    budget: int | None
    reserve: int | None
    tokenizer: str | None


@dataclass(frozen=True, slots=True)
class Making:
    """What the options say of how prompts are made."""

    strategies: tuple[str, ...]
    journal: str | None
    asking: Asking
    memory: str | None
    scope: str | None
    assembler: str | None


@dataclass(frozen=True, slots=True)
class Engine:
    """A plan as the options change it (``changed`` as text), what counts for it, and the keywords of an
    audit that say how prompts are made."""

    plan: ContextPlan
    changed: tuple[str, ...]
    provider: ModelProvider | Callable[[Transcript], ModelProvider]
    keywords: dict[str, Any]


def engine_for(plan_name: str, chosen: Chosen, making: Making) -> Engine:
    """Load and build everything that the options name.

    Raises :class:`~contextctl.errors.UsageError`, and what loading a plan, model, journal or strategy raises.
    """
    from contextctl.cli.journal import journal_for
    from contextctl.loading.own_code import installed_strategies, load_assembler, load_strategies
    from contextctl.stores import open_memory
    from contextctl.strategies import build_strategy
    from contextctl.strategies.summarise_span import SummariseSpan
    from contextctl.summarisers.planned import PlannedSummariser

    _check(making)
    given = load_strategies(making.strategies)
    installed = installed_strategies()
    plan, changed = _plan(plan_name, chosen, {*given, *installed})
    named = {section.compaction.strategy for section in plan.sections}
    own = {name: load() for name, load in installed.items() if name in named} | given
    provider = _providers(plan, chosen)
    journal = journal_for(making.journal, making.asking)
    span = SummariseSpan(summariser=journal or PlannedSummariser(), models=provider)
    strategies = {"summarise-span": span, **own}
    for section in plan.sections:
        build_strategy(section.compaction, strategies)
    keywords: dict[str, Any] = {"strategies": strategies, "journal": journal, "scope": making.scope}
    if making.memory is not None:
        keywords["memory"] = open_memory(making.memory)
    if making.assembler == "recorded":
        keywords |= {"assembler": "recorded", "assembler_name": "recorded"}
    elif making.assembler not in (None, "plan"):
        keywords |= {"assembler": load_assembler(making.assembler), "assembler_name": making.assembler}
    return Engine(plan, changed, _provider(plan, chosen, provider), keywords)


def _check(making: Making) -> None:
    if (making.memory is None) != (making.scope is None):
        raise UsageError(
            "--memory FILE and --scope NAME go together",
            hint="a scope tells the summaries of one run, user or project from others in the same memory",
        )


def _plan(name: str, chosen: Chosen, strategies: set[str]) -> tuple[ContextPlan, tuple[str, ...]]:
    """The plan as the options change it, and the changes as text."""
    from contextctl.loading.plan_file import load_plan

    plan = load_plan(name, strategies=strategies)
    update: dict[str, object] = {}
    if chosen.budget is not None:
        update["budget_tokens"] = chosen.budget
    if chosen.reserve is not None:
        update["reserve_output_tokens"] = chosen.reserve
    changed = tuple(f"{key}={value}" for key, value in update.items())
    if chosen.window is not None:
        changed += (f"window={chosen.window}",)
    return plan.model_copy(update=update), changed


def _providers(plan: ContextPlan, chosen: Chosen) -> Callable[..., ModelProvider]:
    """What gives the model of a name, with the plan's own models."""
    from contextctl.providers.offline import offline_provider

    def provider(
        name: str,
        *,
        window: int | None = None,
        tokenizer: str | None = None,
        warnings: tuple[tuple[str, str], ...] = (),
    ) -> ModelProvider:
        return offline_provider(
            name,
            window_tokens=window,
            tokenizer=tokenizer,
            overrides=plan.models,
            warnings=warnings,
        )

    return provider


def _provider(
    plan: ContextPlan, chosen: Chosen, provider: Callable[..., ModelProvider]
) -> ModelProvider | Callable[[Transcript], ModelProvider]:
    """One provider for all, or a chooser by the recording's own model."""
    named = chosen.model or plan.model
    by_recording = chosen.window == RECORDED
    window = None if by_recording or chosen.window is None else int(chosen.window)
    if named is not None and not by_recording:
        return provider(named, window=window, tokenizer=chosen.tokenizer)

    def choose(transcript: Transcript) -> ModelProvider:
        most = transcript.window_tokens if by_recording else window
        name = named or transcript.model
        if name is not None:
            return provider(name, window=most, tokenizer=chosen.tokenizer)
        said = f"neither option, plan nor recording names a model: {DEFAULT_MODEL} is assumed (--model)"
        warnings = (("CTX408", said),)
        return provider(DEFAULT_MODEL, window=most, tokenizer=chosen.tokenizer, warnings=warnings)

    return choose
