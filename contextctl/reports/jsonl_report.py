"""The same facts one a line, each line complete in itself, for ``diff`` and ``jq``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from contextctl.report import AuditReport, TranscriptReport
from contextctl.reports import RenderOptions
from contextctl.reports import json_report as facts


def render(report: AuditReport, options: RenderOptions) -> str:
    """A record a line, each with its kind under ``record``; ends in a line feed."""
    return "".join(facts.line(record) + "\n" for record in _records(report))


def _records(report: AuditReport) -> Iterator[dict[str, Any]]:
    yield {
        "record": "run",
        "schema_version": facts.SCHEMA_VERSION,
        "tool": facts.tool_facts(report),
        "plan": facts.plan_facts(report),
        "assembler": report.assembler,
        "model": facts.common(facts.model_facts(item.model) for item in report.transcripts),
        "budget": facts.common(facts.budget_facts(item.budget) for item in report.transcripts),
    }
    for matcher in report.matchers:
        yield {"record": "matcher", **facts.matcher_facts(matcher)}
    for finding in report.findings:
        yield {
            "record": "finding",
            "transcript_path": None,
            "transcript": None,
            **facts.finding_facts(finding),
        }
    for transcript in report.transcripts:
        yield from _transcript_records(transcript)
    yield {"record": "summary", **facts.summary_facts(report)}
    yield {"record": "exit", **facts.exit_facts(report)}


def _transcript_records(transcript: TranscriptReport) -> Iterator[dict[str, Any]]:
    yield {"record": "transcript", **facts.transcript_facts(transcript)}
    for row in transcript.assemblies:
        where = {"path": transcript.path, "transcript": transcript.id, "call": row.call}
        yield {"record": "assembly", **where, **facts.assembly_facts(row)}
        for section in row.sections:
            yield {"record": "section", **where, **facts.section_facts(section)}
        for entry in row.entries:
            yield {"record": "entry", **where, **facts.entry_facts(entry)}
        for note in row.notes:
            yield {"record": "note", **where, **facts.note_facts(note)}
        for message in row.added:
            yield {"record": "added", **where, **facts.added_facts(message)}
    for finding in transcript.findings:
        whose = {"transcript_path": transcript.path, "transcript": transcript.id}
        yield {"record": "finding", **whose, **facts.finding_facts(finding)}
