"""Spans as they were before a trace store took them in, against what the store's own export says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from contextctl.messages import Message, part_texts
from contextctl.transcripts import read_transcripts
from contextctl.transcripts.otel import read_otel


@pytest.mark.parametrize(
    "name",
    [
        "google-adk-2025-08-28",
        "microsoft-agent-2025-12-17",
        "openai-agents-2025-09-30",
        "pydantic-ai-tools-2025-12-04",
    ],
)
def test_the_spans_behind_a_recorded_trace_give_the_same_conversations(shared: Path, name: str) -> None:
    data = (shared / "transcripts" / "langfuse" / f"{name}.trace.json").read_bytes()
    spans = [_span(item) for item in json.loads(data)["observations"]]
    lines = "".join(json.dumps(span) + "\n" for span in spans).encode()
    exported = read_transcripts(data, "a.json")
    traced = read_otel(lines, "b.jsonl")
    assert [_told(item.messages) for item in traced] == [_told(item.messages) for item in exported]
    for one, other in zip(traced, exported, strict=True):
        assert [item.usage for item in one.requests] == [item.usage for item in other.requests]
        assert len(one.settings.tools or ()) == len(other.settings.tools or ())
        assert one.model == other.model


def _told(messages: tuple[Message, ...]) -> list[tuple[int, int, list[str]]]:
    return [(len(item.calls), len(item.results), part_texts(item.content)) for item in messages]


def _span(item: dict[str, Any]) -> dict[str, Any]:
    """A span as an exporter writes it; the store has moved messages of one convention out of it."""
    metadata = item["metadata"]
    attributes = (json.loads(metadata) if isinstance(metadata, str) else metadata or {}).get("attributes", {})
    if item["type"] == "GENERATION" and "gen_ai.operation.name" in attributes:
        attributes = {
            **attributes,
            "gen_ai.input.messages": item["input"],
            "gen_ai.output.messages": item["output"],
        }
    return {
        "context": {"trace_id": item["traceId"], "span_id": item["id"]},
        "parent_id": item["parentObservationId"],
        "name": item["name"],
        "start_time": item["startTime"],
        "attributes": attributes,
    }
