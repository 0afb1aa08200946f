"""The audit: every transcript against one plan, each failure a finding beside the others."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

import contextctl
from contextctl.assembler import ContextAssembler
from contextctl.checks.hygiene import model_findings, plan_findings
from contextctl.checks.pairing import pairing_findings
from contextctl.errors import ContextBudgetError, ContextctlError, InputProblems, InternalError, Location
from contextctl.findings import Finding, Severity, finding, from_problem
from contextctl.judgement import budget_finding, judge, overcommit_findings, require_usable, trust
from contextctl.loading.transcript_files import TranscriptFailure
from contextctl.outcome import AssembledContext
from contextctl.plan import ContextPlan
from contextctl.ports import Exactness, ModelProvider, Strategy, measuring
from contextctl.preparation import Prepared
from contextctl.recording import Transcript
from contextctl.replay import Calls, moments_of, told_once, with_lifetimes
from contextctl.report import AssemblyRow, AuditReport, ModelRow, PlanRow, TranscriptReport
from contextctl.rows import assembly_row, blank_report, budget_row, model_row
from contextctl.tally import MatcherTally

ProviderSource = ModelProvider | Callable[[Transcript], ModelProvider]
"""One provider for all transcripts, or what chooses one for each."""


async def audit_async(
    plan: ContextPlan,
    transcripts: Iterable[Transcript | TranscriptFailure],
    provider: ProviderSource,
    *,
    strategies: Mapping[str, Strategy] | None = None,
    fail_on: Severity | None = Severity.ERROR,
    exit_zero: bool = False,
    show_text: bool = False,
    calls: Calls = "end",
) -> AuditReport:
    """Assemble what each transcript would send next, and report every entry's fate.

    ``calls`` replays recorded calls instead: each assembled from the whole history before it.
    A transcript that cannot be read, counted or held by the plan is a finding, and the others are audited
    all the same. Raises what makes the plan unusable with a provider that is the same for all:
    :class:`~contextctl.errors.CapabilityError` or :class:`~contextctl.budget.PlanUnusableError`.
    """
    run = _Run(plan, provider, strategies or {}, show_text, calls)
    if not callable(provider):
        require_usable(plan, provider)
    reports = [await run.report(transcript) for transcript in transcripts]
    source = plan.source
    return AuditReport(
        plan=PlanRow(plan.name, source.path, plan.digest),
        version=contextctl.__version__,
        assembler="plan",
        matchers=run.tally.rows(),
        findings=tuple(plan_findings(plan) + run.findings + run.tally.findings()),
        transcripts=tuple(report for report in reports if report is not None),
        fail_on=fail_on,
        exit_zero=exit_zero,
    )


def audit(
    plan: ContextPlan,
    transcripts: Iterable[Transcript | TranscriptFailure],
    provider: ProviderSource,
    *,
    strategies: Mapping[str, Strategy] | None = None,
    fail_on: Severity | None = Severity.ERROR,
    exit_zero: bool = False,
    show_text: bool = False,
    calls: Calls = "end",
) -> AuditReport:
    """:func:`audit_async` for callers that are not asynchronous; works inside a running event loop too."""
    coroutine = audit_async(
        plan,
        transcripts,
        provider,
        strategies=strategies,
        fail_on=fail_on,
        exit_zero=exit_zero,
        show_text=show_text,
        calls=calls,
    )
    with ThreadPoolExecutor(max_workers=1) as thread:
        return thread.submit(asyncio.run, coroutine).result()


@dataclass(slots=True)
class _Run:
    """One audit under way: findings about the run and what the plan's matchers accepted so far."""

    plan: ContextPlan
    provider: ProviderSource
    strategies: Mapping[str, Strategy]
    show_text: bool
    calls: Calls = "end"
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
        provider = self._provider_for(transcript, found)
        assembler = ContextAssembler(self.plan, provider=provider, strategies=self.strategies)
        moments = moments_of(transcript, self.calls)
        if not moments:
            found.append(
                finding("CTX029", f"there is no recorded call to replay ({transcript.calls} in all)")
            )
            return blank
        rows: list[AssemblyRow] = []
        said: list[tuple[int | None, list[Finding]]] = []
        for moment in moments:
            part = replace(transcript, messages=transcript.messages[: moment.messages])
            prepared = assembler.prepare(part.messages, transcript_id=transcript.id)
            exactness, doubts = trust(self.plan, prepared, transcript)
            row, told = await self._assembled(assembler, prepared, part, exactness)
            rows.append(replace(row, call=moment.call))
            said.append((moment.call, told))
        found += pairing_findings(prepared.routed.remarks, part.messages) + doubts + told_once(said, rows)
        self.tally.add(prepared, part)
        model = model_row(provider)
        self._say_of_model(provider, model)
        return replace(
            blank, model=model, budget=budget_row(prepared), assemblies=tuple(with_lifetimes(rows))
        )

    async def _assembled(
        self, assembler: ContextAssembler, prepared: Prepared, part: Transcript, exactness: Exactness
    ) -> tuple[AssemblyRow, list[Finding]]:
        """One assembly's row and what there is to say of it."""
        result: AssembledContext | ContextBudgetError
        try:
            result = await assembler.complete(prepared)
            told = judge(self.plan, prepared, result, part)
        except ContextBudgetError as error:
            result = error
            told = [budget_finding(error, prepared)]
        row = assembly_row(self.plan, prepared, result, exactness=exactness, show_text=self.show_text)
        return row, told + overcommit_findings(row)

    def _provider_for(self, transcript: Transcript, found: list[Finding]) -> ModelProvider:
        provider = self.provider(transcript) if callable(self.provider) else self.provider
        measured = measuring(provider)
        if measured is None:
            return provider
        if self.plan.tools is None:
            return measured.with_settings(transcript.settings)
        if transcript.settings.tools is not None:
            place = self.plan.source.place("tools")
            found.append(finding("CTX027", "the plan's tools replace the recorded ones", location=place))
        return measured.with_settings(self.plan.tools)

    def _say_of_model(self, provider: ModelProvider, model: ModelRow) -> None:
        """What there is to say of a model, once a run."""
        measured = measuring(provider)
        warnings = measured.facts.warnings if measured is not None else ()
        if (model.name, warnings) not in self.models_seen:
            self.models_seen.add((model.name, warnings))
            most = model.max_output_tokens
            self.findings += model_findings(self.plan, max_output_tokens=most, warnings=warnings)
