"""A real pi session against its description and a count of the raw entries."""

from __future__ import annotations

import json
from pathlib import Path

from contextctl.transcripts import read_transcripts


def test_a_real_pi_session_holds_what_was_counted_in_it(shared: Path) -> None:
    data = (shared / "transcripts" / "pi" / "large-session.jsonl").read_bytes()
    entries = [json.loads(line) for line in data.splitlines()]
    messages = [entry["message"] for entry in entries if entry["type"] == "message"]
    (transcript,) = read_transcripts(data, "large-session.jsonl")
    assert (transcript.format, transcript.skipped, transcript.findings) == ("pi", 0, ())
    assert len(entries) == 1019
    roles = {"toolResult": "tool"}
    assert [message.role for message in transcript.messages] == [
        roles.get(item["role"], item["role"]) for item in messages
    ]
    counts = [
        sum(message.role == role for message in transcript.messages) for role in ("user", "assistant", "tool")
    ]
    assert counts == [88, 453, 373]
    calls = [call.id for message in transcript.messages for call in message.calls]
    answers = [answer.call_id for message in transcript.messages for answer in message.results]
    blocks = [block for item in messages if item["role"] == "assistant" for block in item["content"]]
    assert calls == [block["id"] for block in blocks if block["type"] == "toolCall"]
    assert answers == [item["toolCallId"] for item in messages if item["role"] == "toolResult"]
    assert len(set(calls) - set(answers)) == 18
    last = [item["usage"] for item in messages if item["role"] == "assistant"][-1]
    reported = [message.usage for message in transcript.messages if message.usage][-1]
    assert reported.input_tokens == last["input"] + last["cacheRead"] + last["cacheWrite"] == 177_604
    assert not transcript.compactions
    lines = [message.location and message.location.line for message in transcript.messages]
    assert lines == [n for n, entry in enumerate(entries, 1) if entry["type"] == "message"]
