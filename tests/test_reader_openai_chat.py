"""OpenAI chat in files made for fine-tuning."""

from __future__ import annotations

import json

from contextctl.entries import group
from contextctl.transcripts import read_transcripts
from tests.mutations import as_lines


def test_trap_13_arguments_encoded_twice_stay_as_recorded_and_ids_may_be_equal_in_all_conversations() -> None:
    twice = json.dumps(json.dumps({"at": "here"}))
    call = {"id": "call_id", "type": "function", "function": {"name": "land", "arguments": twice}}
    messages = [{"role": "user", "content": "down"}, {"role": "assistant", "tool_calls": [call]}]
    transcripts = read_transcripts(as_lines({"messages": messages}, {"messages": messages}), "a.jsonl")
    for transcript in transcripts:
        assert [(part.id, part.arguments) for part in transcript.messages[1].calls] == [("call_id", twice)]
        assert not transcript.findings
        entries, remarks = group(transcript.messages)
        assert (len(entries), remarks) == (2, ())
