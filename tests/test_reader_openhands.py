"""OpenHands: events before 1.0, lines of evaluation output, and SDK events."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contextctl.entries import group
from contextctl.messages import TextPart, ThinkingPart, ToolCallPart, Usage, part_texts
from contextctl.recording import Transcript
from contextctl.transcripts import read_transcripts
from contextctl.transcripts.openhands import read_openhands
from tests.mutations import EXAMPLES, as_lines, check_reading, mutated

TOOL = {"type": "function", "function": {"name": "bash", "parameters": {"type": "object"}}}
SYSTEM = {"id": 0, "source": "agent", "action": "system", "args": {"content": "rules", "tools": [TOOL]}}
TASK = {"id": 1, "source": "user", "action": "message", "args": {"content": "do it", "image_urls": None}}


def api_call(identity: str, command: str = "ls") -> dict[str, Any]:
    arguments = json.dumps({"command": command})
    return {"id": identity, "type": "function", "function": {"name": "bash", "arguments": arguments}}


def reply(identity: str, *calls: str, text: str | None = "looking", prompt: int = 100) -> dict[str, Any]:
    message = {"role": "assistant", "content": text, "tool_calls": [api_call(call) for call in calls]}
    usage = {
        "prompt_tokens": prompt,
        "completion_tokens": 9,
        "prompt_tokens_details": {"cached_tokens": 40},
    }
    return {"id": identity, "model": "m-1", "choices": [{"message": message}], "usage": usage}


def told(call: str, response: dict[str, Any]) -> dict[str, Any]:
    return {"function_name": "bash", "tool_call_id": call, "model_response": response}


def run(number: int, call: str, response: dict[str, Any]) -> dict[str, Any]:
    args = {"command": "ls", "thought": "looking"}
    metadata = told(call, response)
    return {"id": number, "source": "agent", "action": "run", "args": args, "tool_call_metadata": metadata}


def seen(number: int, call: str, response: dict[str, Any], text: str = "a.txt") -> dict[str, Any]:
    return {
        "id": number,
        "timestamp": "2025-01-01T00:00:00",
        "source": "agent",
        "observation": "run",
        "content": text,
        "cause": number - 1,
        "tool_call_metadata": told(call, response),
    }


def only(*events: object) -> Transcript:
    (transcript,) = read_transcripts(json.dumps(list(events)).encode(), "logs/run.json")
    assert transcript.format == "openhands"
    return transcript


def roles(transcript: Transcript) -> list[str]:
    return [message.role for message in transcript.messages]


def texts(transcript: Transcript) -> list[str]:
    return [" ".join(part_texts(message.content)) for message in transcript.messages]


def live(transcript: Transcript) -> list[str]:
    return [
        " ".join(part_texts(message.content)) for message in transcript.messages if not message.superseded
    ]


def test_a_call_and_its_answer_are_one_message_each_with_the_usage_of_the_reply() -> None:
    first = reply("r1", "c1")
    transcript = only(SYSTEM, TASK, run(5, "c1", first), seen(6, "c1", first))
    assert roles(transcript) == ["system", "user", "assistant", "tool"]
    call = transcript.messages[2]
    assert call.content == (
        TextPart(text="looking"),
        ToolCallPart(id="c1", name="bash", arguments='{"command": "ls"}'),
    )
    assert call.usage == Usage(input_tokens=100, cached_tokens=40, output_tokens=9)
    assert (call.response_id, transcript.model, transcript.lacks) == ("r1", "m-1", ())
    assert transcript.messages[3].results[0].call_id == "c1"
    assert transcript.messages[3].time == "2025-01-01T00:00:00"
    assert transcript.settings.tools == (TOOL,)
    assert [str(message.location) for message in transcript.messages][2] == "logs/run.json:1:3"
    assert not transcript.findings


def test_a_reply_that_is_repeated_on_its_actions_and_observations_is_counted_once() -> None:
    both = reply("r1", "c1", "c2")
    events = [run(5, "c1", both), seen(6, "c1", both), run(7, "c2", both), seen(8, "c2", both)]
    transcript = only(TASK, *events)
    assert roles(transcript) == ["user", "assistant", "tool", "assistant", "tool"]
    assert texts(transcript)[1].startswith("looking")
    assert "looking" not in texts(transcript)[3]
    assert [call.id for message in transcript.messages for call in message.calls] == ["c1", "c2"]
    assert sum(message.usage is not None for message in transcript.messages) == 1
    assert transcript.calls == 1
    assert len(group(transcript.messages)[0]) == 2


def test_a_call_that_never_became_an_action_stays_with_its_reply() -> None:
    transcript = only(TASK, run(5, "c1", reply("r1", "c1", "c2")))
    assert [call.id for call in transcript.messages[1].calls] == ["c1", "c2"]


def test_a_call_without_an_id_is_read_once() -> None:
    response = reply("r1", "c1")
    del response["choices"][0]["message"]["tool_calls"][0]["id"]
    action = run(5, "c1", response)
    del action["tool_call_metadata"]["tool_call_id"]
    assert len(only(TASK, action).messages[1].calls) == 1


def test_without_metadata_a_result_answers_the_action_that_caused_it() -> None:
    action = {"id": 3, "source": "agent", "action": "run", "args": {"command": "ls", "thought": "hm"}}
    answer = {"id": 4, "source": "agent", "observation": "run", "content": "a.txt", "cause": 3}
    transcript = only(TASK, action, answer)
    call = ToolCallPart(id="event-3", name="run", arguments='{"command":"ls"}')
    assert transcript.messages[1].content == (TextPart(text="hm"), call)
    assert transcript.messages[2].results[0].call_id == "event-3"


def test_an_observation_that_answers_no_call_is_read_to_the_model_as_a_user_message() -> None:
    transcript = only(TASK, {"id": 9, "source": "agent", "observation": "error", "content": "bad"})
    assert transcript.messages[1].role == "user"
    assert texts(transcript)[1] == "bad"


def test_what_a_model_reads_of_an_edit_is_the_editors_answer_and_of_a_command_its_frame_too() -> None:
    edit = {"id": 3, "source": "agent", "observation": "edit", "content": "--- diff", "extras": {}}
    edit["extras"] = {"formatted_output_and_error": "created"}
    command = {"id": 4, "source": "agent", "observation": "run", "content": "out"}
    command["extras"] = {"metadata": {"prefix": "[", "suffix": "]", "exit_code": 0}}
    assert texts(only(TASK, edit, command))[1:] == ["created", "[out]"]


def test_events_for_the_screen_are_no_messages_and_a_recall_gives_its_texts() -> None:
    events: list[dict[str, Any]] = [
        {"id": 2, "source": "user", "action": "recall", "args": {"query": "do it"}},
        {"id": 3, "source": "environment", "observation": "recall", "content": "Added", "extras": {}},
        {"id": 4, "source": "environment", "observation": "agent_state_changed", "content": ""},
        {"id": 5, "source": "environment", "action": "null", "args": {}},
        {"id": 6, "source": "environment", "observation": "recall", "content": "Added"},
    ]
    events[-1]["extras"] = {"repo_instructions": "be kind", "microagent_knowledge": [{"content": "know"}]}
    assert texts(only(TASK, *events)) == ["do it", "be kind\n\nknow"]


def test_pictures_of_a_user_are_parts_of_the_message() -> None:
    task = {**TASK, "args": {"content": "see", "image_urls": ["data:image/png;base64,AA"]}}
    assert [part.type for part in only(task).messages[0].content] == ["text", "image"]


@pytest.mark.parametrize(
    "forgotten",
    [{"forgotten_event_ids": [3, 4]}, {"forgotten_events_start_id": 3, "forgotten_events_end_id": 4}],
)
def test_a_condensation_supersedes_what_it_forgets_and_its_summary_stands_at_its_offset(
    forgotten: dict[str, Any],
) -> None:
    one, two, three = reply("r1", "c1"), reply("r2", "c2"), reply("r3", "c3")
    condensed = {"id": 7, "source": "agent", "action": "condensation", "args": dict(forgotten)}
    condensed["args"] |= {"summary": "so far", "summary_offset": 2}
    transcript = only(
        *(SYSTEM, TASK, run(3, "c1", one), seen(4, "c1", one, "gone"), run(5, "c2", two)),
        *(seen(6, "c2", two, "kept"), condensed, run(8, "c3", three)),
    )
    assert [message.superseded for message in transcript.messages].count("compaction") == 2
    assert [text.split()[0] for text in live(transcript)] == [
        "rules",
        "do",
        "so",
        "looking",
        "kept",
        "looking",
    ]
    (recap,) = (message for message in transcript.messages if message.recap)
    (compaction,) = transcript.compactions
    assert (recap.role, recap.location) == ("user", compaction.location)
    assert (compaction.kind, compaction.location.index) == ("summary", 7)


def test_a_later_summary_takes_the_place_of_an_earlier_one() -> None:
    def condensed(number: int, forgotten: int, summary: str) -> dict[str, Any]:
        args = {"forgotten_event_ids": [forgotten], "summary": summary, "summary_offset": 0}
        return {"id": number, "source": "agent", "action": "condensation", "args": args}

    more = {**TASK, "id": 5, "args": {"content": "more"}}
    transcript = only(TASK, condensed(3, 1, "old"), more, condensed(6, 5, "new"))
    assert live(transcript) == ["new"]
    assert sorted(texts(transcript)) == ["do it", "more", "new", "old"]


def test_a_condensation_without_a_summary_trims() -> None:
    args = {"forgotten_event_ids": [1]}
    transcript = only(SYSTEM, TASK, {"id": 3, "source": "agent", "action": "condensation", "args": args})
    assert live(transcript) == ["rules"]
    assert [compaction.kind for compaction in transcript.compactions] == ["trimmed"]


def test_every_line_of_evaluation_output_is_a_run_of_its_own() -> None:
    lines = [
        {"instance_id": f"i-{n}", "history": [TASK], "metadata": {"llm_config": {"model": "m-2"}}}
        for n in (1, 2)
    ]
    first, second = read_transcripts(as_lines(*lines), "output.jsonl")
    assert (first.id, second.id, first.model, first.format) == ("i-1", "i-2", "m-2", "openhands")
    assert str(second.messages[0].location) == "output.jsonl:2:1"


def test_a_change_of_the_model_is_noted_where_it_happens() -> None:
    one, two = reply("r1", "c1"), {**reply("r2", "c2"), "model": "m-9"}
    transcript = only(TASK, run(3, "c1", one), run(4, "c2", two))
    assert [message.model for message in transcript.messages] == [None, None, "m-9"]
    assert transcript.model == "m-9"


def test_an_event_that_cannot_be_read_is_reported_and_the_others_are_read() -> None:
    transcript = only(TASK, 7, {"id": 2, "source": "agent"}, {**TASK, "args": {"content": 3}}, TASK)
    assert len(transcript.messages) == 2
    assert [(item.code, item.location.index) for item in transcript.findings] == [
        ("CTX011", 2),
        ("CTX011", 3),
        ("CTX011", 4),
    ]
    assert transcript.skipped == 3


# SDK events


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value, "cache_prompt": False}


def event(kind: str, identity: str, **fields: object) -> dict[str, Any]:
    return {"id": identity, "timestamp": "t", "source": "agent", **fields, "kind": kind}


PROMPT = event("SystemPromptEvent", "s", system_prompt=text("rules"), tools=[TOOL])
ASK = event("MessageEvent", "u", llm_message={"role": "user", "content": [text("do it")]})


def act(identity: str, call: str, *, thought: str = "hm", reply: str = "r1") -> dict[str, Any]:
    return event(
        "ActionEvent",
        identity,
        thought=[text(thought)] if thought else [],
        tool_name="bash",
        tool_call_id=call,
        tool_call={"id": call, "name": "bash", "arguments": '{"command":"ls"}'},
        llm_response_id=reply,
    )


def observed(identity: str, call: str, content: str = "out") -> dict[str, Any]:
    return event(
        "ObservationEvent",
        identity,
        tool_name="bash",
        tool_call_id=call,
        observation={"content": [text(content)], "metadata": {"prefix": "", "suffix": "!"}},
    )


def stats(prompt: int, answer: int, cached: int, turn: int) -> dict[str, Any]:
    sums = {
        "prompt_tokens": prompt,
        "completion_tokens": answer,
        "cache_read_tokens": cached,
        "per_turn_token": turn,
        "context_window": 5000,
    }
    agent = {"model_name": "m-3", "accumulated_token_usage": sums}
    value = {"usage_to_metrics": {"default": agent}}
    return event("ConversationStateUpdateEvent", f"st{prompt}", key="stats", value=value)


def sdk(*events: object) -> Transcript:
    (transcript,) = read_transcripts(as_lines(*events), "logs/events.jsonl")
    assert transcript.format == "openhands"
    return transcript


def test_actions_of_one_reply_share_it_and_the_thought_is_on_the_first() -> None:
    transcript = sdk(
        PROMPT, ASK, act("a1", "c1"), act("a2", "c2", thought=""), observed("o1", "c1"), observed("o2", "c2")
    )
    assert roles(transcript) == ["system", "user", "assistant", "assistant", "tool", "tool"]
    assert texts(transcript)[4] == "out !"
    assert [message.response_id for message in transcript.messages[2:4]] == ["r1", "r1"]
    assert transcript.calls == 1
    assert transcript.settings.tools == (TOOL,)
    assert (transcript.lacks, transcript.findings) == ((), ())
    assert str(transcript.messages[2].location) == "logs/events.jsonl:3"


def test_usage_is_taken_from_sums_only_where_they_grew_by_one_turn() -> None:
    transcript = sdk(
        *(ASK, stats(100, 10, 0, 110), act("a1", "c1"), observed("o1", "c1")),
        *(stats(350, 30, 80, 270), act("a2", "c2", reply="r2"), observed("o2", "c2")),
        *(stats(900, 90, 80, 300), act("a3", "c3", reply="r3")),
    )
    usages = [message.usage for message in transcript.messages if message.calls]
    assert usages == [
        Usage(input_tokens=100, cached_tokens=0, output_tokens=10, window_tokens=5000),
        Usage(input_tokens=250, cached_tokens=80, output_tokens=20, window_tokens=5000),
        None,
    ]
    assert transcript.model == "m-3"


def test_signed_reasoning_is_read_once() -> None:
    blocks = [{"type": "thinking", "thinking": "deep", "signature": "sig"}]
    transcript = sdk(ASK, {**act("a1", "c1"), "reasoning_content": "deep", "thinking_blocks": blocks})
    thoughts = [part for part in transcript.messages[1].content if isinstance(part, ThinkingPart)]
    assert thoughts == [ThinkingPart(text="deep", signature="sig")]


def test_an_error_of_the_agent_or_a_refusal_of_the_user_answers_its_call() -> None:
    transcript = sdk(
        *(ASK, act("a1", "c1"), event("AgentErrorEvent", "e", tool_call_id="c1", error="no such tool")),
        *(
            act("a2", "c2", reply="r2"),
            event("UserRejectObservation", "j", tool_call_id="c2", rejection_reason="no"),
        ),
    )
    assert [
        (m.results[0].call_id, t)
        for m, t in zip(transcript.messages, texts(transcript), strict=True)
        if m.results
    ] == [
        ("c1", "no such tool"),
        ("c2", "no"),
    ]


def test_an_sdk_condensation_counts_its_offset_in_what_is_left() -> None:
    condensed = event(
        "Condensation", "k", forgotten_event_ids=["a1", "o1"], summary="so far", summary_offset=2
    )
    transcript = sdk(
        PROMPT, ASK, act("a1", "c1"), observed("o1", "c1"), act("a2", "c2", thought="on"), condensed
    )
    assert [words.split()[0] for words in live(transcript)] == ["rules", "do", "so", "on"]
    assert transcript.compactions[0].location.line == 6


def test_a_kind_of_event_that_is_not_known_is_told_once_and_one_for_the_screen_not_at_all() -> None:
    transcript = sdk(ASK, event("NewEvent", "n1"), event("NewEvent", "n2"), event("PauseEvent", "p"))
    (told_once,) = transcript.findings
    assert (told_once.code, told_once.severity, told_once.location.line) == ("CTX014", "warning", 2)
    assert "'NewEvent'" in told_once.message


CLASSIC = [
    SYSTEM,
    TASK,
    run(3, "c1", reply("r1", "c1", "c2")),
    seen(4, "c1", reply("r1", "c1", "c2")),
    {
        "id": 5,
        "source": "agent",
        "action": "condensation",
        "args": {"forgotten_event_ids": [3], "summary": "s"},
    },
]
SDK = [
    PROMPT,
    ASK,
    stats(9, 1, 0, 10),
    act("a1", "c1"),
    observed("o1", "c1"),
    event("Condensation", "k", forgotten_event_ids=["a1"], summary="s", summary_offset=1),
]


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.one_of(mutated(CLASSIC), mutated(SDK), mutated({"instance_id": "i", "history": CLASSIC})))
def test_whatever_the_json_a_reading_ends_in_transcripts_or_a_refusal(document: Any) -> None:
    rows = document if isinstance(document, list) else [document]
    check_reading(read_openhands, as_lines(*rows))
    check_reading(read_openhands, json.dumps(document).encode())
