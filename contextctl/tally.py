"""What the plan's matchers accepted in a whole run."""

from __future__ import annotations

from collections.abc import Sequence

from contextctl.checks.expectations import meant_entries
from contextctl.findings import Finding, Severity, finding
from contextctl.plan import ContextPlan, Matcher
from contextctl.preparation import Prepared
from contextctl.recording import Transcript
from contextctl.report import MatcherRow

KINDS = {"sections": "section", "pins": "pin", "expect": "expect"}
"""What a matcher is called in a report, by the key of the plan that it stands under."""


class MatcherTally:
    """Counts, matcher by matcher in plan order, the entries accepted and the transcripts they were in."""

    def __init__(self, plan: ContextPlan) -> None:
        self._plan = plan
        self._accepted: dict[tuple[str | int, ...], list[int]] = {}

    def add(self, prepared: Prepared, transcript: Transcript) -> None:
        """Count what the matchers accepted in one transcript."""
        counts = dict(prepared.routed.accepted)
        for index, expectation in enumerate(self._plan.expect):
            if expectation.keeps is not None:
                meant = meant_entries(
                    expectation.keeps, transcript.messages, prepared.routed.entries, transcript.id
                )
                counts["expect", index, "keeps"] = len(meant)
        for key, count in counts.items():
            totals = self._accepted.setdefault(key, [0, 0])
            totals[0] += count
            totals[1] += count > 0

    def rows(self) -> tuple[MatcherRow, ...]:
        """A row for each matcher; none before anything was counted."""
        return tuple(
            MatcherRow(str(self._plan.source.place(*key)), KINDS[str(key[0])], entries, transcripts)
            for key, (entries, transcripts) in self._accepted.items()
        )

    def findings(self) -> list[Finding]:
        """Matchers that accepted nothing: an error where the plan says ``required``."""
        return [
            finding(
                "CTX501",
                "this matcher accepted nothing in the whole run",
                severity=Severity.ERROR if self._required(key) else None,
                location=self._plan.source.place(*key),
                hint="check spelling and case; `ignore_case: true` ignores case",
            )
            for key, (entries, _) in self._accepted.items()
            if not entries
        ]

    def _required(self, key: Sequence[str | int]) -> bool:
        match key:
            case ("sections", int() as index, _):
                matcher = self._plan.sections[index].match
            case ("pins", int() as index):
                matcher = self._plan.pins[index]
            case (_, int() as index, _):
                matcher = self._plan.expect[index].keeps
            case _:
                matcher = None
        return isinstance(matcher, Matcher) and matcher.required
