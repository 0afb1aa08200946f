"""What an audit found, ready to be shown: a renderer never has to ask the engine anything."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from contextctl.findings import Finding, Severity
from contextctl.outcome import Fate, Status

EXIT_NAMES = {
    0: "ok",
    1: "findings",
    2: "usage",
    3: "input",
    70: "internal",
    130: "interrupted",
    141: "pipe",
}
"""Exit code -> name."""


@dataclass(frozen=True, slots=True)
class PlanRow:
    """Which plan was audited: the path as shown, the digest of its content, what ``--set`` changed, and
    whether each call starts from the prompt of the one before."""

    name: str | None
    path: str
    digest: str
    set: tuple[str, ...] = ()
    carry: bool = False


@dataclass(frozen=True, slots=True)
class ModelRow:
    """The model; tokens, None where unknown. ``margin`` is a decimal text such as ``0.1``."""

    name: str
    window_tokens: int | None
    max_input_tokens: int | None
    max_output_tokens: int | None
    tokenizer: str
    exactness: str
    margin: str


@dataclass(frozen=True, slots=True)
class BudgetRow:
    """The numbers of the budget line, in tokens."""

    limit_tokens: int
    reserve_output_tokens: int
    budget_tokens: int
    soft_tokens: int | None
    overhead_tokens: int
    message_budget_tokens: int


@dataclass(frozen=True, slots=True)
class MatcherRow:
    """A matcher of the plan and how many entries in how many transcripts it accepted."""

    place: str
    kind: str
    entries: int
    transcripts: int


@dataclass(frozen=True, slots=True)
class SectionRow:
    """One section of an assembly: tokens and counts of entries by fate."""

    name: str
    share: str
    strategy: str
    pinned: bool
    allotted_tokens: int | None
    room_tokens: int | None
    tokens_before: int
    tokens_after: int | None
    entries: int
    kept: int | None
    evicted: int | None
    summarised: int | None
    folded: int | None
    trimmed: int | None
    dropped: int | None = None
    superseded: int = 0

    @property
    def empty(self) -> bool:
        """True where no entry was routed to it."""
        return self.entries == 0

    @property
    def lost(self) -> int:
        """Entries that are not in the prompt as they were."""
        fates = (self.evicted, self.summarised, self.folded, self.trimmed, self.dropped)
        return sum(count or 0 for count in fates)


@dataclass(frozen=True, slots=True)
class EntryRow:
    """One entry of an assembly. ``lines`` are places of its messages; ``position`` is the 1-based place of
    its first message in the prompt; ``text`` is there only where text was asked for. In a replay,
    ``first_call`` is the first call whose history had it, ``last_call`` the last whose prompt did, and
    ``carried_tokens`` its tokens in all prompts together. A recorded note, summary or recap of others has a
    ``kind``."""

    id: str
    section: str
    lines: tuple[int | str, ...]
    role: str
    tokens: int
    pinned: bool
    protected: bool
    fate: Fate | None
    rule: str | None
    position: int | None
    text: str | None = None
    first_call: int | None = None
    last_call: int | None = None
    carried_tokens: int | None = None
    kind: str | None = None


@dataclass(frozen=True, slots=True)
class NoteRow:
    """A note or summary that the assembly made, and the ids that it stands for."""

    section: str
    kind: str
    position: int
    tokens: int
    stands_for: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AddedRow:
    """A message that the application sends and the history does not have: its place in the prompt, its role
    and its tokens."""

    position: int
    role: str
    tokens: int


@dataclass(frozen=True, slots=True)
class NextToGo:
    """The entry that goes first once so many more tokens arrive in its section."""

    entry: str
    section: str
    line: int | str | None
    role: str
    tokens: int
    after_tokens: int


@dataclass(frozen=True, slots=True)
class AssemblyRow:
    """One assembly: the verdict and its numbers. ``call`` is None for the end of the recording.

    ``lossless_budget_tokens`` is the smallest ``budget_tokens`` of the plan that would lose nothing. It is
    ``hypothetical`` where a summary is only planned; ``summary_calls`` counts summaries,
    ``compacted_by`` names the strategies that changed something.
    """

    call: int | None
    status: Status
    tokens_before: int
    tokens_after: int | None
    tokens_upper: int
    headroom_tokens: int | None
    missing_tokens: int | None
    joint_tokens: int
    pinned_tokens: int
    overcommitted_tokens: int
    exactness: str
    reasons: tuple[str, ...]
    history_fingerprint: str
    prompt_fingerprint: str | None
    sections: tuple[SectionRow, ...]
    entries: tuple[EntryRow, ...]
    notes: tuple[NoteRow, ...] = ()
    added: tuple[AddedRow, ...] = ()
    next_to_go: NextToGo | None = None
    lossless_budget_tokens: int | None = None
    hypothetical: bool = False
    summary_calls: int = 0
    messages_before: int = 0
    messages_after: int | None = None
    compacted_by: tuple[str, ...] = ()

    @property
    def has_prompt(self) -> bool:
        """False where no prompt within the budget exists."""
        return self.tokens_after is not None

    def tokens_of(self, fate: Fate) -> int:
        """Tokens of the entries of one fate, as they were before compaction."""
        return sum(entry.tokens for entry in self.entries if entry.fate is fate)

    def count_of(self, fate: Fate) -> int:
        """How many entries have this fate."""
        return sum(entry.fate is fate for entry in self.entries)


@dataclass(frozen=True, slots=True)
class TranscriptReport:
    """One transcript: what it is, its assemblies (none where it could not be audited), its findings."""

    path: str
    id: str
    format: str
    messages: int
    calls: int
    lacks: tuple[str, ...]
    skipped: int
    model: ModelRow | None
    budget: BudgetRow | None
    assemblies: tuple[AssemblyRow, ...]
    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class AuditReport:
    """Everything an audit found. ``fail_on`` None never fails on findings; ``exit_zero`` hides exit 1 only.

    ``findings`` are those about plan, model and files; each transcript has its own.
    """

    plan: PlanRow
    version: str
    assembler: str
    matchers: tuple[MatcherRow, ...]
    findings: tuple[Finding, ...]
    transcripts: tuple[TranscriptReport, ...]
    fail_on: Severity | None = Severity.ERROR
    exit_zero: bool = False

    def all_findings(self) -> tuple[Finding, ...]:
        """Findings of the run, then of each transcript in order."""
        own = [finding for transcript in self.transcripts for finding in transcript.findings]
        return self.findings + tuple(own)

    @property
    def exit_code(self) -> int:
        """0 done, 1 findings at or above ``fail_on``, 3 an input could not be used or nothing was audited."""
        return exit_code_of(
            self.all_findings(),
            audited=any(transcript.assemblies for transcript in self.transcripts),
            fail_on=self.fail_on,
            exit_zero=self.exit_zero,
        )

    @property
    def exit_name(self) -> str:
        """The name of the exit code."""
        return EXIT_NAMES[self.exit_code]

    @property
    def assemblies(self) -> tuple[AssemblyRow, ...]:
        """Every assembly, in order."""
        return tuple(row for transcript in self.transcripts for row in transcript.assemblies)

    @property
    def final_assemblies(self) -> tuple[AssemblyRow, ...]:
        """The last assembly of each transcript, which is the whole one in a replay."""
        return tuple(transcript.assemblies[-1] for transcript in self.transcripts if transcript.assemblies)

    def severities(self) -> dict[str, int]:
        """How many findings of each severity there are; all three are there."""
        found = Counter(finding.severity.value for finding in self.all_findings())
        return {severity.value: found[severity.value] for severity in Severity}


def exit_code_of(
    findings: Iterable[Finding], *, audited: bool, fail_on: Severity | None, exit_zero: bool
) -> int:
    """The exit code of a run that ended by itself: 3 before 1 before 0."""
    found = list(findings)
    if not audited or any(finding.is_input_error for finding in found):
        return 3
    failing = fail_on is not None and any(item.severity.weight >= fail_on.weight for item in found)
    return 1 if failing and not exit_zero else 0


def quantiles(numbers: Sequence[int]) -> dict[str, int | None]:
    """p50, p90, p99 (nearest rank) and max; all None for no numbers."""
    if not numbers:
        return {"p50": None, "p90": None, "p99": None, "max": None}
    ordered = sorted(numbers)
    ranks = {f"p{share}": ordered[-(-share * len(ordered) // 100) - 1] for share in (50, 90, 99)}
    return {**ranks, "max": ordered[-1]}
