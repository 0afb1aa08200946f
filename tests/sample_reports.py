"""Sample reports that every output format is rendered from."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

from contextctl.auditor import audit
from contextctl.errors import Location
from contextctl.findings import finding
from contextctl.loading.transcript_files import TranscriptFailure
from contextctl.messages import Message, RequestSettings, TextPart, ToolCallPart, ToolResultPart
from contextctl.plan import CompactionPlan, ContextPlan, Matcher, PlanSource, SectionPlan
from contextctl.providers.offline import offline_provider
from contextctl.recording import Transcript
from contextctl.report import AuditReport

HOSTILE = "[/x] [red]::error::x ##[error] <|endoftext|> \x1b[31m \u202e </script> | ``` =cmd :bug: \ud83d"


def plan(budget: int, **fields: object) -> ContextPlan:
    """A plan of three sections, as if it were read from ``plans/trip.yaml``."""
    sections = (
        SectionPlan(name="system", share=Decimal("0.2"), pinned=True),
        SectionPlan(name="facts", share=Decimal("0.1"), pinned=True, match=Matcher(contains=("allergic",))),
        SectionPlan(name="recent", share=Decimal("0.7"), match="rest"),
    )
    made = ContextPlan(name="trip", sections=sections, budget_tokens=budget, **fields)  # type: ignore[arg-type]
    return made.with_source(PlanSource("plans/trip.yaml", {(): Location("plans/trip.yaml", 1, 1)}))


def over_target_plan() -> ContextPlan:
    """A soft line that the newest messages alone are over."""
    made = plan(420, compaction_fraction=Decimal("0.3"))
    *others, recent = made.sections
    kept = recent.model_copy(update={"compaction": CompactionPlan(strategy="drop-middle")})
    return made.model_copy(update={"sections": (*others, kept)})


def transcript(name: str, turns: int, *, words: int = 8, model: str | None = "gpt-4o") -> Transcript:
    """A conversation about a trip with a call in it."""
    said = [Message(role="system", content="Plan trips. Be brief.")]
    said.append(Message(role="user", content="I am allergic to nuts."))
    for turn in range(turns):
        said.append(Message(role="user", content=f"Question {turn}: " + "where to " * words))
        call = ToolCallPart(id=f"c{turn}", name="find", arguments='{"q": "sea"}')
        said.append(Message(role="assistant", content=(call,)))
        result = ToolResultPart(call_id=f"c{turn}", content=(TextPart(text="a harbour " * words),))
        said.append(Message(role="tool", content=(result,)))
        said.append(Message(role="assistant", content="To the harbour."))
    said.append(Message(role="user", content="And then?"))
    path = f"recordings/{name}.jsonl"
    placed = [
        message.model_copy(update={"location": Location(path, line)}) for line, message in enumerate(said, 1)
    ]
    return Transcript(
        path=path,
        id=name,
        format="openai-chat",
        messages=tuple(placed),
        model=model,
        settings=RequestSettings(),
        lacks=("tools",),
    )


def hostile() -> AuditReport:
    """Hostile text in every short field that a report may echo."""
    sections = (SectionPlan(name=HOSTILE[:-1], share=Decimal("0.5")),)
    made = ContextPlan(name=HOSTILE[:-1], sections=sections, budget_tokens=60)
    made = made.with_source(PlanSource(f"plans/{HOSTILE}.yaml"))
    path = f"::{HOSTILE}.jsonl"
    said = [
        Message(role=HOSTILE, id=f"{HOSTILE}{n}", content="x " * 9, location=Location(path, n))
        for n in range(1, 9)
    ]
    wrong = finding("CTX015", f"unknown role {HOSTILE!r}", location=Location(path, 1))
    recording = Transcript(path, HOSTILE, "openai-chat", tuple(said), HOSTILE, findings=(wrong,), skipped=1)
    return audit(made, [recording], offline_provider("gpt-4o"), show_text=True)


def samples() -> dict[str, AuditReport]:
    """Name -> report: each status, many transcripts with a file that could not be read, hostile names."""
    provider = offline_provider("gpt-4o")
    failure = TranscriptFailure(
        "recordings/missing.jsonl",
        (
            finding(
                "CTX009", "no such file", location=Location("recordings/missing.jsonl"), hint="name a file"
            ),
        ),
    )
    many = [transcript(f"t{n:02}", n, words=20) for n in range(24)]
    soft = replace(transcript("soft", 4), lacks=())
    return {
        "fits": audit(plan(4000, reserve_output_tokens=500), [transcript("short", 2)], provider),
        "compacted": audit(plan(500), [transcript("long", 9)], provider),
        "over_target": audit(over_target_plan(), [soft], provider),
        "over_budget": audit(plan(28), [transcript("long", 3)], provider, show_text=True),
        "many": audit(plan(600), [*many, failure], provider),
        "estimate": audit(
            plan(5000),
            [transcript("claude", 3)],
            offline_provider("claude-sonnet-4-6", tokenizer="claude-v3-estimate"),
        ),
        "hostile": hostile(),
    }
