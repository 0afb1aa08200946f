"""Every output format over the same sample reports: golden files, schema, width, harmless output.

``UPDATE_GOLDEN=1`` writes the golden files anew.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest
from rich.cells import cell_len

from contextctl.errors import Location
from contextctl.findings import finding
from contextctl.report import AuditReport, quantiles
from contextctl.reports import REPORTS, RenderOptions, render
from contextctl.reports.schema import report_schema
from contextctl.reports.tables import folded
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
        if record["record"] == "finding":
            assert {"transcript_path", "transcript", "path", "line", "call"} <= set(record)


@pytest.mark.parametrize("name", SAMPLES)
def test_jsonl_says_what_json_says_of_model_budget_and_every_entry(name: str) -> None:
    document = json.loads(view(name, "report.json"))
    records = [json.loads(line) for line in view(name, "report.jsonl").splitlines()]
    assert {key: records[0][key] for key in ("model", "budget")} == {
        key: document[key] for key in ("model", "budget")
    }
    entries = [
        entry for item in document["transcripts"] for row in item["assemblies"] for entry in row["entries"]
    ]
    where = {"record", "path", "transcript", "call"}
    told = [record for record in records if record["record"] == "entry"]
    assert [{key: value for key, value in record.items() if key not in where} for record in told] == entries


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("verbosity", [-1, 0, 1])
def test_a_terminal_rendering_stays_within_its_width(name: str, width: int, verbosity: int) -> None:
    options = RenderOptions(terminal=True, width=width, verbosity=verbosity)
    shown = render(SAMPLES[name], "text", options)
    assert all(cell_len(line) <= width for line in shown.splitlines())
    assert all(line == line.rstrip() for line in shown.splitlines())


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_narrow_terminal_still_gets_every_number_and_code_whole(name: str, width: int) -> None:
    shown = render(SAMPLES[name], "text", RenderOptions(terminal=True, width=width))
    piped = view(name, "pipe.txt")
    assert set(re.findall(r"\bCTX\d+", shown)) == set(re.findall(r"\bCTX\d+", piped))
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


def with_transcript(name: str, **changes: object) -> AuditReport:
    """A sample of one transcript with some of its values changed."""
    report = SAMPLES[name]
    return replace(report, transcripts=(replace(report.transcripts[0], **changes),))  # type: ignore[arg-type]


def test_a_row_of_numbers_in_the_millions_stays_one_line_of_sixty_cells() -> None:
    row = SAMPLES["fits"].assemblies[0]
    sections = [
        replace(
            section,
            room_tokens=1_000_000,
            tokens_before=12_345_678,
            tokens_after=1_000_000,
            entries=12_345,
            kept=1_234,
            evicted=11_111,
        )
        for section in row.sections
    ]
    report = with_transcript("fits", assemblies=(replace(row, sections=tuple(sections)),))
    shown = render(report, "text", RenderOptions(terminal=True, width=60))
    whole = [line for line in shown.splitlines() if re.search("1,000,000 +12,345,678 +1,000,000", line)]
    assert len(whole) == len(sections)
    assert all("1,234/12,345" in line and line.endswith("11,111") for line in whole)


@pytest.mark.parametrize("terminal", [False, True])
@pytest.mark.parametrize("verbosity", [-1, 0, 1])
def test_no_field_of_a_report_can_bring_a_control_character_to_the_screen(
    terminal: bool, verbosity: int
) -> None:
    bad = "\x1b[31m\u202e\r\x07"
    sample = SAMPLES["fits"].transcripts[0]
    row = sample.assemblies[0]
    assert sample.model is not None
    assert row.next_to_go is not None
    entries = [
        replace(
            item, id=bad + item.id, section=bad, role=bad, rule=bad, lines=(bad,), text=f"{bad}\n::error::"
        )
        for item in row.entries
    ]
    hinted = f"add this:\n{bad}m: {{same_as: x}}\n::error::x"
    report = with_transcript(
        "fits",
        path=bad,
        id=bad,
        model=replace(sample.model, name=bad, tokenizer=bad, exactness=bad),
        assemblies=(
            replace(
                row,
                next_to_go=replace(row.next_to_go, role=bad, entry=bad, line=None),
                sections=tuple(replace(item, name=bad, strategy=bad, pinned=False) for item in row.sections),
                entries=tuple(entries),
                exactness=bad,
            ),
        ),
        findings=(finding("CTX001", bad, location=Location(bad, 1), hint=hinted),),
    )
    report = replace(report, plan=replace(report.plan, name=bad, path=f"preset:{bad}", set=(bad,)))
    for shown_of in (report, replace(report, transcripts=report.transcripts * 2)):
        shown = render(shown_of, "text", RenderOptions(terminal=terminal, width=60, verbosity=verbosity))
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]", shown)
        assert not any(line.lstrip().startswith("::") for line in shown.splitlines())
        assert "\\x1b[31m\\u202e" in shown


def test_a_guarded_line_stays_within_the_width_of_the_terminal() -> None:
    report = with_transcript("fits", path="a " + "::" + "e" * 58)
    shown = render(report, "text", RenderOptions(terminal=True, width=60))
    assert "\n\\::eee" in shown
    assert max(cell_len(line) for line in shown.splitlines()) <= 60


def test_every_line_of_message_text_on_a_terminal_stands_behind_the_gutter() -> None:
    entry = replace(SAMPLES["fits"].assemblies[0].entries[0], text="word " * 60)
    report = with_transcript("fits", assemblies=(replace(SAMPLES["fits"].assemblies[0], entries=(entry,)),))
    shown = render(report, "text", RenderOptions(terminal=True, width=60, verbosity=1))
    lines = [line for line in shown.splitlines() if "word" in line]
    assert len(lines) > 5
    assert all(line.startswith("  | ") for line in lines)


def test_folding_keeps_every_character_and_prefers_the_end_of_a_folder() -> None:
    assert folded("recordings/long-name.jsonl", 18) == ["recordings/", "long-name.jsonl"]
    assert folded("abc", 3) == ["abc"]
    for text in ("a/b c" * 9, "日本語の名前" * 5, "x" * 50):
        pieces = folded(text, 8)
        assert "".join(pieces) == text
        assert all(cell_len(piece) <= 8 for piece in pieces)


def test_findings_of_one_kind_over_many_transcripts_are_told_once_with_count_and_first_places() -> None:
    shown = view("many", "pipe.txt")
    assert shown.count("CTX201") == 1
    assert "  and 19 more, at recordings/t05.jsonl:4, recordings/t06.jsonl:4, ...\n" in shown
    assert view("many", "pipe-verbose.txt").count("CTX201") == 20


@pytest.mark.parametrize("color", [False, True])
def test_a_pipe_gets_millions_of_characters_of_one_line_without_loss(color: bool) -> None:
    text = "x" * 1_500_000 + "\x1b" + "end"
    row = SAMPLES["fits"].assemblies[0]
    report = with_transcript(
        "fits", assemblies=(replace(row, entries=(replace(row.entries[0], text=text),)),)
    )
    shown = render(report, "text", RenderOptions(verbosity=1, color=color))
    assert "x" * 1_500_000 + "\\x1bend" in shown


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
    assert guard_lines("a\r::b") == "a\r\\::b"
    assert guard_lines("\n\u00a0::b") == "\n\u00a0\\::b"


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
