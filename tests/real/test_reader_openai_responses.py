"""Recorded OpenAI Responses requests and what an independent count finds in them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from contextctl.entries import group
from contextctl.loading.transcript_files import load_transcripts
from contextctl.messages import part_texts
from contextctl.recording import Transcript


def loaded(shared: Path, name: str) -> list[tuple[Transcript, dict[str, Any]]]:
    path = shared / f"transcripts/api-requests/openai-responses-{name}.requests.jsonl"
    raw = [json.loads(line) for line in path.read_text().splitlines()]
    transcripts = load_transcripts(path)
    assert len(transcripts) == len(raw) == 4
    return list(zip(transcripts, raw, strict=True))


@pytest.mark.parametrize("name", ["compact", "reasoning-tools"])
def test_recorded_requests_are_read_whole(shared: Path, name: str) -> None:
    for transcript, request in loaded(shared, name):
        assert (transcript.format, transcript.findings) == ("openai-responses", ())
        assert transcript.model == request["model"]
        system, *_ = transcript.messages
        assert (system.role, part_texts(system.content)) == ("system", [request["instructions"]])
        said = [item["content"] for item in request["input"] if "content" in item]
        texts = [text for message in transcript.messages for text in part_texts(message.content)]
        assert all(text in texts for text in said)
        calls = [(call.id, call.arguments) for message in transcript.messages for call in message.calls]
        listed = [item for item in request["input"] if item.get("type") == "function_call"]
        assert calls == [(item["call_id"], item["arguments"]) for item in listed]
        results = [result.call_id for message in transcript.messages for result in message.results]
        outputs = [item for item in request["input"] if item.get("type") == "function_call_output"]
        assert results == [item["call_id"] for item in outputs]
        assert group(transcript.messages)[1] == ()
        assert all(message.usage is None for message in transcript.messages)
        sealed = [part for item in transcript.messages for part in item.content if part.type == "thinking"]
        assert [part.signature for part in sealed] == [
            item["encrypted_content"] for item in request["input"] if "encrypted_content" in item
        ]


def test_trap_20_the_recorded_tool_list_grows_by_the_tool_that_was_loaded(shared: Path) -> None:
    pairs = loaded(shared, "reasoning-tools")
    assert [len(request["tools"]) for _, request in pairs] == [3, 3, 3, 3]
    assert [len(transcript.settings.tools or ()) for transcript, _ in pairs] == [3, 3, 4, 4]
    assert [len(transcript.messages) for transcript, _ in pairs] == [2, 4, 6, 8]


def test_trap_21_the_recorded_compaction_is_on_line_four_and_sealed(shared: Path) -> None:
    transcripts = [transcript for transcript, _ in loaded(shared, "compact")]
    assert [len(item.messages) for item in transcripts] == [2, 4, 5, 3]
    assert [len(item.compactions) for item in transcripts] == [0, 0, 0, 1]
    (compaction,) = transcripts[3].compactions
    assert (compaction.location.line, compaction.readable) == (4, False)
    assert [item.lacks for item in transcripts] == [(), (), (), ("history",)]
