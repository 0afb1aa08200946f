"""Carried history (rule 5.9): each call starts from the prompt of the call before plus what is new."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from contextctl import CompactionOutcome, ContextAssembler, audit
from contextctl.carried import NOTHING_YET
from contextctl.entries import Entry, summary_entry
from contextctl.errors import Location
from contextctl.findings import Severity
from contextctl.messages import Message, TextPart, ToolCallPart, ToolResultPart
from contextctl.outcome import Fate
from contextctl.plan import CompactionPlan, ContextPlan, Expectation, SectionPlan
from contextctl.ports import Summary, SummaryRequest
from contextctl.recording import Transcript
from contextctl.replay import Calls
from contextctl.report import AssemblyRow, AuditReport
from contextctl.reports import render
from contextctl.strategies.summarise_span import SummariseSpan
from tests.engine_samples import SUPPLIED, History, WordProvider, histories, plans

GONE = {Fate.EVICTED, Fate.FOLDED, Fate.SUMMARISED}


def chat(turns: int, words: int = 6) -> list[Message]:
    text = " ".join(["w"] * words)
    return [Message(role="assistant" if n % 2 else "user", content=f"{text} n{n}") for n in range(2 * turns)]


def transcript(messages: Sequence[Message]) -> Transcript:
    placed = [
        message.model_copy(update={"location": Location("t.jsonl", line)})
        for line, message in enumerate(messages, 1)
    ]
    return Transcript("t.jsonl", "t", "openai-chat", tuple(placed))


def plan(compaction: CompactionPlan | str = "drop-oldest", **fields: Any) -> ContextPlan:
    top = {key: fields.pop(key) for key in list(fields) if key in ContextPlan.model_fields}
    section = SectionPlan(name="recent", share=Decimal(1), match="rest", compaction=compaction, **fields)  # type: ignore[arg-type]
    return ContextPlan(sections=(section,), carry=True, **top)


def replayed(
    made: ContextPlan, messages: Sequence[Message], window: int, calls: Calls = "every", **more: Any
) -> AuditReport:
    return audit(
        made, [transcript(messages)], WordProvider(window), calls=calls, **{"strategies": SUPPLIED} | more
    )


def row_at(
    made: ContextPlan, messages: Sequence[Message], window: int, calls: Calls, **more: Any
) -> AssemblyRow:
    (row,) = replayed(made, messages, window, calls, **more).assemblies
    return row


def fates(row: AssemblyRow) -> dict[str, Fate | None]:
    return {entry.id: entry.fate for entry in row.entries}


def test_5_9_a_larger_room_at_a_later_call_brings_nothing_back() -> None:
    messages = chat(6)
    made = plan()
    assembler = ContextAssembler(made, provider=WordProvider(60))
    first = assembler.prepare(messages[:7])
    prompt = asyncio.run(assembler.complete(first))
    lost = {i for i, fate in prompt.fates.items() if fate is Fate.EVICTED}
    assert lost
    carried = NOTHING_YET.after(prompt, first.routed.entries)
    roomy = ContextAssembler(made, provider=WordProvider(1000))
    again = roomy.prepare(messages, carried=carried)
    later = asyncio.run(roomy.complete(again))
    assert {i for i, fate in later.fates.items() if fate is Fate.EVICTED} == lost
    assert later.status == "compacted"
    fresh = asyncio.run(roomy.assemble(messages))
    assert set(fresh.fates.values()) == {Fate.KEPT}


def test_5_9_the_end_is_the_last_call_of_the_replay_and_at_n_is_its_nth_row() -> None:
    messages = chat(9)
    made = plan(CompactionPlan(strategy="pin-and-fold"))
    whole = replayed(made, messages, 80).assemblies
    assert row_at(made, messages, 80, "last").prompt_fingerprint == whole[-1].prompt_fingerprint
    for call in range(1, 10):
        assert row_at(made, messages, 80, call).prompt_fingerprint == whole[call - 1].prompt_fingerprint
    end = row_at(made, messages, 80, "end")
    asked_again = [*messages, Message(role="assistant", content="more")]
    assert row_at(made, asked_again, 80, "last").prompt_fingerprint == end.prompt_fingerprint


def test_5_9_a_summary_is_an_entry_that_later_ones_stand_for_with_all_that_it_stood_for() -> None:
    requests: list[SummaryRequest] = []

    class Asked:
        async def summarise(self, request: SummaryRequest) -> Summary:
            requests.append(request)
            return Summary(f"gist {len(requests)}")

    span = SummariseSpan(summariser=Asked())
    made = plan(CompactionPlan(strategy="summarise-span", parameters={"max_summary_tokens": 8}))
    row = row_at(made, chat(9), 80, "end", strategies={"summarise-span": span})
    assert len(requests) > 1
    assert requests[1].entries[0].kind == "summary"
    assert requests[1].entries[0].messages[0].text == "gist 1"
    (note,) = row.notes
    summarised = {i for i, fate in fates(row).items() if fate is Fate.SUMMARISED}
    assert summarised == {i for i in note.stands_for if not i.startswith("summary:")}
    assert row.summary_calls <= 1


def test_5_9_what_a_lost_summary_stood_for_is_lost_with_it() -> None:
    class FirstSummaryThenDrop:
        """Summarises the two oldest entries; a summary that it finds is dropped."""

        async def compact(
            self, entries: tuple[Entry, ...], *, budget_tokens: int, count: Any
        ) -> CompactionOutcome:
            found = [entry for entry in entries if entry.is_stand_in]
            if found:
                gone = {found[0].id, *(e.id for e in entries[1:5] if not e.pinned)}
                kept = tuple(entry for entry in entries if entry.id not in gone)
                return CompactionOutcome(kept, evicted=tuple(e.id for e in entries if e.id in gone))
            span = entries[:4]
            note = summary_entry(
                "gist", id="s", section="recent", role="user", stands_for=[e.id for e in span]
            )
            return CompactionOutcome((note, *entries[4:]), summarised=tuple(e.id for e in span))

    made = plan("mine")
    own = {"strategies": {"mine": FirstSummaryThenDrop()}}
    seen = [fates(row_at(made, chat(7), 70, call, **own)) for call in range(1, 8)]
    first = next(n for n, found in enumerate(seen) if Fate.SUMMARISED in found.values())
    summarised = {i for i, fate in seen[first].items() if fate is Fate.SUMMARISED}
    assert all(seen[-1][i] is Fate.EVICTED for i in summarised)


def test_5_9_a_result_that_comes_after_its_call_was_lost_is_lost_with_it() -> None:
    call = ToolCallPart(id="c", name="find", arguments=" ".join(["w"] * 20))
    result = ToolResultPart(call_id="c", content=(TextPart(text="late"),))
    messages = [
        Message(role="user", content="start"),
        Message(role="assistant", content=(call,)),
        *chat(3),
        Message(role="tool", content=(result,)),
        *chat(1),
    ]
    row = row_at(plan(), messages, 60, "end")
    assert fates(row)["m2"] is Fate.EVICTED
    assert [entry.lines for entry in row.entries if entry.id == "m2"] == [(2, 9)]
    assert not any(
        finding.severity is Severity.ERROR for finding in replayed(plan(), messages, 60).all_findings()
    )


def test_5_9_a_trimmed_entry_stays_trimmed() -> None:
    messages = [
        Message(role="user", content="go"),
        Message(role="assistant", content=" ".join(["w"] * 90)),
        *chat(6),
    ]
    made = plan(max_entry_tokens=40)
    seen = [fates(row_at(made, messages, 120, call)).get("m2") for call in range(2, 8)]
    first = seen.index(Fate.TRIMMED)
    assert set(seen[first:]) <= {Fate.TRIMMED, Fate.EVICTED}


def test_5_9_a_call_without_a_prompt_leaves_things_as_they_were() -> None:
    messages = chat(5)
    messages[4] = Message(role="user", content=" ".join(["w"] * 200))
    rows = [row_at(plan(), messages, 80, call) for call in (2, 3, 4)]
    assert [row.has_prompt for row in rows] == [True, False, True]
    assert fates(rows[2])["m5"] is Fate.EVICTED


def test_5_9_every_report_says_which_history_it_is_of() -> None:
    report = replayed(plan(), chat(3), 80)
    whole = audit(plan().model_copy(update={"carry": False}), [transcript(chat(3))], WordProvider(80))
    assert "carried history" in render(report, "text")
    assert "whole history" in render(whole, "text")
    for format in ("json", "jsonl"):
        assert '"carry": true' in render(report, format)
        assert '"carry": false' in render(whole, format)


def test_5_9_the_evicted_fraction_is_of_the_whole_recording() -> None:
    expect = (Expectation(max_evicted_fraction=Decimal("0.5")),)
    report = replayed(plan(expect=expect), chat(20), 60, "end")
    assert [finding.code for finding in report.all_findings() if finding.severity is Severity.ERROR] == [
        "CTX601"
    ]


@given(plans(), histories(most=12), st.integers(20, 300))
@settings(max_examples=80, deadline=None)
def test_5_9_every_entry_is_accounted_for_at_every_call_and_none_comes_back(
    made: ContextPlan, history: History, window: int
) -> None:
    made = made.model_copy(update={"carry": True})
    messages = list(history.messages)
    before: dict[str, Fate | None] = {}
    for call in range(1, transcript(messages).calls + 1):
        report = replayed(made, messages, window, call)
        if not report.assemblies:
            return
        (row,) = report.assemblies
        if not row.has_prompt:
            continue
        lines = sorted(line for entry in row.entries for line in entry.lines)
        assert lines == list(range(1, len(lines) + 1))
        assert row.tokens_upper <= report.transcripts[0].budget.budget_tokens  # type: ignore[union-attr]
        found = fates(row)
        stood_for = {i for note in row.notes for i in note.stands_for}
        assert all(i in stood_for for i, fate in found.items() if fate in {Fate.SUMMARISED, Fate.FOLDED})
        assert all(found[i] in GONE for i, fate in before.items() if fate in GONE)
        assert all(found[i] is not Fate.KEPT for i, fate in before.items() if fate is Fate.TRIMMED)
        assert all(entry.fate is Fate.KEPT for entry in row.entries if entry.protected)
        kept = sum(entry.tokens for entry in row.entries if entry.fate is Fate.KEPT)
        if Fate.TRIMMED not in found.values():
            assert row.tokens_after == 3 + kept + sum(note.tokens for note in row.notes)
        before = found
