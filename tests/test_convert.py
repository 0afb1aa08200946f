"""Recordings in another shape: our own without loss, providers' with what they cannot carry told."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from hypothesis import given, settings

from contextctl import audit, load_plan, offline_provider
from contextctl.converting import Losses, converted
from contextctl.errors import Location
from contextctl.messages import (
    FoldCounts,
    ImagePart,
    Message,
    OpaquePart,
    RequestSettings,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolResultPart,
    Usage,
)
from contextctl.recording import RecordedCompaction, RecordedRequest, Transcript
from contextctl.transcripts import read_transcripts
from tests.engine_samples import History, histories


def everything() -> Transcript:
    """A message of every kind, with all that a recording can say of it."""
    call = ToolCallPart(id="c1", name="look", arguments='{"at": "harbour"}')
    picture = ImagePart(url="data:image/png;base64,AAAA", detail="high", width=64, height=32)
    result = ToolResultPart(call_id="c1", content=(TextPart(text="seen"), picture))
    messages = (
        Message(role="system", content="be kind", id="s"),
        Message(role="user", content="old", superseded="compaction", time="2026-01-01"),
        Message(role="user", content="recap", recap=True, kind="summary", stands_for=("m2",)),
        Message(
            role="user", content=(TextPart(text="a"), TextPart(text="b"), picture), name="ann", pinned=True
        ),
        Message(
            role="assistant",
            content=(ThinkingPart(text="hm", signature="sig"), TextPart(text="so"), call),
            response_id="r1",
            usage=Usage(input_tokens=9, cached_tokens=1, output_tokens=2, window_tokens=100),
            model="other-model",
        ),
        Message(role="user", content=(result, TextPart(text="and more")), section="facts"),
        Message(role="assistant", content=(OpaquePart(kind="web_search", data='{"q":1}'),)),
        Message(role="user", content="note", kind="note", folded=FoldCounts(entries=1, messages=2, tokens=3)),
    )
    placed = tuple(
        message.model_copy(update={"location": Location("t.jsonl", line)})
        for line, message in enumerate(messages, 1)
    )
    tool = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}
    return Transcript(
        "t.jsonl",
        "trip",
        "claude-code",
        placed,
        model="gpt-4o",
        settings=RequestSettings(tools=(tool,), tool_choice="auto", api="responses", continues=True),
        lacks=("reasoning",),
        compactions=(RecordedCompaction(Location("t.jsonl", 3), "summary", 90, 30),),
        requests=(RecordedRequest(placed[:1], Location("t.jsonl", 1), usage=Usage(input_tokens=5)),),
    )


def there_and_back(*transcripts: Transcript) -> tuple[Transcript, ...]:
    data = "".join(f"{line}\n" for line in converted(transcripts, "contextctl", Losses()))
    return read_transcripts(data.encode(), "x.jsonl")


def bare(messages: tuple[Message, ...]) -> list[Message]:
    return [message.model_copy(update={"location": None}) for message in messages]


def test_our_own_shape_keeps_all_that_a_recording_says() -> None:
    before = everything()
    (after,) = there_and_back(before)
    assert not after.findings
    assert bare(after.messages) == bare(before.messages)
    assert (after.id, after.model, after.lacks, after.settings) == (
        before.id,
        before.model,
        before.lacks,
        before.settings,
    )
    (compaction,) = after.compactions
    assert (compaction.tokens_before, compaction.tokens_after, compaction.kind) == (90, 30, "summary")
    (request,) = after.requests
    assert bare(request.messages) == bare(before.requests[0].messages)
    assert request.usage == before.requests[0].usage


def test_several_conversations_are_one_a_line() -> None:
    first, second = there_and_back(everything(), everything())
    assert bare(first.messages) == bare(second.messages) == bare(everything().messages)


@given(histories(most=10))
@settings(max_examples=60, deadline=None)
def test_any_history_is_read_back_as_it_was_written(history: History) -> None:
    if not history.messages:
        return
    (after,) = there_and_back(Transcript("t.jsonl", "t", "openai-chat", history.messages))
    assert bare(after.messages) == list(history.messages)


def test_counts_and_fates_are_the_same_after_conversion() -> None:
    plan = load_plan("preset:default").model_copy(update={"budget_tokens": 1200})
    before = everything()
    plain = [message.model_copy(update={"section": None, "pinned": False}) for message in before.messages]
    before = Transcript("t", "trip", "x", tuple(plain), settings=before.settings)
    (after,) = there_and_back(before)
    rows = [audit(plan, [t], offline_provider("gpt-4o")).assemblies[0] for t in (before, after)]
    assert rows[0].tokens_before == rows[1].tokens_before
    assert [(e.id, e.fate, e.tokens) for e in rows[0].entries] == [
        (e.id, e.fate, e.tokens) for e in rows[1].entries
    ]


def request(shape: str) -> tuple[dict[str, Any], Losses]:
    losses = Losses()
    (line,) = converted([everything()], shape, losses)
    return json.loads(line), losses


def test_openai_gets_a_message_for_each_result_and_is_told_what_is_lost() -> None:
    made, losses = request("openai")
    roles = [message["role"] for message in made["messages"]]
    assert roles == ["system", "user", "user", "assistant", "tool", "user", "assistant", "user"]
    assert made["messages"][4]["tool_call_id"] == "c1"
    assert made["tools"][0]["function"]["name"] == "look"
    assert set(losses.counts) == {
        "thinking",
        "parts of kind 'web_search'",
        "parts of tool results that are no text",
    }
    assert all("so" not in told.split() for told in losses.told())


def test_anthropic_gets_blocks_a_system_field_and_neighbours_of_one_role_merged() -> None:
    made, losses = request("anthropic")
    assert made["system"] == [{"type": "text", "text": "be kind"}]
    assert [message["role"] for message in made["messages"]] == ["user", "assistant", "user"]
    kinds = [block["type"] for block in made["messages"][1]["content"]]
    assert kinds == ["thinking", "text", "tool_use"]
    assert made["messages"][1]["content"][2]["input"] == {"at": "harbour"}
    assert made["messages"][2]["content"][0]["tool_use_id"] == "c1"
    assert made["tools"][0]["input_schema"] == {"type": "object"}
    assert "names of participants" in losses.counts


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "contextctl", *words], cwd=folder, capture_output=True, text=True, check=False
    )


def test_the_command_prints_a_recording_that_audits_the_same(tmp_path: Path) -> None:
    rows = [{"role": "assistant" if n % 2 else "user", "content": f"number {n} " * 5} for n in range(9)]
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = run(tmp_path, "convert", "t.jsonl")
    assert (done.returncode, done.stderr) == (0, "")
    (tmp_path / "own.jsonl").write_text(done.stdout)
    reports = [
        json.loads(run(tmp_path, "audit", name, "--budget", "60", "--model", "gpt-4o", "-f", "json").stdout)
        for name in ("t.jsonl", "own.jsonl")
    ]
    ledgers = [
        [(e["id"], e["fate"], e["tokens"]) for e in report["transcripts"][0]["assemblies"][0]["entries"]]
        for report in reports
    ]
    assert ledgers[0] == ledgers[1]


def test_the_command_refuses_a_shape_it_does_not_know_and_a_file_it_cannot_read(tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_text('{"role": "user", "content": "hi"}\n')
    assert run(tmp_path, "convert", "t.jsonl", "--as", "toml").returncode == 2
    assert run(tmp_path, "convert", "none.jsonl").returncode == 3
