"""SWE-agent trajectories: the stored history, and the steps that record what was sent."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings

from contextctl.messages import TextPart, ThinkingPart, part_texts
from contextctl.recording import Transcript
from contextctl.transcripts import read_transcripts
from contextctl.transcripts.swe_agent import read_swe_agent
from tests.mutations import EXAMPLES, as_lines, check_reading, mutated

SYSTEM = {"role": "system", "content": "rules", "agent": "main", "message_type": "system_prompt"}
TASK = {"role": "user", "content": "fix it", "agent": "main", "message_type": "observation"}


def answer(number: int) -> dict[str, Any]:
    call = {"id": f"c{number}", "type": "function", "function": {"name": "bash", "arguments": "{}"}}
    return {
        "role": "assistant",
        "content": f"step {number}",
        "thought": "t",
        "action": "a",
        "tool_calls": [call],
    }


def result(number: int, content: str) -> dict[str, Any]:
    return {"role": "tool", "content": content, "tool_call_ids": [f"c{number}"], "agent": "main"}


HISTORY = [SYSTEM, TASK, answer(1), result(1, "long"), answer(2), result(2, "short")]


def trajectory(history: object, steps: object = (), **more: object) -> dict[str, Any]:
    return {"trajectory": list(steps), "history": history, "info": {}, "environment": "main", **more}  # type: ignore[call-overload]


def only(value: dict[str, Any]) -> Transcript:
    (transcript,) = read_transcripts(json.dumps(value, indent=2).encode(), "logs/a.traj")
    assert transcript.format == "swe-agent"
    return transcript


def texts(messages: Any) -> list[str]:
    return [" ".join(part_texts(message.content)) for message in messages]


def test_results_name_their_call_in_a_list() -> None:
    transcript = only(trajectory(HISTORY))
    assert [message.role for message in transcript.messages] == ["system", "user"] + ["assistant", "tool"] * 2
    assert [call.id for message in transcript.messages for call in message.calls] == ["c1", "c2"]
    assert [part.call_id for message in transcript.messages for part in message.results] == ["c1", "c2"]
    assert str(transcript.messages[3].location) == "logs/a.traj:1:4"
    assert transcript.lacks == ("tools",)
    assert not transcript.requests and not transcript.findings


def test_older_trajectories_are_plain_text_with_their_demonstration() -> None:
    history = [
        SYSTEM,
        {**TASK, "is_demo": True, "content": "a demo"},
        TASK,
        {**answer(1), "tool_calls": None},
    ]
    transcript = only(trajectory(history))
    assert texts(transcript.messages) == ["rules", "a demo", "fix it", "step 1"]
    assert transcript.lacks == ()


def test_blocks_and_signed_reasoning_are_read() -> None:
    blocks = [{"type": "text", "text": "see", "cache_control": {"type": "ephemeral"}}]
    thought = {"type": "thinking", "thinking": "deep", "signature": "sig"}
    transcript = only(trajectory([{**TASK, "content": blocks}, {**answer(1), "thinking_blocks": [thought]}]))
    assert transcript.messages[0].content == (TextPart(text="see"),)
    assert transcript.messages[1].content[0] == ThinkingPart(text="deep", signature="sig")


def test_a_query_is_the_request_that_was_sent() -> None:
    steps = [{"response": "step 1", "query": HISTORY[:2]}, {"response": "step 2", "query": HISTORY[:4]}]
    transcript = only(trajectory(HISTORY, steps))
    assert [len(request.messages) for request in transcript.requests] == [2, 4]
    assert [str(request.location) for request in transcript.requests] == [
        "logs/a.traj:1:3",
        "logs/a.traj:1:5",
    ]
    assert not transcript.compactions


def test_messages_that_end_with_the_own_answer_of_a_step_are_what_the_next_step_sent() -> None:
    shortened = [*HISTORY[:3], result(1, "3 lines omitted"), *HISTORY[4:]]
    steps = [{"response": "step 1", "messages": HISTORY[:4]}, {"response": "step 2", "messages": shortened}]
    transcript = only(trajectory(HISTORY, steps))
    assert [len(request.messages) for request in transcript.requests] == [2, 4]
    assert "long" in texts(transcript.requests[1].messages)


def test_an_observation_that_the_steps_show_shortened_is_superseded_and_its_stand_in_a_recap() -> None:
    shortened = [*HISTORY[:3], result(1, "3 lines omitted"), *HISTORY[4:]]
    steps = [{"response": "step 1", "messages": HISTORY[:4]}, {"response": "step 2", "messages": shortened}]
    transcript = only(trajectory(HISTORY, steps))
    assert [message.superseded for message in transcript.messages] == [None] * 3 + ["compaction"] + [None] * 3
    assert [number for number, message in enumerate(transcript.messages) if message.recap] == [4]
    assert "3 lines omitted" in texts(transcript.messages)[4]
    (compaction,) = transcript.compactions
    assert (compaction.kind, str(compaction.location)) == ("cleared", "logs/a.traj:1:4")


def test_every_agent_that_took_part_is_a_conversation_of_its_own() -> None:
    helper = {"role": "user", "content": "help", "agent": "helper"}
    main, other = read_transcripts(as_lines(trajectory([TASK, helper, answer(1)])), "a.traj")
    assert (main.id, texts(main.messages)[0]) == ("main", "fix it")
    assert (other.id, texts(other.messages)) == ("helper", ["help"])
    assert len(main.messages) == 2


def test_the_model_is_the_one_of_the_configuration_unless_that_replays() -> None:
    def configured(name: str) -> dict[str, Any]:
        return trajectory(HISTORY, replay_config={"agent": {"model": {"name": name}}})

    assert only(configured("m-1")).model == "m-1"
    assert only(configured("replay")).model is None


def test_a_stored_message_that_cannot_be_read_is_reported_by_its_place() -> None:
    transcript = only(trajectory([TASK, "text", {"role": "tool", "content": 3}, answer(1)]))
    assert [(item.code, item.location.index) for item in transcript.findings] == [
        ("CTX011", 2),
        ("CTX011", 3),
    ]
    assert (len(transcript.messages), transcript.skipped) == (2, 2)


STEPS = [{"response": "step 1", "messages": HISTORY[:4]}, {"response": "step 2", "query": HISTORY[:4]}]


@settings(max_examples=EXAMPLES, deadline=None)
@given(mutated(trajectory(HISTORY, STEPS)))
def test_whatever_the_json_a_reading_ends_in_transcripts_or_a_refusal(document: Any) -> None:
    check_reading(read_swe_agent, as_lines(document))
