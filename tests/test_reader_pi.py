"""pi sessions: linear ones of version 1, trees from version 2 on, compactions in both."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contextctl.entries import Irregularity, group
from contextctl.messages import ImagePart, TextPart, ThinkingPart, ToolCallPart, Usage, part_texts
from contextctl.recording import Transcript
from contextctl.transcripts import read_transcripts
from contextctl.transcripts.pi import read_pi
from tests.mutations import EXAMPLES, as_lines, check_reading, mutated

HEADER = {"type": "session", "id": "s-1", "timestamp": "t0", "cwd": "/x", "modelId": "m-0"}
TREE = {**HEADER, "version": 3}


def said(role: str, content: object, **more: object) -> dict[str, Any]:
    return {"type": "message", "timestamp": "t1", "message": {"role": role, "content": content, **more}}


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}


def ask(words: str) -> dict[str, Any]:
    return said("user", [text(words)])


def answer(words: str, *calls: str, model: str = "m-1", **more: object) -> dict[str, Any]:
    blocks = [{"type": "toolCall", "id": call, "name": "read", "arguments": {"path": "é"}} for call in calls]
    usage = {"input": 3, "output": 7, "cacheRead": 100, "cacheWrite": 20}
    return said("assistant", [text(words), *blocks], model=model, usage=usage, **more)


def result(call: str, words: str) -> dict[str, Any]:
    return said("toolResult", [text(words)], toolCallId=call, toolName="read", isError=False)


def tree(entry: dict[str, Any], identity: str, parent: str | None) -> dict[str, Any]:
    return {**entry, "id": identity, "parentId": parent}


def only(*entries: object) -> Transcript:
    (transcript,) = read_transcripts(as_lines(*entries), "logs/a.jsonl")
    assert transcript.format == "pi"
    return transcript


def words(transcript: Transcript, *, live: bool = False) -> list[str]:
    return [
        " ".join(part_texts(message.content))
        for message in transcript.messages
        if not (live and message.superseded)
    ]


def test_an_entry_is_a_message_with_its_line_time_and_usage() -> None:
    transcript = only(HEADER, ask("look"), answer("ok", "c1", "c2"), result("c1", "one"), result("c2", "two"))
    assert (transcript.id, transcript.model, transcript.lacks) == ("s-1", "m-1", ("system", "tools"))
    assert [message.role for message in transcript.messages] == ["user", "assistant", "tool", "tool"]
    reply = transcript.messages[1]
    assert reply.usage == Usage(input_tokens=123, cached_tokens=100, output_tokens=7)
    assert reply.content[1] == ToolCallPart(id="c1", name="read", arguments='{"path":"é"}')
    assert (str(reply.location), reply.time) == ("logs/a.jsonl:3", "t1")
    assert transcript.messages[3].results[0].call_id == "c2"
    assert not transcript.findings


def test_trap_15_calls_of_an_aborted_reply_stay_without_results() -> None:
    aborted = answer("so", "c1", stopReason="aborted")
    transcript = only(HEADER, ask("look"), aborted, ask("again"), answer("ok"))
    assert len(transcript.messages) == 4
    _, remarks = group(transcript.messages)
    assert [remark.irregularity for remark in remarks] == [Irregularity.UNANSWERED_CALL]
    assert not transcript.findings


def test_a_reply_that_reports_nothing_but_zeros_has_no_usage() -> None:
    zeros = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}
    transcript = only(HEADER, ask("look"), said("assistant", [], usage=zeros, stopReason="aborted"))
    assert transcript.messages[1].usage is None


def test_thinking_and_images_are_parts() -> None:
    thought = {"type": "thinking", "thinking": "deep", "thinkingSignature": "sig"}
    picture = {"type": "image", "data": "AA", "mimeType": "image/png"}
    transcript = only(HEADER, said("user", [picture]), said("assistant", [thought, text("ok")]))
    assert transcript.messages[0].content == (ImagePart(url="data:image/png;base64,AA"),)
    assert transcript.messages[1].content == (ThinkingPart(text="deep", signature="sig"), TextPart(text="ok"))


def test_a_change_of_the_model_is_noted_on_the_reply_where_it_happens() -> None:
    transcript = only(HEADER, ask("a"), answer("b"), answer("c", model="m-2"))
    assert [message.model for message in transcript.messages] == [None, None, "m-2"]
    assert transcript.model == "m-2"
    assert only(HEADER, ask("a")).model == "m-0"


def test_commands_of_the_user_and_custom_messages_are_context_unless_they_are_excluded() -> None:
    ran = said("bashExecution", None, command="ls", output="a.txt")
    hidden = said("bashExecution", None, command="pw", output="x", excludeFromContext=True)
    custom = {"type": "custom_message", "content": "note", "customType": "k", "display": True}
    state = {"type": "custom", "customType": "k", "data": {"x": 1}}
    transcript = only(HEADER, ran, hidden, custom, state, said("custom", "more"))
    assert words(transcript) == ["ls\na.txt", "note", "more"]
    assert not transcript.findings


def test_a_compaction_of_version_1_keeps_from_an_entry_of_this_number() -> None:
    compaction = {"type": "compaction", "summary": "so far", "firstKeptEntryIndex": 3, "tokensBefore": 900}
    transcript = only(HEADER, ask("a"), answer("b"), ask("c"), compaction, answer("d"))
    assert words(transcript) == ["a", "b", "so far", "c", "d"]
    assert words(transcript, live=True) == ["so far", "c", "d"]
    assert [message.recap for message in transcript.messages] == [False, False, True, False, False]
    (told,) = transcript.compactions
    assert (told.kind, told.tokens_before, told.location.line, told.readable) == ("summary", 900, 5, True)


def test_a_later_compaction_takes_the_place_of_an_earlier_one() -> None:
    def compaction(summary: str, kept: str) -> dict[str, Any]:
        return {"type": "compaction", "summary": summary, "firstKeptEntryId": kept}

    transcript = only(
        *(
            TREE,
            tree(ask("a"), "e1", None),
            tree(ask("b"), "e2", "e1"),
            tree(compaction("one", "e2"), "e3", "e2"),
        ),
        *(tree(ask("c"), "e4", "e3"), tree(compaction("two", "e4"), "e5", "e4"), tree(ask("d"), "e6", "e5")),
    )
    assert words(transcript, live=True) == ["two", "c", "d"]
    assert words(transcript) == ["a", "one", "b", "two", "c", "d"]


def test_what_is_off_the_path_to_the_last_entry_is_a_fork() -> None:
    left = {"type": "branch_summary", "fromId": "e2", "summary": "went left"}
    transcript = only(
        *(TREE, tree(ask("a"), "e1", None), tree(answer("left"), "e2", "e1")),
        *(tree(left, "e3", "e1"), tree(answer("right"), "e4", "e3")),
    )
    assert [message.superseded for message in transcript.messages] == [None, "fork", None, None]
    assert words(transcript, live=True) == ["a", "went left", "right"]


@pytest.mark.parametrize("parent", ["gone", "e9", "e1"])
def test_where_a_parent_is_not_in_the_file_the_entry_before_goes_for_it(parent: str) -> None:
    transcript = only(
        TREE, tree(ask("a"), "e1", None), tree(ask("b"), "e9", parent), tree(ask("c"), "e3", "e9")
    )
    assert words(transcript, live=True) == ["a", "b", "c"]


def test_a_compaction_on_another_branch_supersedes_nothing_of_this_one() -> None:
    compaction = {"type": "compaction", "summary": "so far", "firstKeptEntryId": "e2"}
    transcript = only(
        *(TREE, tree(ask("a"), "e1", None), tree(ask("b"), "e2", "e1"), tree(compaction, "e3", "e2")),
        tree(ask("c"), "e4", "e1"),
    )
    assert words(transcript, live=True) == ["a", "c"]
    assert len(transcript.compactions) == 1


def test_an_entry_that_is_not_known_is_told_once_and_a_broken_one_by_its_line() -> None:
    transcript = only(HEADER, ask("a"), {"type": "new"}, {"type": "new"}, 7, said("assistant", 3), ask("b"))
    told = [(item.code, str(item.severity), item.location.line) for item in transcript.findings]
    assert told == [("CTX014", "warning", 3), ("CTX011", "error", 5), ("CTX011", "error", 6)]
    assert (words(transcript), transcript.skipped) == (["a", "b"], 2)


LINEAR = [
    *(HEADER, ask("a"), answer("b", "c1"), result("c1", "r")),
    {"type": "compaction", "summary": "so far", "firstKeptEntryIndex": 3, "tokensBefore": 900},
    said("bashExecution", None, command="ls", output="a.txt"),
]
BRANCHED = [
    *(TREE, tree(ask("a"), "e1", None), tree(answer("b", "c1"), "e2", "e1"), tree(ask("c"), "e3", "e1")),
    tree({"type": "compaction", "summary": "s", "firstKeptEntryId": "e3"}, "e4", "e3"),
    tree({"type": "branch_summary", "summary": "s"}, "e5", "e4"),
]


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.one_of(mutated(LINEAR), mutated(BRANCHED)))
def test_whatever_the_json_a_reading_ends_in_transcripts_or_a_refusal(document: Any) -> None:
    check_reading(read_pi, as_lines(*(document if isinstance(document, list) else [document])))
