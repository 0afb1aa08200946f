"""What there is to say of one transcript's assembly: losses, limits, expectations, how far to trust it."""

from __future__ import annotations

from contextctl.budget import PlanUnusableError, limits_for
from contextctl.checks.expectations import Tested, expectation_findings
from contextctl.checks.losses import (
    Ledger,
    broken_pair_findings,
    loss_findings,
    lost_user_finding,
    order_findings,
)
from contextctl.entries import newest_user_entry
from contextctl.errors import ContextBudgetError
from contextctl.findings import Finding, Severity, finding
from contextctl.messages import RequestSettings
from contextctl.outcome import AssembledContext
from contextctl.plan import ContextPlan
from contextctl.ports import Exactness, ModelProvider, measuring
from contextctl.preparation import Prepared
from contextctl.recording import Transcript
from contextctl.report import AssemblyRow

NEAR_LIMIT = (9, 10)
"""A prompt that nothing was taken from, at or above this share of the budget, is near its limit."""


def require_usable(plan: ContextPlan, provider: ModelProvider) -> None:
    """Raise where the plan cannot be used with this provider, whatever the transcript."""
    cap = getattr(provider, "max_input_tokens", None)
    limits = limits_for(plan, window=provider.context_window_tokens, max_input=cap)
    measured = measuring(provider)
    if plan.tools is None or measured is None:
        return
    overhead = measured.with_settings(plan.tools).measure_overhead().upper_tokens
    if overhead >= limits.budget_tokens:
        raise PlanUnusableError(
            f"the plan's tools and framing need {overhead:,} tokens; the budget is {limits.budget_tokens:,}",
            hint="send fewer tools, or raise budget_tokens",
            location=plan.source.place("tools"),
            rule="CTX008",
        )


def with_recorded_settings(
    provider: ModelProvider, plan: ContextPlan, transcript: Transcript
) -> tuple[ModelProvider, list[Finding]]:
    """The provider asked with the plan's tools, else with the recorded ones, and what there is to say of
    tools and of a recorded window that is smaller than the model's."""
    found: list[Finding] = []
    recorded, window = transcript.window_tokens, provider.context_window_tokens
    if recorded is not None and window is not None and recorded < window:
        message = f"the recording names a window of {recorded:,} tokens; the model has {window:,}"
        found.append(finding("CTX406", message, hint="--window recorded audits against the recorded one"))
    if measuring(provider) is not None and None not in (plan.tools, transcript.settings.tools):
        place = plan.source.place("tools")
        found.append(finding("CTX027", "the plan's tools replace the recorded ones", location=place))
    return with_settings(provider, plan, transcript.settings), found


def with_settings(provider: ModelProvider, plan: ContextPlan, settings: RequestSettings) -> ModelProvider:
    """The provider asked with the plan's tools, else with these settings."""
    measured = measuring(provider)
    return provider if measured is None else measured.with_settings(plan.tools or settings)


def nothing_to_replay(transcript: Transcript, *, recorded: bool) -> Finding:
    """Why none of the calls that were asked for can be audited."""
    if not recorded:
        return finding("CTX029", f"there is no recorded call to replay ({transcript.calls} in all)")
    return finding(
        "CTX034",
        f"the recording holds no request that was sent at such a call (format {transcript.format})",
        hint="traces and request logs hold them; --assembler plan audits what the plan would send",
    )


def judge(
    plan: ContextPlan,
    prepared: Prepared,
    assembled: AssembledContext,
    transcript: Transcript,
    *,
    final: bool = True,
) -> list[Finding]:
    """Every finding about a prompt that was made; ``final`` is the last one of the recording."""
    entries = {entry.id: entry for entry in prepared.routed.entries}
    charges = {i: prepared.charges.measure(entry).upper_tokens for i, entry in entries.items()}
    names = [section.name for section in plan.sections]
    ledger = Ledger(
        entries=entries,
        charges=charges,
        locked_tokens={s.plan.name: prepared.charges.upper(s.locked) for s in prepared.sections},
        places={name: plan.source.place("sections", n) for n, name in enumerate(names)},
        max_entry_tokens={section.name: section.max_entry_tokens for section in plan.sections},
        message_tokens=prepared.message_tokens,
    )
    newest = newest_user_entry(entries.values())
    found = loss_findings(assembled, ledger) + order_findings(assembled, ledger, newest)
    found += lost_user_finding(assembled, ledger, newest) + _limit_findings(assembled, prepared)
    found += summary_findings(assembled, prepared)
    if assembled.maker == "application":
        found += broken_pair_findings(assembled, prepared.routed.remarks)
    tested = Tested(
        assembled,
        transcript.messages,
        prepared.routed.entries,
        charges,
        prepared.recorded_upper_tokens,
        transcript.id,
        final,
    )
    return found + expectation_findings(plan, tested)


def trust(plan: ContextPlan, prepared: Prepared, transcript: Transcript) -> tuple[Exactness, list[Finding]]:
    """How far the counts of a transcript can be trusted, and what to say where that is not all the way."""
    found: list[Finding] = []
    measure = prepared.before
    if measure.exactness is Exactness.ESTIMATE:
        reasons = "; ".join(measure.reasons) or "the tokenizer is not public"
        found.append(finding("CTX403", f"token counts are estimates: {reasons}"))
    lacks = [what for what in transcript.lacks if what != "tools" or plan.tools is None]
    if not lacks:
        return measure.exactness, found
    message = f"the recording lacks {' and '.join(lacks)}: every count is a floor"
    hint = "name the tools in the plan (`tools: tools.json`)" if lacks == ["tools"] else None
    found.append(finding("CTX407", message, hint=hint))
    return Exactness.FLOOR, found


def _limit_findings(assembled: AssembledContext, prepared: Prepared) -> list[Finding]:
    tokens, budget = assembled.tokens_upper, assembled.budget_tokens
    if assembled.status == "over_target":
        line = prepared.limits.soft_tokens
        return [finding("CTX111", f"the prompt has {tokens:,} tokens, above the soft line of {line:,}")]
    if assembled.status == "fits" and tokens * NEAR_LIMIT[1] >= budget * NEAR_LIMIT[0]:
        return [finding("CTX106", f"nothing is lost yet, at {tokens:,} of {budget:,} tokens")]
    return []


def summary_findings(assembled: AssembledContext, prepared: Prepared) -> list[Finding]:
    """How many summaries were made, or are only planned, how much they read, the largest span."""
    made = [note for note in assembled.notes if note.kind == "summary" and note.id in assembled.made]
    if not made:
        return []
    given = {entry.id: entry for section in prepared.sections for entry in section.entries}
    spans = [prepared.charges.upper(given[i] for i in note.stands_for if i in given) for note in made]
    tokens = prepared.charges.upper(made)
    several = f"{len(made)} summaries are" if len(made) > 1 else "1 summary is"
    read = f"{sum(spans):,} tokens"
    if not assembled.hypothetical:
        message = f"{several} made of {read} (largest span {max(spans):,}), {tokens:,} tokens in all"
        return [finding("CTX307", message)]
    message = (
        f"{several} planned and not made: {read} would be read "
        f"(largest span {max(spans):,}), {tokens:,} are set aside"
    )
    return [finding("CTX305", message, hint="the prompt is hypothetical: nothing of it was made up")]


def overcommit_findings(row: AssemblyRow) -> list[Finding]:
    """Where pins took room that shares promised to others."""
    if not row.overcommitted_tokens or not row.has_prompt:
        return []
    message = f"pins and shares together exceed the budget by {row.overcommitted_tokens:,} tokens"
    hint = "lower the shares, or pin less: sections get less than their share"
    return [finding("CTX104", message, hint=hint)]


def budget_finding(error: ContextBudgetError, prepared: Prepared) -> Finding:
    """The finding that says why no prompt could be made."""
    hint = error.hint
    by_margin = prepared.before.tokens <= prepared.limits.budget_tokens < prepared.before.upper_tokens
    if by_margin:
        hint = f"{hint}; the margin of an estimate decided: name an exact tokenizer to be sure"
    return finding(
        error.rule or "CTX101",
        f"{error.message} (short of {error.missing_tokens:,} tokens)",
        severity=Severity.ERROR,
        location=error.location,
        hint=hint,
        section=error.section,
        entry=error.entries[0] if error.entries else None,
    )
