"""The shipped samples: each plan shows what its comment says, on the conversation written for it."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from contextctl import ContextAssembler, audit, load_plan, load_transcripts, offline_provider
from contextctl.outcome import Fate
from contextctl.report import AssemblyRow

ROOT = Path(__file__).parent.parent
PAIRS = {
    "trip": ("trip", "compacted"),
    "support": ("support", "compacted"),
    "coding-agent": ("coding-agent", "compacted"),
    "weltladen": ("weltladen", "compacted"),
    "hostile": ("hostile", "compacted"),
    "minimal": ("short", "fits"),
    "too-small": ("trip", "over_budget"),
}
"""Plan -> the fixture that it is for, and the verdict."""


def row_of(name: str) -> AssemblyRow:
    fixture, _ = PAIRS[name]
    plan = load_plan(ROOT / "plans" / f"{name}.yaml")
    provider = offline_provider(plan.model or "gpt-4o")
    (row,) = audit(plan, load_transcripts(ROOT / "fixtures" / f"{fixture}.jsonl"), provider).assemblies
    return row


def test_every_plan_has_a_fixture_and_every_fixture_a_plan() -> None:
    assert {path.stem for path in (ROOT / "plans").glob("*.yaml")} == set(PAIRS)
    assert {path.stem for path in (ROOT / "fixtures").glob("*.jsonl")} == {f for f, _ in PAIRS.values()}


@pytest.mark.parametrize("name", PAIRS)
def test_a_sample_plan_comes_to_its_verdict(name: str) -> None:
    fixture, status = PAIRS[name]
    plan = load_plan(ROOT / "plans" / f"{name}.yaml")
    provider = offline_provider(plan.model or "gpt-4o")
    report = audit(plan, load_transcripts(ROOT / "fixtures" / f"{fixture}.jsonl"), provider)
    (row,) = report.assemblies
    assert row.status == status
    assert report.exit_code == (1 if status == "over_budget" else 0)
    assert not any(finding.is_input_error for finding in report.all_findings())


def test_the_allergy_of_turn_three_survives_ninety_turns_and_is_where_it_was() -> None:
    plan = load_plan(ROOT / "plans" / "trip.yaml")
    (trip,) = load_transcripts(ROOT / "fixtures" / "trip.jsonl")
    users = [message for message in trip.messages if message.role == "user"]
    assert len(users) >= 90
    assert "allergic" in json.dumps([part.model_dump() for part in users[2].content])
    assembler = ContextAssembler(plan, provider=offline_provider("gpt-4o"))
    prompt = asyncio.run(assembler.assemble(trip.messages)).messages
    assert [message.content for message in prompt].count(users[2].content) == 1
    assert prompt[1].content == users[2].content


def test_a_giant_tool_result_is_trimmed_and_every_call_keeps_its_results() -> None:
    row = row_of("support")
    assert [entry.fate for entry in row.entries].count(Fate.TRIMMED) == 1
    assert any(len(entry.lines) > 2 for entry in row.entries)


def test_the_coding_agent_has_one_user_message_and_a_hundred_calls() -> None:
    (recording,) = load_transcripts(ROOT / "fixtures" / "coding-agent.jsonl")
    assert sum(message.role == "user" for message in recording.messages) == 1
    assert sum(len(message.calls) for message in recording.messages) == 100


def test_what_is_folded_in_another_language_is_one_note_of_numbers() -> None:
    row = row_of("weltladen")
    assert len(row.notes) == 1
    assert row.count_of(Fate.FOLDED) == len(row.notes[0].stands_for)


def test_the_schema_beside_the_plans_is_the_one_that_is_printed() -> None:
    from contextctl.loading.plan_schema import plan_schema

    shipped = (ROOT / "plans" / "plan.schema.json").read_text(encoding="utf-8")
    assert json.loads(shipped) == json.loads(json.dumps(plan_schema()))


def test_the_readme_shows_the_report_that_its_first_command_prints() -> None:
    from contextctl.reports import render

    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    block = re.search(r"```text\n(COMPACTED.*?)```", readme, re.DOTALL)
    assert block
    plan = load_plan(ROOT / "plans" / "trip.yaml")
    report = audit(plan, load_transcripts(ROOT / "fixtures" / "trip.jsonl"), offline_provider("gpt-4o"))
    shown = render(report, "text").replace(f"{ROOT.as_posix()}/", "")
    assert block.group(1) == shown


def test_the_readme_shows_the_budget_error_as_it_is() -> None:
    from contextctl.reports import render

    plan = load_plan(ROOT / "plans" / "too-small.yaml")
    report = audit(plan, load_transcripts(ROOT / "fixtures" / "trip.jsonl"), offline_provider("gpt-4o"))
    shown = render(report, "text").replace(f"{ROOT.as_posix()}/", "")
    block = re.search(r"```text\n([^`]*CTX103[^`]*)```", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert block
    assert block.group(1) in shown


def readme_block(language: str, start: str) -> str:
    """The README's code block of this language that holds this text."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    return next(
        block for block in re.findall(rf"```{language}\n(.*?)```", readme, re.DOTALL) if start in block
    )


def test_the_readmes_example_of_recording_once_and_replaying_runs_as_it_is_printed(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "fixtures", tmp_path / "fixtures")
    (tmp_path / "example.py").write_text(readme_block("python", "open_journal("), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "example.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert len((tmp_path / "summaries.jsonl").read_text().splitlines()) > 3


def test_the_readmes_assembler_is_found_out_as_it_is_printed(tmp_path: Path) -> None:
    for name in ("fixtures", "plans"):
        shutil.copytree(ROOT / name, tmp_path / name)
    (tmp_path / "app.py").write_text(readme_block("python", "def fit("), encoding="utf-8")
    words = ["audit", "plans/trip.yaml", "fixtures/trip.jsonl", "--assembler", "app:fit", "--every-call"]
    done = subprocess.run(
        [sys.executable, "-m", "contextctl", *words],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    for paragraph in readme_block("text", "CTX210").strip().split("\n\n"):
        assert paragraph in done.stdout
