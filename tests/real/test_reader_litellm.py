"""The recorded completion logs, against counts made from the raw files by other means."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from contextctl.transcripts import read_transcripts

TABLE = {"tools": (13, 6, 5, 6729, 0), "prompted-tools": (9, 0, 0, 9204, 1)}
"""Log -> messages with the answer, calls, results, reported input tokens, findings."""


@pytest.mark.parametrize("name", TABLE)
def test_a_recorded_log_has_the_messages_calls_and_usage_that_its_raw_file_has(
    shared: Path, name: str
) -> None:
    data = (shared / "transcripts" / "openhands" / f"sdk-completion-log-{name}.json").read_bytes()
    (transcript,) = read_transcripts(data, "call.json")
    calls = [part.id for message in transcript.messages for part in message.calls]
    results = [part.call_id for message in transcript.messages for part in message.results]
    (request,) = transcript.requests
    given = request.usage and request.usage.input_tokens
    counted = (len(transcript.messages), len(calls), len(results), given, len(transcript.findings))
    assert counted == TABLE[name]
    assert calls[: len(results)] == results
    raw = json.loads(data)
    assert len(request.messages) == len(raw["messages"])
    assert [item.role for item in request.messages] == [item["role"] for item in raw["messages"]]
    assert given == raw["response"]["usage"]["prompt_tokens"]
    assert request.usage and request.usage.window_tokens == raw["context_window"]
    assert len(transcript.settings.tools or ()) == len(raw["kwargs"]["tools"])
    assert data.count(b'"tool_call_id"') >= len(results)
