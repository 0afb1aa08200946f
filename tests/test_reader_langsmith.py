"""LangSmith runs, in the layouts of its documentation."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings

from contextctl.errors import TranscriptError
from contextctl.recording import Transcript
from contextctl.transcripts import read_transcripts
from contextctl.transcripts.detection import detect
from tests.mutations import EXAMPLES, check_lines, mutated


def constructed(kind: str, **fields: object) -> dict[str, Any]:
    return {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", kind], "kwargs": fields}


USAGE = {"input_tokens": 12, "output_tokens": 3, "total_tokens": 15, "input_token_details": {"cache_read": 4}}
SYSTEM = constructed("SystemMessage", content="be brief")
ASK = constructed("HumanMessage", content="how deep?")
CALLS = [{"name": "depth", "args": {}, "id": "c1", "type": "tool_call"}]
ANSWER = constructed("AIMessage", content="", tool_calls=CALLS, usage_metadata=USAGE)
RESULT = constructed("ToolMessage", content="12 m", tool_call_id="c1", name="depth")
LAST = constructed("AIMessageChunk", content="12 m deep", usage_metadata={**USAGE, "input_tokens": 30})
TOOL = {"type": "function", "function": {"name": "depth"}}


def run(number: int, given: list[Any], answered: dict[str, Any], **more: object) -> dict[str, Any]:
    return {
        "id": f"r{number}",
        "trace_id": "t1",
        "parent_run_id": "root",
        "run_type": "llm",
        "name": "ChatOpenAI",
        "dotted_order": f"20250101T000000Zroot.2025010{number}T000000Zr{number}",
        "start_time": f"2025-01-0{number}T00:00:00",
        "inputs": {"messages": [given]},
        "outputs": {"generations": [[{"text": "", "generation_info": {}, "message": answered}]]},
        "extra": {"invocation_params": {"model": "gpt-4o", "tools": [TOOL]}},
        "session_id": "a project",
        **more,
    }


ROOT: dict[str, Any] = {
    "id": "root",
    "trace_id": "t1",
    "run_type": "chain",
    "name": "agent",
    "dotted_order": "20250101T000000Zroot",
    "inputs": {"messages": [ASK]},
    "outputs": {"messages": [ASK, ANSWER]},
    "prompt_tokens": 42,
}
FIRST = run(1, [SYSTEM, ASK], ANSWER)
SECOND = run(2, [SYSTEM, ASK, ANSWER, RESULT], LAST)


def read(*rows: object) -> tuple[Transcript, ...]:
    data = "".join(json.dumps(row) + "\n" for row in rows).encode()
    assert detect(data) == "langsmith"
    return read_transcripts(data, "logs/runs.jsonl")


@pytest.mark.parametrize(
    "rows",
    [
        [ROOT, SECOND, FIRST],
        [[SECOND, FIRST, ROOT]],
        [{"runs": [SECOND, FIRST, ROOT], "cursors": {}}],
        [{**ROOT, "child_runs": [FIRST, SECOND]}],
    ],
)
def test_the_calls_of_a_trace_are_one_transcript_in_their_dotted_order(rows: list[object]) -> None:
    (transcript,) = read(*rows)
    assert (transcript.id, transcript.model, transcript.format) == ("t1", "gpt-4o", "langsmith")
    assert [item.role for item in transcript.messages] == ["system", "user", "assistant", "tool", "assistant"]
    assert transcript.messages[2].calls[0].id == transcript.messages[3].results[0].call_id == "c1"
    assert transcript.settings.tools == (TOOL,)
    assert not transcript.findings


def test_trap_19_the_usage_is_the_answers_and_not_the_sum_of_the_chain() -> None:
    (transcript,) = read(ROOT, FIRST, SECOND)
    reported = [item.usage for item in transcript.requests if item.usage]
    assert [(item.input_tokens, item.cached_tokens, item.output_tokens) for item in reported] == [
        (12, 4, 3),
        (30, 4, 3),
    ]
    assert [item.usage.input_tokens for item in transcript.messages if item.usage] == [12, 30]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"prompt_tokens": 7, "completion_tokens": 2}, (7, None, 2)),
        ({"outputs": {"role": "assistant", "content": "x", "usage_metadata": USAGE}}, (12, 4, 3)),
        (
            {
                "outputs": {
                    "choices": [{"message": {"role": "assistant", "content": "x"}}],
                    "usage": {
                        "prompt_tokens": 9,
                        "completion_tokens": 1,
                        "prompt_tokens_details": {"cached_tokens": 5},
                    },
                }
            },
            (9, 5, 1),
        ),
        (
            {
                "outputs": {
                    "role": "assistant",
                    "content": [{"type": "text", "text": "x"}],
                    "usage": {"input_tokens": 1, "output_tokens": 1, "cache_read_input_tokens": 50},
                }
            },
            (51, 50, 1),
        ),
    ],
)
def test_usage_is_found_wherever_the_run_has_it(
    fields: dict[str, Any], expected: tuple[int | None, ...]
) -> None:
    plain = {"role": "assistant", "content": "x"}
    (transcript,) = read({**run(1, [{"role": "user", "content": "a"}], plain), **fields})
    usage = transcript.requests[0].usage
    assert usage and (usage.input_tokens, usage.cached_tokens, usage.output_tokens) == expected
    assert [item.role for item in transcript.messages] == ["user", "assistant"]


@pytest.mark.parametrize("shape", ["wrapped", "flat", "text", "json"])
def test_inputs_may_be_chat_messages_prompts_or_json_text(shape: str) -> None:
    chat = {"messages": [{"role": "user", "content": "a"}], "system": "be brief"}
    inputs: object = {
        "wrapped": chat,
        "flat": {"messages": [{"type": "human", "content": "a"}]},
        "text": {"prompts": ["a"]},
        "json": json.dumps(chat),
    }[shape]
    (transcript,) = read({**run(1, [], LAST), "inputs": inputs})
    assert transcript.messages[-2].role == "user"
    assert transcript.messages[-2].content[0].type == "text"


def test_runs_of_one_thread_are_grouped_by_its_metadata_and_never_by_the_project() -> None:
    thread = {"metadata": {"thread_id": "lake"}}
    other = {
        **run(2, [SYSTEM, ASK, ANSWER, RESULT], LAST, trace_id="t2", parent_run_id=None),
        "extra": thread,
    }
    lone = run(3, [ASK], LAST, trace_id="t3", parent_run_id=None)
    first, second = read({**FIRST, "extra": thread}, other, lone)
    assert (first.id, len(first.requests)) == ("lake", 2)
    assert (second.id, len(second.requests)) == ("t3", 1)


def test_a_sub_agent_inside_a_tool_is_a_transcript_of_its_own_and_hides_no_call() -> None:
    tool = {**ROOT, "id": "tool", "run_type": "tool", "parent_run_id": "r1", "name": "ask"}
    inner = run(3, [constructed("SystemMessage", content="dive"), ASK], LAST, parent_run_id="tool")
    assert [len(item.messages) for item in read(ROOT, FIRST, tool, inner, SECOND)] == [5, 3]


def test_a_call_around_the_same_call_counts_once() -> None:
    inner = {**FIRST, "id": "inner", "parent_run_id": "r1", "name": "openai"}
    (transcript,) = read(ROOT, FIRST, inner)
    assert len(transcript.requests) == 1


def test_a_run_that_failed_is_a_request_without_an_answer() -> None:
    (transcript,) = read({**FIRST, "outputs": None, "error": "late"})
    assert [item.role for item in transcript.messages] == ["system", "user"]
    assert len(transcript.requests) == 1


def test_what_is_no_run_is_reported_with_its_place_and_the_rest_is_read() -> None:
    (transcript,) = read(FIRST, 7, {"a": 1})
    assert [(item.code, item.location.record) for item in transcript.findings] == [
        ("CTX011", 2),
        ("CTX011", 3),
    ]
    assert (transcript.skipped, len(transcript.messages)) == (2, 3)


def test_runs_without_a_model_call_are_refused() -> None:
    with pytest.raises(TranscriptError) as caught:
        read(ROOT)
    assert [problem.code for problem in caught.value.problems] == ["CTX013"]


@given(mutated([FIRST, SECOND, ROOT], {"runs": [FIRST]}, {**ROOT, "child_runs": [FIRST]}))
@settings(max_examples=EXAMPLES, deadline=None)
def test_no_record_however_mutated_makes_the_reader_raise_anything_else(value: object) -> None:
    check_lines("langsmith", value)
