"""Bringing one section within its room: the strategy, and the checks after it."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from math import floor
from typing import Any

from contextctl.conservation import broken_promise
from contextctl.entries import Entry, summary_entry
from contextctl.errors import (
    ContextBudgetError,
    ContextctlError,
    InternalError,
    StrategyError,
    SummaryUnusableError,
)
from contextctl.messages import SYSTEM_ROLES, visible_content
from contextctl.outcome import CompactionOutcome
from contextctl.plan import SectionPlan
from contextctl.ports import Summarise, Summariser, SummaryRequest
from contextctl.sections import Charges, Section, Situation, name_largest
from contextctl.strategies import is_built_in
from contextctl.strategies.refuse import Refuse
from contextctl.strategies.summarise_span import INSTRUCTIONS


def within_counts(plan: SectionPlan, entries: Sequence[Entry], fraction: Fraction = Fraction(1)) -> bool:
    """Whether messages and turns are within ``max_messages`` and ``max_turns``, times the fraction."""
    if plan.max_messages is not None:
        most = max(1, floor(plan.max_messages * fraction))
        if sum(len(entry.messages) for entry in entries) > most:
            return False
    if plan.max_turns is not None:
        most = max(1, floor(plan.max_turns * fraction))
        if sum(message.is_user_turn for entry in entries for message in entry.messages) > most:
            return False
    return True


async def compact(
    section: Section,
    room: int,
    charges: Charges,
    situation: Situation,
    *,
    soft: bool,
    summariser: Summariser | None = None,
) -> CompactionOutcome:
    """The section within its room; untouched where it is already.

    ``summariser`` makes the summaries that a strategy of the caller's own asks for. Under a soft line it may
    end above its room. Raises :class:`~contextctl.errors.ContextBudgetError` where the locked entries or what
    the strategy leaves do not fit, :class:`~contextctl.errors.StrategyError` where a caller's strategy breaks
    a promise, :class:`~contextctl.errors.InternalError` where a built-in one does.
    """
    plan = section.plan
    if charges.upper(section.entries) <= room and within_counts(plan, section.entries):
        return CompactionOutcome(entries=section.entries, trimmed=section.trimmed)
    if not soft and not isinstance(section.strategy, Refuse):
        _require_locked_fit(section, room, charges, situation)
    own = not is_built_in(section.strategy)
    given = _content(section.entries) if own else []
    try:
        outcome = await _run(section, floor(room * Fraction(plan.compact_to)), charges, summariser)
        broken = broken_promise(section.entries, outcome)
    except SummaryUnusableError as error:
        raise situation.error(
            f"section {plan.name!r}: {error.message}",
            missing=charges.upper(section.entries) - room,
            rule=error.rule or "CTX304",
            section=plan.name,
            hint=error.hint
            or "a summary is never shortened or invented: raise max_summary_tokens, or mend the summariser",
        ) from (error.__cause__ or error)
    except ContextctlError:
        raise
    except Exception as error:
        if not own:
            raise
        raise _strategy_error(plan, situation, f"it raised {type(error).__name__}") from error
    if own and broken is None and _content(section.entries) != given:
        broken = "it changed what it was given"
    if broken is not None and own:
        raise _strategy_error(plan, situation, broken)
    if broken is not None:
        raise InternalError(f"strategy {plan.compaction.strategy!r} broke a promise: {broken}")
    if section.start_on != "any":
        outcome = _extend_to_user(section.entries, outcome, everywhere=section.start_on == "user")
    if not soft:
        _require_fit(section, outcome, room, charges, situation)
    trimmed = tuple(entry.id for entry in outcome.entries if entry.id in {*section.trimmed, *outcome.trimmed})
    return replace(outcome, trimmed=trimmed)


def _strategy_error(plan: SectionPlan, situation: Situation, broken: str) -> ContextBudgetError:
    """What a strategy of the caller's own did wrong, naming it; no word of what was said."""
    return situation.error(
        f"strategy {plan.compaction.strategy!r} in section {plan.name!r}: {broken}",
        missing=1,
        rule="CTX105",
        kind=StrategyError,
        section=plan.name,
        hint="mend the strategy: what it was given must come back, kept or reported as lost",
    )


def _content(entries: Sequence[Entry]) -> list[tuple[object, ...]]:
    """What a strategy must leave as it is."""
    return [
        (entry.id, entry.pinned, message.id, message.pinned, message.section, visible_content(message))
        for entry in entries
        for message in entry.messages
    ]


async def _run(
    section: Section, target: int, charges: Charges, summariser: Summariser | None
) -> CompactionOutcome:
    plan = section.plan
    declared = inspect.signature(section.strategy.compact).parameters
    more: dict[str, Any] = {}
    if plan.max_messages is not None or plan.max_turns is not None:
        fraction = Fraction(plan.compact_to)
        if "fits" in declared:
            more["fits"] = lambda entries: within_counts(plan, entries, fraction)
        else:
            target = min(target, _tokens_within_counts(section, fraction, charges))
    if "note_role" in declared:
        more["note_role"] = plan.note_role
    if "summarise" in declared:
        more["summarise"] = _summarise(section, target, charges, summariser)
    return await section.strategy.compact(section.entries, budget_tokens=target, count=charges.count, **more)


def _summarise(section: Section, target: int, charges: Charges, summariser: Summariser | None) -> Summarise:
    """What a strategy asks for a summary; the answer is made, recorded and refused as any other."""

    async def summarise(entries: Sequence[Entry], instructions: str | None = None) -> str:
        if summariser is None:
            raise SummaryUnusableError("nobody was named to make the summary", rule="CTX301")

        def count(text: str) -> int:
            role = section.plan.note_role
            entry = summary_entry(text, id="", section=section.plan.name, role=role, stands_for=())
            return charges.count((entry,))

        request = SummaryRequest(
            tuple(entries), section.plan.name, instructions or INSTRUCTIONS, target, count
        )
        made = await summariser.summarise(request)
        if made.text is None:
            raise SummaryUnusableError(
                "a summary is needed and none is made here",
                rule="CTX301",
                hint="record it: --journal FILE, and --summariser to make it",
            )
        request.require_usable(made.text)
        return made.text

    return summarise


def _tokens_within_counts(section: Section, fraction: Fraction, charges: Charges) -> int:
    """Tokens of the newest entries that are within the section's counts, beside the locked ones."""
    loose = [entry.id for entry in section.entries if not entry.pinned]
    for dropped in range(len(loose) + 1):
        gone = set(loose[:dropped])
        kept = [entry for entry in section.entries if entry.id not in gone]
        if within_counts(section.plan, kept, fraction):
            break
    return charges.upper(kept)


def _extend_to_user(
    given: Sequence[Entry], outcome: CompactionOutcome, *, everywhere: bool
) -> CompactionOutcome:
    """Evict on from each cut to the next user entry, a locked entry, or a note that stands there; where not
    ``everywhere``, only from a cut before which nothing but instructions is left."""
    stands_for = {entry_id for entry in outcome.entries for entry_id in entry.stands_for}
    evicted = set(outcome.evicted)
    cutting = False
    for entry in given:
        if entry.id in evicted:
            cutting = True
        elif entry.pinned or entry.has_user_turn or entry.id in stands_for or entry.is_stand_in:
            cutting = False
        elif cutting:
            evicted.add(entry.id)
        if not everywhere and entry.id not in evicted and entry.role not in SYSTEM_ROLES:
            break
    return replace(
        outcome,
        entries=tuple(entry for entry in outcome.entries if entry.id not in evicted),
        evicted=tuple(entry.id for entry in given if entry.id in evicted),
    )


def _require_locked_fit(section: Section, room: int, charges: Charges, situation: Situation) -> None:
    needed = charges.upper(section.locked)
    if needed <= room:
        return
    largest, names = name_largest(section.locked, charges)
    name, short = section.plan.name, needed - room
    raise situation.error(
        f"section {name!r} has room for {room:,} tokens; what may not be lost needs {needed:,}: {names}",
        missing=short,
        rule="CTX109",
        section=name,
        entries=tuple(entry.id for entry in largest),
        location=section.originals[largest[0].id].messages[0].location,
        hint=f"give {name!r} {short:,} tokens more (its share, budget_tokens), or lock less (pins, keep_...)",
    )


def _require_fit(
    section: Section, outcome: CompactionOutcome, room: int, charges: Charges, situation: Situation
) -> None:
    left = charges.upper(outcome.entries)
    if left <= room:
        return
    name, strategy = section.plan.name, section.plan.compaction.strategy
    if not is_built_in(section.strategy):
        raise situation.error(
            f"strategy {strategy!r} left {left:,} tokens in section {name!r}, which has room for {room:,}",
            missing=left - room,
            rule="CTX105",
            kind=StrategyError,
            section=name,
            hint="mend the strategy: it must stay within budget_tokens",
        )
    refused = isinstance(section.strategy, Refuse)
    verb = "compacts nothing" if refused else "cannot make it smaller"
    raise situation.error(
        f"section {name!r} needs {left:,} tokens and has room for {room:,}; {strategy} {verb}",
        missing=left - room,
        rule=(situation.overflow_rule or "CTX109") if refused else "CTX109",
        section=name,
        refused=refused,
        hint=f"raise the share of {name!r} or budget_tokens, or name another strategy",
    )
