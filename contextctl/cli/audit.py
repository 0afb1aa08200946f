"""``contextctl audit``: the main job."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from contextctl.cli import options
from contextctl.cli.engine import Chosen, Making, engine_for
from contextctl.cli.streams import (
    carries_blocks,
    is_terminal,
    wants_color,
    write_file,
    write_note,
    write_out,
)
from contextctl.errors import UsageError
from contextctl.findings import Severity
from contextctl.reports import RenderOptions, render

if TYPE_CHECKING:
    from contextctl.replay import Calls
    from contextctl.report import AuditReport


def audit_command(
    arguments: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[PLAN] TRANSCRIPT...",
            help="A plan (.yaml, or preset:NAME), then files, folders, patterns, or - for stdin.",
        ),
    ] = None,
    plan: Annotated[
        str | None, typer.Option("--plan", metavar="PLAN", help="The plan, if not first.")
    ] = None,
    files_from: Annotated[
        str | None, typer.Option("--files-from", metavar="FILE", help="More transcripts, a name a line.")
    ] = None,
    every_call: Annotated[
        bool,
        typer.Option("--every-call", help="Replay every recorded call, each from the history before it."),
    ] = False,
    at: Annotated[
        str | None, typer.Option("--at", metavar="N|last", help="Replay one recorded call.")
    ] = None,
    history: options.HistoryOption = options.History.EFFECTIVE,
    model: options.Model = None,
    window: options.Window = None,
    budget: options.Budget = None,
    reserve: options.Reserve = None,
    tokenizer: options.Tokenizer = None,
    profile: options.Profile = None,
    repair: options.Repair = False,
    strategy: options.Strategies = None,
    journal: options.Journal = None,
    summariser: options.SummariserOption = None,
    summariser_timeout: options.SummariserTimeout = 60,
    summariser_retries: options.SummariserRetries = 2,
    memory: options.Memory = None,
    scope: options.Scope = None,
    assembler: options.Assembler = None,
    transcript_format: options.TranscriptFormat = None,
    map: options.Map = None,
    format: options.Format = "text",
    output: options.Output = None,
    events: Annotated[
        str | None, typer.Option("--events", metavar="FILE", help="Write one JSON line for each compaction.")
    ] = None,
    fail_on: options.FailOnOption = options.FailOn.ERROR,
    exit_zero: options.ExitZero = False,
    show_text: options.ShowText = False,
    color: options.ColorOption = options.Color.AUTO,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
    debug: options.Debug = False,
) -> int:
    """Assemble what each recorded conversation would send next, and say what is lost.

    Exit codes: 0 fits, 1 findings, 2 usage, 3 an input could not be used, 70 a bug.
    """
    from contextctl.auditor import audit_async
    from contextctl.cli.journal import Asking
    from contextctl.loading.transcript_files import iter_transcripts
    from contextctl.reports.events import render_events
    from contextctl.transcripts.field_map import field_map_from_text

    plan_name, names = _split(arguments or [], plan, files_from)
    files = options.output_files(output, format)
    if quiet and verbose:
        raise UsageError("--quiet and --verbose exclude each other")
    calls = _calls(every_call, at)
    paths = None if map is None else field_map_from_text(map)
    engine = engine_for(
        plan_name,
        Chosen(model, window, budget, reserve, tokenizer),
        Making(
            tuple(strategy or ()),
            journal,
            Asking(summariser, summariser_timeout, summariser_retries, quiet),
            memory,
            scope,
            assembler,
        ),
    )
    stdin = sys.stdin.buffer.read() if "-" in names else None
    report = asyncio.run(
        audit_async(
            engine.plan,
            iter_transcripts(names, format=transcript_format, map=paths, stdin=stdin),
            engine.provider,
            fail_on=None if fail_on is options.FailOn.NEVER else Severity(fail_on.value),
            exit_zero=exit_zero,
            show_text=show_text,
            calls=calls,
            profile=profile,
            repair=repair,
            history="full" if assembler == options.RECORDED else history.value,
            **engine.keywords,
        )
    )
    report = replace(report, plan=replace(report.plan, set=engine.changed))
    verbosity = -1 if quiet else int(verbose)
    texts = [(file.path, render(report, file.format, RenderOptions(verbosity=verbosity))) for file in files]
    if events is not None:
        texts.append((events, render_events(report)))
    failed: list[UsageError] = []
    for path, text in texts:
        try:
            write_file(path, text)
        except UsageError as error:
            failed.append(error)
    write_out(render(report, format, _screen(color, verbosity)))
    if failed:
        raise failed[0]
    if report.exit_code == 3:
        _say_input_errors(report)
    return report.exit_code


def _calls(every_call: bool, at: str | None) -> Calls:
    """Which recorded calls the options ask for."""
    if every_call and at is not None:
        raise UsageError("--every-call and --at exclude each other")
    if every_call:
        return "every"
    if at is None:
        return "end"
    if at == "last":
        return "last"
    if not at.isdecimal() or int(at) == 0:
        raise UsageError(f"--at {at}: a call's number from 1, or last")
    return int(at)


def _split(arguments: Sequence[str], plan: str | None, files_from: str | None) -> tuple[str, list[str]]:
    """The plan's name and the transcripts' names."""
    names = list(arguments)
    if plan is None and names and options.is_plan_argument(names[0]):
        plan = names.pop(0)
    if files_from is not None:
        names += options.file_list(files_from)
    if not names:
        raise UsageError(
            "no transcript is named",
            hint="contextctl audit [PLAN] TRANSCRIPT...: files, folders, patterns, or - for stdin",
        )
    more = [name for name in names if options.is_plan_argument(name)]
    if more:
        raise UsageError(
            f"{more[0]} is a plan, not a transcript", hint="an audit takes one plan, named first"
        )
    return plan or options.DEFAULT_PLAN, names


def _screen(color: options.Color, verbosity: int) -> RenderOptions:
    terminal = is_terminal()
    return RenderOptions(
        terminal=terminal,
        width=options.terminal_width() if terminal else 80,
        color=wants_color(color.value),
        unicode=carries_blocks(),
        verbosity=verbosity,
    )


def _say_input_errors(report: AuditReport) -> None:
    """On stderr, how many inputs could not be used: stdout may be going to another program."""
    bad = [finding for finding in report.all_findings() if finding.is_input_error]
    if not bad:
        write_note("error: nothing was audited")
        return
    for finding in bad[:10]:
        write_note(f"{finding.location}: error {finding.code}: {finding.message}")
    if len(bad) > 10:
        write_note(f"... and {len(bad) - 10} more; the report has them all")
