"""Recorded Anthropic requests and what an independent count finds in them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from contextctl.entries import group
from contextctl.errors import TranscriptError
from contextctl.loading.transcript_files import load_transcripts
from contextctl.messages import part_texts

FILES = {"image-base64": 1, "parallel-tools": 2, "redacted-thinking": 2, "thinking": 2, "tools": 11}


def blocks(request: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    contents = [item["content"] for item in request["messages"] if isinstance(item["content"], list)]
    return [block for content in contents for block in content if block["type"] == kind]


@pytest.mark.parametrize(("name", "requests"), FILES.items())
def test_recorded_requests_are_read_whole(shared: Path, name: str, requests: int) -> None:
    path = shared / f"transcripts/api-requests/anthropic-{name}.requests.jsonl"
    raw = [json.loads(line) for line in path.read_text().splitlines()]
    transcripts = load_transcripts(path)
    assert len(transcripts) == len(raw) == requests
    for transcript, request in zip(transcripts, raw, strict=True):
        assert (transcript.format, transcript.findings, transcript.compactions) == ("anthropic", (), ())
        assert transcript.model == request["model"]
        assert list(transcript.settings.tools or ()) == request.get("tools", [])
        roles = [item.role for item in transcript.messages]
        assert roles == ["system"] * ("system" in request) + [item["role"] for item in request["messages"]]
        calls = [call for message in transcript.messages for call in message.calls]
        assert [(call.id, json.loads(call.arguments)) for call in calls] == [
            (block["id"], block["input"]) for block in blocks(request, "tool_use")
        ]
        results = [result for message in transcript.messages for result in message.results]
        assert [result.call_id for result in results] == [
            block["tool_use_id"] for block in blocks(request, "tool_result")
        ]
        assert {call.id for call in calls} == {result.call_id for result in results}
        assert group(transcript.messages)[1] == ()
        assert all(message.usage is None for message in transcript.messages)
        texts = [text for message in transcript.messages for text in part_texts(message.content)]
        assert all(block["text"] in texts for block in blocks(request, "text"))


def test_trap_22_a_log_of_four_conversations_is_eleven_transcripts(shared: Path) -> None:
    transcripts = load_transcripts(shared / "transcripts/api-requests/anthropic-tools.requests.jsonl")
    assert [len(item.messages) for item in transcripts] == [1, 3, 5, 1, 3, 5, 7, 1, 3, 1, 3]
    assert len({item.messages[0].content for item in transcripts}) == 4


def test_trap_23_a_recorded_image_adds_no_text(shared: Path) -> None:
    (transcript,) = load_transcripts(
        shared / "transcripts/api-requests/anthropic-image-base64.requests.jsonl"
    )
    assert len("".join(part_texts(transcript.messages[0].content))) < 100


def test_every_file_of_answers_is_refused_by_name(shared: Path) -> None:
    paths = sorted((shared / "transcripts/api-requests").glob("*.responses.jsonl"))
    assert len(paths) == 13
    for path in paths:
        with pytest.raises(TranscriptError) as caught:
            load_transcripts(path)
        (problem,) = caught.value.problems
        assert problem.code == "CTX014"
        assert "responses" in problem.message
        assert "requests" in (problem.hint or "")
