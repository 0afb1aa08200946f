"""Recorded Gemini requests and what an independent count finds in them."""

from __future__ import annotations

import json
from pathlib import Path

from contextctl.entries import group
from contextctl.loading.transcript_files import load_transcripts
from contextctl.messages import part_texts
from contextctl.transcripts import read_transcripts


def test_recorded_requests_are_read_whole(shared: Path) -> None:
    path = shared / "transcripts/api-requests/gemini-tools.requests.jsonl"
    raw = [json.loads(line) for line in path.read_text().splitlines()]
    transcripts = load_transcripts(path)
    assert len(transcripts) == len(raw) == 5
    for transcript, request in zip(transcripts, raw, strict=True):
        assert (transcript.format, transcript.findings, transcript.compactions) == ("gemini", (), ())
        assert [item.role for item in transcript.messages] == [
            "system",
            *({"user": "user", "model": "assistant"}[item["role"]] for item in request["contents"]),
        ]
        system = request["systemInstruction"]["parts"][0]["text"]
        assert part_texts(transcript.messages[0].content) == [system]
        assert list(transcript.settings.tools or ()) == request["tools"]
        flat = [part for content in request["contents"] for part in content["parts"]]
        calls = [call for message in transcript.messages for call in message.calls]
        recorded = [part["functionCall"] for part in flat if "functionCall" in part]
        assert [(call.id, call.name, json.loads(call.arguments)) for call in calls] == [
            (call["id"], call["name"], call["args"]) for call in recorded
        ]
        results = [result for message in transcript.messages for result in message.results]
        answered = [part["functionResponse"] for part in flat if "functionResponse" in part]
        assert [(item.call_id, json.loads(part_texts(item.content)[0])) for item in results] == [
            (item["id"], item["response"]) for item in answered
        ]
        assert group(transcript.messages)[1] == ()
        assert all(message.usage is None for message in transcript.messages)
        signed = [part for item in transcript.messages for part in item.content if part.type == "thinking"]
        assert [part.signature for part in signed] == [
            part["thoughtSignature"] for part in flat if "thoughtSignature" in part
        ]
    assert [len(item.messages) for item in transcripts] == [2, 4, 6, 8, 10]
    assert [item.lacks for item in transcripts] == [(), *[("reasoning",)] * 4]


def test_trap_14_without_their_ids_the_recorded_results_pair_the_same(shared: Path) -> None:
    path = shared / "transcripts/api-requests/gemini-tools.requests.jsonl"
    request = json.loads(path.read_text().splitlines()[-1])
    for content in request["contents"]:
        for part in content["parts"]:
            for inner in part.values():
                if isinstance(inner, dict):
                    inner.pop("id", None)
    (bare,) = read_transcripts(json.dumps(request).encode(), "bare.json")
    whole = load_transcripts(path)[-1]
    positions = [[entry.positions for entry in group(item.messages)[0]] for item in (bare, whole)]
    assert positions[0] == positions[1]
    assert group(bare.messages)[1] == ()
