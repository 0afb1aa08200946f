"""Recorded Gemini CLI sessions and what an independent count finds in them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from contextctl.entries import group
from contextctl.loading.transcript_files import load_transcripts
from contextctl.messages import part_texts

# File, its records, its tool calls, input tokens of the last call that has any.
SESSIONS = [
    ("session-short.json", 8, 4, 12_990),
    ("session-tools.json", 13, 9, 14_200),
    ("jsonl-v0.40-shapes.jsonl", 3, 1, 12_069),
]


@pytest.mark.parametrize(("name", "records", "calls", "tokens"), SESSIONS)
def test_a_recorded_session_is_read_whole(
    shared: Path, name: str, records: int, calls: int, tokens: int
) -> None:
    path = shared / "transcripts/gemini-cli" / name
    text = path.read_text()
    if name.endswith("l"):
        raw = [row for row in map(json.loads, text.splitlines()) if "type" in row]
    else:
        raw = json.loads(text)["messages"]
    (transcript,) = load_transcripts(path)
    assert (transcript.format, transcript.findings, transcript.compactions) == ("gemini-cli", (), ())
    assert len(raw) == records
    spoken = [record for record in raw if record["type"] in ("user", "gemini")]
    recorded = [call for record in raw for call in record.get("toolCalls", ())]
    read = [call for message in transcript.messages for call in message.calls]
    assert len(recorded) == calls
    assert [(call.id, call.name, json.loads(call.arguments)) for call in read] == [
        (call["id"], call["name"], call["args"]) for call in recorded
    ]
    results = [result for message in transcript.messages for result in message.results]
    assert [(item.call_id, json.loads(part_texts(item.content)[0])) for item in results] == [
        (call["id"], call["result"][0]["functionResponse"]["response"]) for call in recorded
    ]
    with_results = sum(1 for record in raw if record.get("toolCalls"))
    assert len(transcript.messages) == len(spoken) + with_results
    assert group(transcript.messages)[1] == ()
    assert not any(item.superseded or item.recap for item in transcript.messages)
    usages = [item.usage.input_tokens for item in transcript.messages if item.usage]
    assert usages == [row["tokens"]["input"] for row in raw if row.get("tokens") and row["tokens"]["total"]]
    assert usages[-1] == tokens
    assert transcript.model == [record["model"] for record in raw if record.get("model")][-1]
    assert transcript.lacks == ("system", "tools")
