"""Real ShareGPT files, and one for fine-tuning, against their descriptions and a count of the raw turns."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from contextctl.entries import Irregularity, group
from contextctl.transcripts import read_transcripts


def test_a_real_file_of_conversations_with_tools_holds_what_was_counted_in_it(shared: Path) -> None:
    data = (shared / "transcripts" / "sharegpt" / "glaive-toolcall-zh.json").read_bytes()
    raw = json.loads(data)
    transcripts = read_transcripts(data, "glaive.json")
    assert {transcript.format for transcript in transcripts} == {"sharegpt"}
    assert len(transcripts) == len(raw) == 300
    assert not any(transcript.findings or transcript.skipped for transcript in transcripts)
    turns = [turn for item in raw for turn in item["conversations"]]
    messages = [message for transcript in transcripts for message in transcript.messages]
    assert len(messages) == len(turns) == 1880
    roles = {"human": "user", "gpt": "assistant", "function_call": "assistant", "observation": "tool"}
    assert [message.role for message in messages] == [roles[turn["from"]] for turn in turns]
    spoken = Counter(turn["from"] for turn in turns)
    calls = [call for message in messages for call in message.calls]
    assert len(calls) == spoken["function_call"] == 216
    assert sum(len(message.results) for message in messages) == spoken["observation"] == 218
    recorded = [json.loads(turn["value"]) for turn in turns if turn["from"] == "function_call"]
    assert [{"name": call.name, "arguments": json.loads(call.arguments)} for call in calls] == recorded
    assert [list(transcript.settings.tools or ()) for transcript in transcripts] == [
        json.loads(item["tools"]) for item in raw
    ]
    remarks = [remark.irregularity for transcript in transcripts for remark in group(transcript.messages)[1]]
    assert remarks == [Irregularity.ORPHAN_RESULT] * 2


def test_a_real_file_with_placeholders_shows_every_picture_where_it_was(shared: Path) -> None:
    data = (shared / "transcripts" / "sharegpt" / "mllm-image-placeholders.json").read_bytes()
    raw = json.loads(data)
    transcripts = read_transcripts(data, "mllm.json")
    assert len(transcripts) == 6
    for transcript, item in zip(transcripts, raw, strict=True):
        assert (transcript.format, transcript.findings) == ("sharegpt", ())
        parts = [part for message in transcript.messages for part in message.content]
        assert [part.url for part in parts if part.type == "image"] == item["images"]
        text = "".join(part.text for part in parts if part.type == "text")
        assert text == "".join(turn["content"] for turn in item["messages"]).replace("<image>", "")


def test_a_real_file_for_fine_tuning_keeps_its_arguments_as_recorded(shared: Path) -> None:
    data = (shared / "transcripts" / "fine-tuning" / "drone-training.first-5.jsonl").read_bytes()
    raw = [json.loads(line) for line in data.splitlines()]
    transcripts = read_transcripts(data, "drone.jsonl")
    assert (len(transcripts), sum(len(transcript.messages) for transcript in transcripts)) == (5, 15)
    for transcript, item in zip(transcripts, raw, strict=True):
        (call,) = transcript.messages[-1].calls
        recorded = item["messages"][-1]["tool_calls"][0]
        assert (call.id, call.arguments) == (recorded["id"], recorded["function"]["arguments"])
        assert len(transcript.settings.tools or ()) == 16
