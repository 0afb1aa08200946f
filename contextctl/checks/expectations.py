"""The plan's expectations, tested on one assembly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from contextctl.entries import Entry
from contextctl.findings import Finding, Severity, finding
from contextctl.messages import Message
from contextctl.outcome import AssembledContext, Fate, summaries_made
from contextctl.plan import ContextPlan, EntryMatcher, Expectation
from contextctl.routing import accepted_positions

LOST = frozenset({Fate.EVICTED, Fate.DROPPED})
"""Fates of entries of which nothing is left in the prompt, by the plan's doing or the application's."""


@dataclass(frozen=True, slots=True)
class Tested:
    """What an expectation is tested on: the prompt, the history, its entries and their charges.

    Before the ``final`` assembly of a recording, what must be kept need not have been said yet.
    """

    assembled: AssembledContext
    messages: Sequence[Message]
    entries: Sequence[Entry]
    charges: Mapping[str, int]
    tokens_before: int
    transcript_id: str
    final: bool = True


def expectation_findings(plan: ContextPlan, tested: Tested) -> list[Finding]:
    """One finding for each expectation that does not hold, at its place in the plan."""
    found = []
    for index, expectation in enumerate(plan.expect):
        failure = _failure(expectation, tested)
        if failure is not None:
            label = f"{expectation.name}: " if expectation.name else ""
            found.append(
                finding(
                    "CTX601",
                    label + failure,
                    severity=Severity(expectation.severity),
                    location=plan.source.place("expect", index),
                )
            )
    return found


def meant_entries(
    matcher: EntryMatcher, messages: Sequence[Message], entries: Sequence[Entry], transcript_id: str
) -> list[Entry]:
    """The entries that a matcher with sections accepts."""
    tests = matcher.model_fields_set - {"section", "required", "ignore_case", "transcript"}
    places = accepted_positions(matcher, messages, transcript_id)
    return [
        entry
        for entry in entries
        if (not tests or not places.isdisjoint(entry.positions))
        and (matcher.section is None or entry.section in matcher.section)
    ]


def _failure(expectation: Expectation, tested: Tested) -> str | None:
    assembled = tested.assembled
    headroom = assembled.budget_tokens - assembled.tokens_upper
    match expectation:
        case Expectation(keeps=EntryMatcher() as matcher):
            return _keeps_failure(matcher, tested)
        case Expectation(max_evicted_fraction=most) if most is not None:
            gone = sum(tested.charges[i] for i, fate in assembled.fates.items() if fate in LOST)
            fraction = Fraction(gone, tested.tokens_before) if tested.tokens_before else Fraction(0)
            if fraction > Fraction(most):
                return f"{float(fraction):.4g} of the tokens are evicted; at most {most} may be"
        case Expectation(min_kept_turns=least) if least is not None:
            kept = sum(e.has_user_turn and assembled.fates[e.id] is Fate.KEPT for e in tested.entries)
            if kept < least:
                return f"{kept} entries with a user message are kept; at least {least} must be"
        case Expectation(max_summaries=most_summaries) if most_summaries is not None:
            made = summaries_made(assembled)
            if made > most_summaries:
                return f"{made} summaries were made; at most {most_summaries} may be"
        case Expectation(min_headroom_tokens=least) if least is not None:
            if headroom < least:
                return f"{headroom:,} tokens are left under the budget; at least {least:,} must be"
        case Expectation(max_prompt_tokens=most_tokens) if most_tokens is not None:
            if assembled.tokens_upper > most_tokens:
                return f"the prompt has {assembled.tokens_upper:,} tokens; at most {most_tokens:,} may be"
    return None


def _keeps_failure(matcher: EntryMatcher, tested: Tested) -> str | None:
    meant = meant_entries(matcher, tested.messages, tested.entries, tested.transcript_id)
    if not meant:
        return "nothing in the recording is what must be kept" if tested.final else None
    lost = [entry for entry in meant if tested.assembled.fates[entry.id] is not Fate.KEPT]
    if not lost:
        return None
    first = lost[0]
    place = first.messages[0].location
    where = f" (line {place.record})" if place is not None and place.record is not None else ""
    fate = tested.assembled.fates[first.id].value
    return f"{len(lost)} of {len(meant)} entries that must be kept are not: first {first.id}{where}, {fate}"
