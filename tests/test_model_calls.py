"""Recorded model calls -> conversations, whatever format they were read from."""

from __future__ import annotations

from contextctl.errors import Location
from contextctl.messages import Message, ToolCallPart, ToolResultPart, Usage
from contextctl.transcripts.call_threads import ModelCall
from contextctl.transcripts.conversations import Draft
from contextctl.transcripts.model_calls import drafts_from_calls

SYSTEM = Message(role="system", content="be brief")


def user(text: str) -> Message:
    return Message(role="user", content=text, location=Location("t.json", 1))


def said(text: str) -> Message:
    return Message(role="assistant", content=text, location=Location("t.json", 1))


def call(given: list[Message], *answer: Message, group: str = "main", tokens: int = 10) -> ModelCall:
    return ModelCall(
        Location("t.json", 1, index=tokens),
        input=list(given),
        output=list(answer),
        usage=Usage(input_tokens=tokens),
        response_id=f"r{tokens}",
        group=group,
    )


def drafts(*calls: ModelCall) -> list[Draft]:
    return drafts_from_calls(calls, "t")


def texts(draft: Draft) -> list[tuple[str, str | None, bool]]:
    return [
        ("".join(getattr(part, "text", "-") for part in item.content), item.superseded, item.recap)
        for item in draft.messages
    ]


def test_calls_that_go_on_from_one_another_are_one_conversation_with_usage_on_each_answer() -> None:
    one = [SYSTEM, user("a")]
    two = [*one, said("b"), user("c")]
    (draft,) = drafts(call(one, said("b"), tokens=10), call(two, said("d"), tokens=20))
    assert texts(draft) == [(text, None, False) for text in ("be brief", "a", "b", "c", "d")]
    assert [item.usage and item.usage.input_tokens for item in draft.messages] == [None, None, 10, None, 20]
    assert [item.response_id for item in draft.messages] == [None, None, "r10", None, "r20"]
    assert [len(request.messages) for request in draft.requests] == [2, 4]


def test_every_message_has_a_place_of_its_own() -> None:
    (draft,) = drafts(call([user("a")], said("b")), call([user("a"), said("b"), user("c")], said("d")))
    assert [item.location and item.location.index for item in draft.messages] == [1, 2, 3, 4]


def test_an_answer_that_the_next_input_words_otherwise_is_taken_as_the_model_saw_it() -> None:
    (draft,) = drafts(call([user("a")], said("b ")), call([user("a"), said("b"), user("c")], said("d")))
    assert [text for text, _, _ in texts(draft)] == ["a", "b", "c", "d"]
    assert draft.messages[1].usage == Usage(input_tokens=10)


def test_another_system_prompt_starts_another_conversation() -> None:
    judge = Message(role="system", content="judge")
    calls = [call([SYSTEM, user("a")], said("b")), call([judge, user("a")], said("fine"), group="judge")]
    assert [len(draft.messages) for draft in drafts(*calls)] == [3, 3]


def test_a_call_that_is_tried_again_leaves_its_first_answer_superseded() -> None:
    (draft,) = drafts(call([user("a")], said("b")), call([user("a")], said("c")))
    assert texts(draft) == [("a", None, False), ("b", "fork", False), ("c", None, False)]
    assert len(draft.requests) == 2


def test_the_same_question_of_another_agent_is_another_conversation() -> None:
    found = drafts(call([user("a")], said("b")), call([user("a")], said("c"), group="guard"))
    assert [len(draft.messages) for draft in found] == [2, 2]


def test_a_history_that_was_rewritten_is_a_compaction_with_what_went_and_what_came() -> None:
    before = [SYSTEM, user("a"), said("b"), user("c")]
    after = [SYSTEM, user("in short: a b c"), said("d"), user("e")]
    (draft,) = drafts(call(before, said("d"), tokens=90), call(after, said("f"), tokens=30))
    assert texts(draft) == [
        ("be brief", None, False),
        ("a", "compaction", False),
        ("b", "compaction", False),
        ("c", "compaction", False),
        ("in short: a b c", None, True),
        ("d", None, False),
        ("e", None, False),
        ("f", None, False),
    ]
    (compaction,) = draft.compactions
    assert (compaction.kind, compaction.tokens_before, compaction.tokens_after) == ("replaced", 90, 30)
    assert [item.superseded for request in draft.requests for item in request.messages] == [None] * 8


def test_a_history_that_was_only_cut_is_a_compaction_without_a_recap() -> None:
    before = [SYSTEM, user("a"), said("b"), user("c")]
    (draft,) = drafts(call(before, said("d")), call([SYSTEM, user("c"), said("d"), user("e")], said("f")))
    assert [text for text, gone, _ in texts(draft) if gone == "compaction"] == ["a", "b"]
    assert not any(recap for _, _, recap in texts(draft))
    assert [item.kind for item in draft.compactions] == ["trimmed"]


def test_a_system_prompt_that_changes_is_superseded_and_no_compaction() -> None:
    later = Message(role="system", content="be long")
    (draft,) = drafts(
        call([SYSTEM, user("a")], said("b")), call([later, user("a"), said("b"), user("c")], said("d"))
    )
    assert texts(draft)[:3] == [("be brief", "fork", False), ("be long", None, False), ("a", None, False)]
    assert not draft.compactions


def test_results_without_their_history_are_joined_to_the_call_they_answer_and_a_warning_says_so() -> None:
    asking = Message(role="assistant", content=(ToolCallPart(id="c1", name="look"),))
    result = Message(role="tool", content=(ToolResultPart(call_id="c1"),), location=Location("t.json", 1))
    (draft,) = drafts(call([SYSTEM, user("a")], asking), call([result], said("b"), tokens=20))
    assert [item.role for item in draft.messages] == ["system", "user", "assistant", "tool", "assistant"]
    assert [len(request.messages) for request in draft.requests] == [2, 4]
    assert [(item.code, item.severity) for item in draft.findings] == [("CTX014", "warning")]


def test_unrelated_questions_under_one_parent_are_not_joined() -> None:
    assert len(drafts(call([user("a")], said("b")), call([user("c")], said("d")))) == 2
