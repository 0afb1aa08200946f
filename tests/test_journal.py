"""Summaries that were recorded: replayed without asking, asked for once, never invented."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from contextctl.entries import group
from contextctl.errors import SummaryUnusableError
from contextctl.messages import Message
from contextctl.ports import Summary, SummaryRequest
from contextctl.summarisers.command import CommandSummariser
from contextctl.summarisers.journal import JournalRow, JournalSummariser, key_of

PLAN = """\
model: gpt-4o
budget_tokens: {budget}
sections:
  - name: recent
    share: 1.0
    match: rest
    compaction: {{strategy: summarise-span, max_summary_tokens: 40, keep_recent: 1{more}}}
"""

SUMMARISER = """\
import sys, time
sys.stdin.read()
with open("asked.txt", "a") as file:
    file.write("asked\\n")
time.sleep(0.02)
print("They spoke of the harbour.")
"""


def chat(name: str, turns: int = 8) -> str:
    messages = [
        {
            "role": "assistant" if n % 2 else "user",
            "content": f"{name} asks {n} about the harbour and the ferry",
        }
        for n in range(2 * turns + 1)
    ]
    return json.dumps({"id": name, "messages": messages}) + "\n"


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (tmp_path / "plan.yaml").write_text(PLAN.format(budget=150, more=""))
    (tmp_path / "chat.jsonl").write_text(chat("anna"))
    (tmp_path / "summarise.py").write_text(SUMMARISER)
    return tmp_path


def command(work: Path, *more: str, live: bool = False) -> list[str]:
    words = [sys.executable, "-m", "contextctl", "audit", "plan.yaml", "chat.jsonl", "--journal", "j.jsonl"]
    if live:
        words += ["--summariser", f"command:{sys.executable} summarise.py"]
    return [*words, *more]


def run(work: Path, *more: str, live: bool = False) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        command(work, *more, live=live), cwd=work, capture_output=True, check=False, timeout=120
    )


def asked(work: Path) -> int:
    path = work / "asked.txt"
    return len(path.read_text().splitlines()) if path.exists() else 0


def codes(done: subprocess.CompletedProcess[bytes]) -> set[str]:
    report = json.loads(done.stdout)
    found = [*report["findings"], *(item for t in report["transcripts"] for item in t["findings"])]
    return {item["code"] for item in found}


def test_7_1_a_summary_is_asked_for_once_recorded_and_replayed_without_asking_to_the_byte(work: Path) -> None:
    first = run(work, "-f", "json", live=True)
    assert first.returncode == 0, first.stderr
    assert asked(work) == 1
    (row,) = [json.loads(line) for line in (work / "j.jsonl").read_bytes().splitlines()]
    kept = {"key", "transcript", "call", "carry", "section", "ids", "summariser", "instructions"}
    assert set(row) == kept | {"summary", "tokens"}
    assert (row["summary"], row["call"], row["carry"]) == ("They spoke of the harbour.", None, False)
    (note,) = json.loads(first.stdout)["transcripts"][0]["assemblies"][0]["notes"]
    assert row["tokens"] == note["tokens"]
    outputs = {first.stdout, run(work, "-f", "json", live=True).stdout, run(work, "-f", "json").stdout}
    assert len(outputs) == 1
    assert asked(work) == 1


def test_7_1_without_a_row_and_without_a_summariser_the_summary_is_missing(work: Path) -> None:
    done = run(work, "-f", "json")
    assert (done.returncode, codes(done) & {"CTX301"}) == (1, {"CTX301"})


def test_7_1_a_changed_recording_makes_a_summary_stale_and_a_changed_plan_leaves_one_unused(
    work: Path,
) -> None:
    run(work, live=True)
    (work / "chat.jsonl").write_text((work / "chat.jsonl").read_text().replace("asks 0 about", "asks 0 of"))
    assert {"CTX302", "CTX303"} <= codes(run(work, "-f", "json"))
    (work / "chat.jsonl").write_text(chat("anna"))
    (work / "plan.yaml").write_text(PLAN.format(budget=150, more=", instructions: Names only."))
    assert {"CTX302", "CTX303"} <= codes(run(work, "-f", "json"))
    (work / "plan.yaml").write_text(PLAN.format(budget=130, more=""))
    assert {"CTX301", "CTX303"} <= codes(run(work, "-f", "json"))
    (work / "plan.yaml").write_text(PLAN.format(budget=4000, more=""))
    assert codes(run(work, "-f", "json")) & {"CTX301", "CTX302", "CTX303"} == {"CTX303"}


def test_a_torn_last_line_is_dropped_with_a_note_and_made_good(work: Path) -> None:
    run(work, live=True)
    whole = (work / "j.jsonl").read_bytes()
    (work / "j.jsonl").write_bytes(whole[:-20])
    done = run(work, live=True)
    assert done.returncode == 0
    assert b"j.jsonl:1: the torn last line" in done.stderr
    assert (work / "j.jsonl").read_bytes() == whole
    assert asked(work) == 2


def test_another_line_that_is_no_row_is_refused_with_its_number(work: Path) -> None:
    run(work, live=True)
    row = (work / "j.jsonl").read_bytes()
    (work / "j.jsonl").write_bytes(row + b"{}\n" + row)
    done = run(work)
    assert done.returncode == 3
    assert b"j.jsonl:2" in done.stderr


@pytest.mark.parametrize(
    "options",
    [
        ["--summariser", "command:true"],
        ["--journal", "j.jsonl", "--summariser", "true"],
        ["--journal", "j.jsonl", "--summariser", "command:"],
    ],
)
def test_a_summariser_needs_a_journal_and_a_command(work: Path, options: list[str]) -> None:
    words = [sys.executable, "-m", "contextctl", "audit", "plan.yaml", "chat.jsonl", *options]
    assert subprocess.run(words, cwd=work, capture_output=True, check=False).returncode == 2


@pytest.mark.parametrize(
    ("script", "said"), [("import sys; sys.exit(4)", "ended with 4"), ("pass", "the summary is empty")]
)
def test_a_summariser_that_fails_or_says_nothing_is_a_budget_error(
    work: Path, script: str, said: str
) -> None:
    (work / "summarise.py").write_text(script)
    done = run(work, "-f", "json", live=True)
    assert done.returncode == 1
    assert "CTX304" in codes(done)
    assert said.encode() in done.stdout


def test_7_3_a_run_killed_in_the_middle_and_started_again_asks_for_none_that_was_recorded(work: Path) -> None:
    conversations = 40
    (work / "chat.jsonl").write_text("".join(chat(f"c{n}") for n in range(conversations)))
    process = subprocess.Popen(command(work, live=True), cwd=work, stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        journal = work / "j.jsonl"
        if journal.exists() and journal.read_bytes().count(b"\n") >= conversations // 3:
            break
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    recorded = (work / "j.jsonl").read_bytes().count(b"\n")
    assert conversations // 3 <= recorded < conversations
    done = run(work, live=True)
    assert done.returncode == 0, done.stderr
    assert asked(work) <= conversations + 1
    assert (work / "j.jsonl").read_bytes().count(b"\n") == conversations


def request(text: str = "hello", section: str = "recent", instructions: str = "be brief") -> SummaryRequest:
    entries, _ = group([Message(role="user", content=text)])
    return SummaryRequest(entries, section, instructions, 40, lambda text: len(text.split()))


def test_7_1_the_key_is_of_content_section_summariser_and_instructions_and_nothing_else() -> None:
    key = key_of(request(), "small")
    assert key == key_of(SummaryRequest(request().entries, "recent", "be brief", 99, len), "small")
    others = [
        key_of(request("hallo"), "small"),
        key_of(request(section="facts"), "small"),
        key_of(request(instructions="be long"), "small"),
        key_of(request(), "large"),
    ]
    assert len({key, *others}) == 5


def test_7_1_one_key_is_asked_for_once_a_run_and_recorded_before_it_is_used() -> None:
    order: list[str] = []

    class Live:
        async def summarise(self, request: SummaryRequest) -> Summary:
            order.append("asked")
            return Summary("gist")

    def record(row: JournalRow) -> None:
        order.append("recorded")

    journal = JournalSummariser([], summariser="live", live=Live(), record=record)
    journal.begin("t", None, carry=False)
    answers = [asyncio.run(journal.summarise(request())).text for _ in range(3)]
    assert answers == ["gist"] * 3
    assert order == ["asked", "recorded"]
    assert journal.unconsumed() == ()


def test_7_1_only_a_row_whose_conversation_and_call_were_audited_in_the_same_mode_is_unconsumed() -> None:
    row = JournalRow(
        key=key_of(request(), "s"),
        transcript="other",
        call=3,
        carry=True,
        section="recent",
        ids=("m1",),
        summariser="s",
        instructions="be brief",
        summary="gist",
        tokens=1,
    )
    journal = JournalSummariser([row])
    for transcript, call, carry in [("t", 3, True), ("other", None, True), ("other", 3, False)]:
        journal.begin(transcript, call, carry=carry)
        assert journal.unconsumed() == ()
    journal.begin("other", 3, carry=True)
    assert journal.unconsumed() == (row,)


def test_a_command_that_is_late_is_killed(tmp_path: Path) -> None:
    script = tmp_path / "slow.sh"
    script.write_text("#!/bin/sh\nexec sleep 60\n")
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    with pytest.raises(SummaryUnusableError, match=r"within 0\.2 seconds") as caught:
        asyncio.run(CommandSummariser([os.fspath(script)], timeout_seconds=0.2).summarise(request()))
    assert isinstance(caught.value.__cause__, TimeoutError)


def test_a_command_that_cannot_be_started_says_why(tmp_path: Path) -> None:
    with pytest.raises(SummaryUnusableError, match="cannot be started: No such file"):
        asyncio.run(CommandSummariser([os.fspath(tmp_path / "none")]).summarise(request()))


GUARD = """\
import asyncio, os, signal, sys
from contextctl import ContextAssembler, ContextPlan, Message, SectionPlan, Summary, SummariseSpan
from contextctl import open_journal

class Provider:
    context_window_tokens = 2000
    def count_tokens(self, messages):
        return 3 + sum(4 + len(message.text.split()) for message in messages)

class Model:
    async def summarise(self, request):
        with open("asked.txt", "a") as file:
            file.write("asked\\n")
        return Summary("Customer was double-charged; refund approved.")

history = [Message(role="user", content="You handle ticket T-9.")]
for note in range(8):
    history.append(Message(role="user", content=f"Note {note}: " + "details " * 60))
    history.append(Message(role="assistant", content="Noted."))
history.append(Message(role="user", content="What should we do next?"))
compaction = {"strategy": "summarise-span", "span": "all", "keep_first": 1, "keep_recent": 2}
section = SectionPlan(name="all", share=1, match="rest", compaction=compaction)
plan = ContextPlan(sections=(section,), reserve_output_tokens=200, compaction_fraction=0.3)
span = SummariseSpan(summariser=open_journal("j.jsonl", summariser="model", live=Model()))
assembler = ContextAssembler(plan, provider=Provider(), strategies={"summarise-span": span})
result = asyncio.run(assembler.assemble(history))
if sys.argv[1] == "dies":
    os.kill(os.getpid(), signal.SIGKILL)  # before the answer is asked for
print(len(history), len(result.messages), result.messages[1].text)
"""


def test_the_history_guards_example_killed_before_the_answer_asks_for_no_second_summary(
    tmp_path: Path,
) -> None:
    (tmp_path / "guard.py").write_text(GUARD)
    words = [sys.executable, "guard.py"]
    first = subprocess.run([*words, "dies"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (first.returncode, first.stdout) == (-signal.SIGKILL, "")
    second = subprocess.run([*words, "goes on"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert second.stdout == "18 4 Customer was double-charged; refund approved.\n", second.stderr
    assert asked(tmp_path) == 1
