"""Real OpenHands recordings against their descriptions and a count of the raw events."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from contextctl.recording import Transcript
from contextctl.transcripts import read_transcripts


def read(shared: Path, name: str) -> tuple[Transcript, list[dict[str, Any]]]:
    data = (shared / "transcripts" / "openhands" / name).read_bytes()
    (transcript,) = read_transcripts(data, name)
    assert (transcript.format, transcript.skipped, transcript.findings) == ("openhands", 0, ())
    try:
        raw = json.loads(data)
    except ValueError:
        raw = [json.loads(line) for line in data.splitlines()]
    return transcript, raw["history"] if isinstance(raw, dict) else raw


@pytest.mark.parametrize(
    ("name", "events", "calls", "unanswered", "last_input"),
    [
        ("classic-eval-output.line-3.jsonl", 103, 49, 0, 27127),
        ("classic-trajectory-basic.json", 4, 2, 1, 4646),
        ("sdk-v1-events.jsonl", 10, 2, 0, 35984),
    ],
)
def test_real_openhands_recordings_hold_what_was_counted_in_them(
    shared: Path, name: str, events: int, calls: int, unanswered: int, last_input: int
) -> None:
    transcript, raw = read(shared, name)
    assert len(raw) == events
    silent = [
        event
        for event in raw
        if "recall" in (event.get("action"), event.get("observation"))
        or event.get("kind") == "ConversationStateUpdateEvent"
    ]
    assert len(transcript.messages) == events - len(silent)
    ids = [call.id for message in transcript.messages for call in message.calls]
    answers = [answer.call_id for message in transcript.messages for answer in message.results]
    raw_calls = [
        event["tool_call_id"] if "kind" in event else event["tool_call_metadata"]["tool_call_id"]
        for event in raw
        if event.get("kind") == "ActionEvent" or ("action" in event and "tool_call_metadata" in event)
    ]
    raw_answers = [
        event["tool_call_id"] if "kind" in event else event["tool_call_metadata"]["tool_call_id"]
        for event in raw
        if event.get("kind") == "ObservationEvent"
        or ("observation" in event and "tool_call_metadata" in event)
    ]
    assert ids == raw_calls
    assert answers == raw_answers
    assert (len(ids), len(set(ids) - set(answers))) == (calls, unanswered)
    usages = [message.usage for message in transcript.messages if message.usage]
    assert usages[-1].input_tokens == last_input
    assert not transcript.compactions


def test_the_prompts_of_a_real_run_are_those_of_its_own_metrics(shared: Path) -> None:
    name = "classic-eval-output.line-3.jsonl"
    transcript, _ = read(shared, name)
    raw = json.loads((shared / "transcripts" / "openhands" / name).read_bytes())
    recorded = [row["prompt_tokens"] for row in raw["metrics"]["token_usages"]]
    assert [message.usage.input_tokens for message in transcript.messages if message.usage] == recorded
    assert transcript.settings.tools == tuple(raw["history"][0]["args"]["tools"])
