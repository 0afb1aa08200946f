"""Small recordings in agents' and providers' own shapes on which tools like this one have failed."""

from __future__ import annotations

from pathlib import Path

import pytest

from contextctl import audit, load_plan, load_transcripts, offline_provider
from contextctl.history import History, chosen_history
from contextctl.outcome import Fate
from contextctl.recording import Transcript
from contextctl.report import AuditReport


@pytest.fixture
def cases(shared: Path) -> Path:
    return shared / "cases"


def only(cases: Path, pattern: str) -> Transcript:
    (path,) = cases.glob(pattern)
    (transcript,) = load_transcripts(path)
    return transcript


def audited(
    transcript: Transcript, plan: str = "preset:default", history: History = "effective"
) -> AuditReport:
    return audit(load_plan(plan), [transcript], offline_provider("gpt-4o"), history=history)


def test_b027_a_picture_in_a_tool_result_is_priced_as_a_picture_and_marked(cases: Path) -> None:
    transcript = only(cases, "B027-*/transcript.jsonl")
    (plan,) = cases.glob("B027-*/plan.yaml")
    report = audit(load_plan(plan), [transcript], offline_provider("gpt-4o"))
    (row,) = report.assemblies
    assert report.exit_code == 0
    assert [len(entry.lines) for entry in row.entries if entry.fate is Fate.KEPT] == [1, 2, 1]
    assert 0 < row.tokens_before < 2_000
    assert row.tokens_before > 85 + 170, "a picture of 64 by 64 pixels is one tile"
    (call,) = [call for message in transcript.messages for call in message.calls]
    assert (call.name, call.arguments) == ("screenshot", '{"camera":"dock"}')
    (result,) = [result for message in transcript.messages for result in message.results]
    assert [part.type for part in result.content] == ["text", "image"]


def test_b087_one_answer_over_many_lines_is_one_entry_with_its_results_and_one_usage(cases: Path) -> None:
    transcript = only(cases, "B087-*/session.jsonl")
    report = audited(transcript)
    (row,) = report.assemblies
    assert [entry.lines for entry in row.entries] == [(1,), (2, 3, 4, 5, 6, 7), (8,)]
    usages = [message.usage for message in transcript.messages if message.usage is not None]
    outside = [(usage.input_tokens or 0) - (usage.cached_tokens or 0) for usage in usages]
    assert outside == [100, 180]
    assert transcript.calls == 2
    measure = offline_provider("gpt-4o").measure_entry
    first = [message for message in transcript.messages if message.response_id == "msg_1"]
    together = first[0].model_copy(update={"content": tuple(p for line in first for p in line.content)})
    assert measure(first) == measure([together])


@pytest.mark.parametrize(
    ("history", "lines"), [("effective", [8, 9, 10]), ("full", [1, 2, 3, 4, 5, 6, 9, 10])]
)
def test_b090_a_compacted_log_is_the_recap_or_what_was_said_and_never_both(
    cases: Path, history: History, lines: list[int]
) -> None:
    report = audited(only(cases, "B090-*/session.jsonl"), history=history)
    (row,) = report.assemblies
    kept = [entry for entry in row.entries if entry.fate is Fate.KEPT]
    assert [line for entry in kept for line in entry.lines] == lines
    assert {entry.kind for entry in row.entries if entry.lines == (8,)} == {"summary"}
    assert "CTX033" in {finding.code for finding in report.all_findings()}


def test_b092_a_replaced_history_is_replaced_and_what_was_before_is_superseded(cases: Path) -> None:
    transcript = only(cases, "B092-*/rollout.jsonl")
    effective = chosen_history(transcript, "effective").messages
    said = [message.text for message in effective if message.role != "system"]
    assert len(said) == 4
    assert said.count("Count the crates.") == 1
    (row,) = audited(transcript).assemblies
    assert [entry.lines for entry in row.entries if entry.fate is Fate.SUPERSEDED] == [(4,)]
