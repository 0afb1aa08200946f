"""``contextctl formats``: the table of formats and how it is printed."""

from __future__ import annotations

import json
from dataclasses import asdict

import pytest

from contextctl.cli.app import main
from contextctl.transcripts import READERS
from contextctl.transcripts.formats_table import FORMATS_TABLE

KNOWS = ("system", "tools", "usage", "times", "compactions", "requests")


def test_every_reader_has_a_row_and_every_row_a_reader() -> None:
    assert list(FORMATS_TABLE) == list(READERS)


@pytest.mark.parametrize("name", FORMATS_TABLE)
def test_a_row_says_what_it_is_and_knows_and_cannot_know(name: str) -> None:
    facts = FORMATS_TABLE[name]
    assert facts.what
    assert facts.cannot
    assert {getattr(facts, known) for known in KNOWS} <= {"yes", "no", "sometimes"}


def test_the_text_names_every_format_and_fits_80_columns(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    assert main(["formats"]) == 0
    lines = capsysbinary.readouterr().out.decode().splitlines()
    assert max(map(len, lines)) <= 80
    assert [line.split()[0] for line in lines[1:-2] if not line.startswith(" ")] == list(READERS)


def test_the_json_holds_every_fact(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    assert main(["formats", "-f", "json"]) == 0
    told = json.loads(capsysbinary.readouterr().out)
    assert told["schema_version"] == 1
    assert told["formats"] == [{"name": name, **asdict(facts)} for name, facts in FORMATS_TABLE.items()]


def test_another_output_format_is_refused(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    assert main(["formats", "-f", "xml"]) == 2
    assert b"one of text, json" in capsysbinary.readouterr().err
