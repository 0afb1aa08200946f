"""Real SWE-agent trajectories against their descriptions and a count of the raw history."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from contextctl.transcripts import read_transcripts


@pytest.mark.parametrize(
    ("name", "messages", "calls", "steps", "requests", "cleared"),
    [
        ("function-calling-marshmallow-1867.traj", 28, 13, 13, 13, 8),
        ("thought-action-pydicom-1458.traj", 26, 0, 12, 0, 0),
    ],
)
def test_real_trajectories_hold_what_was_counted_in_them(
    shared: Path, name: str, messages: int, calls: int, steps: int, requests: int, cleared: int
) -> None:
    data = (shared / "transcripts" / "swe-agent" / name).read_bytes()
    raw = json.loads(data)
    assert (len(raw["history"]), len(raw["trajectory"])) == (messages, steps)
    (transcript,) = read_transcripts(data, name)
    assert (transcript.format, transcript.skipped, transcript.findings) == ("swe-agent", 0, ())
    told = [message for message in transcript.messages if not message.recap]
    assert [message.role for message in told] == [item["role"] for item in raw["history"]]
    ids = [call.id for message in told for call in message.calls]
    assert ids == [call["id"] for item in raw["history"] for call in item.get("tool_calls") or ()]
    answers = [part.call_id for message in told for part in message.results]
    assert answers == [one for item in raw["history"] for one in item.get("tool_call_ids") or ()]
    assert (len(ids), set(ids) - set(answers)) == (calls, set())
    assert len(transcript.requests) == requests
    assert [len(request.messages) for request in transcript.requests] == [2 + 2 * n for n in range(requests)]
    assert len(transcript.compactions) == cleared
    assert sum(message.superseded == "compaction" for message in told) == cleared
    live = [message for message in transcript.messages if not message.superseded]
    assert len(live) == messages
    if requests:
        shown = "".join(str(item["content"]) for item in raw["trajectory"][-1]["messages"])
        assert sum("omitted)" in str(message.content) for message in live) == shown.count("lines omitted)")


def test_the_largest_message_of_the_older_trajectory_is_its_demonstration(shared: Path) -> None:
    data = (shared / "transcripts" / "swe-agent" / "thought-action-pydicom-1458.traj").read_bytes()
    (transcript,) = read_transcripts(data, "a.traj")
    sizes = [sum(len(part.text) for part in m.content if part.type == "text") for m in transcript.messages]
    assert (max(sizes), sizes.index(max(sizes))) == (19_388, 1)
