"""Provider rules in an audit: of the recording, of what an assembly newly broke, and after repairs."""

from __future__ import annotations

import json
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from contextctl import audit, offline_provider
from contextctl.errors import Location
from contextctl.findings import Severity
from contextctl.messages import Message, TextPart, ToolResultPart
from contextctl.outcome import Fate
from contextctl.plan import ContextPlan, Matcher, SectionPlan
from contextctl.recording import Transcript
from contextctl.report import AuditReport
from tests.engine_samples import WordProvider


def say(role: str, words: int, line: int, **more: Any) -> Message:
    return Message(role=role, content="word " * words, location=Location("t.jsonl", line), **more)


def chat(turns: int, words: int = 30) -> list[Message]:
    return [say("assistant" if n % 2 else "user", words, n + 1) for n in range(2 * turns + 1)]


def recording(messages: list[Message], format: str = "openai-chat") -> Transcript:
    return Transcript("t.jsonl", "t", format, tuple(messages))


def plan(*sections: SectionPlan, **fields: Any) -> ContextPlan:
    rest = SectionPlan(name="recent", share=Decimal("0.9"), match="rest")
    return ContextPlan(sections=(*sections, rest), **fields)


def told(report: AuditReport) -> dict[str, Severity]:
    return {item.code: item.severity for item in report.all_findings() if "CTX212" <= item.code <= "CTX225"}


def test_what_is_wrong_with_a_recording_is_at_most_a_warning() -> None:
    report = audit(
        plan(), [recording([say("assistant", 3, 1), *chat(1)])], offline_provider("claude-sonnet-4-5")
    )
    assert told(report) == {"CTX218": Severity.WARNING}
    assert report.exit_code == 0


def test_a_rule_that_the_sections_broke_is_an_error_that_names_the_section() -> None:
    late = [*chat(2), say("system", 3, 6), *chat(1)]
    moved = plan(SectionPlan(name="system", share=Decimal("0.1"), match=Matcher(roles=("user",))))
    report = audit(moved, [recording(late)], offline_provider("claude-sonnet-4-5"))
    errors = [item for item in report.all_findings() if item.severity is Severity.ERROR]
    assert {(item.code, item.section) for item in errors} <= {("CTX221", "recent"), ("CTX218", "recent")}


@pytest.mark.parametrize(("model", "first"), [("claude-sonnet-4-5", "user"), ("gpt-4o", "assistant")])
def test_5_3_what_is_left_starts_with_the_users_only_where_the_provider_wants_it(
    model: str, first: str
) -> None:
    transcript = recording(chat(6))
    for budget in range(120, 200, 7):
        report = audit(plan(budget_tokens=budget), [transcript], offline_provider(model))
        (row,) = report.assemblies
        kept = [entry.role for entry in row.entries if entry.fate is Fate.KEPT]
        if kept and kept[0] == "assistant":
            assert first == "assistant"
        assert "CTX218" not in told(report)


def test_5_3_a_session_of_one_user_message_is_not_cut_down_to_it() -> None:
    messages = [say("user", 3, 1), *(say("assistant", 10, n) for n in range(2, 40))]
    report = audit(plan(budget_tokens=250), [recording(messages)], offline_provider("claude-sonnet-4-5"))
    (row,) = report.assemblies
    assert sum(entry.fate is Fate.KEPT for entry in row.entries) > 5


def test_a_provider_of_the_callers_own_is_not_held_to_any_rules_unless_they_are_named() -> None:
    wrong = recording([say("assistant", 3, 1), *chat(1)])
    assert told(audit(plan(), [wrong], WordProvider(1000))) == {}
    assert "CTX218" in told(audit(plan(), [wrong], WordProvider(1000), profile="gemini"))


def orphaned() -> list[Message]:
    part = ToolResultPart(call_id="gone", content=(TextPart(text="late news"),))
    result = Message(role="tool", content=(part,), location=Location("t.jsonl", 9))
    return [*chat(1), result, *chat(1)]


def test_repair_mends_first_and_says_what_it_did() -> None:
    report = audit(plan(), [recording(orphaned())], offline_provider("gpt-4o"), repair=True)
    codes = [item.code for item in report.all_findings()]
    assert "CTX035" in codes
    assert "CTX020" not in codes
    (row,) = report.assemblies
    assert [entry.id for entry in row.entries] == ["m1", "m2", "m3", "m5", "m6", "m7"]


def test_the_command_line_takes_a_profile_and_repairs(tmp_path: Path) -> None:
    rows = [{"role": "assistant", "content": "hello"}, {"role": "user", "content": "hi"}]
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    words = [sys.executable, "-m", "contextctl", "audit", "t.jsonl", "--model", "gpt-4o", "-f", "json"]

    def run(*more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([*words, *more], cwd=tmp_path, capture_output=True, text=True, check=False)

    assert "CTX218" not in run().stdout
    assert "CTX218" in run("--profile", "anthropic").stdout
    mended = run("--profile", "anthropic", "--repair")
    assert "CTX218" not in mended.stdout
    assert "CTX035" in mended.stdout
    assert run("--profile", "nobody").returncode == 2
