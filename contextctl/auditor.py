"""The audit: every transcript against one plan, each failure a finding beside the others."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial, wraps
from typing import Any, Literal, ParamSpec, TypeVar

import contextctl
from contextctl.application import maker_for
from contextctl.assembler import ContextAssembler
from contextctl.calls import replay
from contextctl.checks.hygiene import model_findings, plan_findings
from contextctl.errors import ContextctlError, InputProblems, InternalError, Location
from contextctl.findings import Finding, Severity, finding, from_problem
from contextctl.history import History, chosen_history
from contextctl.judgement import (
    nothing_to_replay,
    require_usable,
    with_recorded_settings,
)
from contextctl.loading.transcript_files import TranscriptFailure
from contextctl.plan import ContextPlan
from contextctl.ports import MemoryStore, ModelProvider, OwnAssembler, Strategy, measuring
from contextctl.recording import Transcript
from contextctl.replay import Calls
from contextctl.report import AuditReport, ModelRow, PlanRow, TranscriptReport
from contextctl.rows import blank_report, budget_row, model_row
from contextctl.strategies.summarise_span import SummariseSpan
from contextctl.summarisers.journal import JournalSummariser
from contextctl.tally import MatcherTally

ProviderSource = ModelProvider | Callable[[Transcript], ModelProvider]
"""One provider for all transcripts, or what chooses one for each."""


P = ParamSpec("P")
Result = TypeVar("Result")


async def audit_async(
    plan: ContextPlan,
    transcripts: Iterable[Transcript | TranscriptFailure],
    provider: ProviderSource,
    *,
    strategies: Mapping[str, Strategy] | None = None,
    journal: JournalSummariser | None = None,
    memory: MemoryStore | None = None,
    scope: str | None = None,
    assembler: OwnAssembler | Literal["recorded"] | None = None,
    assembler_name: str = "plan",
    fail_on: Severity | None = Severity.ERROR,
    exit_zero: bool = False,
    show_text: bool = False,
    calls: Calls = "end",
    history: History = "effective",
) -> AuditReport:
    """Assemble what each transcript would send next, and report every entry's fate.

    ``calls`` replays recorded calls instead: each assembled from the whole history before it, or, with
    ``carry`` in the plan, from the prompt of the call before. A ``journal`` makes the summaries of
    summarise-span, unless ``strategies`` has its own; what it holds and nothing asked for is a finding.
    ``memory`` and ``scope`` are as in :class:`~contextctl.assembler.ContextAssembler`. An ``assembler`` of
    the caller's own, called ``assembler_name`` in the report, makes the prompts in place of the engine;
    ``recorded`` holds what was really sent against the plan.
    ``history`` is as in :func:`~contextctl.history.chosen_history`.
    A transcript that cannot be read, counted or held by the plan is a finding, and the others are audited
    all the same. Raises what makes the plan unusable with a provider that is the same for all:
    :class:`~contextctl.errors.CapabilityError` or :class:`~contextctl.budget.PlanUnusableError`.
    """
    supplied = {} if journal is None else {"summarise-span": SummariseSpan(summariser=journal)}
    engine = partial(
        ContextAssembler,
        plan,
        strategies={**supplied, **(strategies or {})},
        summariser=journal,
        memory=memory,
        scope=scope,
    )
    run = _Run(plan, provider, engine, assembler, show_text, calls, history, journal)
    if not callable(provider):
        require_usable(plan, provider)
    reports = [await run.report(transcript) for transcript in transcripts]
    found = plan_findings(plan) + run.findings + run.tally.findings()
    return AuditReport(
        plan=PlanRow(plan.name, plan.source.path, plan.digest, carry=plan.carry),
        version=contextctl.__version__,
        assembler=assembler_name,
        matchers=run.tally.rows(),
        findings=tuple(found + (journal.unconsumed_findings() if journal is not None else [])),
        transcripts=tuple(report for report in reports if report is not None),
        fail_on=fail_on,
        exit_zero=exit_zero,
    )


def _synchronous(function: Callable[P, Coroutine[Any, Any, Result]]) -> Callable[P, Result]:
    """The same for callers that are not asynchronous; works inside a running event loop too."""

    @wraps(function)
    def run(*args: P.args, **keywords: P.kwargs) -> Result:
        with ThreadPoolExecutor(max_workers=1) as thread:
            return thread.submit(asyncio.run, function(*args, **keywords)).result()

    return run


audit = _synchronous(audit_async)
"""As :func:`audit_async`, for callers that are not asynchronous; works inside a running event loop too."""


@dataclass(slots=True)
class _Run:
    """One audit under way: findings about the run and what the plan's matchers accepted so far."""

    plan: ContextPlan
    provider: ProviderSource
    engine: Callable[..., ContextAssembler]
    assembler: OwnAssembler | Literal["recorded"] | None
    show_text: bool
    calls: Calls
    history: History
    journal: JournalSummariser | None
    findings: list[Finding] = field(default_factory=list)
    tally: MatcherTally = field(init=False)
    models_seen: set[tuple[object, ...]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.tally = MatcherTally(self.plan)

    async def report(self, transcript: Transcript | TranscriptFailure) -> TranscriptReport | None:
        """The transcript's report; None, and findings of the run, for a file that could not be read."""
        if isinstance(transcript, TranscriptFailure):
            self.findings += transcript.findings
            return None
        transcript = chosen_history(transcript, self.history)
        found = list(transcript.findings)
        blank = blank_report(transcript)
        try:
            report = await self._audited(transcript, blank, found)
        except InternalError:
            raise
        except InputProblems as error:
            found += [from_problem(problem) for problem in error.problems]
            report = blank
        except ContextctlError as error:
            location = error.location if error.location.path else Location(transcript.path)
            code = error.rule or "CTX028"
            found.append(
                finding(code, error.message, severity=Severity.ERROR, location=location, hint=error.hint)
            )
            report = blank
        return replace(report, findings=tuple(self._placed(item, transcript) for item in found))

    def _placed(self, item: Finding, transcript: Transcript) -> Finding:
        place = item.location if item.location.path else Location(transcript.path)
        return replace(item, location=place, subject=f"{self.plan.name}\0{transcript.id}")

    async def _audited(
        self, transcript: Transcript, blank: TranscriptReport, found: list[Finding]
    ) -> TranscriptReport:
        chosen = self.provider(transcript) if callable(self.provider) else self.provider
        provider, told = with_recorded_settings(chosen, self.plan, transcript)
        found += told
        maker, moments = maker_for(
            self.plan, self.engine, chosen, transcript, self.calls, assembler=self.assembler
        )
        if not moments:
            found.append(nothing_to_replay(transcript, recorded=self.assembler == "recorded"))
            return blank
        replayed = await replay(
            self.plan, maker, transcript, moments, show_text=self.show_text, listener=self.journal
        )
        found += replayed.told()
        assert replayed.prepared is not None
        assert replayed.part is not None
        self.tally.add(replayed.prepared, replayed.part)
        model = model_row(provider)
        self._say_of_model(provider, model)
        return replace(
            blank,
            model=model,
            budget=budget_row(replayed.prepared),
            assemblies=replayed.assemblies(self.plan, transcript),
        )

    def _say_of_model(self, provider: ModelProvider, model: ModelRow) -> None:
        """What there is to say of a model, once a run."""
        measured = measuring(provider)
        warnings = measured.facts.warnings if measured is not None else ()
        if (model.name, warnings) not in self.models_seen:
            self.models_seen.add((model.name, warnings))
            most = model.max_output_tokens
            self.findings += model_findings(self.plan, max_output_tokens=most, warnings=warnings)
