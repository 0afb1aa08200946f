"""Rule 3: what moves together, and what is irregular."""

from __future__ import annotations

from contextctl.entries import Irregularity, group, newest_user_entry, text_of
from contextctl.messages import Message, TextPart, ToolCallPart, ToolResultPart, pinned


def user(text: str = "hi", **fields: object) -> Message:
    return Message(role="user", content=text, **fields)  # type: ignore[arg-type]


def call(*ids: str | None, legacy: bool = False) -> Message:
    return Message(
        role="assistant", content=tuple(ToolCallPart(id=i, name="find", legacy=legacy) for i in ids)
    )


def result(call_id: str | None, text: str = "ok", name: str | None = None) -> Message:
    part = ToolResultPart(call_id=call_id, name=name, content=(TextPart(text=text),))
    return Message(role="tool", content=(part,))


def shape(messages: list[Message]) -> list[tuple[int, ...]]:
    return [entry.positions for entry in group(messages)[0]]


def remarks(messages: list[Message]) -> list[tuple[Irregularity, int]]:
    return [(remark.irregularity, remark.position) for remark in group(messages)[1]]


def test_parallel_calls_and_all_their_results_are_one_entry() -> None:
    messages = [user(), call("a", "b"), result("b"), result("a"), user()]
    assert shape(messages) == [(1,), (2, 3, 4), (5,)]
    assert remarks(messages) == []


def test_a_reused_id_pairs_with_the_nearest_unanswered_call() -> None:
    messages = [call("c0"), result("c0", "first"), user(), call("c0"), result("c0", "second")]
    assert shape(messages) == [(1, 2), (3,), (4, 5)]
    assert remarks(messages) == [(Irregularity.REUSED_CALL_ID, 4)]


def test_the_older_shape_pairs_by_name_and_nearness() -> None:
    messages = [call(None, legacy=True), result(None, name="find"), user()]
    assert shape(messages) == [(1, 2), (3,)]


def test_orphans_and_duplicates_are_entries_of_their_own() -> None:
    messages = [result("x"), call("a"), result("a"), result("a"), user()]
    assert shape(messages) == [(1,), (2, 3), (4,), (5,)]
    assert remarks(messages) == [(Irregularity.ORPHAN_RESULT, 1), (Irregularity.DUPLICATE_RESULT, 4)]


def test_a_late_result_moves_with_its_call_and_is_remarked_on() -> None:
    messages = [call("a"), user(), result("a")]
    assert shape(messages) == [(1, 3), (2,)]
    assert remarks(messages) == [(Irregularity.LATE_RESULT, 3)]


def test_a_call_at_the_end_is_pending_and_one_in_the_middle_is_unanswered() -> None:
    entries, _ = group([user(), call("a", "b"), result("a")])
    assert [entry.pending for entry in entries] == [False, True]
    messages = [call("a"), user()]
    assert [entry.pending for entry in group(messages)[0]] == [False, False]
    assert remarks(messages) == [(Irregularity.UNANSWERED_CALL, 1)]


def test_messages_of_one_response_are_one_entry_with_their_results() -> None:
    messages = [
        user(),
        Message(role="assistant", content="thinking", response_id="r1"),
        call("a").model_copy(update={"response_id": "r1"}),
        result("a"),
        call("b").model_copy(update={"response_id": "r1"}),
        result("b"),
    ]
    assert shape(messages) == [(1,), (2, 3, 4, 5, 6)]


def test_a_pin_on_any_member_pins_the_entry_and_survives_a_copy() -> None:
    answer = pinned(result("a")).model_copy(update={"name": "tool"})
    entries, _ = group([call("a"), answer, user()])
    assert [entry.pinned for entry in entries] == [True, False]


def test_an_entry_is_named_by_its_first_message_and_a_repeated_name_is_told_apart() -> None:
    messages = [user(id="a"), user(), user(id="a"), user(id="m2")]
    assert [entry.id for entry in group(messages)[0]] == ["a", "m2", "a#2", "m2#2"]
    assert remarks(messages) == [
        (Irregularity.REPEATED_ENTRY_ID, 3),
        (Irregularity.REPEATED_ENTRY_ID, 4),
    ]


def test_the_newest_user_turn_is_no_note_and_no_bare_tool_result() -> None:
    mixed = Message(role="user", content=(ToolResultPart(call_id="a"), TextPart(text="and this")))
    note = user("[12 left out]", kind="note")
    entries, _ = group([user(), call("a"), mixed, note])
    assert newest_user_entry(entries) == "m2"
    assert newest_user_entry(group([note])[0]) is None


def test_text_of_takes_messages_and_entries_and_has_arguments_and_results() -> None:
    part = ToolCallPart(id="a", name="find", arguments='{"q": "lemons"}')
    messages = [Message(role="assistant", content=(part,)), result("a", "two lemons")]
    entries, _ = group(messages)
    assert text_of(messages[1]) == "two lemons"
    assert text_of(entries[0]) == 'find\n{"q": "lemons"}\ntwo lemons'
