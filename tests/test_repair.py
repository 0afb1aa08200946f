"""Rule 3.4: repair to a fixed point, nothing lost that has no fault, and every step said."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contextctl.checks.provider_rules import PROFILES, provider_findings
from contextctl.errors import Location, UsageError
from contextctl.findings import Severity
from contextctl.messages import Message, Part, TextPart, ThinkingPart, ToolCallPart, ToolResultPart
from contextctl.repair import COVERED, NO_BEGINNING, NO_RESULT, repair

PROFILE = st.sampled_from(PROFILES)
NAMES = st.sampled_from(["a", "b", "c", None])


def calls(*ids: str | None, response: str | None = None, text: str = "") -> Message:
    said = (TextPart(text=text),) if text else ()
    parts = (*said, *(ToolCallPart(id=i, name="find") for i in ids))
    return Message(role="assistant", content=parts, response_id=response)


def result(call_id: str | None, text: str = "ok") -> ToolResultPart:
    return ToolResultPart(call_id=call_id, name="find", content=(TextPart(text=text),))


def tool(*ids: str | None) -> Message:
    return Message(role="tool", content=tuple(result(i) for i in ids))


def user(text: str = "hi", *results: str) -> Message:
    return Message(role="user", content=(*(result(i) for i in results), TextPart(text=text)))


def says(text: str = "well") -> Message:
    return Message(role="assistant", content=text)


def outline(messages: Sequence[Message]) -> list[str]:
    """Each message in a word: calls by id, results by ``=id``, text by itself."""
    words = []
    for message in messages:
        parts = []
        for part in message.content:
            match part:
                case ToolCallPart():
                    parts.append(f"{part.id}?")
                case ToolResultPart():
                    parts.append(f"={part.call_id}")
                case TextPart():
                    parts.append(part.text)
                case _:
                    parts.append("...")
        words.append(" ".join(parts))
    return words


def kinds(messages: Sequence[Message], profile: str) -> list[str]:
    return [step.kind for step in repair(messages, profile).done]


@st.composite
def conversations(draw: st.DrawFn) -> tuple[Message, ...]:
    """Anything that a broken recording may hold: each message has a place, some have ids."""
    texts = st.sampled_from(["", " ", "word"]).map(lambda text: TextPart(text=text))
    results = NAMES.map(result)
    made = NAMES.map(lambda name: ToolCallPart(id=name, name="find"))
    thinking = st.sampled_from([ThinkingPart(text="hm", signature="s"), ThinkingPart(text="hm")])
    parts: dict[str, st.SearchStrategy[Part]] = {
        "system": texts,
        "user": st.one_of(texts, results),
        "tool": results,
        "assistant": st.one_of(texts, made, thinking),
    }
    messages = []
    for number in range(1, draw(st.integers(0, 12)) + 1):
        role = draw(st.sampled_from(["system", "user", "user", "tool", "assistant", "assistant"]))
        messages.append(
            Message(
                role=role,
                content=tuple(draw(st.lists(parts[role], min_size=role == "tool", max_size=3))),
                response_id=draw(st.sampled_from([None, None, "r1", "r2"])) if role == "assistant" else None,
                superseded=draw(st.sampled_from([None] * 7 + ["rewind"])),
                id=draw(st.sampled_from([None, f"id{number}"])),
                location=Location("recording", number),
            )
        )
    return tuple(messages)


@given(conversations(), PROFILE)
@settings(max_examples=600)
def test_repairing_twice_changes_nothing(messages: tuple[Message, ...], profile: str) -> None:
    once = repair(messages, profile)
    twice = repair(once.messages, profile)
    assert twice.messages == once.messages
    assert twice.done == ()


@given(conversations(), PROFILE)
@settings(max_examples=600)
def test_repaired_messages_have_none_of_the_faults_that_repair_covers(
    messages: tuple[Message, ...], profile: str
) -> None:
    repaired = repair(messages, profile).messages
    found = provider_findings(profile, repaired, where="prompt")
    assert not [item for item in found if item.code in COVERED and item.severity is not Severity.NOTE]


@given(conversations(), PROFILE)
@settings(max_examples=600)
def test_no_message_that_has_no_fault_is_lost_or_changed(messages: tuple[Message, ...], profile: str) -> None:
    done = repair(messages, profile)
    touched = {step.location for step in done.done}
    kept = [message for message in done.messages if message.location is not None]
    for message in messages:
        if message.location not in touched:
            assert message in kept
    assert {step.location for step in done.done} <= {message.location for message in messages}


@given(conversations(), PROFILE)
@settings(max_examples=300)
def test_only_blanks_and_results_are_ever_removed_and_all_else_is_there_once(
    messages: tuple[Message, ...], profile: str
) -> None:
    def lasting(of: Sequence[Message]) -> list[tuple[object, Part]]:
        return sorted(
            (
                (message.location, part)
                for message in of
                if message.location is not None
                for part in message.content
                if not isinstance(part, ToolResultPart)
                and not (isinstance(part, TextPart) and not part.text.strip())
            ),
            key=repr,
        )

    assert lasting(repair(messages, profile).messages) == lasting(messages)


@given(conversations(), PROFILE)
def test_what_is_put_has_an_id_of_its_own(messages: tuple[Message, ...], profile: str) -> None:
    repaired = repair(messages, profile).messages
    put = [m.id for m in repaired if m.id is not None and m.id.startswith("repair-")]
    assert len(put) == len(set(put))
    assert all(m.id in put for m in repaired if m.location is None)


@pytest.mark.parametrize("profile", PROFILES)
def test_a_sound_conversation_is_left_as_it_is(profile: str) -> None:
    messages = [
        Message(role="system", content="be kind"),
        user(),
        calls("a", "b"),
        tool("a"),
        tool("b"),
        says(),
    ]
    done = repair(messages, profile)
    assert done.messages == tuple(messages)
    assert done.done == ()


def test_results_without_a_call_and_second_results_are_removed_at_both_ends_and_their_text_stays() -> None:
    messages = [tool("x"), user("hi", "y"), calls("a"), tool("a"), tool("a"), says(), tool("z")]
    done = repair(messages, "openai-chat")
    assert outline(done.messages) == ["hi", "a?", "=a", "well"]
    assert [(step.kind, step.id) for step in done.done] == [
        ("result-removed", "m1"),
        ("result-removed", "m2"),
        ("result-removed", "m5"),
        ("result-removed", "m7"),
    ]
    assert "removed" in done.done[0].sentence


def test_removing_what_follows_a_call_leaves_it_waiting_at_the_end() -> None:
    messages = [user(), calls("a"), tool("x"), Message(role="user", content=())]
    assert outline(repair(messages, "anthropic").messages) == ["hi", "a?"]


def test_a_call_without_a_result_before_the_end_gets_one_that_says_so_and_a_name_of_its_own() -> None:
    messages = [user().model_copy(update={"id": "repair-1"}), calls("a", "b"), tool("a"), user("next")]
    done = repair(messages, "anthropic")
    assert outline(done.messages) == ["hi", "a? b?", "=b", "=a", "next"]
    put = done.messages[2]
    assert put == Message(
        role="tool", id="repair-2", content=(ToolResultPart(call_id="b", name="find", content=NO),)
    )
    assert [step.kind for step in done.done] == ["result-put"]


NO = (TextPart(text=NO_RESULT),)


def test_a_call_of_the_older_shape_gets_a_result_of_the_older_shape() -> None:
    made = ToolCallPart(name="find", legacy=True)
    done = repair([user(), Message(role="assistant", content=(made,)), user()], "openai-chat")
    assert done.messages[2].role == "function"
    assert done.messages[2].results == (ToolResultPart(name="find", content=NO),)


def test_a_displaced_result_is_moved_directly_after_its_call_and_the_responses_api_needs_no_move() -> None:
    messages = [user(), calls("a"), user("wait"), tool("a"), says()]
    for profile in ("openai-chat", "anthropic", "gemini", "bedrock"):
        done = repair(messages, profile)
        assert outline(done.messages) == ["hi", "a?", "=a", "wait", "well"]
        assert [(step.kind, step.id) for step in done.done] == [("result-moved", "m4")]
    assert repair(messages, "openai-responses").done == ()


def test_a_displaced_result_leaves_the_text_of_its_message_where_it_was() -> None:
    messages = [user(), calls("a"), says(), user("more", "a")]
    done = repair(messages, "openai-chat")
    assert outline(done.messages) == ["hi", "a?", "=a", "well", "more"]
    assert done.messages[2].id == "repair-1"


def test_results_go_first_in_their_message_where_the_provider_wants_it() -> None:
    late = Message(role="user", content=(TextPart(text="so"), result("a")))
    messages = [user(), calls("a"), late]
    assert outline(repair(messages, "anthropic").messages)[2] == "=a so"
    assert kinds(messages, "anthropic") == ["results-put-first"]
    assert kinds(messages, "openai-chat") == []


def test_lines_of_an_answer_that_stand_apart_are_joined_only_where_a_result_has_to_move() -> None:
    lines = [user(), calls("a", response="r"), tool("a"), calls("b", response="r"), tool("b"), says()]
    assert repair(lines, "anthropic").done == ()
    lines.insert(3, user("wait"))
    done = repair(lines, "anthropic")
    assert outline(done.messages) == ["hi", "a?", "b?", "=a", "=b", "wait", "well"]
    assert [step.kind for step in done.done] == ["answer-joined", "result-moved"]


def test_a_conversation_that_begins_with_the_assistant_gets_a_message_of_the_user_before_it() -> None:
    system = Message(role="system", content="be kind")
    for profile in ("anthropic", "gemini", "bedrock"):
        done = repair([system, says(), user()], profile)
        assert outline(done.messages) == ["be kind", NO_BEGINNING, "well", "hi"]
        assert done.messages[1].id == "repair-1"
    assert repair([system, says(), user()], "openai-chat").done == ()


def test_what_is_empty_is_removed_only_where_the_provider_refuses_it() -> None:
    blank = Message(role="user", content=(TextPart(text=" "), TextPart(text="hi")))
    messages = [blank, Message(role="assistant", content=()), user("")]
    assert outline(repair(messages, "anthropic").messages) == ["hi"]
    assert outline(repair(messages, "openai-chat").messages) == ["  hi", ""]


def test_what_is_superseded_stays_where_it_is_and_counts_for_nothing() -> None:
    old = calls("a").model_copy(update={"superseded": "rewind"})
    messages = [user(), old, user("next"), calls("b"), old, tool("b"), says()]
    done = repair(messages, "anthropic")
    assert done.messages == tuple(messages)
    assert done.done == ()


def test_no_step_quotes_a_message() -> None:
    messages = [
        tool("x"),
        user("secret words"),
        calls("a", text="secret words"),
        user("secret words"),
        tool("a"),
    ]
    told = repair(messages, "anthropic").done
    assert told
    assert "secret" not in repr(told)


def test_an_unknown_profile_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UsageError) as caught:
        repair([user()], "cohere")
    assert "anthropic" in str(caught.value.hint)
