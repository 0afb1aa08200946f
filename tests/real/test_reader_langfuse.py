"""The recorded Langfuse traces, against counts made from the raw files by other means."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from contextctl.messages import part_texts
from contextctl.transcripts import read_transcripts

TABLE = {
    "google-adk-2025-08-28": [(5, 1, 1, 0, 39)],
    "langgraph-js-2025-10-30": [(4, 1, 1, 0, 179)],
    "microsoft-agent-2025-12-17": [(4, 1, 1, 0, 216)],
    "openai-agents-2025-09-30": [(5, 1, 1, 0, 85)],
    "pydantic-ai-tools-2025-12-04": [(7, 3, 3, 0, 502), (3, 1, 0, 1, 131)],
    "vercel-aisdk-2025-11-17": [(2, 1, 0, 1, 62)],
}
"""File -> for each transcript: messages, calls, results, unanswered calls, last reported input tokens."""


@pytest.mark.parametrize("name", TABLE)
def test_a_recorded_trace_has_the_messages_calls_and_usage_that_its_raw_file_has(
    shared: Path, name: str
) -> None:
    data = (shared / "transcripts" / "langfuse" / f"{name}.trace.json").read_bytes()
    transcripts = read_transcripts(data, f"{name}.json")
    counted = []
    for transcript in transcripts:
        calls = [part.id for message in transcript.messages for part in message.calls]
        results = [part.call_id for message in transcript.messages for part in message.results]
        last = transcript.requests[-1].usage
        counted.append(
            (
                len(transcript.messages),
                len(calls),
                len(results),
                len(calls) - len(results),
                last and last.input_tokens,
            )
        )
        assert not transcript.compactions
        assert transcript.calls == len(transcript.requests)
        assert sorted(results, key=str) == sorted(calls[: len(results)], key=str)
    assert counted == TABLE[name]
    raw = _generations(json.loads(data))
    requests = [request for transcript in transcripts for request in transcript.requests]
    reported = sorted(request.usage.input_tokens or 0 for request in requests if request.usage)
    assert reported == sorted(item["usageDetails"]["input"] for item in raw)
    texts = {text for item in transcripts for part in item.messages for text in part_texts(part.content)}
    assert all(any(said in text for text in texts) for item in raw for said in _said(_plain(item["input"])))


def _plain(value: Any) -> Any:
    return json.loads(value) if isinstance(value, str) else value


def _generations(export: dict[str, Any]) -> list[dict[str, Any]]:
    """Model calls: generations that are nobody's parent but tools'."""
    found = [item for item in export["observations"] if item["type"] == "GENERATION"]
    parents = {item["parentObservationId"] for item in found}
    return [item for item in found if item["id"] not in parents]


def _said(value: Any) -> list[str]:
    """Every text that stands under a key of content."""
    if isinstance(value, list):
        return [text for item in value for text in _said(item)]
    if not isinstance(value, dict):
        return []
    own = [value[key] for key in ("text", "content", "system_instruction") if isinstance(value.get(key), str)]
    return own + [text for item in value.values() for text in _said(item)]
