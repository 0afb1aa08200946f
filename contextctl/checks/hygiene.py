"""What is doubtful about a plan, alone or with a model."""

from __future__ import annotations

from collections.abc import Iterable

from contextctl.findings import Finding, finding
from contextctl.plan import ContextPlan


def plan_findings(plan: ContextPlan) -> list[Finding]:
    """What can be said without a model."""
    found = []
    for index, section in enumerate(plan.sections):
        if section.pinned and "compaction" in section.model_fields_set:
            message = f"section {section.name!r} is pinned, so its strategy never runs"
            place = plan.source.place("sections", index, "compaction")
            hint = "remove `compaction` or `pinned`"
            found.append(finding("CTX505", message, location=place, hint=hint, section=section.name))
    return found


def model_findings(
    plan: ContextPlan, *, max_output_tokens: int | None, warnings: Iterable[tuple[str, str]] = ()
) -> list[Finding]:
    """What can be said with a model: of the output reserve, and what the registry warns of."""
    place = plan.source.place("reserve_output_tokens")
    reserve = plan.reserve_output_tokens
    found = [finding(code, said, location=plan.source.place("model")) for code, said in warnings]
    if reserve == 0 and plan.budget_tokens is None:
        message = "no room is kept for the answer: reserve_output_tokens is 0 and the window is the limit"
        hint = "set reserve_output_tokens (--reserve) to the longest answer that is expected"
        found.append(finding("CTX110", message, location=place, hint=hint))
    if max_output_tokens is not None and reserve > max_output_tokens:
        message = (
            f"reserve_output_tokens is {reserve:,}; the model answers with at most {max_output_tokens:,}"
        )
        hint = "lower the reserve: what is above is wasted"
        found.append(finding("CTX107", message, location=place, hint=hint))
    return found
