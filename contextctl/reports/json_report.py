"""The JSON report: one document of fixed shape, one assembly, entry and finding a line."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

from contextctl.findings import Finding
from contextctl.outcome import Fate
from contextctl.report import (
    AddedRow,
    AssemblyRow,
    AuditReport,
    BudgetRow,
    EntryRow,
    MatcherRow,
    ModelRow,
    NextToGo,
    NoteRow,
    SectionRow,
    TranscriptReport,
    quantiles,
)
from contextctl.reports import RenderOptions

SCHEMA_VERSION = 1
"""Raised when a key changes its meaning or goes; new keys do not raise it."""

_MUST_ESCAPE = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def line(value: object) -> str:
    """Compact JSON on one line: text as UTF-8, controls and lone surrogates escaped, ``##[`` never raw."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(", ", ": "))
    text = _MUST_ESCAPE.sub(lambda match: f"\\u{ord(match.group()):04x}", text)
    return text.replace("##[", "##\\u005b")


def render(report: AuditReport, options: RenderOptions) -> str:
    """The whole document; ends in a line feed."""
    parts = [
        f'"schema_version": {SCHEMA_VERSION}',
        f'"tool": {line(tool_facts(report))}',
        f'"plan": {line(plan_facts(report))}',
        f'"assembler": {line(report.assembler)}',
        f'"model": {line(common(model_facts(t.model) for t in report.transcripts))}',
        f'"budget": {line(common(budget_facts(t.budget) for t in report.transcripts))}',
        f'"matchers": {_listed([line(matcher_facts(row)) for row in report.matchers], "  ")}',
        f'"findings": {_listed([line(finding_facts(item)) for item in report.findings], "  ")}',
        f'"transcripts": {_listed([_transcript(item) for item in report.transcripts], "  ")}',
        f'"summary": {line(summary_facts(report))}',
        f'"exit": {line(exit_facts(report))}',
    ]
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _listed(items: Sequence[str], indent: str) -> str:
    """A JSON list with an item a line, indented; ``[]`` for none."""
    return "[\n" + ",\n".join(indent + item for item in items) + f"\n{indent[:-2]}]" if items else "[]"


def _transcript(transcript: TranscriptReport) -> str:
    head = line(transcript_facts(transcript))[:-1]
    assemblies = _listed([_assembly(row) for row in transcript.assemblies], " " * 6)
    findings = _listed([line(finding_facts(item)) for item in transcript.findings], " " * 6)
    return f'{head},\n    "assemblies": {assemblies},\n    "findings": {findings}}}'


def _assembly(row: AssemblyRow) -> str:
    head = line(assembly_facts(row))[:-1]
    sections = line([section_facts(section) for section in row.sections])
    entries = _listed([line(entry_facts(entry)) for entry in row.entries], " " * 10)
    notes = line([note_facts(note) for note in row.notes])
    added = line([added_facts(message) for message in row.added])
    return (
        f'{head},\n        "sections": {sections},\n        "entries": {entries},\n'
        f'        "notes": {notes}, "added": {added}}}'
    )


def common(values: Iterable[dict[str, Any] | None]) -> dict[str, Any] | None:
    """The value that is the same for all, or None."""
    found = list(values)
    return found[0] if found and all(value == found[0] for value in found) else None


def tool_facts(report: AuditReport) -> dict[str, Any]:
    """Which contextctl made the report."""
    return {"name": "contextctl", "version": report.version}


def plan_facts(report: AuditReport) -> dict[str, Any]:
    """Which plan, and what the command line changed of it."""
    plan = report.plan
    return {
        "name": plan.name,
        "path": plan.path,
        "digest": plan.digest,
        "set": list(plan.set),
        "carry": plan.carry,
    }


def exit_facts(report: AuditReport) -> dict[str, Any]:
    """The exit code and its name."""
    return {"code": report.exit_code, "name": report.exit_name}


def model_facts(row: ModelRow | None) -> dict[str, Any] | None:
    """A model's limits and tokenizer."""
    if row is None:
        return None
    return {
        "name": row.name,
        "window_tokens": row.window_tokens,
        "max_input_tokens": row.max_input_tokens,
        "max_output_tokens": row.max_output_tokens,
        "tokenizer": {"name": row.tokenizer, "exactness": row.exactness, "margin": row.margin},
    }


def budget_facts(row: BudgetRow | None) -> dict[str, Any] | None:
    """The numbers of the budget line."""
    if row is None:
        return None
    return {
        "limit_tokens": row.limit_tokens,
        "reserve_output_tokens": row.reserve_output_tokens,
        "budget_tokens": row.budget_tokens,
        "soft_tokens": row.soft_tokens,
        "overhead_tokens": row.overhead_tokens,
        "message_budget_tokens": row.message_budget_tokens,
    }


def matcher_facts(row: MatcherRow) -> dict[str, Any]:
    """A matcher and what it accepted."""
    return {
        "place": row.place,
        "kind": row.kind,
        "entries": row.entries,
        "transcripts": row.transcripts,
    }


def finding_facts(finding: Finding) -> dict[str, Any]:
    """One finding; its line is ``"line:index"`` where a record holds several messages."""
    place = finding.location
    return {
        "code": finding.code,
        "name": finding.name,
        "severity": finding.severity.value,
        "message": finding.message,
        "hint": finding.hint,
        "path": place.path,
        "line": place.record,
        "column": place.column,
        "section": finding.section,
        "entry": finding.entry,
        "call": finding.call,
        "fingerprint": finding.fingerprint,
    }


def transcript_facts(transcript: TranscriptReport) -> dict[str, Any]:
    """A transcript without its assemblies and findings."""
    return {
        "path": transcript.path,
        "id": transcript.id,
        "format": transcript.format,
        "messages": transcript.messages,
        "calls": transcript.calls,
        "lacks": list(transcript.lacks),
        "skipped": transcript.skipped,
        "model": model_facts(transcript.model),
        "budget": budget_facts(transcript.budget),
    }


def assembly_facts(row: AssemblyRow) -> dict[str, Any]:
    """An assembly without its sections, entries and notes."""
    return {
        "call": row.call,
        "status": row.status,
        "tokens_before": row.tokens_before,
        "tokens_after": row.tokens_after,
        "tokens_upper": row.tokens_upper,
        "headroom_tokens": row.headroom_tokens,
        "missing_tokens": row.missing_tokens,
        "joint_tokens": row.joint_tokens,
        "pinned_tokens": row.pinned_tokens,
        "overcommitted_tokens": row.overcommitted_tokens,
        "exactness": row.exactness,
        "reasons": list(row.reasons),
        "history_fingerprint": row.history_fingerprint,
        "prompt_fingerprint": row.prompt_fingerprint,
        "cached_prefix_tokens": None,
        "prefix_broken_by": None,
        "hypothetical": row.hypothetical,
        "summary_calls": row.summary_calls,
        "next_to_go": next_facts(row.next_to_go),
        "lossless_budget_tokens": row.lossless_budget_tokens,
    }


def next_facts(row: NextToGo | None) -> dict[str, Any] | None:
    """What goes next and after how many more tokens."""
    if row is None:
        return None
    return {
        "entry": row.entry,
        "section": row.section,
        "line": row.line,
        "role": row.role,
        "tokens": row.tokens,
        "after_tokens": row.after_tokens,
    }


def section_facts(row: SectionRow) -> dict[str, Any]:
    """A section: tokens, and counts of entries by fate."""
    return {
        "name": row.name,
        "share": row.share,
        "strategy": row.strategy,
        "allotted_tokens": row.allotted_tokens,
        "room_tokens": row.room_tokens,
        "tokens_before": row.tokens_before,
        "tokens_after": row.tokens_after,
        "entries": row.entries,
        "kept": row.kept,
        "evicted": row.evicted,
        "summarised": row.summarised,
        "folded": row.folded,
        "trimmed": row.trimmed,
        "dropped": row.dropped,
        "superseded": None if row.kept is None else row.superseded,
        "empty": row.empty,
    }


def entry_facts(row: EntryRow) -> dict[str, Any]:
    """An entry and its fate; ``text`` only where text was asked for."""
    facts: dict[str, Any] = {
        "id": row.id,
        "section": row.section,
        "messages": list(row.lines),
        "role": row.role,
        "tokens": row.tokens,
        "pinned": row.pinned,
        "protected": row.protected,
        "fate": row.fate.value if row.fate is not None else None,
        "rule": row.rule,
        "position": row.position,
        "first_call": row.first_call,
        "last_call": row.last_call,
        "carried_tokens": row.carried_tokens,
        "kind": row.kind,
    }
    return facts if row.text is None else {**facts, "text": row.text}


def added_facts(row: AddedRow) -> dict[str, Any]:
    """A message that only the application has."""
    return {"position": row.position, "role": row.role, "tokens": row.tokens}


def note_facts(row: NoteRow) -> dict[str, Any]:
    """A note and what it stands for."""
    return {
        "section": row.section,
        "kind": row.kind,
        "position": row.position,
        "tokens": row.tokens,
        "stands_for": list(row.stands_for),
    }


def summary_facts(report: AuditReport) -> dict[str, Any]:
    """The run in numbers."""
    rows, final = report.assemblies, report.final_assemblies
    worst: tuple[int, TranscriptReport, AssemblyRow] | None = None
    for transcript in report.transcripts:
        for row in transcript.assemblies:
            if row.missing_tokens is not None and (worst is None or row.missing_tokens > worst[0]):
                worst = (row.missing_tokens, transcript, row)
    return {
        "transcripts": len(report.transcripts),
        "assemblies": len(rows),
        "over_budget": sum(not row.has_prompt for row in rows),
        "evicted_entries": sum(row.count_of(Fate.EVICTED) for row in final),
        "evicted_tokens": sum(row.tokens_of(Fate.EVICTED) for row in final),
        "summarised_entries": sum(row.count_of(Fate.SUMMARISED) for row in final),
        "lost_then_needed": None,
        "quantiles": {
            "tokens_before": quantiles([row.tokens_before for row in rows]),
            "headroom_tokens": quantiles(
                [row.headroom_tokens for row in rows if row.headroom_tokens is not None]
            ),
            "evicted_tokens": quantiles([row.tokens_of(Fate.EVICTED) for row in final if row.has_prompt]),
        },
        "groups": [],
        "cache": {"prefix_tokens": None, "uncached_tokens": None, "breaks": None},
        "worst": None
        if worst is None
        else {
            "path": worst[1].path,
            "id": worst[1].id,
            "call": worst[2].call,
            "missing_tokens": worst[0],
        },
        "findings": report.severities(),
    }
