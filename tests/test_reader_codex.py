"""Codex rollouts -> transcripts."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings

from contextctl.entries import Irregularity, group
from contextctl.errors import TranscriptError
from contextctl.findings import Severity
from contextctl.messages import ImagePart, Message, TextPart, ThinkingPart, Usage, part_texts
from contextctl.recording import Transcript
from contextctl.transcripts.codex import read_codex
from contextctl.transcripts.detection import detect
from tests.mutations import EXAMPLES, check_lines, mutated

Row = dict[str, Any]
START = "2026-01-02T03:04:05.100Z"
LATER = "2026-01-02T03:09:00.000Z"


def record(kind: str, payload: Any, at: str = LATER) -> Row:
    return {"timestamp": at, "type": kind, "payload": payload}


def item(kind: str, **fields: Any) -> Row:
    return record("response_item", {"type": kind, **fields})


def message(role: str, text: str, **more: Any) -> Row:
    kind = "output_text" if role == "assistant" else "input_text"
    return {"type": "message", "role": role, "content": [{"type": kind, "text": text}], **more}


def said(role: str, text: str) -> Row:
    return record("response_item", message(role, text))


def call(name: str) -> Row:
    return item("function_call", name="exec_command", arguments='{"cmd": "ls"}', call_id=name)


def output(name: str) -> Row:
    return item("function_call_output", call_id=name, output=f"saw {name}")


def event(kind: str, **fields: Any) -> Row:
    return record("event_msg", {"type": kind, **fields})


def tokens(whole: int, fresh: int | None, *, used: int | None = None, at: str = LATER) -> Row:
    """A token count: the running total, and what the last request reported."""
    last = {"input_tokens": fresh, "cached_input_tokens": 5, "output_tokens": 7, "total_tokens": used}
    info = {
        "total_token_usage": {"total_tokens": whole},
        "last_token_usage": last,
        "model_context_window": 258_400,
    }
    return record("event_msg", {"type": "token_count", "info": info if fresh is not None else None}, at)


def turn(model: str) -> Row:
    return record("turn_context", {"model": model, "cwd": "/w"})


META = record(
    "session_meta", {"id": "r1", "cli_version": "0.118.0", "base_instructions": {"text": "Be brief."}}, START
)


def jsonl(*rows: object) -> bytes:
    return "".join(json.dumps(one) + "\n" for one in rows).encode()


def read(*rows: object) -> Transcript:
    (transcript,) = read_codex(jsonl(*rows), "logs/rollout.jsonl")
    return transcript


def words(one: Message) -> str:
    return " ".join(part_texts(one.content))


def in_sight(transcript: Transcript) -> list[str]:
    return [words(one) for one in transcript.messages if one.superseded is None]


def test_a_rollout_is_told_by_its_records_also_in_the_oldest_layout() -> None:
    assert detect(jsonl(META, said("user", "hi"))) == "codex"
    assert detect(jsonl({"record_type": "state"}, message("user", "hi"))) == "codex"


def test_a_rollout_has_its_id_its_system_prompt_and_its_model_and_says_that_it_has_no_tools() -> None:
    transcript = read(META, turn("gpt-5.4"), said("developer", "rules"), said("user", "hi"))
    assert (transcript.id, transcript.format, transcript.model) == ("r1", "codex", "gpt-5.4")
    assert transcript.lacks == ("tools",)
    assert [(one.role, words(one)) for one in transcript.messages] == [
        ("system", "Be brief."),
        ("developer", "rules"),
        ("user", "hi"),
    ]
    assert [one.location and one.location.record for one in transcript.messages] == [1, 3, 4]
    assert transcript.messages[0].time == START
    assert not transcript.findings


def test_a_rollout_without_instructions_lacks_the_system_prompt() -> None:
    assert read(record("session_meta", {"id": "r1"}), said("user", "hi")).lacks == ("system", "tools")


def test_the_model_is_told_on_the_first_message_after_it_changed() -> None:
    rows = [turn("a"), said("user", "hi"), said("assistant", "one"), turn("b"), said("user", "and")]
    transcript = read(META, *rows, said("assistant", "two"))
    assert [one.model for one in transcript.messages] == [None, None, None, None, "b"]
    assert transcript.model == "b"


def test_trap_7_what_events_repeat_for_the_screen_is_counted_once() -> None:
    rows = [
        said("user", "hi"),
        event("user_message", message="hi"),
        event("agent_message", message="hello"),
        said("assistant", "hello"),
        event("exec_command_end", call_id="c1", stdout="saw"),
        event("task_complete", last_agent_message="hello"),
    ]
    assert in_sight(read(META, *rows)) == ["Be brief.", "hi", "hello"]


def test_every_item_is_a_message_and_those_of_one_response_share_its_id() -> None:
    rows = [
        said("user", "hi"),
        item("reasoning", summary=[{"type": "summary_text", "text": "think"}], encrypted_content="c2Vh"),
        said("assistant", "looking"),
        call("c1"),
        call("c2"),
        tokens(100, 90, used=97),
        output("c1"),
        output("c2"),
        said("assistant", "done"),
        tokens(300, 190, used=197),
    ]
    transcript = read(META, *rows)
    assert transcript.messages[2].content == (ThinkingPart(text="think", signature="c2Vh"),)
    names = [one.response_id for one in transcript.messages]
    assert names == [None, None, *["response-1"] * 4, None, None, "response-2"]
    assert [one.usage for one in transcript.messages if one.usage] == [
        Usage(input_tokens=90, cached_tokens=5, output_tokens=7, window_tokens=258_400),
        Usage(input_tokens=190, cached_tokens=5, output_tokens=7, window_tokens=258_400),
    ]
    assert transcript.messages[2].usage and transcript.messages[8].usage
    assert transcript.calls == 2
    assert not group(transcript.messages)[1]


def test_a_call_of_free_text_and_outputs_in_every_shape_are_read() -> None:
    parts = [{"type": "input_text", "text": "b"}, {"type": "input_image", "image_url": "data:image/png;x"}]
    rows = [
        item("custom_tool_call", call_id="c1", name="apply_patch", input="*** Begin"),
        item("custom_tool_call_output", call_id="c1", output=parts),
        item("function_call_output", call_id="c2", output={"type": "input_text", "text": "a"}),
    ]
    made, listed, single = read(said("user", "hi"), *rows).messages[1:]
    assert (made.calls[0].name, made.calls[0].arguments) == ("apply_patch", "*** Begin")
    assert listed.results[0].content == (TextPart(text="b"), ImagePart(url="data:image/png;x"))
    assert single.results[0].content == (TextPart(text="a"),)


def test_reasoning_that_cannot_be_read_is_said_to_be_absent() -> None:
    transcript = read(META, said("user", "hi"), item("reasoning", summary=[], content=None))
    assert transcript.lacks == ("tools", "reasoning")


def test_the_message_of_another_agent_is_one_of_the_user() -> None:
    told = item("agent_message", author="a", recipient="b", content=[{"type": "input_text", "text": "found"}])
    transcript = read(META, told)
    assert (transcript.messages[1].role, words(transcript.messages[1])) == ("user", "found")
    assert not transcript.findings


def test_tools_that_are_made_known_on_the_way_are_in_the_settings_and_their_search_is_answered() -> None:
    dynamic = record("session_meta", {"id": "r1", "dynamic_tools": [{"name": "one"}]})
    search = item("tool_search_call", call_id="c1", arguments={"query": "x"})
    found = item("tool_search_output", call_id="c1", tools=[{"name": "two"}])
    transcript = read(dynamic, said("user", "hi"), search, found)
    assert transcript.settings.tools == ({"name": "one"}, {"name": "two"})
    assert not group(transcript.messages)[1]


def test_trap_15_a_call_without_an_output_shows_as_unanswered() -> None:
    transcript = read(META, said("user", "hi"), call("c1"), event("turn_aborted"), said("user", "again"))
    assert [one.irregularity for one in group(transcript.messages)[1]] == [Irregularity.UNANSWERED_CALL]


# Forks


def test_trap_8_a_fork_has_one_system_prompt_and_its_copied_history_without_the_parents_usage() -> None:
    parent = record("session_meta", {"id": "r0", "base_instructions": {"text": "Other."}}, START)
    copied = {**said("assistant", "copied"), "timestamp": START}
    rows = [
        META,
        parent,
        {**said("user", "hi"), "timestamp": START},
        copied,
        tokens(100, 90, at="2026-01-02T03:04:05.150Z"),
        said("user", "your task"),
        said("assistant", "mine"),
        tokens(300, 190),
    ]
    transcript = read(*rows)
    assert transcript.id == "r1"
    assert in_sight(transcript) == ["Be brief.", "hi", "copied", "your task", "mine"]
    assert [one.usage and one.usage.input_tokens for one in transcript.messages] == [
        None,
        None,
        None,
        None,
        190,
    ]


def test_a_second_header_of_a_session_that_went_on_takes_no_usage_away() -> None:
    rows = [META, said("user", "hi"), said("assistant", "a"), tokens(9, 8), META, said("user", "on")]
    transcript = read(*rows, said("assistant", "b"), tokens(20, 11))
    assert [one.usage.input_tokens for one in transcript.messages if one.usage] == [8, 11]
    assert [words(one) for one in transcript.messages].count("Be brief.") == 1


# Compactions


LONG = [
    META,
    said("developer", "rules"),
    said("user", "hi"),
    call("c1"),
    tokens(100, 90, used=97),
    output("c1"),
    said("assistant", "done"),
]


def compacted(*history: Row, **more: Any) -> Row:
    return record("compacted", {"message": "", "replacement_history": list(history), **more})


def test_a_compaction_supersedes_all_but_the_system_prompt_and_its_history_is_a_recap() -> None:
    transcript = read(
        *LONG, compacted(message("user", "hi"), message("assistant", "done")), said("user", "on")
    )
    assert in_sight(transcript) == ["Be brief.", "hi", "done", "on"]
    assert [words(one) for one in transcript.messages if one.recap] == ["hi", "done"]
    recaps = [one.location and one.location.record for one in transcript.messages if one.recap]
    assert recaps == ["8:1", "8:2"]
    assert [one.superseded for one in transcript.messages[:6]] == [None, *["compaction"] * 5]
    (compaction,) = transcript.compactions
    assert (compaction.kind, compaction.tokens_before, compaction.readable) == ("replaced", 97, True)


def test_trap_9_zero_usage_just_after_a_compaction_is_an_estimate_and_no_usage() -> None:
    rows = [*LONG, compacted(message("user", "hi")), tokens(100, 0, used=12_965), said("assistant", "on")]
    transcript = read(*rows, tokens(200, 80, used=90))
    assert transcript.compactions[0].tokens_after == 12_965
    assert [one.usage.input_tokens for one in transcript.messages if one.usage] == [90, 80]


def test_trap_10_token_counts_without_figures_or_with_the_same_totals_again_are_no_usage() -> None:
    rows = [
        said("user", "hi"),
        tokens(0, None),
        said("assistant", "one"),
        tokens(100, 90),
        said("user", "and"),
        tokens(100, 90),
        said("assistant", "two"),
        tokens(100, 90),
        tokens(300, 190),
    ]
    transcript = read(META, *rows)
    assert [(words(one), one.usage.input_tokens) for one in transcript.messages if one.usage] == [
        ("one", 90),
        ("two", 190),
    ]


def test_a_compaction_that_cannot_be_read_says_so() -> None:
    sealed = {"type": "compaction", "encrypted_content": "c2Vh"}
    transcript = read(*LONG, compacted(message("user", "hi"), sealed))
    assert not transcript.compactions[0].readable
    assert transcript.messages[-1].content == (ThinkingPart(signature="c2Vh"),)


def test_a_compaction_without_a_history_leaves_the_users_messages_and_the_summary() -> None:
    rows = [*LONG, record("compacted", {"message": "So far: a greeting."}), said("user", "on")]
    transcript = read(*rows)
    assert in_sight(transcript) == ["Be brief.", "rules", "hi", "So far: a greeting.", "on"]
    assert transcript.compactions[0].kind == "summary"
    second = read(*rows, record("compacted", {"message": "Twice."}))
    assert in_sight(second) == ["Be brief.", "rules", "hi", "on", "Twice."]


def test_turns_that_were_rolled_back_are_superseded_from_what_a_human_said_on() -> None:
    rows = [
        said("user", "<environment_context>x</environment_context>"),
        said("user", "one"),
        said("assistant", "a"),
        said("user", "two"),
        said("user", "<turn_aborted>"),
        said("user", "three"),
        said("assistant", "c"),
    ]
    transcript = read(*rows, event("thread_rolled_back", num_turns=2), said("user", "instead"))
    assert in_sight(transcript)[1:] == ["one", "a", "instead"]
    assert {one.superseded for one in transcript.messages[3:7]} == {"rewind"}


# Older and odd files


def test_the_oldest_layout_has_bare_items_after_a_header_with_the_instructions() -> None:
    header = {"id": "r9", "timestamp": START, "instructions": "Be brief."}
    transcript = read(header, {"record_type": "state"}, message("user", "hi"), message("assistant", "yes"))
    assert (transcript.id, in_sight(transcript)) == ("r9", ["Be brief.", "hi", "yes"])
    assert not transcript.findings


def test_state_snapshots_are_left_out_and_unknown_kinds_are_told_once_with_their_place() -> None:
    rows = [record("world_state", {"full": True}), item("ghost_snapshot", ghost_commit={})]
    odd = [record("marigold", {}), record("marigold", {}), item("tulip", petals=3), item("tulip", petals=4)]
    transcript = read(META, said("user", "hi"), *rows, *odd)
    told = [(one.code, one.severity, one.location.line) for one in transcript.findings]
    assert told == [("CTX014", Severity.WARNING, 5), ("CTX014", Severity.WARNING, 7)]
    assert len(transcript.messages) == 4


@pytest.mark.parametrize(
    "broken",
    [
        5,
        record("response_item", "marigold"),
        record("event_msg", None),
        item("message", role="user", content=5),
        item("function_call", call_id="c1"),
        item("message", content="marigold"),
    ],
)
def test_a_malformed_record_is_told_with_its_place_and_the_rest_is_read(broken: Any) -> None:
    transcript = read(META, broken, said("user", "hi"))
    assert in_sight(transcript) == ["Be brief.", "hi"]
    (told,) = transcript.findings
    assert (told.code, told.location.line, transcript.skipped) == ("CTX011", 2, 1)
    assert "marigold" not in told.message


def test_a_malformed_item_of_a_replacement_history_is_told_with_its_place() -> None:
    transcript = read(
        *LONG, compacted(message("user", "hi"), {"type": "message", "role": "user", "content": 5})
    )
    assert [one.location.record for one in transcript.findings] == ["8:2"]
    assert in_sight(transcript) == ["Be brief.", "hi"]


def test_a_file_without_any_message_is_refused() -> None:
    with pytest.raises(TranscriptError):
        read(record("session_meta", {"id": "r1"}), turn("gpt-5.4"))


EVERYTHING = [
    META,
    META,
    turn("a"),
    *LONG[1:],
    turn("b"),
    item("tool_search_call", call_id="c1", arguments={"query": "x"}),
    item("tool_search_output", call_id="c1", tools=[{"name": "two"}]),
    item("agent_message", content=[{"type": "input_text", "text": "found"}]),
    item("reasoning", summary=[{"type": "summary_text", "text": "think"}], encrypted_content="c2Vh"),
    compacted(message("user", "hi"), {"type": "compaction", "encrypted_content": "c2Vh"}),
    tokens(100, 0, used=5),
    said("assistant", "z"),
    tokens(200, 80, used=90),
    event("thread_rolled_back", num_turns=1),
]


@settings(max_examples=EXAMPLES, deadline=None)
@given(mutated(EVERYTHING))
def test_records_that_are_out_of_shape_are_read_or_refused_and_never_crash(value: object) -> None:
    check_lines("codex", value)
