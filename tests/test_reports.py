"""Every output format over the same sample reports: golden files, schema, width, harmless output.

``UPDATE_GOLDEN=1`` writes the golden files anew.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import jsonschema
import pytest
from rich.cells import cell_len

from contextctl.report import AuditReport, quantiles
from contextctl.reports import REPORTS, RenderOptions, render
from contextctl.reports.schema import report_schema
from contextctl.reports.visible import guard_lines, visible
from tests.sample_reports import HOSTILE, samples

GOLDEN = Path(__file__).parent / "golden"
SAMPLES = samples()
VIEWS = {
    "pipe.txt": ("text", RenderOptions()),
    "pipe-verbose.txt": ("text", RenderOptions(verbosity=1)),
    "pipe-quiet.txt": ("text", RenderOptions(verbosity=-1)),
    "terminal.txt": ("text", RenderOptions(terminal=True, width=80)),
    "report.json": ("json", RenderOptions()),
    "report.jsonl": ("jsonl", RenderOptions()),
}


def view(name: str, kind: str) -> str:
    format, options = VIEWS[kind]
    return render(SAMPLES[name], format, options)


@pytest.mark.parametrize("kind", VIEWS)
@pytest.mark.parametrize("name", SAMPLES)
def test_a_rendering_is_the_golden_file_to_the_byte(name: str, kind: str) -> None:
    path = GOLDEN / f"{name}.{kind}"
    shown = re.sub(r'("tool": \{"name": "contextctl", "version": )"[^"]*"', r'\1"0.0.0"', view(name, kind))
    if os.environ.get("UPDATE_GOLDEN"):
        GOLDEN.mkdir(exist_ok=True)
        path.write_bytes(shown.encode())
    assert shown.encode() == path.read_bytes()


@pytest.mark.parametrize("name", SAMPLES)
def test_the_json_report_is_valid_by_its_own_schema(name: str) -> None:
    schema = report_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft202012Validator(schema).validate(json.loads(view(name, "report.json")))


@pytest.mark.parametrize("name", SAMPLES)
def test_json_has_an_assembly_an_entry_and_a_finding_a_line(name: str) -> None:
    lines = view(name, "report.json").splitlines()
    report = SAMPLES[name]
    entries = sum(len(row.entries) for row in report.assemblies)
    assert sum(line.lstrip().startswith('{"id": ') for line in lines) == entries
    assert sum(line.lstrip().startswith('{"code": "CTX') for line in lines) == len(report.all_findings())


@pytest.mark.parametrize("name", SAMPLES)
def test_every_line_of_jsonl_is_complete_in_itself(name: str) -> None:
    records = [json.loads(line) for line in view(name, "report.jsonl").splitlines()]
    assert records[0]["record"] == "run"
    assert records[-1]["record"] == "exit"
    for record in records:
        if record["record"] in {"assembly", "section", "entry", "note"}:
            assert {"path", "transcript", "call"} <= set(record)


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_terminal_rendering_stays_within_its_width_with_every_number_whole(name: str, width: int) -> None:
    shown = render(SAMPLES[name], "text", RenderOptions(terminal=True, width=width))
    assert all(cell_len(line) <= width for line in shown.splitlines())
    rows = SAMPLES[name].assemblies
    for row in rows if len(rows) == 1 else ():
        for section in row.sections:
            assert f"{section.tokens_before:,}" in shown
            assert f"{section.room_tokens:,}" in shown


@pytest.mark.parametrize("name", SAMPLES)
def test_a_pipe_gets_no_escape_no_box_no_trailing_blank(name: str) -> None:
    shown = view(name, "pipe.txt")
    assert "\x1b" not in shown
    assert not re.search("[\u2500-\u259f]", shown)
    assert all(line == line.rstrip() for line in shown.splitlines())
    assert shown.endswith("\n")


def test_colour_is_there_only_when_asked_for() -> None:
    assert "\x1b[" in render(SAMPLES["compacted"], "text", RenderOptions(color=True))


@pytest.mark.parametrize("format", REPORTS)
@pytest.mark.parametrize("verbosity", [-1, 0, 1])
def test_hostile_names_come_out_harmless_and_readable(format: str, verbosity: int) -> None:
    shown = render(SAMPLES["hostile"], format, RenderOptions(verbosity=verbosity))
    shown.encode("utf-8")
    assert "\x1b" not in shown
    assert "\u202e" not in shown or format != "text"
    assert "##[" not in shown
    assert not any(line.lstrip().startswith("::") for line in shown.splitlines())
    assert "[/x] [red]" in shown
    assert ":bug:" in shown


def test_json_gives_a_hostile_name_back_as_it_was() -> None:
    report = json.loads(view("hostile", "report.json"))
    assert report["transcripts"][0]["assemblies"][0]["sections"][0]["name"] == HOSTILE[:-1]


def test_visible_escapes_controls_and_leaves_every_script_alone() -> None:
    assert visible("a\x1b[0m\x00\u202eb\u200b\ud83d\n") == "a\\x1b[0m\\x00\\u202eb\\u200b\\ud83d\\x0a"
    for text in ("שלום", "سلام", "日本語", "é👍", "[red]"):
        assert visible(text) == text


def test_guard_lines_breaks_what_a_runner_would_obey() -> None:
    assert guard_lines("::error::x\n  ::a\nb::c\n##[error]") == "\\::error::x\n  \\::a\nb::c\n##\\[error]"


def test_quantiles_are_nearest_rank_and_none_for_nothing() -> None:
    assert quantiles(list(range(1, 101))) == {"p50": 50, "p90": 90, "p99": 99, "max": 100}
    assert quantiles([7]) == {"p50": 7, "p90": 7, "p99": 7, "max": 7}
    assert quantiles([]) == {"p50": None, "p90": None, "p99": None, "max": None}


@pytest.mark.parametrize(
    ("name", "code"), [("fits", 0), ("compacted", 0), ("over_budget", 1), ("many", 3), ("hostile", 3)]
)
def test_the_exit_code_is_in_every_format(name: str, code: int) -> None:
    report: AuditReport = SAMPLES[name]
    assert report.exit_code == code
    assert json.loads(view(name, "report.json"))["exit"]["code"] == code
    assert f"exit {code} ({report.exit_name})" in view(name, "pipe.txt")
