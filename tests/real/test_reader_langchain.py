"""LangChain messages out of a real LangGraph trace against a count of the raw messages."""

from __future__ import annotations

import json
from pathlib import Path

from contextctl.transcripts import read_transcripts


def test_the_final_state_of_a_real_graph_holds_what_was_counted_in_it(shared: Path) -> None:
    trace = json.loads(
        (shared / "transcripts" / "langfuse" / "langgraph-js-2025-10-30.trace.json").read_bytes()
    )
    (state,) = (item["output"] for item in trace["observations"] if item["name"] == "LangGraph")
    raw = [message["kwargs"] for message in json.loads(state)["messages"]]
    (transcript,) = read_transcripts(state.encode(), "state.json")
    assert (transcript.format, transcript.findings, transcript.lacks) == ("langchain", (), ("tools",))
    assert [message.role for message in transcript.messages] == ["user", "assistant", "tool", "assistant"]
    assert len(raw) == 4
    calls = [call.id for message in transcript.messages for call in message.calls]
    assert calls == [call["id"] for message in raw for call in message.get("tool_calls", ())]
    answers = [answer.call_id for message in transcript.messages for answer in message.results]
    assert answers == [message["tool_call_id"] for message in raw if "tool_call_id" in message] == calls
    reported = [message.usage.input_tokens for message in transcript.messages if message.usage]
    recorded = [message["usage_metadata"] for message in raw if message.get("usage_metadata")]
    assert reported == [usage["input_tokens"] for usage in recorded]
    assert reported
