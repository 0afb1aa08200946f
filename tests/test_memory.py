"""Memory (rule 7.5): summaries written back with the way to what they stand for, and followed back."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from contextctl import ContextAssembler, Message
from contextctl.errors import MemoryStoreError
from contextctl.memory import MemoryRecord
from contextctl.outcome import AssembledContext
from contextctl.plan import CompactionPlan, ContextPlan, SectionPlan
from contextctl.ports import Summariser
from contextctl.stores import ReadableMemory, open_memory
from contextctl.strategies.summarise_span import SummariseSpan
from contextctl.summarisers.planned import PlannedSummariser
from contextctl.tracing import find, trace
from tests.engine_samples import ShortSummaries, WordProvider

SPAN = CompactionPlan(strategy="summarise-span", parameters={"max_summary_tokens": 8})
PLAN = ContextPlan(sections=(SectionPlan(name="recent", share=Decimal(1), match="rest", compaction=SPAN),))


def chat(turns: int) -> list[Message]:
    text = " ".join(["w"] * 6)
    return [Message(role="assistant" if n % 2 else "user", content=text) for n in range(2 * turns + 1)]


def assemble(memory: Any, scope: str | None = "s", summariser: Summariser | None = None) -> AssembledContext:
    span = SummariseSpan(summariser=summariser or ShortSummaries())
    assembler = ContextAssembler(
        PLAN,
        provider=WordProvider(70),
        strategies={"summarise-span": span},
        memory=memory,
        scope=scope,
    )
    return asyncio.run(assembler.assemble(chat(5), transcript_id="t"))


@pytest.fixture(params=["memory.db", "memory.jsonl"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> ReadableMemory:
    return open_memory(str(tmp_path / request.param))


def test_7_5_a_memory_without_a_scope_is_a_value_error(store: ReadableMemory) -> None:
    with pytest.raises(ValueError, match="scope"):
        assemble(store, scope=None)


def test_7_5_each_summary_is_written_back_with_source_ids_fingerprints_and_tokens(
    store: ReadableMemory,
) -> None:
    result = assemble(store)
    ((scope, record),) = store.records()
    (note,) = result.notes
    assert (scope, record.source, record.ids) == ("s", "compaction:recent", note.stands_for)
    assert record.history_fingerprint == result.history_fingerprint
    assert record.prompt_fingerprint == result.prompt_fingerprint
    assert (record.tokens_before, record.tokens_after) == (10 * len(note.stands_for), 5)
    assert (record.summary, record.summary_id, record.transcript) == ("gist", note.id, "t")


def test_7_5_nothing_is_written_where_a_summary_is_only_planned(store: ReadableMemory) -> None:
    assemble(store, summariser=PlannedSummariser())
    assert not Path(store.path).exists()  # type: ignore[attr-defined]


def test_7_5_a_failing_store_fails_the_assembly() -> None:
    class Full:
        async def log(self, scope: str, record: MemoryRecord) -> None:
            raise OSError("no space left")

    with pytest.raises(MemoryStoreError, match="OSError") as caught:
        assemble(Full())
    assert isinstance(caught.value.__cause__, OSError)


def test_a_record_is_there_once_however_often_it_is_written(store: ReadableMemory) -> None:
    assemble(store)
    assemble(store)
    assemble(store, scope="other")
    assert [scope for scope, _ in store.records()] == ["s", "other"]
    assert [scope for scope, _ in store.records("other")] == ["other"]


def test_what_is_no_memory_is_refused_with_its_place(tmp_path: Path) -> None:
    for name in ("x.db", "x.jsonl"):
        path = tmp_path / name
        path.write_text("this is no memory, and it is longer than a header would be " * 20)
        with pytest.raises(MemoryStoreError) as caught:
            open_memory(str(path)).records()
        assert caught.value.location.path == str(path)
        with pytest.raises(MemoryStoreError):
            open_memory(str(tmp_path / "none" / name)).records()


WRITER = """\
import asyncio, sys
from contextctl.memory import MemoryRecord
from contextctl.stores import open_memory
store = open_memory(sys.argv[1])
async def run():
    for n in range(60):
        name = f"{sys.argv[2]}-{n}"
        await store.log("s", MemoryRecord("compaction:a", name, "gist", ("m1",), (), None, "h", "p", 2, 1))
asyncio.run(run())
"""


def test_two_processes_may_write_at_once_and_no_record_is_lost(store: ReadableMemory) -> None:
    path = store.path  # type: ignore[attr-defined]
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, path, name]) for name in ("a", "b")]
    assert [writer.wait(timeout=120) for writer in writers] == [0, 0]
    names = {record.summary_id for _, record in store.records()}
    assert names == {f"{who}-{n}" for who in "ab" for n in range(60)}


def test_a_summary_is_followed_through_earlier_ones_to_every_entry() -> None:
    def record(name: str, ids: tuple[str, ...]) -> MemoryRecord:
        return MemoryRecord("compaction:a", name, "gist", ids, (), "t", f"h{name}", "p", 9, 1)

    records = [
        ("s", record("summary:a:m1", ("m1", "m2"))),
        ("s", record("summary:a:m1+1", ("summary:a:m1", "m1", "m2", "m3"))),
        ("other", record("summary:a:m1", ("m1",))),
    ]
    (found,) = find(records, "summary:a:m1+1", "m.db")
    traced = [(item.id, item.depth) for item in trace(found, records).entries]
    assert traced == [("summary:a:m1", 0), ("m1", 1), ("m2", 1), ("m3", 0)]


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "contextctl", *words], cwd=folder, capture_output=True, text=True, check=False
    )


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (tmp_path / "plan.yaml").write_text(
        "model: gpt-4o\nbudget_tokens: 150\ncarry: true\nsections:\n"
        "  - {name: recent, share: 1, compaction: {strategy: summarise-span, max_summary_tokens: 30}}\n"
    )
    rows = [
        {"role": "assistant" if n % 2 else "user", "content": f"the marigold harbour number {n} and a ferry"}
        for n in range(25)
    ]
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "s.py").write_text("import sys; sys.stdin.read(); print('Of a marigold.')")
    return tmp_path


RECORD = ("audit", "plan.yaml", "t.jsonl", "--journal", "j.jsonl")


def test_trace_leads_from_the_command_lines_last_summary_to_lines_of_the_recording(work: Path) -> None:
    live = ("--summariser", f"command:{sys.executable} s.py", "--memory", "m.db", "--scope", "trip")
    done = run(work, *RECORD, *live)
    assert done.returncode == 0, done.stderr
    listed = json.loads(run(work, "trace", "--memory", "m.db", "-f", "json").stdout)["summaries"]
    assert len(listed) > 2
    last = listed[-1]
    leaves = [item for item in last["entries"] if not item["id"].startswith("summary:")]
    assert [item["line"] for item in leaves] == list(range(1, len(leaves) + 1))
    shown = run(work, "trace", last["record"], "--memory", "m.db")
    assert shown.returncode == 0
    assert "compaction:recent" in shown.stdout
    assert "marigold" not in shown.stdout
    assert "marigold" in run(work, "trace", last["record"], "--memory", "m.db", "--show-text").stdout


def test_trace_says_what_there_is_where_the_summary_is_not_there(work: Path) -> None:
    assert run(work, "trace", "x").returncode == 2
    assert run(work, "trace", "x", "--memory", "none.db").returncode == 3
    live = ("--summariser", f"command:{sys.executable} s.py", "--memory", "m.jsonl", "--scope", "trip")
    run(work, *RECORD, *live)
    missing = run(work, "trace", "x", "--memory", "m.jsonl")
    assert missing.returncode == 3
    assert "summary:recent:m1" in missing.stderr


def test_memory_and_scope_go_together_on_the_command_line(work: Path) -> None:
    for words in (("--memory", "m.db"), ("--scope", "trip")):
        assert run(work, *RECORD, *words).returncode == 2


def test_a_memory_that_cannot_be_written_is_an_input_error_of_the_run(work: Path) -> None:
    live = ("--summariser", f"command:{sys.executable} s.py", "--memory", "none/m.db", "--scope", "trip")
    done = run(work, *RECORD, *live)
    assert done.returncode == 3
    assert "CTX031" in done.stdout + done.stderr
