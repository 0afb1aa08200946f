"""The application's own assembler (rule 8): what it sends is held against plan, budget, pins and pairs."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from contextctl import audit
from contextctl.errors import UsageError
from contextctl.loading.own_code import load_assembler
from contextctl.outcome import Fate
from contextctl.plan import ContextPlan, EntryMatcher, Expectation, Matcher, SectionPlan
from contextctl.recording import Transcript
from contextctl.replay import Calls
from contextctl.report import AssemblyRow, AuditReport
from contextctl.reports import render
from contextctl.transcripts import read_transcripts
from tests.engine_samples import WordProvider

Messages = list[dict[str, Any]]


def rows_of(turns: int) -> Messages:
    rows: Messages = [{"role": "system", "content": "be kind"}]
    for n in range(turns):
        rows.append({"role": "user", "content": f"question {n} about the harbour", "weight": n})
        rows.append({"role": "assistant", "content": f"answer {n} about the harbour"})
    return rows


def recording(rows: Messages) -> Transcript:
    (found,) = read_transcripts("".join(json.dumps(row) + "\n" for row in rows).encode(), "t.jsonl")
    return found


def plan(**fields: Any) -> ContextPlan:
    sections = (
        SectionPlan(name="system", share=Decimal("0.2"), pinned=True),
        SectionPlan(name="recent", share=Decimal("0.8"), match="rest"),
    )
    return ContextPlan(sections=sections, **fields)


def audited(
    assemble: Callable[..., object],
    rows: Messages,
    *,
    made: ContextPlan | None = None,
    window: int = 200,
    calls: Calls = "end",
) -> AuditReport:
    async def own(messages: list[object], *, budget_tokens: int) -> object:
        return assemble(messages, budget_tokens=budget_tokens)

    return audit(
        made or plan(),
        [recording(rows)],
        WordProvider(window),
        assembler=own,
        assembler_name="app:cut",
        calls=calls,
    )


def newest(count: int) -> Callable[..., object]:
    def assemble(messages: Messages, *, budget_tokens: int) -> Messages:
        return [messages[0], *messages[1:][-count:]]

    return assemble


def only(report: AuditReport) -> AssemblyRow:
    (row,) = report.assemblies
    return row


def fates(row: AssemblyRow) -> dict[str, Fate | None]:
    return {entry.id: entry.fate for entry in row.entries}


def codes(report: AuditReport) -> list[str]:
    return [finding.code for finding in report.all_findings()]


def test_8_it_gets_the_history_before_the_call_in_the_recordings_own_shape_and_the_budget() -> None:
    seen: list[tuple[Messages, int]] = []

    def assemble(messages: Messages, *, budget_tokens: int) -> Messages:
        seen.append((messages, budget_tokens))
        return messages

    rows = rows_of(3)
    audited(assemble, rows, made=plan(reserve_output_tokens=40), calls=2)
    assert seen == [(rows[:4], 160)]


def test_8_an_entry_that_does_not_come_back_is_dropped_by_the_application() -> None:
    row = only(audited(newest(2), rows_of(3)))
    assert fates(row) == {
        "m1": Fate.KEPT,
        **dict.fromkeys(("m2", "m3", "m4", "m5"), Fate.DROPPED),
        **dict.fromkeys(("m6", "m7"), Fate.KEPT),
    }
    assert {entry.rule for entry in row.entries if entry.fate is Fate.DROPPED} == {"application"}
    assert [entry.position for entry in row.entries if entry.fate is Fate.KEPT] == [1, 2, 3]
    assert row.tokens_after == 3 + (4 + 2) + 2 * (4 + 5)
    assert (row.sections[1].dropped, row.sections[1].kept) == (4, 2)


def test_8_what_it_sends_over_the_budget_fails_and_says_by_how_much() -> None:
    report = audited(newest(6), rows_of(3), window=40)
    row = only(report)
    assert (row.status, row.has_prompt, row.missing_tokens) == ("over_budget", False, 3 + 6 + 6 * 9 - 40)
    assert report.exit_code == 1
    assert "CTX101" in codes(report)


def test_8_a_lost_pin_is_an_error_and_expectations_are_tested() -> None:
    made = plan(
        pins=(Matcher(ids=("m2",)),), expect=(Expectation(keeps=EntryMatcher(contains=("question 1",))),)
    )
    report = audited(newest(2), rows_of(3), made=made)
    assert {"CTX210", "CTX601", "CTX211"} <= set(codes(report))
    assert report.exit_code == 1


def test_8_a_call_parted_from_its_result_is_an_error() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "find", "arguments": "{}"}}
    rows = [
        *rows_of(1),
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "found"},
        {"role": "user", "content": "thanks"},
    ]
    report = audited(newest(2), rows)
    assert "CTX202" in codes(report)
    assert fates(only(report))["m4"] is Fate.TRIMMED
    whole = audited(newest(20), rows)
    assert codes(whole) == [code for code in codes(whole) if code != "CTX202"]


def test_8_a_message_of_its_own_is_added_with_its_place_and_tokens() -> None:
    def assemble(messages: Messages, *, budget_tokens: int) -> Messages:
        return [messages[0], {"role": "user", "content": "a recap"}, *messages[-2:]]

    row = only(audited(assemble, rows_of(3)))
    (added,) = row.added
    assert (added.position, added.role, added.tokens) == (2, "user", 6)
    assert row.tokens_after == 3 + 6 + 6 + 9 + 9


def test_8_a_shortened_message_is_trimmed_where_its_id_says_which_it_is() -> None:
    rows = rows_of(2)
    rows[1]["id"] = "q0"

    def assemble(messages: Messages, *, budget_tokens: int) -> Messages:
        messages[1]["content"] = "question"
        return messages

    row = only(audited(assemble, rows))
    assert fates(row)["q0"] is Fate.TRIMMED
    assert row.added == ()


def test_8_of_equal_messages_the_newest_come_back_first_and_in_order() -> None:
    rows = [{"role": "user", "content": "go on"}, {"role": "assistant", "content": "done"}] * 4
    row = only(audited(lambda messages, budget_tokens: messages[-3:], rows))
    assert [entry.id for entry in row.entries if entry.fate is Fate.KEPT] == ["m6", "m7", "m8"]


def test_8_every_call_is_replayed_and_with_carry_each_starts_from_what_was_sent_before() -> None:
    lengths: list[int] = []

    def assemble(messages: Messages, *, budget_tokens: int) -> Messages:
        lengths.append(len(messages))
        recap = {"role": "user", "content": "a recap"}
        return [messages[0], recap, *messages[-2:]] if len(messages) > 5 else messages

    report = audited(assemble, rows_of(5), calls="every")
    assert lengths == [2, 4, 6, 8, 10]
    assert [row.status for row in report.assemblies] == ["fits", "fits", *["compacted"] * 3]
    lengths.clear()
    carried = audited(assemble, rows_of(5), made=plan(carry=True), calls="every")
    assert lengths == [2, 4, 6, 6, 6]
    assert fates(carried.assemblies[-1])["m2"] is Fate.DROPPED


@pytest.mark.parametrize(
    ("assemble", "said"),
    [
        (lambda messages, budget_tokens: None, "returned NoneType"),
        (lambda messages, budget_tokens: [*messages, 7], "number 8"),
        (lambda messages, budget_tokens: messages[99], "raised IndexError"),
    ],
)
def test_8_code_that_fails_or_returns_no_messages_is_told_and_the_others_are_audited(
    assemble: Callable[..., object], said: str
) -> None:
    report = audited(assemble, rows_of(3))
    (found,) = [finding for finding in report.all_findings() if finding.code == "CTX112"]
    assert said in found.message
    assert report.exit_code == 1


def test_8_what_it_does_to_the_messages_changes_nothing_outside() -> None:
    def assemble(messages: Messages, *, budget_tokens: int) -> Messages:
        kept = [dict(message) for message in messages]
        for message in messages:
            message.clear()
        return kept

    report = audited(assemble, rows_of(4), calls="every")
    assert {row.status for row in report.assemblies} == {"fits"}


@pytest.mark.parametrize("format", ["text", "json", "jsonl"])
def test_8_every_format_shows_it_and_names_the_assembler(format: str) -> None:
    text = render(audited(newest(2), rows_of(3)), format)
    assert "app:cut" in text
    assert "dropped" in text
    assert "harbour" not in text


def test_8_a_function_and_a_command_give_the_same_report(tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows_of(6)))
    (tmp_path / "plan.yaml").write_text(
        "model: gpt-4o\nbudget_tokens: 200\nsections: [{name: all, share: 1}]\n"
    )
    (tmp_path / "app.py").write_text(
        "import json, sys\n"
        "def cut(messages, *, budget_tokens):\n"
        "    return [messages[0], *messages[-4:]]\n"
        "async def later(messages, *, budget_tokens):\n"
        "    return cut(messages, budget_tokens=budget_tokens)\n"
        "if __name__ == '__main__':\n"
        "    given = json.load(sys.stdin)\n"
        "    print(json.dumps(cut(**given)))\n"
    )
    made = []
    for name in ("app:cut", "app:later", f"command:{sys.executable} app.py"):
        words = [sys.executable, "-m", "contextctl", "audit", "plan.yaml", "t.jsonl", "--assembler", name]
        done = subprocess.run(
            [*words, "--every-call", "-f", "json"], cwd=tmp_path, capture_output=True, check=False
        )
        assert done.returncode == 0, done.stderr
        made.append({**json.loads(done.stdout), "assembler": ""})
    assert made[0] == made[1] == made[2]
    assert made[0]["transcripts"][0]["assemblies"][-1]["sections"][0]["dropped"] == 7


def test_8_what_is_no_assembler_is_a_usage_error() -> None:
    for wrong in ("json", "json:nothing", "json:__name__", "command:"):
        with pytest.raises(UsageError):
            load_assembler(wrong)


def test_8_what_is_sent_over_the_budget_is_held_against_pins_and_pairs_all_the_same() -> None:
    made = plan(pins=(Matcher(ids=("m2",)),))
    report = audited(newest(4), rows_of(3), made=made, window=40)
    assert only(report).status == "over_budget"
    assert {"CTX101", "CTX210"} <= set(codes(report))
    assert "CTX106" not in codes(report)
