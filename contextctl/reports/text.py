"""The text report: the verdict first, then the budget, the sections, what was lost and why."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from contextctl.findings import Finding, Severity
from contextctl.outcome import Fate, Status
from contextctl.report import AssemblyRow, AuditReport, EntryRow, SectionRow, TranscriptReport
from contextctl.reports import RenderOptions
from contextctl.reports.tables import Cell, Column, folded, table
from contextctl.reports.visible import guard_lines, visible

VERDICTS: dict[Status, tuple[str, str]] = {
    "fits": ("FITS", "bold green"),
    "compacted": ("COMPACTED", "bold yellow"),
    "over_target": ("OVER TARGET", "bold yellow"),
    "over_budget": ("OVER BUDGET", "bold red"),
    "refused": ("REFUSED", "bold red"),
}
"""Status -> what it is called, and its colour."""

STYLES = {Severity.ERROR: "bold red", Severity.WARNING: "yellow", Severity.NOTE: "cyan"}
LOSS_CODES = frozenset({"CTX201", "CTX207", "CTX208", "CTX209", "CTX211"})
MOST_ROWS = 20
"""Transcripts shown in a run of many, worst first, unless every one is asked for."""

MOST_ALIKE = 3
"""Findings of one kind, no errors, that are each shown in full."""

MOST_ERRORS_ALIKE = 10
"""Errors of one kind that are each shown in full, unless every one is asked for."""

MOST_PLACES = 2
"""Further places named where findings of one kind are told as one."""

BAR_CELLS = 10
GUTTER = "  | "
"""Stands before every line of message text."""


def render(report: AuditReport, options: RenderOptions) -> str:
    """The whole report; ends in a line feed, no line in a blank."""
    text = _Screen(options).shown(report)
    guarded = guard_lines(text)
    if options.terminal and guarded != text:
        text = _Screen(replace(options, width=options.width - 1)).shown(report)
        guarded = guard_lines(text)
    return guarded


def said(*parts: str | tuple[str, str]) -> Text:
    """One line of these texts, plain or with a style, every hidden character in them made visible."""
    line = Text()
    for part in parts:
        text, style = (part, None) if isinstance(part, str) else part
        line.append(visible(text), style)
    return line


def number(value: int | None) -> str:
    """Thousands with commas; a dash for what there is not."""
    return "-" if value is None else f"{value:,}"


def counted(count: int, noun: str, plural: str | None = None) -> str:
    """``1 entry``, ``2 entries``."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


class _Screen:
    """One rendering: lines of styled text, made with the same options."""

    def __init__(self, options: RenderOptions) -> None:
        self.options = options
        self.width = options.width if options.terminal else None

    def shown(self, report: AuditReport) -> str:
        """The report as text, with escapes only where colour was asked for; not guarded yet."""
        buffer = io.StringIO()
        console = Console(
            file=buffer,
            width=self.width or 1_000_000,
            color_system="standard" if self.options.color else None,
            force_terminal=self.options.color,
            no_color=not self.options.color,
            markup=False,
            emoji=False,
            highlight=False,
            legacy_windows=False,
        )
        for line in self.report(report):
            if not self.options.color and (self.width is None or cell_len(line.plain) <= self.width):
                buffer.write(line.plain + "\n")
            elif self.width is None:
                console.print(line, soft_wrap=True)
            else:
                console.print(line, overflow="fold")
        return "\n".join(line.rstrip() for line in buffer.getvalue().split("\n"))

    def report(self, report: AuditReport) -> list[Text]:
        lines: list[Text] = []
        if report.plan.path.startswith("preset:"):
            lines.append(said(f"plan {report.plan.path}"))
        if len(report.transcripts) == 1:
            lines += self.one(report, report.transcripts[0])
        else:
            lines += self.many(report)
        if self.options.verbosity > 0 and report.matchers:
            lines += [Text(), *self.matchers(report)]
        lines += self.findings(self._worth_saying(report))
        lines.append(Text())
        return [*lines, self.closing(report)]

    def _worth_saying(self, report: AuditReport) -> list[tuple[str, Finding]]:
        """Places and findings: errors only where it is quiet; losses of a single transcript are told with
        its sections. A place in a file of several conversations, or in the plan, names the conversation
        too where there is more than one."""
        shared = Counter(transcript.path for transcript in report.transcripts)
        found = [(str(item.location), item) for item in report.findings]
        for transcript in report.transcripts:
            for item in transcript.findings:
                elsewhere = len(report.transcripts) > 1 and item.location.path != transcript.path
                of = f" ({transcript.id})" if elsewhere or shared[transcript.path] > 1 else ""
                found.append((f"{item.location}{of}", item))
        if self.options.verbosity < 0:
            return [(place, item) for place, item in found if item.severity is Severity.ERROR]
        if len(report.transcripts) == 1:
            found = [(place, item) for place, item in found if item.code not in LOSS_CODES]
        return found

    def one(self, report: AuditReport, transcript: TranscriptReport) -> list[Text]:
        if not transcript.assemblies:
            return [said(("NOT AUDITED", "bold red"), f"  {transcript.path}")]
        lines: list[Text] = []
        row = transcript.assemblies[-1]
        if len(transcript.assemblies) > 1:
            lines += self.replay(transcript)
        lines.append(self.verdict(transcript, row))
        if self.options.verbosity >= 0:
            lines += [*self.budget(report, transcript), Text(), *self.sections(row)]
            lines += self.losses(transcript, row)
        if self.options.verbosity > 0:
            lines += [Text(), *self.ledger(row)]
        return lines

    def replay(self, transcript: TranscriptReport) -> list[Text]:
        """How many calls came to which verdict, and a row for each call at which something changed."""
        rows = transcript.assemblies
        parts = _verdicts(rows)
        lines = [said((f"{counted(len(rows), 'call')}: {', '.join(parts)}", "bold"), f"  {transcript.path}")]
        if self.options.verbosity < 0:
            return lines
        columns = [
            Column("call", right=True),
            Column("before", right=True),
            Column("after", right=True),
            Column("headroom", right=True),
            Column("newly lost", right=True),
            Column("verdict"),
        ]
        told = []
        status: Status | None = None
        for row in rows[:-1]:
            lost = sum(entry.fate not in {Fate.KEPT, None} for entry in row.entries)
            if row.status != status or lost or not row.has_prompt:
                left = -(row.missing_tokens or 0) if row.tokens_after is None else row.headroom_tokens
                numbers = [row.call, row.tokens_before, row.tokens_after, left, lost]
                told.append([*(Cell(number(value)) for value in numbers), Cell(*VERDICTS[row.status])])
            status = row.status
        return [*lines, *table(columns, told, self.width), Text()]

    def verdict(self, transcript: TranscriptReport, row: AssemblyRow) -> Text:
        name, style = VERDICTS[row.status]
        assert transcript.budget is not None
        budget = number(transcript.budget.budget_tokens)
        about = "" if row.exactness == "exact" else f" ({row.exactness})"
        if row.tokens_upper != (row.tokens_before if row.tokens_after is None else row.tokens_after):
            about = f" ({row.exactness}, up to {number(row.tokens_upper)})"
        if row.tokens_after is None:
            short = number(row.missing_tokens)
            numbers = f"{number(row.tokens_before)} tokens{about} for a budget of {budget}, {short} short"
        else:
            left = number(row.headroom_tokens)
            numbers = f"{number(row.tokens_after)} of {budget} tokens{about}, {left} left"
        if row.hypothetical:
            numbers += f", hypothetical: {counted(row.summary_calls, 'summary', 'summaries')} to be made"
        return said((name, style), f"  {transcript.path}: {numbers}")

    def budget(self, report: AuditReport, transcript: TranscriptReport) -> list[Text]:
        budget, model = transcript.budget, transcript.model
        assert budget is not None
        assert model is not None
        parts = [f"limit {number(budget.limit_tokens)}", f"reserve {number(budget.reserve_output_tokens)}"]
        if budget.budget_tokens < budget.limit_tokens - budget.reserve_output_tokens:
            parts.append(f"input cap {number(model.max_input_tokens)}")
        parts.append(f"budget {number(budget.budget_tokens)}")
        if budget.soft_tokens is not None:
            parts.append(f"soft line {number(budget.soft_tokens)}")
        parts.append(f"overhead {number(budget.overhead_tokens)}")
        parts.append(f"messages may use {number(budget.message_budget_tokens)}")
        used = f"{model.name} ({model.tokenizer}, {model.exactness}), {_plan_of(report)}"
        return [said((", ".join(parts), "dim")), said((used, "dim"))]

    def sections(self, row: AssemblyRow) -> list[Text]:
        columns = [
            Column("section", folds=True),
            Column("share", right=True, leaves=3),
            Column("room", right=True),
            Column("before", right=True),
            Column("after", right=True),
            Column("kept", right=True),
            Column("lost", right=True),
            Column("use of room", leaves=1),
            Column("strategy", leaves=2),
        ]
        return table(columns, [self._section(section) for section in row.sections], self.width)

    def _section(self, section: SectionRow) -> list[Cell]:
        lost_style = "yellow" if section.lost else ""
        strategy = "pinned" if section.pinned else section.strategy
        kept = "-" if section.kept is None else f"{section.kept:,}/{section.entries:,}"
        if section.empty:
            kept = "empty"
        return [
            Cell(section.name),
            Cell(section.share),
            Cell(number(section.room_tokens)),
            Cell(number(section.tokens_before)),
            Cell(number(section.tokens_after)),
            Cell(kept),
            Cell("-" if section.kept is None else number(section.lost), lost_style),
            Cell(self._bar(section)),
            Cell(strategy),
        ]

    def _bar(self, section: SectionRow) -> str:
        """How much of its room a section uses, as a bar and in percent."""
        used = section.tokens_before if section.tokens_after is None else section.tokens_after
        room = section.room_tokens or 0
        if not room:
            return ""
        cells = min(BAR_CELLS, max(int(used > 0), used * BAR_CELLS // room))
        blocks = self.options.terminal and self.options.unicode
        full, rest = ("\u2588", "\u2591") if blocks else ("#", ".")
        return full * cells + rest * (BAR_CELLS - cells) + f" {100 * used // room}%"

    def losses(self, transcript: TranscriptReport, row: AssemblyRow) -> list[Text]:
        lines = [
            said(("lost  ", "yellow"), item.message)
            for item in transcript.findings
            if item.code in LOSS_CODES
        ]
        if row.next_to_go is not None:
            going = row.next_to_go
            where = f"line {going.line}" if going.line is not None else going.entry
            lines.append(
                said(
                    f"Next to go: {where} ({going.role}, {number(going.tokens)} tokens), "
                    f"after {number(going.after_tokens)} more tokens"
                )
            )
        if row.lossless_budget_tokens is not None:
            lines.append(said(f"Smallest budget that loses nothing: {number(row.lossless_budget_tokens)}"))
        return [Text(), *lines] if lines else []

    def ledger(self, row: AssemblyRow) -> list[Text]:
        columns = [
            Column("entry", folds=True),
            Column("line", right=True),
            Column("section", folds=True, leaves=2),
            Column("role", folds=True),
            Column("tokens", right=True),
            Column("fate"),
            Column("rule", leaves=1),
        ]
        rows = []
        for entry in row.entries:
            fate = entry.fate.value if entry.fate is not None else "-"
            style = "" if entry.fate in {Fate.KEPT, None} else "yellow"
            first, *more = entry.lines
            lines = f"{first}+{len(more)}" if more else str(first)
            cells = [entry.id, lines, entry.section, entry.kind or entry.role, number(entry.tokens)]
            rows.append([*(Cell(cell) for cell in cells), Cell(fate, style), Cell(entry.rule or "")])
        texts = [line for entry in row.entries for line in self._excerpt(entry)]
        return [*table(columns, rows, self.width), *texts]

    def _excerpt(self, entry: EntryRow) -> list[Text]:
        """What an entry says, if that was asked for: behind a gutter, also where it is folded."""
        if entry.text is None:
            return []
        text = visible(f"{entry.id}: {entry.text}")
        pieces = [text] if self.width is None else folded(text, self.width - len(GUTTER))
        return [said((f"{GUTTER}{piece}", "dim")) for piece in pieces]

    def matchers(self, report: AuditReport) -> list[Text]:
        columns = [
            Column("matcher"),
            Column("entries", right=True),
            Column("transcripts", right=True),
            Column("place", folds=True),
        ]
        rows = [
            [row.kind, number(row.entries), number(row.transcripts), visible(row.place)]
            for row in report.matchers
        ]
        return table(columns, [[Cell(cell) for cell in row] for row in rows], self.width)

    def many(self, report: AuditReport) -> list[Text]:
        if not report.transcripts:
            return [said(("NOTHING AUDITED", "bold red"))]
        before = sorted(row.tokens_before for row in report.assemblies)
        lines = [said(self._tally(report), f"  {_plan_of(report)}")]
        if self.options.verbosity < 0:
            return lines
        if before:
            middle = before[(len(before) - 1) // 2]
            lines.append(said((f"tokens before: median {number(middle)}, most {number(before[-1])}", "dim")))
        ranked = sorted(report.transcripts, key=_rank)
        shown = ranked if self.options.verbosity > 0 else ranked[:MOST_ROWS]
        lines += [Text(), *self._transcripts(shown)]
        if len(shown) < len(ranked):
            lines.append(said((f"... and {len(ranked) - len(shown):,} more; -v shows every one", "dim")))
        if self.options.verbosity > 0:
            for transcript in ranked:
                lines += [Text(), *self.one(report, transcript)]
        return lines

    def _tally(self, report: AuditReport) -> tuple[str, str]:
        """How many transcripts came to what, and the style of the worst."""
        counts = _verdicts(report.assemblies)
        unread = sum(not transcript.assemblies for transcript in report.transcripts)
        counts += [f"{unread:,} not audited"] if unread else []
        found = {row.status for row in report.assemblies}
        worst: Status = next((status for status in reversed(VERDICTS) if status in found), "over_budget")
        style = "bold red" if unread else VERDICTS[worst][1]
        return f"{counted(len(report.transcripts), 'transcript')}: {', '.join(counts)}", style

    def _transcripts(self, transcripts: Sequence[TranscriptReport]) -> list[Text]:
        columns = [
            Column("verdict"),
            Column("before", right=True),
            Column("after", right=True),
            Column("headroom", right=True),
            Column("lost", right=True),
            Column("transcript", folds=True),
        ]
        rows = []
        for transcript in transcripts:
            name = transcript.path
            if not transcript.path.rsplit("/", 1)[-1].startswith(transcript.id):
                name += f" {transcript.id}"
            for row in _telling(transcript):
                verdict, style = VERDICTS[row.status]
                left = -(row.missing_tokens or 0) if row.tokens_after is None else row.headroom_tokens
                lost = sum(entry.fate not in {Fate.KEPT, None} for entry in row.entries)
                cells = [number(row.tokens_before), number(row.tokens_after), number(left)]
                cells.append("-" if row.tokens_after is None else number(lost))
                rows.append([Cell(verdict, style), *(Cell(cell) for cell in cells), Cell(name)])
            if not transcript.assemblies:
                rows.append([Cell("NOT AUDITED", "bold red"), *([Cell("-")] * 4), Cell(name)])
        return table(columns, rows, self.width)

    def findings(self, found: Sequence[tuple[str, Finding]]) -> list[Text]:
        """Three parts each: where and what, the numbers, the way out; the same kind many times is one."""
        lines: list[Text] = []
        ordered = sorted(found, key=lambda pair: (-pair[1].severity.weight, pair[1].code))
        for (severity, _), group in groupby(ordered, key=lambda pair: (pair[1].severity, pair[1].code)):
            items = list(group)
            most = MOST_ERRORS_ALIKE if severity is Severity.ERROR else MOST_ALIKE
            more = len(items) if self.options.verbosity > 0 else most
            if len(items) > more and severity is not Severity.ERROR:
                lines += [Text(), *self._finding(*items[0]), self._others(items)]
                continue
            for place, item in items[:more]:
                lines += [Text(), *self._finding(place, item)]
            if len(items) > more:
                left = f"... and {len(items) - more:,} more of {items[0][1].code}; -v shows every one"
                lines += [Text(), said((left, "bold red"))]
        return lines

    def _finding(self, place: str, item: Finding) -> list[Text]:
        what = f"{item.severity.value} {item.code} {item.name}"
        title = said(f"{place}: ", (what, STYLES[item.severity]))
        hint = item.hint.split("\n") if item.hint else []
        hints = [said(f"  {'' if n else 'fix: '}{line}") for n, line in enumerate(hint)]
        return [title, said(f"  {item.message}"), *hints]

    def _others(self, items: Sequence[tuple[str, Finding]]) -> Text:
        """How many more of a kind there are than the first, and where the first of those are."""
        first, *more = dict.fromkeys(place for place, _ in items)
        named = more[:MOST_PLACES]
        where = f", at {', '.join(named)}" if named else f", all at {first}"
        dots = ", ..." if len(more) > len(named) else ""
        return said((f"  and {len(items) - 1:,} more{where}{dots}", "dim"))

    def closing(self, report: AuditReport) -> Text:
        severities = report.severities()
        counts = ", ".join(counted(severities[item.value], item.value) for item in Severity)
        code = report.exit_code
        style = "bold green" if code == 0 else "bold red"
        transcripts = counted(len(report.transcripts), "transcript")
        return said(f"{transcripts}; {counts}; ", (f"exit {code} ({report.exit_name})", style))


def _verdicts(rows: Sequence[AssemblyRow]) -> list[str]:
    """How many assemblies came to which verdict, the worst first."""
    found = Counter(row.status for row in rows)
    names: dict[Status, str] = {status: name.lower() for status, (name, _) in VERDICTS.items()} | {
        "fits": "fit"
    }
    return [f"{found[status]:,} {names[status]}" for status in reversed(names) if found[status]]


def _telling(transcript: TranscriptReport) -> list[AssemblyRow]:
    """The assembly that tells most of a transcript: the one that misses most, else the last."""
    rows = transcript.assemblies
    return [max(rows, key=lambda row: (row.missing_tokens or 0, row.call or 0))] if rows else []


def _rank(transcript: TranscriptReport) -> tuple[int, int, str, str]:
    """Not audited first, then what is missing most, then what lost most, then the least headroom."""
    if not transcript.assemblies:
        return (0, 0, transcript.path, transcript.id)
    missing = max(row.missing_tokens or 0 for row in transcript.assemblies)
    lost = max(row.tokens_before - (row.tokens_after or 0) for row in transcript.assemblies)
    headroom = min(row.headroom_tokens or 0 for row in transcript.assemblies)
    worst = (1, -missing) if missing else (2, -lost) if lost else (3, headroom)
    return (*worst, transcript.path, transcript.id)


def _plan_of(report: AuditReport) -> str:
    """The plan and what was changed of it, who makes the prompts where it is not the plan, and what each call
    starts from."""
    by = "" if report.assembler == "plan" else f", assembler {report.assembler}"
    history = "carried" if report.plan.carry else "whole"
    changed = f" with {', '.join(report.plan.set)}" if report.plan.set else ""
    return f"plan {report.plan.name or report.plan.path}{changed}{by}, {history} history"
