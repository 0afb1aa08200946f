"""One event for each compaction: what a guard that watches a run writes, and nothing that was said."""

from __future__ import annotations

from contextctl.report import AuditReport
from contextctl.reports.json_report import line


def render_events(report: AuditReport) -> str:
    """A JSON object a line, in order: the call that the compaction ran before (1-based; one more than there
    are for the end of a recording), tokens, window, messages and the strategies that changed something."""
    events = []
    for transcript in report.transcripts:
        for row in transcript.assemblies:
            if row.tokens_after is None or not row.compacted_by:
                continue
            events.append(
                {
                    "path": transcript.path,
                    "id": transcript.id,
                    "call_index": transcript.calls + 1 if row.call is None else row.call,
                    "tokens_before": row.tokens_before,
                    "tokens_after": row.tokens_after,
                    "window": transcript.model.window_tokens if transcript.model else None,
                    "messages_before": row.messages_before,
                    "messages_after": row.messages_after,
                    "strategy": ", ".join(row.compacted_by),
                }
            )
    return "".join(line(event) + "\n" for event in events)
