"""Claude Code sessions -> transcripts."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings

from contextctl.entries import Irregularity, group
from contextctl.errors import TranscriptError
from contextctl.findings import Severity
from contextctl.messages import (
    ImagePart,
    Message,
    OpaquePart,
    TextPart,
    ThinkingPart,
    ToolResultPart,
    Usage,
    part_texts,
)
from contextctl.recording import Transcript
from contextctl.transcripts.claude_code import CLEARED, read_claude_code
from contextctl.transcripts.detection import detect
from tests.mutations import EXAMPLES, check_lines, mutated

PIXELS = "iVBORw0K" * 400
Row = dict[str, Any]


def row(uuid: str, parent: str | None, kind: str, **more: Any) -> Row:
    common = {"uuid": uuid, "parentUuid": parent, "type": kind, "sessionId": "s1", "isSidechain": False}
    return {**common, **more}


def said(uuid: str, parent: str | None, content: Any, **more: Any) -> Row:
    return row(uuid, parent, "user", message={"role": "user", "content": content}, **more)


def line(uuid: str, parent: str | None, answer: str, *blocks: Row, **more: Any) -> Row:
    """One line of a model response."""
    message = {"id": answer, "role": "assistant", "model": "claude-x", "content": list(blocks), **more}
    return row(uuid, parent, "assistant", message=message)


def text(words: str) -> Row:
    return {"type": "text", "text": words}


def use(name: str) -> Row:
    return {"type": "tool_use", "id": name, "name": "look", "input": {"at": name}}


def result(uuid: str, parent: str, *names: str, **more: Any) -> Row:
    blocks = [{"type": "tool_result", "tool_use_id": name, "content": f"saw {name}"} for name in names]
    return said(uuid, parent, blocks, **more)


def boundary(uuid: str, before: str, **metadata: Any) -> Row:
    more = {"logicalParentUuid": before, "subtype": "compact_boundary", "compactMetadata": metadata}
    return row(uuid, None, "system", **more)


def reported(input_tokens: int, output: int, cached: int = 0, written: int = 0) -> Row:
    return {
        "input_tokens": input_tokens,
        "cache_read_input_tokens": cached,
        "cache_creation_input_tokens": written,
        "output_tokens": output,
    }


def jsonl(*rows: object) -> bytes:
    return "".join(json.dumps(one) + "\n" for one in rows).encode()


def read(*rows: Row) -> Transcript:
    (transcript,) = read_claude_code(jsonl(*rows), "logs/s.jsonl")
    return transcript


def words(message: Message) -> str:
    return " ".join(part_texts(message.content))


def in_sight(transcript: Transcript) -> list[str]:
    return [words(message) for message in transcript.messages if message.superseded is None]


def fates(transcript: Transcript) -> list[tuple[str, str | None]]:
    return [(words(message), message.superseded) for message in transcript.messages]


SHORT = [said("a", None, "hello"), line("b", "a", "m1", text("hi"), usage=reported(10, 2))]


def test_a_session_is_told_by_its_parents_also_where_other_records_come_first() -> None:
    first = {"type": "permission-mode", "permissionMode": "plan", "sessionId": "s1"}
    assert detect(jsonl(first, {"type": "summary", "summary": "x", "leafUuid": "y"}, *SHORT)) == "claude-code"


def test_a_session_has_its_own_name_its_model_and_says_that_it_has_neither_system_prompt_nor_tools() -> None:
    transcript = read(*SHORT)
    assert (transcript.id, transcript.format, transcript.model) == ("s1", "claude-code", "claude-x")
    assert transcript.lacks == ("system", "tools")
    assert [(item.role, words(item)) for item in transcript.messages] == [
        ("user", "hello"),
        ("assistant", "hi"),
    ]
    assert [str(item.location) for item in transcript.messages] == ["logs/s.jsonl:1", "logs/s.jsonl:2"]
    assert not transcript.findings


def test_reasoning_that_was_recorded_by_its_signature_only_is_said_to_be_absent() -> None:
    sealed = {"type": "thinking", "thinking": "", "signature": "c2ln"}
    transcript = read(SHORT[0], line("b", "a", "m1", sealed), line("c", "b", "m1", text("hi")))
    assert transcript.messages[1].content == (ThinkingPart(signature="c2ln"),)
    assert transcript.lacks == ("system", "tools", "reasoning")


def test_a_message_carries_its_time_and_the_model_where_it_changed() -> None:
    later = line("d", "c", "m2", text("new here"), model="claude-y")
    transcript = read({**SHORT[0], "timestamp": "2026-01-02T03:04:05Z"}, SHORT[1], said("c", "b", "x"), later)
    assert transcript.messages[0].time == "2026-01-02T03:04:05Z"
    assert [item.model for item in transcript.messages] == [None, None, None, "claude-y"]
    assert transcript.model == "claude-y"


# Lines of one message


def test_trap_1_two_records_on_one_line_are_both_read() -> None:
    glued = jsonl(SHORT[0]) + jsonl(SHORT[1]).rstrip() + jsonl(said("c", "b", "more"))
    (transcript,) = read_claude_code(glued, "s.jsonl")
    assert in_sight(transcript) == ["hello", "hi", "more"]
    assert [item.location and item.location.record for item in transcript.messages] == [1, "2:1", "2:2"]
    assert [item.code for item in transcript.findings] == ["CTX018"]


def test_a_record_that_was_written_again_is_one_message() -> None:
    again = {**SHORT[1], "version": "2"}
    assert in_sight(read(*SHORT, again, said("c", "b", "more"))) == ["hello", "hi", "more"]


def parallel() -> list[Row]:
    """Two calls in one response, each result below the line of its own call."""
    return [
        said("a", None, "go"),
        line("b", "a", "m1", use("t1")),
        line("c", "b", "m1", use("t2")),
        result("e", "c", "t2"),
        result("d", "b", "t1"),
        line("f", "e", "m2", text("done")),
    ]


def test_trap_2_the_walk_along_parents_loses_no_parallel_result() -> None:
    for rows in (parallel(), parallel()[:-1], [*parallel()[:3], *parallel()[4:2:-1]]):
        transcript = read(*rows)
        assert {item.call_id for message in transcript.messages for item in message.results} == {"t1", "t2"}
        assert all(message.superseded is None for message in transcript.messages)
        assert not group(transcript.messages)[1]


def test_what_was_added_to_a_parallel_result_belongs_to_it() -> None:
    skill = said("g", "d", [text("skill")], isMeta=True)
    note = row("h", "g", "attachment", attachment={"type": "note", "content": "noted"})
    rows = [*parallel()[:5], skill, note, parallel()[5]]
    assert in_sight(read(*rows))[-3:] == ["skill", "noted", "done"]


def test_a_parent_that_is_progress_or_a_system_record_does_not_end_the_walk() -> None:
    between = [row("p", "b", "progress", data={}), row("q", "p", "system", subtype="turn_duration")]
    assert in_sight(read(*SHORT, *between, said("c", "q", "more"))) == ["hello", "hi", "more"]


def test_the_lines_of_one_response_stand_together_before_their_results() -> None:
    rows = parallel()
    transcript = read(*rows[:2], rows[4], rows[2], rows[3], rows[5])
    assert [words(item).split()[0] for item in transcript.messages] == [
        "go",
        "look",
        "look",
        "saw",
        "saw",
        "done",
    ]
    assert [item.response_id for item in transcript.messages] == [None, "m1", "m1", None, None, "m2"]
    assert len(group(transcript.messages)[0]) == 3


def test_a_result_that_was_written_before_its_call_comes_after_it() -> None:
    rows = parallel()
    transcript = read(rows[0], rows[1], rows[3], rows[2], *rows[4:])
    assert not group(transcript.messages)[1]


def test_trap_3_usage_that_every_line_repeats_is_counted_once_a_response() -> None:
    usage = reported(3, 50, cached=900, written=97)
    rows = [
        SHORT[0],
        line("b", "a", "m1", text("one"), usage=usage),
        line("c", "b", "m1", use("t1"), usage=usage, stop_reason="tool_use"),
        result("d", "c", "t1"),
    ]
    transcript = read(*rows)
    assert [item.usage for item in transcript.messages] == [
        None,
        Usage(input_tokens=1000, cached_tokens=900, output_tokens=50),
        None,
        None,
    ]
    assert transcript.calls == 1


def test_trap_4_placeholder_output_is_not_taken_for_a_count_and_the_last_line_has_the_real_one() -> None:
    begun = line("b", "a", "m1", text("one"), usage=reported(10, 1), stop_reason=None)
    ended = line("c", "b", "m1", text("two"), usage=reported(10, 77), stop_reason="end_turn")
    assert [item.usage and item.usage.output_tokens for item in read(SHORT[0], begun).messages] == [
        None,
        None,
    ]
    assert [item.usage and item.usage.output_tokens for item in read(SHORT[0], begun, ended).messages] == [
        None,
        77,
        None,
    ]


def test_a_reply_of_the_client_itself_is_no_models_and_its_error_is_not_context() -> None:
    synthetic = line("c", "b", "x1", text("No answer"), model="<synthetic>", usage=reported(0, 0))
    error = {**line("d", "c", "x2", text("Overloaded"), model="<synthetic>"), "isApiErrorMessage": True}
    transcript = read(*SHORT, synthetic, error, said("e", "d", "again"))
    assert in_sight(transcript) == ["hello", "hi", "No answer", "again"]
    assert transcript.model == "claude-x"
    assert transcript.messages[2].usage is None


# Branches


def test_trap_5_a_first_parent_that_is_not_in_the_file_is_where_the_recording_starts() -> None:
    transcript = read(said("a", "lost", "hello"), SHORT[1])
    assert in_sight(transcript) == ["hello", "hi"]
    assert not transcript.findings


def test_a_lost_record_in_the_middle_takes_nothing_out_of_sight() -> None:
    data = jsonl(*SHORT) + b'{"uuid": "lost"\n' + jsonl(said("d", "lost", "more"))
    (transcript,) = read_claude_code(data, "s.jsonl")
    assert in_sight(transcript) == ["hello", "hi", "more"]
    assert transcript.skipped == 1


def test_a_prompt_that_was_edited_leaves_its_branch_superseded_in_its_place() -> None:
    rows = [
        *SHORT,
        said("c", "b", "wrong"),
        line("d", "c", "m2", text("no")),
        said("e", "b", "right"),
        line("f", "e", "m3", text("yes")),
    ]
    assert fates(read(*rows)) == [
        ("hello", None),
        ("hi", None),
        ("wrong", "rewind"),
        ("no", "rewind"),
        ("right", None),
        ("yes", None),
    ]


def test_a_first_prompt_that_was_edited_begins_anew_and_a_hook_without_a_parent_does_not() -> None:
    assert fates(read(*SHORT, said("c", None, "anew"))) == [
        ("hello", "rewind"),
        ("hi", "rewind"),
        ("anew", None),
    ]
    hook = row("h", None, "progress", data={})
    assert in_sight(read(*SHORT, hook, said("c", "h", "on"))) == ["hello", "hi", "on"]


def test_parents_in_a_ring_are_read_all_the_same() -> None:
    assert sorted(words(m) for m in read(said("a", "b", "x"), said("b", "a", "y")).messages) == ["x", "y"]


def test_a_sidechain_in_the_same_file_is_a_transcript_of_its_own() -> None:
    rows = parallel()
    inner = [
        said("x", None, "task", isSidechain=True),
        {**line("y", "x", "n1", text("found")), "isSidechain": True},
        said("z", None, "other task", isSidechain=True),
    ]
    main, first, second = read_claude_code(jsonl(*rows[:3], *inner, *rows[3:]), "s.jsonl")
    assert len(main.messages) == 6
    assert (in_sight(first), in_sight(second)) == (["task", "found"], ["other task"])
    assert [main.id, first.id, second.id] == ["s1", "s1/sidechain-1", "s1/sidechain-2"]


def test_a_sub_agent_with_a_name_of_its_own_is_told_by_it() -> None:
    rows = [
        said("x", None, "task", isSidechain=True, agentId="a7"),
        said("y", "lost", "more", isSidechain=True, agentId="a7"),
    ]
    (transcript,) = read_claude_code(jsonl(*rows), "agent.jsonl")
    assert (transcript.id, in_sight(transcript)) == ("s1/a7", ["task", "more"])


# Compactions


SUMMARY = said("s", "k", "So far: a greeting.", isCompactSummary=True, isVisibleInTranscriptOnly=True)


def test_a_compaction_supersedes_what_came_before_and_its_summary_is_a_recap() -> None:
    rows = [*SHORT, boundary("k", "b", trigger="auto", preTokens=155_000), SUMMARY, said("c", "s", "on")]
    transcript = read(*rows)
    assert [(item.superseded, item.recap) for item in transcript.messages] == [
        ("compaction", False),
        ("compaction", False),
        (None, True),
        (None, False),
    ]
    (compaction,) = transcript.compactions
    assert (compaction.kind, compaction.tokens_before, compaction.readable) == ("summary", 155_000, True)
    assert compaction.location.line == 3


def test_a_second_compaction_supersedes_the_first_ones_summary() -> None:
    rows = [
        *SHORT,
        boundary("k", "b"),
        SUMMARY,
        boundary("l", "s"),
        said("t", "l", "Twice.", isCompactSummary=True),
    ]
    transcript = read(*rows)
    assert in_sight(transcript) == ["Twice."]
    assert len(transcript.compactions) == 2


def test_a_summary_without_a_boundary_is_a_compaction_too() -> None:
    transcript = read(*SHORT, {**SUMMARY, "parentUuid": None}, said("c", "s", "on"))
    assert in_sight(transcript) == ["So far: a greeting.", "on"]
    assert [item.location.line for item in transcript.compactions] == [3]
    assert transcript.messages[0].superseded == "compaction"


def test_an_attachment_between_a_boundary_and_its_summary_makes_no_second_compaction() -> None:
    note = row("n", "k", "attachment", attachment={"type": "note", "content": "noted"})
    transcript = read(*SHORT, boundary("k", "b"), note, {**SUMMARY, "parentUuid": "n"})
    assert in_sight(transcript) == ["noted", "So far: a greeting."]
    assert len(transcript.compactions) == 1


def test_a_stretch_that_a_compaction_kept_stays_in_sight_after_the_summary() -> None:
    rows = [*SHORT, said("c", "b", "kept"), line("d", "c", "m2", text("this too"))]
    kept = {"headUuid": "c", "tailUuid": "d", "anchorUuid": "s"}
    transcript = read(*rows, boundary("k", "d", preservedSegment=kept), SUMMARY, said("e", "s", "on"))
    assert in_sight(transcript) == ["So far: a greeting.", "kept", "this too", "on"]


def test_a_compaction_that_was_rewound_supersedes_nothing() -> None:
    transcript = read(*SHORT, boundary("k", "b"), SUMMARY, said("c", "b", "instead"))
    assert in_sight(transcript) == ["hello", "hi", "instead"]
    assert transcript.messages[2].superseded == "rewind" and transcript.messages[2].recap
    assert len(transcript.compactions) == 1


def micro(uuid: str, parent: str, *calls: str, files: tuple[str, ...] = ()) -> Row:
    cleared = {"preTokens": 60_000, "compactedToolIds": list(calls), "clearedAttachmentUUIDs": list(files)}
    return row(uuid, parent, "system", subtype="microcompact_boundary", microcompactMetadata=cleared)


def test_a_microcompaction_puts_a_note_in_place_of_the_results_that_it_names() -> None:
    rows = [
        *parallel()[:3],
        result("e", "c", "t1", "t2"),
        micro("k", "e", "t2"),
        line("f", "k", "m2", text("ok")),
    ]
    transcript = read(*rows)
    whole, blanked = transcript.messages[3:5]
    assert (whole.superseded, whole.recap, blanked.superseded, blanked.recap) == (
        "compaction",
        False,
        None,
        True,
    )
    assert blanked.results == (
        ToolResultPart(call_id="t1", content=(TextPart(text="saw t1"),)),
        ToolResultPart(call_id="t2", content=(TextPart(text=CLEARED),)),
    )
    assert [(item.kind, item.tokens_before) for item in transcript.compactions] == [("cleared", None)]
    assert not group([item for item in transcript.messages if item.superseded is None])[1]


def test_an_attachment_that_a_microcompaction_cleared_is_out_of_sight() -> None:
    note = row("n", "b", "attachment", attachment={"type": "file", "content": "long"})
    assert fates(read(*SHORT, note, micro("k", "n", files=("n",))))[2] == ("long", "compaction")


def test_trap_6_a_microcompaction_of_results_that_are_not_in_the_file_is_recorded_and_changes_nothing() -> (
    None
):
    transcript = read(*parallel()[:5], micro("k", "d", "gone1", "gone2"))
    assert all(item.superseded is None for item in transcript.messages)
    assert len(transcript.messages) == 5
    assert (len(transcript.compactions), transcript.findings) == (1, ())


# What else is content


def test_trap_15_a_call_without_a_result_is_read_and_shows_as_unanswered() -> None:
    transcript = read(*parallel()[:4], line("f", "e", "m2", text("done")))
    assert [item.irregularity for item in group(transcript.messages)[1]] == [Irregularity.UNANSWERED_CALL]


def test_trap_23_an_image_is_a_part_of_its_own_and_adds_no_text() -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXELS}}
    (message,) = read(said("a", None, [image, text("see")])).messages
    assert message.content[0] == ImagePart(url=f"data:image/png;base64,{PIXELS}")
    assert words(message) == "see"


@pytest.mark.parametrize(
    ("attachment", "texts"),
    [
        ({"type": "hook_success", "content": "said", "stdout": "said", "command": "x"}, ["said"]),
        ({"type": "hook_additional_context", "content": ["one", "two"]}, ["one", "two"]),
        ({"type": "mcp_instructions_delta", "addedBlocks": ["use it"], "removedNames": []}, ["use it"]),
        ({"type": "queued_command", "prompt": "typed ahead"}, ["typed ahead"]),
        ({"type": "queued_command", "prompt": [{"type": "text", "text": "ahead"}]}, ["ahead"]),
        ({"type": "edited_text_file", "filename": "a", "snippet": "1 x"}, ["1 x"]),
    ],
)
def test_an_attachment_is_a_user_message_of_its_texts(attachment: Row, texts: list[str]) -> None:
    (message,) = read(row("a", None, "attachment", attachment=attachment)).messages
    assert message.role == "user"
    assert message.content == tuple(TextPart(text=one) for one in texts)


def test_an_attachment_without_text_is_kept_as_its_json() -> None:
    attachment = {"type": "opened_file_in_ide", "filename": "a.txt"}
    (message,) = read(row("a", None, "attachment", attachment=attachment)).messages
    data = '{"filename":"a.txt","type":"opened_file_in_ide"}'
    assert message.content == (OpaquePart(kind="opened_file_in_ide", data=data),)


def test_what_is_for_the_screen_is_left_out_without_a_word() -> None:
    rows = [
        row("c", "b", "attachment", attachment={"type": "hook_system_message", "content": "x"}),
        row("d", "c", "attachment", attachment={"type": "hook_success", "content": "", "command": "x"}),
        {"type": "queue-operation", "operation": "enqueue", "content": "x"},
        {"type": "summary", "summary": "x", "leafUuid": "b"},
        row("e", "d", "system", subtype="away_summary", content="x"),
    ]
    transcript = read(*SHORT, *rows)
    assert in_sight(transcript) == ["hello", "hi"]
    assert not transcript.findings


def test_the_repeat_of_a_result_for_the_screen_is_not_content() -> None:
    shown = result("d", "c", "t1", toolUseResult={"stdout": "saw t1"})
    transcript = read(SHORT[0], line("c", "a", "m1", use("t1")), shown)
    assert words(transcript.messages[-1]) == "saw t1"


# What is wrong


def test_an_unknown_kind_of_record_is_told_once_with_its_place() -> None:
    odd = {"type": "marigold", "uuid": "x"}
    (told,) = read(*SHORT, odd, odd).findings
    assert (told.code, told.severity, told.location.line) == ("CTX014", Severity.WARNING, 3)
    assert "'marigold'" in told.message


@pytest.mark.parametrize(
    "broken",
    [
        5,
        row("x", "a", "user"),
        row("x", "a", "user", message="marigold"),
        said("x", "a", [{"type": "text", "text": 5}]),
        said("x", "a", [{"type": "image", "source": "marigold"}]),
        line("x", "a", "m1", {"type": "tool_use", "id": "t1"}),
    ],
)
def test_a_malformed_record_is_told_with_its_place_and_the_rest_is_read(broken: Any) -> None:
    transcript = read(SHORT[0], broken, said("c", "x", "more"))
    assert in_sight(transcript) == ["hello", "more"]
    (told,) = transcript.findings
    assert (told.code, told.location.line, transcript.skipped) == ("CTX011", 2, 1)
    assert "marigold" not in told.message


def test_a_file_without_any_message_is_refused() -> None:
    with pytest.raises(TranscriptError):
        read(row("a", None, "progress", data={}))


EVERYTHING = [
    *parallel(),
    micro("k1", "f", "t1", files=("n",)),
    row("n", "k1", "attachment", attachment={"type": "queued_command", "prompt": [text("x")]}),
    said("x", None, "task", isSidechain=True, agentId="a7"),
    boundary("k", "n", preTokens=5, preservedSegment={"headUuid": "f", "tailUuid": "n"}),
    SUMMARY,
    line("y", "s", "m3", text("z"), usage=reported(1, 2), stop_reason="end_turn"),
]


@settings(max_examples=EXAMPLES)
@given(mutated(EVERYTHING))
def test_records_that_are_out_of_shape_are_read_or_refused_and_never_crash(value: object) -> None:
    check_lines("claude-code", value)
