"""What ``contextctl trace`` shows: a summary and the entries that it stands for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from contextctl.reports.json_report import SCHEMA_VERSION, line
from contextctl.reports.tables import Cell, Column, table
from contextctl.reports.visible import guard_lines, visible
from contextctl.tracing import Traced, TracedEntry


def render_trace_text(traced: Sequence[Traced], *, width: int | None, listed: bool, show_text: bool) -> str:
    """A row a summary where they are ``listed``; else each whole. Ends in a line feed."""
    if listed:
        lines = _list(traced, width)
    else:
        lines = [text for item in traced for text in _whole(item, width, show_text)]
    return guard_lines("\n".join(text.rstrip() for text in lines) + "\n")


def _list(traced: Sequence[Traced], width: int | None) -> list[str]:
    columns = [
        Column("record"),
        Column("scope", folds=True),
        Column("transcript", folds=True),
        Column("summary", folds=True),
        Column("entries", right=True),
        Column("before", right=True),
        Column("after", right=True),
    ]
    rows = [
        [
            Cell(item.id),
            Cell(item.scope),
            Cell(item.record.transcript or "-"),
            Cell(item.record.summary_id),
            Cell(f"{len(item.record.ids):,}"),
            Cell(f"{item.record.tokens_before:,}"),
            Cell(f"{item.record.tokens_after:,}"),
        ]
        for item in traced
    ]
    return [text.plain for text in table(columns, rows, width)]


def _whole(item: Traced, width: int | None, show_text: bool) -> list[str]:
    record = item.record
    lines = [
        visible(f"{record.summary_id}  {record.source}, scope {item.scope}, record {item.id}"),
        visible(
            f"{record.tokens_before:,} tokens became {record.tokens_after:,}; "
            f"transcript {record.transcript or '-'}"
        ),
        f"history {record.history_fingerprint}",
        f"prompt  {record.prompt_fingerprint}",
        "",
    ]
    columns = [
        Column("entry", folds=True),
        Column("line", right=True),
        Column("role"),
        Column("tokens", right=True),
    ]
    lines += [text.plain for text in table(columns, [_row(entry) for entry in item.entries], width)]
    if show_text:
        lines += ["", *(f"  | {visible(text)}" for text in record.summary.split("\n"))]
    return lines


def _row(traced: TracedEntry) -> list[Cell]:
    entry, name = traced.entry, "  " * traced.depth + traced.id
    if entry is None:
        return [Cell(name), Cell("-"), Cell("summary" if ":" in traced.id else "-"), Cell("-")]
    where = "-" if entry.line is None else str(entry.line)
    return [Cell(name), Cell(where), Cell(entry.role), Cell(f"{entry.tokens:,}")]


def render_trace_json(traced: Sequence[Traced], *, show_text: bool) -> str:
    """One document, a summary a line; the summary's text only where text was asked for."""
    rows = ",\n".join("  " + line(_facts(item, show_text)) for item in traced)
    return f'{{"schema_version": {SCHEMA_VERSION}, "summaries": [\n{rows}\n]}}\n'


def _facts(item: Traced, show_text: bool) -> dict[str, Any]:
    record = item.record
    facts: dict[str, Any] = {
        "record": item.id,
        "scope": item.scope,
        "source": record.source,
        "section": item.section,
        "summary": record.summary_id,
        "transcript": record.transcript,
        "stands_for": list(record.ids),
        "entries": [_entry_facts(entry) for entry in item.entries],
        "tokens_before": record.tokens_before,
        "tokens_after": record.tokens_after,
        "history_fingerprint": record.history_fingerprint,
        "prompt_fingerprint": record.prompt_fingerprint,
    }
    return {**facts, "text": record.summary} if show_text else facts


def _entry_facts(traced: TracedEntry) -> dict[str, Any]:
    entry = traced.entry
    return {
        "id": traced.id,
        "depth": traced.depth,
        "line": entry.line if entry else None,
        "role": entry.role if entry else None,
        "tokens": entry.tokens if entry else None,
    }
