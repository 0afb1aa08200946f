"""What an audit has to say: severities, findings and the table of rules."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from enum import StrEnum

from contextctl.errors import Location, Problem


class Severity(StrEnum):
    """How much a finding weighs; ``error`` is the heaviest."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"

    @property
    def weight(self) -> int:
        """3 for an error, 2 for a warning, 1 for a note."""
        return {Severity.ERROR: 3, Severity.WARNING: 2, Severity.NOTE: 1}[self]


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule's kebab-case name and the severity of its findings unless one says otherwise."""

    name: str
    severity: Severity


_ERROR, _WARNING, _NOTE = Severity.ERROR, Severity.WARNING, Severity.NOTE

RULES: dict[str, Rule] = {
    "CTX001": Rule("yaml-syntax", _ERROR),
    "CTX002": Rule("duplicate-key", _ERROR),
    "CTX003": Rule("unknown-key", _ERROR),
    "CTX004": Rule("ambiguous-scalar", _ERROR),
    "CTX005": Rule("plan-invalid", _ERROR),
    "CTX006": Rule("shares-over-one", _ERROR),
    "CTX007": Rule("unknown-strategy", _ERROR),
    "CTX008": Rule("plan-unusable-with-model", _ERROR),
    "CTX009": Rule("file-unreadable", _ERROR),
    "CTX010": Rule("json-syntax", _ERROR),
    "CTX011": Rule("message-schema", _ERROR),
    "CTX012": Rule("undeclared-section", _ERROR),
    "CTX013": Rule("empty-transcript", _ERROR),
    "CTX014": Rule("format-not-understood", _ERROR),
    "CTX015": Rule("unknown-role", _ERROR),
    "CTX016": Rule("torn-record", _ERROR),
    "CTX017": Rule("invalid-utf8", _ERROR),
    "CTX018": Rule("glued-records", _WARNING),
    "CTX019": Rule("call-id-reused", _WARNING),
    "CTX020": Rule("orphan-tool-result", _WARNING),
    "CTX021": Rule("duplicate-tool-result", _WARNING),
    "CTX022": Rule("late-tool-result", _WARNING),
    "CTX023": Rule("unanswered-tool-call", _WARNING),
    "CTX024": Rule("entry-id-repeated", _WARNING),
    "CTX025": Rule("non-finite-number", _WARNING),
    "CTX026": Rule("duplicate-json-key", _WARNING),
    "CTX027": Rule("plan-tools-replace-recorded", _NOTE),
    "CTX028": Rule("counting-failed", _ERROR),
    "CTX029": Rule("no-recorded-call", _ERROR),
    "CTX030": Rule("journal-unusable", _ERROR),
    "CTX031": Rule("memory-unusable", _ERROR),
    "CTX032": Rule("recorded-compaction", _NOTE),
    "CTX033": Rule("history-superseded", _NOTE),
    "CTX034": Rule("no-recorded-request", _ERROR),
    "CTX101": Rule("window-overflow", _ERROR),
    "CTX102": Rule("input-cap-exceeded", _ERROR),
    "CTX103": Rule("pinned-over-budget", _ERROR),
    "CTX104": Rule("pins-overcommit", _WARNING),
    "CTX105": Rule("strategy-overran-room", _ERROR),
    "CTX106": Rule("near-limit", _WARNING),
    "CTX107": Rule("reserve-above-output-cap", _WARNING),
    "CTX108": Rule("budget-above-window", _ERROR),
    "CTX109": Rule("section-over-room", _ERROR),
    "CTX110": Rule("no-output-reserve", _WARNING),
    "CTX111": Rule("over-soft-line", _NOTE),
    "CTX112": Rule("assembler-failed", _ERROR),
    "CTX201": Rule("entries-evicted", _NOTE),
    "CTX202": Rule("tool-pair-broken", _ERROR),
    "CTX203": Rule("entry-impossible-to-keep", _WARNING),
    "CTX204": Rule("last-user-message-lost", _WARNING),
    "CTX205": Rule("section-starved", _NOTE),
    "CTX206": Rule("section-reorders", _NOTE),
    "CTX207": Rule("entries-folded", _NOTE),
    "CTX208": Rule("entries-trimmed", _NOTE),
    "CTX209": Rule("entries-summarised", _NOTE),
    "CTX210": Rule("pin-lost", _ERROR),
    "CTX211": Rule("entries-dropped", _NOTE),
    "CTX212": Rule("result-without-call", _ERROR),
    "CTX213": Rule("second-result", _ERROR),
    "CTX214": Rule("call-without-result", _ERROR),
    "CTX215": Rule("empty-content", _ERROR),
    "CTX216": Rule("result-displaced", _ERROR),
    "CTX217": Rule("result-after-text", _ERROR),
    "CTX218": Rule("first-message-not-user", _ERROR),
    "CTX219": Rule("thinking-loop-broken", _WARNING),
    "CTX220": Rule("signed-block-after-change", _WARNING),
    "CTX221": Rule("system-in-mid-prompt", _ERROR),
    "CTX222": Rule("neighbours-of-one-role", _WARNING),
    "CTX223": Rule("call-without-signature", _ERROR),
    "CTX224": Rule("reasoning-without-follower", _ERROR),
    "CTX225": Rule("ends-on-assistant", _WARNING),
    "CTX301": Rule("summary-missing", _ERROR),
    "CTX302": Rule("summary-stale", _ERROR),
    "CTX303": Rule("summary-unconsumed", _ERROR),
    "CTX304": Rule("summary-unusable", _ERROR),
    "CTX305": Rule("summary-hypothetical", _NOTE),
    "CTX306": Rule("summary-input-overflow", _ERROR),
    "CTX307": Rule("summaries-made", _NOTE),
    "CTX401": Rule("unknown-model", _ERROR),
    "CTX402": Rule("window-unknown", _ERROR),
    "CTX403": Rule("estimated-count", _NOTE),
    "CTX404": Rule("retired-model", _WARNING),
    "CTX405": Rule("moving-alias", _WARNING),
    "CTX406": Rule("recorded-window-smaller", _WARNING),
    "CTX407": Rule("prompt-incomplete", _WARNING),
    "CTX408": Rule("model-assumed", _WARNING),
    "CTX501": Rule("matcher-matched-nothing", _WARNING),
    "CTX505": Rule("pinned-section-with-strategy", _WARNING),
    "CTX601": Rule("expectation-failed", _ERROR),
}
"""Code -> rule. Codes are never reused; 0xx input, 1xx budget, 2xx eviction, 3xx summaries, 4xx models and
counting, 5xx plan hygiene, 6xx expectations."""

INPUT_CODES = frozenset({"CTX401", "CTX402", "CTX108"})
"""Errors beside the 0xx ones that mean an input could not be used (exit 3)."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One complete finding: code, severity, a sentence without message text, a way out, and where.

    ``entry`` is an entry id, ``call`` a 1-based recorded model call. ``subject`` (plan and transcript
    names) takes part in the fingerprint, so that a finding keeps it when lines move.
    """

    code: str
    message: str
    location: Location = field(default_factory=Location)
    severity: Severity = Severity.NOTE
    hint: str | None = None
    section: str | None = None
    entry: str | None = None
    call: int | None = None
    subject: str = ""

    @property
    def name(self) -> str:
        """The rule's kebab-case name."""
        return RULES[self.code].name

    @property
    def is_input_error(self) -> bool:
        """True where an input could not be used, or only in part (exit 3)."""
        return self.severity is Severity.ERROR and (self.code.startswith("CTX0") or self.code in INPUT_CODES)

    @property
    def fingerprint(self) -> str:
        """32 hex digits that stay the same while rule, subject, section and entry stay the same."""
        key = "\0".join((self.code, self.subject, self.section or "", self.entry or "", str(self.call or "")))
        return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def finding(
    code: str,
    message: str,
    *,
    location: Location | None = None,
    severity: Severity | None = None,
    hint: str | None = None,
    section: str | None = None,
    entry: str | None = None,
    call: int | None = None,
    subject: str = "",
) -> Finding:
    """A finding of a rule in :data:`RULES`, at the rule's own severity unless one is given."""
    return Finding(
        code=code,
        message=message,
        location=location or Location(),
        severity=severity or RULES[code].severity,
        hint=hint,
        section=section,
        entry=entry,
        call=call,
        subject=subject,
    )


def from_problem(problem: Problem) -> Finding:
    """The finding that says what a :class:`~contextctl.errors.Problem` says."""
    return finding(problem.code, problem.message, location=problem.location, hint=problem.hint)
