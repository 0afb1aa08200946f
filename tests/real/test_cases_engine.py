"""Small inputs on which tools like this one have failed, each with what is right (tests named after them)."""

from __future__ import annotations

import json
import os
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from contextctl import audit, load_plan, load_transcripts, offline_provider
from contextctl.errors import PlanError
from contextctl.outcome import Fate
from contextctl.plan import ContextPlan
from contextctl.report import AssemblyRow, AuditReport


@pytest.fixture
def cases(shared: Path) -> Path:
    return shared / "cases"


def case(cases: Path, number: str) -> Path:
    (folder,) = cases.glob(f"{number}-*")
    return folder


def audited(plan: ContextPlan, transcript: Path, model: str = "gpt-4o") -> AuditReport:
    return audit(plan, load_transcripts(transcript), offline_provider(model))


def only(report: AuditReport) -> AssemblyRow:
    (row,) = report.assemblies
    return row


def fates(row: AssemblyRow) -> dict[str, str | None]:
    return {entry.id: entry.fate.value if entry.fate else None for entry in row.entries}


def codes(report: AuditReport) -> set[str]:
    return {finding.code for finding in report.all_findings()}


def run(*arguments: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "contextctl", *arguments],
        cwd=cwd,
        env=os.environ | environment,
        capture_output=True,
        check=False,
        timeout=120,
    )


def test_b003_very_long_runs_never_crash_and_never_count_as_nothing(
    cases: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(case(cases, "B003") / "make_input.py"))
    rows: dict[str, Any] = {}
    for name in ("blanks", "mixed", "dashes"):
        done = run(
            "audit", f"{name}.jsonl", "--model", "gpt-4o", "--reserve", "1000", "-f", "json", cwd=tmp_path
        )
        assert done.returncode in {0, 1, 3}
        assert b"Traceback" not in done.stderr
        rows[name] = json.loads(done.stdout)["transcripts"][0]["assemblies"][0]
    tokens = {name: row["entries"][1]["tokens"] for name, row in rows.items()}
    assert tokens["dashes"] == 15625 + 4
    assert rows["dashes"]["exactness"] == "exact"
    assert tokens["mixed"] > 128_000 or rows["mixed"]["exactness"] == "estimate"
    assert tokens["blanks"] > 4


def test_b005_half_an_emoji_counts_as_the_replacement_character(cases: Path) -> None:
    folder = case(cases, "B005")
    report = audited(load_plan(folder / "plan.yaml"), folder / "transcript.jsonl")
    assert report.exit_code == 0
    row = only(report)
    assert set(fates(row).values()) == {"kept"}
    assert [entry.tokens - 4 for entry in row.entries[:3]] == [7, 7, 8]


@pytest.mark.parametrize("transcript", ["transcript.jsonl", "transcript-legacy.jsonl"])
def test_b020_tool_arguments_are_counted_and_leave_with_their_result(cases: Path, transcript: str) -> None:
    folder = case(cases, "B020")
    wide = only(audited(load_plan(folder / "plan-wide.yaml"), folder / transcript))
    call = next(entry for entry in wide.entries if len(entry.lines) == 2)
    assert call.tokens >= 414
    assert wide.status == "fits"
    tight = only(audited(load_plan(folder / "plan-tight.yaml"), folder / transcript))
    assert {i for i, fate in fates(tight).items() if fate == "kept"} == {"m1", "m5", "m6"}
    assert tight.tokens_after is not None
    assert tight.tokens_after <= 200


def test_b020_the_older_shape_weighs_the_same_within_a_few_tokens(cases: Path) -> None:
    folder = case(cases, "B020")
    plan = load_plan(folder / "plan-wide.yaml")
    old, new = (only(audited(plan, folder / f"transcript{kind}.jsonl")) for kind in ("-legacy", ""))
    assert abs(old.tokens_before - new.tokens_before) <= 5


def test_b035_a_result_goes_with_its_call(cases: Path) -> None:
    folder = case(cases, "B035")
    row = only(audited(load_plan(folder / "plan.yaml"), folder / "transcript.jsonl"))
    assert fates(row) == {"m1": "kept", "m2": "evicted", "m3": "evicted", "m5": "kept", "m6": "kept"}


def test_b039_a_reused_call_id_pairs_within_its_turn(cases: Path) -> None:
    folder = case(cases, "B039")
    wide = audited(load_plan(folder / "plan-wide.yaml"), folder / "transcript.jsonl")
    assert sum(len(entry.lines) for entry in only(wide).entries) == 8
    assert "CTX019" in codes(wide)
    tight = only(audited(load_plan(folder / "plan-tight.yaml"), folder / "transcript.jsonl"))
    kept = [line for entry in tight.entries if entry.fate is Fate.KEPT for line in entry.lines]
    assert sorted(kept, key=int) == [4, 5, 6, 7, 8]


def test_b045_a_newest_message_over_the_budget_is_named_and_fails(cases: Path) -> None:
    folder = case(cases, "B045")
    report = audited(load_plan(folder / "plan.yaml"), folder / "transcript.jsonl")
    assert report.exit_code == 1
    row = only(report)
    assert (row.status, row.tokens_after) == ("over_budget", None)
    (error,) = [finding for finding in report.all_findings() if finding.severity == "error"]
    assert "m4" in error.message
    assert "605" in error.message
    assert error.location.line == 4


@pytest.mark.parametrize(
    ("plan", "left"), [("plan-equal", "0"), ("plan-over", "-808"), ("plan-budget-equal", "0")]
)
def test_b046_a_reserve_that_leaves_nothing_is_refused_before_any_transcript(
    cases: Path, plan: str, left: str, tmp_path: Path
) -> None:
    folder = case(cases, "B046")
    done = run("audit", str(folder / f"{plan}.yaml"), "no-such-file.jsonl", cwd=tmp_path)
    assert done.returncode == 3
    assert f": {left} tokens are left" in done.stderr.decode()
    assert b"no-such-file" not in done.stderr


def test_b046_the_check_is_made_for_a_model_from_the_command_line_too(cases: Path, tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text(
        "model: gpt-4o\nreserve_output_tokens: 16000\nsections: [{name: recent, share: 1.0}]\n"
    )
    transcript = str(case(cases, "B046") / "transcript.jsonl")
    assert run("audit", "plan.yaml", transcript, cwd=tmp_path).returncode == 0
    done = run("audit", "plan.yaml", transcript, "--model", "gpt-4", cwd=tmp_path)
    assert done.returncode == 3
    assert b"8,192" in done.stderr


@pytest.mark.parametrize("kind", ["drop", "fold"])
def test_b073_at_every_budget_each_message_is_accounted_for_exactly_once(cases: Path, kind: str) -> None:
    folder = case(cases, "B073")
    plan = load_plan(folder / f"plan-{kind}.yaml")
    transcripts = load_transcripts(folder / "transcript.jsonl")
    provider = offline_provider("gpt-4o")
    best: set[str] = set()
    seen = 0
    for budget in [60, *range(100, 1201, 50)]:
        report = audit(plan.model_copy(update={"budget_tokens": budget}), transcripts, provider)
        row = only(report)
        assert len(row.entries) == 41
        if not row.has_prompt:
            assert report.exit_code == 1
            continue
        seen += 1
        kept = {entry.id for entry in row.entries if entry.fate is Fate.KEPT}
        lost = [entry for entry in row.entries if entry.fate is not Fate.KEPT]
        assert row.tokens_after is not None
        assert row.tokens_after <= budget
        assert sum(section.kept or 0 for section in row.sections) + len(lost) == 41
        assert best <= kept
        best = kept
        recent = [entry.id in kept for entry in row.entries if entry.section == "recent"]
        assert recent == sorted(recent)
        for note in row.notes:
            assert len(note.stands_for) == sum(entry.fate is Fate.FOLDED for entry in row.entries)
    assert seen > 10


@pytest.mark.parametrize("kind", ["drop", "fold"])
def test_b073_the_json_report_is_the_same_under_two_hash_seeds(
    cases: Path, kind: str, tmp_path: Path
) -> None:
    folder = case(cases, "B073")
    outputs = {
        run(
            "audit",
            str(folder / f"plan-{kind}.yaml"),
            str(folder / "transcript.jsonl"),
            "-f",
            "json",
            cwd=tmp_path,
            PYTHONHASHSEED=seed,
        ).stdout
        for seed in ("0", "1")
    }
    (output,) = outputs
    assert json.loads(output)["schema_version"] == 1


def test_b074_separators_inside_strings_do_not_split_records(cases: Path) -> None:
    (transcript,) = load_transcripts(case(cases, "B074") / "transcript.jsonl")
    assert len(transcript.messages) == 3
    assert [message.location.line for message in transcript.messages if message.location] == [1, 2, 3]


@pytest.mark.parametrize("name", ["transcript.jsonl", "transcript-then-blank.jsonl"])
def test_b075_a_torn_last_record_is_told_counted_and_fails_the_run(cases: Path, name: str) -> None:
    path = case(cases, "B075") / name
    report = audited(load_plan("preset:default"), path)
    assert report.exit_code == 3
    (transcript,) = report.transcripts
    assert (transcript.messages, transcript.skipped) == (3, 1)
    assert [finding.location.line for finding in transcript.findings if finding.is_input_error] == [4]


def test_b086_json_under_a_json_lines_name_is_read_or_refused_at_its_stray_comma(cases: Path) -> None:
    folder = case(cases, "B086")
    for name in ("array.jsonl", "pretty.jsonl"):
        (transcript,) = load_transcripts(folder / name)
        assert len(transcript.messages) == 3
    with pytest.raises(ValueError, match=r":4:\d+: error CTX010"):
        load_transcripts(folder / "array-trailing-comma.jsonl")


def test_b097_number_spellings_are_refused_with_key_text_and_what_to_write(cases: Path) -> None:
    for path in sorted(case(cases, "B097").glob("plan-*.yaml")):
        with pytest.raises(PlanError) as caught:
            load_plan(path)
        (problem,) = caught.value.problems
        assert problem.hint is not None
        assert problem.hint.startswith("write ")


def test_b099_words_are_text_or_refused_and_keys_are_named_as_written(cases: Path) -> None:
    folder = case(cases, "B099")
    with pytest.raises(PlanError) as caught:
        load_plan(folder / "plan-name.yaml")
    assert [problem.hint for problem in caught.value.problems] == [
        'quote it: "no"',
        'quote it: "off"',
        'quote it: "2024-01-01"',
    ]
    with pytest.raises(PlanError) as caught:
        load_plan(folder / "plan-key.yaml")
    assert [problem.message for problem in caught.value.problems] == [
        "unknown key 'on'",
        "unknown key '1'",
        "unknown key 'null'",
    ]


def test_b100_alias_bombs_are_refused_and_honest_anchors_taken(cases: Path) -> None:
    folder = case(cases, "B100")
    for name in ("plan.yaml", "plan-loop.yaml"):
        with pytest.raises(PlanError) as caught:
            load_plan(folder / name)
        assert len(str(caught.value)) < 400
    assert len(load_plan(folder / "plan-anchor-ok.yaml").sections) == 2


@pytest.mark.parametrize("format", ["text", "json", "jsonl"])
def test_b103_square_brackets_are_shown_character_for_character(
    cases: Path, format: str, tmp_path: Path
) -> None:
    folder = case(cases, "B103")
    done = run(
        "audit", str(folder / "plan.yaml"), str(folder / "transcript[b].jsonl"), "-f", format, cwd=tmp_path
    )
    assert done.returncode == 3
    shown = done.stdout.decode()
    for name in ("[/role]", "[/bold]notes :bug:", "transcript[b].jsonl"):
        assert name in shown
    assert b"Markup" not in done.stderr


def test_b114_nothing_a_runner_would_obey_is_printed(cases: Path, tmp_path: Path) -> None:
    folder = case(cases, "B114")
    for format in ("text", "json", "jsonl"):
        for more in ((), ("--show-text", "-v")):
            done = run(
                "audit",
                str(folder / "plan.yaml"),
                str(folder / "transcript.jsonl"),
                "-f",
                format,
                *more,
                cwd=tmp_path,
            )
            assert done.returncode == 1
            for line in (done.stdout + b"\n" + done.stderr).splitlines():
                assert not line.lstrip().startswith((b"::", b"##["))
                assert b"##[" not in line
