"""The assemblies of one recording, one after another, each a row and what there is to say of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from contextctl.carried import NOTHING_YET, Carried
from contextctl.checks.pairing import pairing_findings
from contextctl.errors import ContextBudgetError
from contextctl.findings import Finding
from contextctl.judgement import budget_finding, judge, overcommit_findings, trust
from contextctl.messages import Message
from contextctl.outcome import AssembledContext, SentOverBudgetError
from contextctl.plan import ContextPlan
from contextctl.preparation import Prepared
from contextctl.recording import Transcript
from contextctl.replay import Moment, told_once, with_lifetimes
from contextctl.report import AssemblyRow
from contextctl.rows import assembly_row, with_superseded


class PromptMaker(Protocol):
    """What makes the prompt of a call: the engine, or the application's own code."""

    def prepare(
        self, messages: Sequence[Message], *, transcript_id: str | None = None, carried: Carried = ...
    ) -> Prepared:
        """The history measured against the plan."""
        ...

    async def complete(self, prepared: Prepared) -> AssembledContext:
        """The prompt; raises :class:`~contextctl.errors.ContextBudgetError` where there is none."""
        ...


class CallListener(Protocol):
    """Is told of every assembly before it is made, as a journal must be that records where it was asked."""

    def begin(self, transcript: str, call: int | None, *, carry: bool) -> None:
        """The next requests are of this conversation and recorded call (None: its end)."""
        ...


@dataclass(slots=True)
class Replayed:
    """The assemblies that were asked for, with what was said of each, and the last history measured."""

    rows: list[AssemblyRow]
    said: list[tuple[int | None, list[Finding]]]
    doubts: list[Finding] = field(default_factory=list)
    prepared: Prepared | None = None
    part: Transcript | None = None

    def told(self) -> list[Finding]:
        """Every finding about the recording's pairs, its counts and its assemblies, each kind once."""
        assert self.prepared is not None
        assert self.part is not None
        pairs = pairing_findings(self.prepared.routed.remarks, self.part.messages)
        return pairs + self.doubts + told_once(self.said, self.rows)

    def assemblies(self, plan: ContextPlan, transcript: Transcript) -> tuple[AssemblyRow, ...]:
        """The rows as a report holds them; the last one has what was set aside as well."""
        assert self.prepared is not None
        *rows, last = with_lifetimes(self.rows)
        return (*rows, with_superseded(last, plan, self.prepared, transcript.set_aside))


async def replay(
    plan: ContextPlan,
    maker: PromptMaker,
    transcript: Transcript,
    moments: Sequence[Moment],
    *,
    show_text: bool,
    listener: CallListener | None = None,
) -> Replayed:
    """Assemble each moment of a recording.

    With ``carry`` in the plan each starts from the prompt of the one before; a moment that has no prompt
    leaves things as they were. Raises what ``prepare`` raises.
    """
    carried = NOTHING_YET
    replayed = Replayed([], [])
    for moment in moments:
        if listener is not None:
            listener.begin(transcript.id, moment.call, carry=plan.carry)
        part = replace(transcript, messages=transcript.messages[: moment.messages])
        prepared = maker.prepare(part.messages, transcript_id=transcript.id, carried=carried)
        result = await _result(maker, prepared)
        if plan.carry and isinstance(result, AssembledContext):
            carried = carried.after(result, prepared.routed.entries)
        if not moment.told:
            continue
        exactness, replayed.doubts = trust(plan, prepared, transcript)
        row = assembly_row(plan, prepared, result, exactness=exactness, show_text=show_text)
        replayed.rows.append(replace(row, call=moment.call))
        said = _said(plan, prepared, result, part, final=moment is moments[-1])
        replayed.said.append((moment.call, said + overcommit_findings(row)))
        replayed.prepared, replayed.part = prepared, part
    return replayed


async def _result(maker: PromptMaker, prepared: Prepared) -> AssembledContext | ContextBudgetError:
    try:
        return await maker.complete(prepared)
    except ContextBudgetError as error:
        return error


def _said(
    plan: ContextPlan,
    prepared: Prepared,
    result: AssembledContext | ContextBudgetError,
    part: Transcript,
    *,
    final: bool,
) -> list[Finding]:
    if isinstance(result, SentOverBudgetError):
        return [budget_finding(result, prepared), *judge(plan, prepared, result.assembled, part, final=final)]
    if isinstance(result, ContextBudgetError):
        return [budget_finding(result, prepared)]
    return judge(plan, prepared, result, part, final=final)
