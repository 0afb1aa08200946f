"""Real inspect_ai logs against their descriptions and a count of the raw samples."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from contextctl.transcripts import read_transcripts


def raw_sample(path: Path) -> dict[str, Any]:
    if path.suffix != ".eval":
        (sample,) = json.loads(path.read_bytes())["samples"]
    else:
        with zipfile.ZipFile(path) as packed:
            (name,) = (name for name in packed.namelist() if name.startswith("samples/"))
            sample = json.loads(packed.read(name))
    return dict(sample)


@pytest.mark.parametrize(
    ("name", "messages", "calls", "model_calls", "last_input"),
    [
        ("browser-tools.json", 10, 4, 5, 5915),
        ("image-input.json", 3, 0, 1, 323),
        ("message-pool.eval", 12, 5, 6, None),
    ],
)
def test_real_inspect_logs_hold_what_was_counted_in_them(
    shared: Path, name: str, messages: int, calls: int, model_calls: int, last_input: int | None
) -> None:
    path = shared / "transcripts" / "inspect" / name
    sample = raw_sample(path)
    (transcript,) = read_transcripts(path.read_bytes(), name)
    assert (transcript.format, transcript.skipped, transcript.findings) == ("inspect", 0, ())
    assert [message.role for message in transcript.messages] == [item["role"] for item in sample["messages"]]
    assert len(transcript.messages) == messages
    ids = [call.id for message in transcript.messages for call in message.calls]
    answers = [answer.call_id for message in transcript.messages for answer in message.results]
    assert ids == [call["id"] for item in sample["messages"] for call in item.get("tool_calls") or ()]
    assert (len(ids), answers) == (calls, ids)
    events = sample["events"] if "events" in sample else sample["transcript"]["events"]
    raw_calls = [event for event in events if event["event"] == "model"]
    assert len(transcript.requests) == len(raw_calls) == model_calls
    sent = [
        len(event["input"]) or sum(end - start for start, end in event["input_refs"]) for event in raw_calls
    ]
    assert [len(request.messages) for request in transcript.requests] == sent
    reported = [request.usage and request.usage.input_tokens for request in transcript.requests]
    assert reported[-1] == last_input
    assert [message.usage.input_tokens for message in transcript.messages if message.usage] == [
        number for number in reported if number is not None
    ]
    assert not transcript.compactions


@pytest.mark.parametrize("name", ["browser-tools.json", "image-input.json", "message-pool.eval"])
def test_no_reference_is_left_in_a_real_log_and_its_requests_are_prefixes_of_its_messages(
    shared: Path, name: str
) -> None:
    (transcript,) = read_transcripts((shared / "transcripts" / "inspect" / name).read_bytes(), name)
    for request in transcript.requests:
        assert "attachment://" not in str(request) and "tc://" not in str(request)
        shown = [message.content for message in request.messages]
        assert shown == [message.content for message in transcript.messages[: len(shown)]]
