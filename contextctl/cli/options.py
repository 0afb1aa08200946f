"""The options that commands share, and what their values mean."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from contextctl.errors import UsageError
from contextctl.reports import REPORTS

PLAN_SUFFIXES = (".yaml", ".yml")
"""What the first argument of ``audit`` ends in where it is a plan."""

OUTPUT_SUFFIXES = {".json": "json", ".jsonl": "jsonl", ".txt": "text"}
"""Suffix of an output file -> the format it gets where none is named."""

DEFAULT_PLAN = "preset:default"
"""The plan where none is named."""


RECORDED = "recorded"
"""What ``--window`` is given for the window that the recording names."""


class FailOn(StrEnum):
    """The least severity that makes a run fail."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"
    NEVER = "never"


class Color(StrEnum):
    """When stdout gets colour."""

    AUTO = "auto"
    ALWAYS = "always"
    NEVER = "never"


class History(StrEnum):
    """Which history of a recording is audited."""

    EFFECTIVE = "effective"
    FULL = "full"


def _format(value: str) -> str:
    if value not in REPORTS:
        raise typer.BadParameter(f"{value!r} is not one of: {', '.join(REPORTS)}")
    return value


Format = Annotated[
    str,
    typer.Option(
        "-f",
        "--format",
        envvar="CONTEXTCTL_FORMAT",
        help=f"What stdout gets: {', '.join(REPORTS)}.",
        callback=_format,
        metavar="FORMAT",
    ),
]
Output = Annotated[
    list[str] | None,
    typer.Option(
        "-o", "--output", metavar="[FORMAT=]PATH", help="Also write a report to a file; repeatable."
    ),
]
Model = Annotated[
    str | None,
    typer.Option("--model", envvar="CONTEXTCTL_MODEL", help="Model to audit against.", metavar="NAME"),
]


def _window(value: str | None) -> str | None:
    if value is None or value == RECORDED or (value.isdecimal() and int(value) > 0):
        return value
    raise typer.BadParameter(f"{value!r} is neither a number of tokens nor {RECORDED!r}")


Window = Annotated[
    str | None,
    typer.Option(
        "--window",
        envvar="CONTEXTCTL_WINDOW",
        metavar="N|recorded",
        help="Context window instead of the model's; the recorded one where the recording names it.",
        callback=_window,
    ),
]
Budget = Annotated[
    int | None,
    typer.Option("--budget", min=1, envvar="CONTEXTCTL_BUDGET", metavar="N", help="Sets budget_tokens."),
]
Reserve = Annotated[
    int | None,
    typer.Option(
        "--reserve", min=0, envvar="CONTEXTCTL_RESERVE", metavar="N", help="Sets reserve_output_tokens."
    ),
]
Tokenizer = Annotated[
    str | None,
    typer.Option(
        "--tokenizer", envvar="CONTEXTCTL_TOKENIZER", metavar="NAME", help="Instead of the model's."
    ),
]
Strategies = Annotated[
    list[str] | None,
    typer.Option(
        "--strategy",
        metavar="NAME=MODULE:OBJECT",
        help="A compaction strategy of your own, for plans that name it; repeatable.",
    ),
]
Journal = Annotated[
    str | None,
    typer.Option("--journal", metavar="FILE", help="Recorded summaries to replay, or to record into."),
]
SummariserOption = Annotated[
    str | None,
    typer.Option(
        "--summariser",
        metavar="live:MODEL|command:ARGV",
        help="Who writes summaries that the journal lacks: a model, or a command with the span on stdin.",
    ),
]
SummariserTimeout = Annotated[
    float,
    typer.Option(
        "--summariser-timeout",
        min=0.001,
        envvar="CONTEXTCTL_SUMMARISER_TIMEOUT",
        metavar="SECONDS",
        help="How long one summary may take.",
    ),
]
SummariserRetries = Annotated[
    int,
    typer.Option(
        "--summariser-retries",
        min=0,
        envvar="CONTEXTCTL_SUMMARISER_RETRIES",
        metavar="N",
        help="How often a live model is asked again.",
    ),
]
Memory = Annotated[
    str | None,
    typer.Option(
        "--memory", metavar="FILE", help="Write each summary here: SQLite, or JSON lines for *.jsonl."
    ),
]
Scope = Annotated[
    str | None, typer.Option("--scope", metavar="NAME", help="What the memory keeps the summaries under.")
]
Assembler = Annotated[
    str | None,
    typer.Option(
        "--assembler",
        metavar="plan|recorded|MODULE:FUNCTION|command:ARGV",
        help="Who makes the prompts: the plan, what was really sent, or the application's own code.",
    ),
]


def _profile(value: str | None) -> str | None:
    from contextctl.checks.provider_rules.profiles import PROFILES

    if value is None or value in PROFILES:
        return value
    raise typer.BadParameter(f"{value!r} is not one of: {', '.join(PROFILES)}")


Profile = Annotated[
    str | None,
    typer.Option(
        "--profile",
        metavar="NAME",
        help="Provider whose rules are checked, instead of the model's.",
        callback=_profile,
    ),
]
Repair = Annotated[
    bool, typer.Option("--repair", help="Mend first what the provider would refuse, and say what was done.")
]
HistoryOption = Annotated[
    History,
    typer.Option(
        "--history",
        envvar="CONTEXTCTL_HISTORY",
        help="What the model had at the end, or everything as if nothing had been compacted.",
    ),
]
TranscriptFormat = Annotated[
    str | None,
    typer.Option(
        "--transcript-format", metavar="NAME", help="Reader to use instead of finding it by content."
    ),
]
Map = Annotated[
    str | None,
    typer.Option(
        "--map",
        metavar="messages=PATH,...",
        help="Where records of your own shape hold messages, id, model, tools, system: dotted paths.",
    ),
]
FailOnOption = Annotated[
    FailOn,
    typer.Option("--fail-on", envvar="CONTEXTCTL_FAIL_ON", help="Least severity that ends in exit code 1."),
]
ExitZero = Annotated[bool, typer.Option("--exit-zero", help="Turn exit code 1, and only that, into 0.")]
ShowText = Annotated[
    bool, typer.Option("--show-text", help="Show excerpts of messages; without it no report holds any.")
]
ColorOption = Annotated[
    Color, typer.Option("--color", envvar="CONTEXTCTL_COLOR", help="When stdout gets colour.")
]
Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="Only the verdict and errors.")]
Verbose = Annotated[bool, typer.Option("-v", "--verbose", help="Every transcript and every entry.")]
Debug = Annotated[
    bool, typer.Option("--debug", help="On a bug in contextctl, show the traceback (may hold message text).")
]


@dataclass(frozen=True, slots=True)
class OutputFile:
    """A file to write a report to, and its format."""

    path: str
    format: str


def output_files(values: Sequence[str] | None, default: str) -> list[OutputFile]:
    """``[FORMAT=]PATH`` values taken apart; an unknown prefix is part of the path."""
    files = []
    for value in values or ():
        prefix, equals, rest = value.partition("=")
        if equals and prefix in REPORTS:
            if not rest:
                raise UsageError(f"--output {value}: no path after {prefix}=")
            files.append(OutputFile(rest, prefix))
        else:
            files.append(OutputFile(value, OUTPUT_SUFFIXES.get(Path(value).suffix.lower(), default)))
    return files


def is_plan_argument(value: str) -> bool:
    """Whether an argument names a plan: a YAML file or a preset."""
    return value.startswith("preset:") or value.lower().endswith(PLAN_SUFFIXES)


def terminal_width() -> int:
    """Columns of the terminal: COLUMNS, else what it says, else 80."""
    return shutil.get_terminal_size((80, 24)).columns


def file_list(path: str) -> list[str]:
    """The names in a file, one a line, blank lines left out.

    Raises :class:`~contextctl.errors.UsageError` where it cannot be read.
    """
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise UsageError(f"--files-from {path}: {error.strerror or 'cannot be read'}") from None
    return [os.fsdecode(line) for line in data.replace(b"\r\n", b"\n").split(b"\n") if line.strip()]
