"""From an assembly to the rows of a report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from contextctl.entries import Entry, text_of
from contextctl.errors import AssemblerError, ContextBudgetError
from contextctl.history import why_set_aside
from contextctl.messages import Message
from contextctl.outcome import (
    AssembledContext,
    Fate,
    SectionOutcome,
    SentOverBudgetError,
    Status,
    summaries_made,
)
from contextctl.outlook import lossless_budget, next_to_go
from contextctl.plan import ContextPlan, SectionPlan
from contextctl.ports import Exactness, ModelProvider, measuring
from contextctl.preparation import Prepared
from contextctl.recording import Transcript
from contextctl.report import (
    AddedRow,
    AssemblyRow,
    BudgetRow,
    EntryRow,
    ModelRow,
    NoteRow,
    SectionRow,
    TranscriptReport,
)
from contextctl.routing import route
from contextctl.sections import Section

EXCERPT_CHARACTERS = 200
"""How much of an entry's text a report shows where text was asked for."""


def blank_report(transcript: Transcript) -> TranscriptReport:
    """What is known of a transcript before it is audited: no model, no budget, no assembly."""
    return TranscriptReport(
        path=transcript.path,
        id=transcript.id,
        format=transcript.format,
        messages=len(transcript.messages),
        calls=transcript.calls,
        lacks=transcript.lacks,
        skipped=transcript.skipped,
        model=None,
        budget=None,
        assemblies=(),
        findings=(),
    )


def model_row(provider: ModelProvider) -> ModelRow:
    """What a report says of the model; a provider of the caller's own is exact by its own word."""
    measured = measuring(provider)
    if measured is not None:
        facts = measured.facts
        return ModelRow(
            name=facts.name,
            window_tokens=facts.window_tokens,
            max_input_tokens=facts.max_input_tokens,
            max_output_tokens=facts.max_output_tokens,
            tokenizer=facts.tokenizer,
            exactness=facts.exactness.value,
            margin=f"{float(facts.margin):g}",
        )
    return ModelRow(
        name=str(getattr(provider, "name", type(provider).__name__)),
        window_tokens=provider.context_window_tokens,
        max_input_tokens=getattr(provider, "max_input_tokens", None),
        max_output_tokens=getattr(provider, "max_output_tokens", None),
        tokenizer=type(provider).__name__,
        exactness=Exactness.EXACT.value,
        margin="0",
    )


def budget_row(prepared: Prepared) -> BudgetRow:
    """The numbers of the budget line."""
    limits = prepared.limits
    return BudgetRow(
        limit_tokens=limits.limit_tokens,
        reserve_output_tokens=limits.reserve_output_tokens,
        budget_tokens=limits.budget_tokens,
        soft_tokens=limits.soft_tokens,
        overhead_tokens=prepared.overhead.tokens,
        message_budget_tokens=max(0, prepared.message_tokens),
    )


def assembly_row(
    plan: ContextPlan,
    prepared: Prepared,
    result: AssembledContext | ContextBudgetError,
    *,
    exactness: Exactness,
    show_text: bool,
) -> AssemblyRow:
    """One assembly. Where it is an error no prompt exists, and what belongs to one is None."""
    assembled = result if isinstance(result, AssembledContext) else None
    needs = [prepared.charges.upper(section.entries) for section in prepared.sections]
    rooms = prepared.rooms(needs=needs if plan.unused == "lend" else None)
    by_plan = not isinstance(result, AssemblerError | SentOverBudgetError)
    by_plan = by_plan and (assembled is None or assembled.maker == "plan")
    untouched = assembled is not None and assembled.status == "fits" and by_plan
    return AssemblyRow(
        call=None,
        status=result.status if isinstance(result, AssembledContext) else _error_status(result),
        tokens_before=prepared.before.tokens,
        tokens_after=assembled.tokens if assembled else None,
        tokens_upper=assembled.tokens_upper if assembled else prepared.before.upper_tokens,
        headroom_tokens=assembled.budget_tokens - assembled.tokens_upper if assembled else None,
        missing_tokens=None if isinstance(result, AssembledContext) else result.missing_tokens,
        joint_tokens=prepared.joint_tokens,
        pinned_tokens=sum(prepared.pinned_tokens),
        overcommitted_tokens=rooms.overcommitted_tokens,
        exactness=exactness.value,
        reasons=prepared.before.reasons,
        history_fingerprint=prepared.history_fingerprint,
        prompt_fingerprint=assembled.prompt_fingerprint if assembled else None,
        sections=tuple(
            _section_row(
                section, assembled.sections[n] if assembled else None, numbers, prepared, by_plan=by_plan
            )
            for n, (section, *numbers) in enumerate(
                zip(prepared.sections, rooms.allotted_tokens, rooms.room_tokens, strict=True)
            )
        ),
        entries=_entry_rows(prepared, assembled, show_text),
        notes=_note_rows(prepared, assembled) if assembled else (),
        added=_added_rows(prepared, assembled) if assembled else (),
        next_to_go=next_to_go(plan, prepared) if untouched else None,
        lossless_budget_tokens=lossless_budget(plan, prepared) if by_plan else None,
        hypothetical=assembled is not None and assembled.hypothetical,
        messages_before=sum(len(e.messages) for s in prepared.sections for e in s.originals.values()),
        messages_after=len(assembled.messages) if assembled else None,
        compacted_by=_compacted_by(assembled) if assembled else (),
        summary_calls=summaries_made(assembled) if assembled else 0,
    )


def _compacted_by(assembled: AssembledContext) -> tuple[str, ...]:
    """The strategies of the sections in which this assembly changed something, in plan order."""
    return tuple(dict.fromkeys(s.strategy for s in assembled.sections if s.compacted))


def _error_status(error: ContextBudgetError) -> Status:
    return "refused" if error.refused else "over_budget"


def _section_row(
    section: Section,
    outcome: SectionOutcome | None,
    numbers: Sequence[int],
    prepared: Prepared,
    *,
    by_plan: bool,
) -> SectionRow:
    """A section's row; without an outcome, ``numbers`` are its allotment and room."""
    allotted, room = (outcome.allotted_tokens, outcome.room_tokens) if outcome else numbers
    return SectionRow(
        name=section.plan.name,
        share=str(section.plan.share),
        strategy=section.plan.compaction.strategy if by_plan else "application",
        pinned=section.plan.pinned,
        allotted_tokens=allotted,
        room_tokens=room,
        tokens_before=prepared.charges.tokens(section.originals.values()),
        tokens_after=outcome.tokens_after if outcome else None,
        entries=len(prepared.routed.of(section.plan.name)),
        kept=len(outcome.kept) if outcome else None,
        evicted=len(outcome.evicted) if outcome else None,
        summarised=len(outcome.summarised) if outcome else None,
        folded=len(outcome.folded) if outcome else None,
        trimmed=len(outcome.trimmed) if outcome else None,
        dropped=len(outcome.dropped) if outcome else None,
    )


def _entry_rows(
    prepared: Prepared, assembled: AssembledContext | None, show_text: bool
) -> tuple[EntryRow, ...]:
    positions: dict[str, int] = {}
    for position, message in enumerate(assembled.messages if assembled else (), 1):
        if message.id is not None:
            positions.setdefault(message.id, position)
    plans = {section.plan.name: section.plan for section in prepared.sections}
    maker = assembled.maker if assembled else "plan"
    rows = []
    for entry in prepared.routed.entries:
        fate = assembled.fates[entry.id] if assembled else None
        rows.append(
            EntryRow(
                id=entry.id,
                section=entry.section,
                lines=_lines(entry),
                role=entry.role,
                tokens=prepared.charges.measure(entry).tokens,
                pinned=entry.pinned,
                protected=entry.protected,
                fate=fate,
                rule=_rule(entry, fate, plans[entry.section], prepared, maker),
                position=positions.get(entry.id) if fate in {Fate.KEPT, Fate.TRIMMED} else None,
                kind=entry.kind,
                text=text_of(entry)[:EXCERPT_CHARACTERS] if show_text else None,
            )
        )
    return tuple(rows)


def with_superseded(
    row: AssemblyRow, plan: ContextPlan, prepared: Prepared, messages: Sequence[Message]
) -> AssemblyRow:
    """The row with what the recording itself took out of the history, in its ledger and its sections."""
    if not messages:
        return row
    entries = route(plan, messages, prepared.transcript_id).entries
    rows = tuple(
        EntryRow(
            id=entry.id,
            section=entry.section,
            lines=_lines(entry),
            role=entry.role,
            tokens=prepared.ruler.entry(entry.messages).tokens,
            pinned=entry.pinned,
            protected=False,
            fate=Fate.SUPERSEDED if row.has_prompt else None,
            rule=why_set_aside(entry.messages[0]) if row.has_prompt else None,
            position=None,
            kind="summary" if entry.messages[0].recap else entry.kind,
        )
        for entry in entries
    )
    counts = Counter(entry.section for entry in entries)
    sections = tuple(replace(s, superseded=counts[s.name]) for s in row.sections)
    return replace(row, entries=(*row.entries, *rows), sections=sections)


def _lines(entry: Entry) -> tuple[int | str, ...]:
    lines: list[int | str] = []
    for position, message in zip(entry.positions, entry.messages, strict=True):
        place = message.location.record if message.location is not None else None
        lines.append(position if place is None else place)
    return tuple(lines)


def _rule(entry: Entry, fate: Fate | None, plan: SectionPlan, prepared: Prepared, maker: str) -> str | None:
    """What decided an entry's fate: a lock, the section's strategy, its ``max_entry_tokens``, or the
    application."""
    if fate is None:
        return None
    if maker == "application":
        return maker if fate is not Fate.KEPT else None
    if fate is Fate.KEPT:
        return "pinned" if entry.pinned else "protected" if entry.protected else None
    most = plan.max_entry_tokens
    if fate is Fate.TRIMMED and most is not None and prepared.charges.measure(entry).upper_tokens > most:
        return "max_entry_tokens"
    return plan.compaction.strategy


def _added_rows(prepared: Prepared, assembled: AssembledContext) -> tuple[AddedRow, ...]:
    positions = {message.id: n for n, message in enumerate(assembled.messages, 1)}
    return tuple(
        AddedRow(positions[entry.id], entry.role, prepared.charges.measure(entry).tokens)
        for entry in assembled.added
    )


def _note_rows(prepared: Prepared, assembled: AssembledContext) -> tuple[NoteRow, ...]:
    positions = {message.id: n for n, message in enumerate(assembled.messages, 1)}
    return tuple(
        NoteRow(
            section=note.section,
            kind=note.kind or "note",
            position=positions[note.messages[0].id],
            tokens=prepared.charges.measure(note).tokens,
            stands_for=note.stands_for,
        )
        for note in assembled.notes
    )
