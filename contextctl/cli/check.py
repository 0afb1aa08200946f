"""``contextctl check``: plans only, fast enough for a commit hook."""

from __future__ import annotations

from typing import Annotated

import typer

from contextctl.cli import options
from contextctl.cli.exits import INPUT, OK, told
from contextctl.cli.streams import write_out
from contextctl.errors import ContextctlError
from contextctl.reports.visible import guard_lines, visible


def check_command(
    plans: Annotated[list[str], typer.Argument(metavar="PLAN...", help="Plans, or preset:NAME.")],
    model: options.Model = None,
    window: options.Window = None,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> int:
    """Say whether plans can be used: keys, shares, strategies, and the budget where a model is named.

    Exit codes: 0 all can be used, 3 at least one cannot.
    """
    code = OK
    for name in plans:
        try:
            warnings = _problems(name, model, window)
        except ContextctlError as error:
            code = INPUT
            _say(told(error))
            continue
        for warning in warnings:
            _say(warning)
        if not quiet:
            _say(f"{name}: ok")
    return code


def _say(text: str) -> None:
    write_out(guard_lines("\n".join(visible(line) for line in text.splitlines())) + "\n")


def _problems(name: str, model: str | None, window: str | None) -> list[str]:
    """What is doubtful about a plan that can be used; raises where it cannot."""
    from contextctl.budget import limits_for
    from contextctl.checks.hygiene import model_findings, plan_findings
    from contextctl.loading.own_code import installed_strategies
    from contextctl.loading.plan_file import load_plan
    from contextctl.providers.offline import offline_provider

    plan = load_plan(name, strategies=installed_strategies())
    most = int(window) if window is not None and window.isdecimal() else None
    found = plan_findings(plan)
    named = model or plan.model
    if named is not None:
        provider = offline_provider(named, window_tokens=most, overrides=plan.models)
        limits_for(plan, window=provider.context_window_tokens, max_input=provider.max_input_tokens)
        found += model_findings(
            plan, max_output_tokens=provider.max_output_tokens, warnings=provider.facts.warnings
        )
    return [
        f"{item.location}: {item.severity.value} {item.code}: {item.message}"
        + (f"\n  fix: {item.hint}" if item.hint else "")
        for item in found
    ]
