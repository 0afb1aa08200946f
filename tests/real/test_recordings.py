"""Real recordings through the engine: nothing unaccounted for, nothing over budget by an outside recount."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from contextctl import ContextAssembler, audit, load_plan, load_transcripts, offline_provider
from contextctl.errors import ContextBudgetError
from contextctl.messages import RequestSettings
from contextctl.outcome import Fate
from contextctl.plan import ContextPlan
from contextctl.recording import Transcript
from tests.real.recount import published_encoding, recount

WINDOWS = [128_000, 8_192, 2_000]
STRATEGIES = ["drop-oldest", "drop-middle", "pin-and-fold", "refuse"]


def plan_with(strategy: str) -> ContextPlan:
    plan = load_plan("preset:default")
    section = plan.sections[1].model_copy(
        update={"compaction": plan.sections[1].compaction.model_copy(update={"strategy": strategy})}
    )
    return plan.model_copy(update={"sections": (plan.sections[0], section)})


@pytest.fixture(scope="module")
def recordings(shared: Path) -> tuple[Transcript, ...]:
    folder = shared / "transcripts"
    requests = sorted((folder / "api-requests").glob("openai-chat-*.requests.jsonl"))
    found = load_transcripts(*sorted((folder / "tau-bench").glob("*.json")), *requests)
    assert len(found) == 40 + 17
    return found


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_message_has_one_fate_and_no_prompt_is_over_its_budget_by_a_recount(
    recordings: tuple[Transcript, ...],
    shared: Path,
    window: int,
    strategy: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    encoding = published_encoding(shared, "o200k_base", monkeypatch)
    plan = plan_with(strategy)
    made = 0
    for transcript in recordings:
        provider = offline_provider("gpt-4o", window_tokens=window)
        overhead = provider.with_settings(transcript.settings).measure_overhead()
        assembler = ContextAssembler(plan, provider=provider.with_settings(transcript.settings))
        prepared = assembler.prepare(transcript.messages)
        places = sorted(place for entry in prepared.routed.entries for place in entry.positions)
        assert places == list(range(1, len(transcript.messages) + 1))
        try:
            result = asyncio.run(assembler.complete(prepared))
        except ContextBudgetError as error:
            assert error.missing_tokens > 0
            continue
        made += 1
        assert set(result.fates) == {entry.id for entry in prepared.routed.entries}
        has_image = any(part.type == "image" for message in result.messages for part in message.content)
        if not has_image:
            again = recount(result.messages, encoding)
            assert again == result.tokens - (overhead.tokens - 3) - result.joint_tokens
            assert again <= window
        assert result.tokens_upper <= window
        calls = [call.id for message in result.messages for call in message.calls]
        answers = [answer.call_id for message in result.messages for answer in message.results]
        assert sorted(map(str, calls)) == sorted(map(str, answers))
        kept = sum(
            len(entry.positions) for entry in prepared.routed.entries if result.fates[entry.id] is Fate.KEPT
        )
        assert kept + len(result.notes) == len(result.messages)
    assert made >= (1 if strategy == "refuse" else 10) if window == 2_000 else made >= 40


def test_recordings_with_tool_definitions_are_exact_and_those_that_lack_them_floors(
    recordings: tuple[Transcript, ...],
) -> None:
    report = audit(load_plan("preset:default"), recordings, offline_provider("gpt-4o"))
    for transcript, read in zip(report.transcripts, recordings, strict=True):
        (row,) = transcript.assemblies
        if "tools" in read.lacks:
            assert row.exactness == "floor"
        elif read.settings.tools:
            has_image = any(part.type == "image" for message in read.messages for part in message.content)
            assert row.exactness == ("estimate" if has_image else "exact")
    assert offline_provider("gpt-4o", settings=RequestSettings()).measure_overhead().tokens == 3


def test_the_report_is_the_same_bytes_under_two_hash_seeds_and_working_folders(
    shared: Path, tmp_path: Path
) -> None:
    (tmp_path / "plan.yaml").write_text("sections: [{name: recent, share: 1.0}]\n")
    (tmp_path / "data").symlink_to(shared / "transcripts" / "tau-bench")
    outputs = set()
    for seed in ("0", "1"):
        done = subprocess.run(
            [
                sys.executable,
                "-m",
                "contextctl",
                "audit",
                "plan.yaml",
                "data",
                "--window",
                "2000",
                "-f",
                "jsonl",
            ],
            cwd=tmp_path,
            env={"PYTHONHASHSEED": seed, "PATH": "", "CONTEXTCTL_MODEL": "gpt-4o"},
            capture_output=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        outputs.add(done.stdout)
    assert len(outputs) == 1
    assert len(outputs.pop()) > 100_000
