"""No summary is made: room is set aside for it, and the prompt is hypothetical."""

from __future__ import annotations

from contextctl.ports import Summary, SummaryRequest


class PlannedSummariser:
    """Answers every request with a summary that has no text."""

    async def summarise(self, request: SummaryRequest) -> Summary:
        """A summary that nobody has written."""
        return Summary(None)
