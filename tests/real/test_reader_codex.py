"""Real Codex rollouts against their description and a count of the raw records."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from contextctl.entries import group
from contextctl.recording import Transcript
from contextctl.transcripts import read_transcripts

FILES = {
    "turn-aborted": (69, 18, 20, 11, 0, 22_859),
    "v0.118-compacted": (584, 95, 194, 101, 1, 63_039),
    "v0.118-forked-subagent-compacted": (690, 106, 237, 109, 1, 45_832),
}
"""Name -> response items, messages among them, calls (all answered), reasoning, compactions, last input."""

CALLS = ("function_call", "custom_tool_call")
OUTPUTS = ("function_call_output", "custom_tool_call_output")
SHAPES = "v0.146-record-shapes"


def read(shared: Path, name: str) -> tuple[Transcript, list[dict[str, Any]]]:
    data = (shared / "transcripts" / "codex" / f"{name}.jsonl").read_bytes()
    (transcript,) = read_transcripts(data, f"{name}.jsonl")
    return transcript, [json.loads(line) for line in data.splitlines()]


def items(records: list[dict[str, Any]], *kinds: str) -> list[dict[str, Any]]:
    found = [record["payload"] for record in records if record["type"] == "response_item"]
    return [payload for payload in found if not kinds or payload["type"] in kinds]


def reported(records: list[dict[str, Any]], start: str = "") -> Iterator[tuple[int, int]]:
    """Input and window of every request: where the total changes, and from a time on."""
    total = None
    for record in records:
        info = record["payload"].get("info")
        if record["payload"].get("type") != "token_count" or info is None:
            continue
        if info["total_token_usage"] != total and record["timestamp"] > start:
            yield info["last_token_usage"]["input_tokens"], info["model_context_window"]
        total = info["total_token_usage"]


@pytest.mark.parametrize("name", FILES)
def test_a_real_rollout_holds_what_was_counted_in_it(shared: Path, name: str) -> None:
    transcript, records = read(shared, name)
    count, texts, calls, reasoning, compactions, last = FILES[name]
    assert (transcript.format, transcript.skipped, transcript.findings) == ("codex", 0, ())
    assert (transcript.model, transcript.lacks) == ("gpt-5.4", ("tools", "reasoning"))
    assert transcript.id == records[0]["payload"]["id"]
    recorded = [message for message in transcript.messages[1:] if not message.recap]
    assert len(recorded) == len(items(records)) == count
    assert len(items(records, "message")) == texts
    assert len(items(records, "reasoning")) == reasoning
    made = [call.id for message in recorded for call in message.calls]
    answered = [answer.call_id for message in recorded for answer in message.results]
    assert made == [item["call_id"] for item in items(records, *CALLS)]
    assert answered == [item["call_id"] for item in items(records, *OUTPUTS)]
    assert sorted(made) == sorted(answered) and len(made) == calls
    lines = [n for n, record in enumerate(records, 1) if record["type"] == "response_item"]
    assert [message.location and message.location.line for message in recorded] == lines
    assert len(transcript.compactions) == compactions
    usages = [message.usage for message in transcript.messages if message.usage]
    start = "2026-04-11T20:34:06" if "forked" in name else ""
    assert [(usage.input_tokens, usage.window_tokens) for usage in usages] == list(reported(records, start))
    assert usages[-1].input_tokens == last
    assert all(message.response_id for message in transcript.messages if message.usage)


@pytest.mark.parametrize("name", FILES)
def test_in_a_real_rollout_every_output_in_sight_finds_its_call(shared: Path, name: str) -> None:
    transcript, _ = read(shared, name)
    assert group([message for message in transcript.messages if message.superseded is None])[1] == ()


@pytest.mark.parametrize(
    ("name", "line", "history", "before", "after"),
    [
        ("v0.118-compacted", 829, 25, 226_023, 12_965),
        ("v0.118-forked-subagent-compacted", 932, 19, 223_251, 17_683),
    ],
)
def test_trap_9_a_real_compaction_has_its_history_in_sight_and_its_tokens_before_and_after(
    shared: Path, name: str, line: int, history: int, before: int, after: int
) -> None:
    transcript, records = read(shared, name)
    (compaction,) = transcript.compactions
    assert (compaction.kind, compaction.location.line) == ("replaced", line)
    assert (compaction.tokens_before, compaction.tokens_after) == (before, after)
    recaps = [message for message in transcript.messages if message.recap]
    assert len(recaps) == len(records[line - 1]["payload"]["replacement_history"]) == history
    assert all(message.superseded is None for message in recaps)
    for message in transcript.messages[1:]:
        assert message.location is not None and message.location.line is not None
        assert (message.superseded == "compaction") is (message.location.line < line)


def test_trap_8_a_real_fork_counts_only_its_own_requests(shared: Path) -> None:
    transcript, records = read(shared, "v0.118-forked-subagent-compacted")
    used = [message for message in transcript.messages if message.usage]
    assert len(used) == 30 < len(list(reported(records)))
    assert min(message.location.line or 0 for message in used if message.location) > 812
    assert [message.role for message in transcript.messages].count("system") == 1


def test_every_record_shape_of_a_newer_version_is_read(shared: Path) -> None:
    transcript, records = read(shared, SHAPES)
    assert (transcript.skipped, transcript.findings) == (0, ())
    assert len(transcript.compactions) == sum(record["type"] == "compacted" for record in records) == 6
    assert len(transcript.settings.tools or ()) == 2
