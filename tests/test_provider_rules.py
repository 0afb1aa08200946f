"""Section 9: what a provider would refuse, of a recording and of a prompt."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextctl.checks.pairing import pairing_findings
from contextctl.checks.provider_rules import PROFILES, newly_broken, profile_of, provider_findings
from contextctl.entries import group
from contextctl.errors import CapabilityError, Location, UsageError
from contextctl.findings import Finding, Severity
from contextctl.messages import (
    Message,
    OpaquePart,
    Part,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolResultPart,
)
from contextctl.providers.registry import find_model
from tests.engine_samples import History, histories

BLOCKS = ("anthropic", "bedrock")
ALTERNATING = (*BLOCKS, "gemini")
SIGNED = ThinkingPart(text="hm", signature="sealed")
SEAL = ThinkingPart(signature="sealed")
SYSTEM = Message(role="system", content="be kind")


def says(*parts: Part | str, response: str | None = None) -> Message:
    content = tuple(TextPart(text=part) if isinstance(part, str) else part for part in parts)
    return Message(role="assistant", content=content, response_id=response)


def call(*ids: str, before: Sequence[Part] = (), response: str | None = None) -> Message:
    return says(*before, *(ToolCallPart(id=i, name="find") for i in ids), response=response)


def answer(call_id: str) -> ToolResultPart:
    return ToolResultPart(call_id=call_id, content=(TextPart(text="ok"),))


def tool(*ids: str) -> Message:
    return Message(role="tool", content=tuple(answer(i) for i in ids))


def user(*parts: Part | str) -> Message:
    content = tuple(TextPart(text=part) if isinstance(part, str) else part for part in parts or ("hi",))
    return Message(role="user", content=content)


def placed(messages: Sequence[Message]) -> list[Message]:
    return [m.model_copy(update={"location": Location("r", n)}) for n, m in enumerate(messages, 1)]


def found(profile: str, *messages: Message, calls: Sequence[int] = ()) -> list[tuple[str, str | None]]:
    """The codes for a prompt, each with the entry that it names."""
    told = provider_findings(profile, messages, where="prompt", calls=calls)
    return [(item.code, item.entry) for item in told]


def codes(profile: str, *messages: Message, recorded: Sequence[Message] = ()) -> list[str]:
    return [f.code for f in provider_findings(profile, messages, where="prompt", recorded=recorded)]


def recording(profile: str, *messages: Message, calls: Sequence[int] = ()) -> list[str]:
    return [f.code for f in provider_findings(profile, messages, where="recording", calls=calls)]


@pytest.mark.parametrize("profile", PROFILES)
def test_a_whole_tool_loop_has_no_findings(profile: str) -> None:
    messages = [
        SYSTEM,
        user(),
        call("a", "b", before=[SEAL]),
        tool("a"),
        tool("b"),
        says("done"),
        user("next"),
    ]
    messages += [call("c", before=[SEAL])]
    assert found(profile, *messages) == []
    assert recording(profile, *messages, calls=[2, 5, 7]) == []


@given(histories())
def test_what_is_never_broken_in_a_history_is_never_told_of_it(history: History) -> None:
    pairs = {"CTX212", "CTX213", "CTX214", "CTX215", "CTX216", "CTX217"}
    for profile in PROFILES:
        told = provider_findings(profile, history.messages, where="prompt")
        assert not [item for item in told if item.code in pairs]


@pytest.mark.parametrize("profile", PROFILES)
def test_orphans_second_results_and_calls_without_one_are_told_of_a_prompt(profile: str) -> None:
    messages = [user(), tool("x"), call("a"), tool("a"), tool("a"), call("b"), user()]
    assert found(profile, *messages) == [("CTX212", "m2"), ("CTX213", "m5"), ("CTX214", "m6")]


@pytest.mark.parametrize("profile", PROFILES)
def test_what_pairing_tells_of_a_recording_is_not_told_again(profile: str) -> None:
    messages = [
        user(),
        tool("x"),
        call("a"),
        tool("a"),
        tool("a"),
        call("b"),
        user(),
        tool("b"),
        call("c"),
        user(),
    ]
    assert recording(profile, *messages) == []
    told = [finding.code for finding in pairing_findings(group(messages)[1], messages)]
    assert told == ["CTX020", "CTX021", "CTX022", "CTX023"]


@pytest.mark.parametrize("profile", PROFILES)
def test_a_call_that_waits_at_the_end_is_no_fault(profile: str) -> None:
    assert found(profile, user(), call("a", "b"), tool("a")) == []


@pytest.mark.parametrize("profile", PROFILES)
def test_a_reused_id_pairs_with_the_nearest_call(profile: str) -> None:
    assert found(profile, user(), call("x"), tool("x"), call("x"), tool("x"), says("ok")) == []


@pytest.mark.parametrize("profile", PROFILES)
def test_a_message_without_content_is_refused_by_all(profile: str) -> None:
    assert found(profile, user(), says("ok"), Message(role="user")) == [("CTX215", "m3")]


@pytest.mark.parametrize("profile", PROFILES)
def test_a_blank_message_is_an_error_for_anthropic_and_a_note_elsewhere(profile: str) -> None:
    (told,) = provider_findings(profile, [user(" \n")], where="prompt")
    assert told.code == "CTX215"
    assert told.severity is (Severity.ERROR if profile in BLOCKS else Severity.NOTE)


def test_a_blank_text_beside_others_is_refused_by_anthropic_but_an_empty_one_beside_a_call_is_none() -> None:
    assert codes("anthropic", user("", "hi")) == ["CTX215"]
    assert codes("anthropic", user(), says("", ToolCallPart(id="a", name="find"))) == []
    assert codes("anthropic", user(), says(" ", ToolCallPart(id="a", name="find"))) == ["CTX215"]
    for profile in ("openai-chat", "openai-responses", "gemini"):
        assert codes(profile, user("", "hi")) == []


def test_an_empty_result_is_no_fault() -> None:
    nothing = Message(role="tool", content=(ToolResultPart(call_id="a"),))
    for profile in PROFILES:
        assert found(profile, user(), call("a"), nothing) == []


def test_a_result_that_does_not_directly_follow_its_call_is_told_but_for_the_responses_api() -> None:
    for between in (user("wait"), says("well")):
        messages = [user(), call("a"), between, tool("a")]
        for profile in ("openai-chat", "gemini"):
            assert ("CTX216", "m2") in found(profile, *messages)
        assert found("openai-responses", *messages) == []
    assert found("anthropic", user(), call("a"), user("wait"), tool("a")) == [("CTX216", "m2")]


def test_anthropic_merges_neighbours_so_that_an_answer_and_its_results_may_be_several_messages() -> None:
    several = [user(), call("a"), call("b"), tool("a"), tool("b"), user("next")]
    assert codes("anthropic", *several) == []
    assert codes("openai-chat", *several) == ["CTX216"]
    assert codes("anthropic", user(), call("a"), says("and so"), tool("a")) == []


def test_lines_of_one_response_are_one_answer_wherever_they_stand() -> None:
    lines = [user(), call("a", response="r"), tool("a"), call("b", response="r"), tool("b"), says("ok")]
    for profile in PROFILES:
        assert found(profile, *lines) == []


def test_a_result_after_text_in_its_message_is_told_for_anthropic_in_a_recording_too() -> None:
    messages = [user(), call("a"), user("so", answer("a"))]
    for profile in BLOCKS:
        assert codes(profile, *messages) == ["CTX217"]
        assert recording(profile, *messages) == ["CTX217"]
    assert codes("openai-chat", *messages) == []
    assert codes("anthropic", user(), call("a"), user(answer("a"), "so")) == []


def test_a_result_after_the_text_of_an_earlier_message_of_results_is_told_where_pairing_does_not() -> None:
    messages = [user(), call("a", "b"), user(answer("a"), "so"), user(answer("b"))]
    assert recording("anthropic", *messages) == ["CTX216"]
    assert pairing_findings(group(messages)[1], messages) == []


def test_the_first_message_is_the_users_where_the_system_prompt_stands_apart() -> None:
    for profile in PROFILES:
        told = found(profile, SYSTEM, says("hello"), user())
        assert told == ([("CTX218", "m2")] if profile in ALTERNATING else [])


def test_a_system_message_in_mid_prompt_is_told_where_the_system_prompt_stands_apart() -> None:
    developer = Message(role="developer", content="now be brief")
    for profile in PROFILES:
        told = found(profile, SYSTEM, developer, user(), developer, says("ok"))
        assert told == ([("CTX221", "m4")] if profile in ALTERNATING else [])


def test_neighbours_of_one_role_are_told_for_gemini_but_results_join_what_follows() -> None:
    assert found("gemini", user(), user("and")) == [("CTX222", "m2")]
    assert found("gemini", user(), says("a"), SYSTEM, says("b")) == [("CTX221", "m3"), ("CTX222", "m4")]
    assert found("gemini", user(), says("a", response="r"), says("b", response="r")) == []
    assert found("gemini", user(), call("a", "b"), tool("a"), tool("b"), user("next")) == []
    assert found("anthropic", user(), user("and")) == []


def test_a_first_call_without_the_signature_that_others_of_its_open_loop_have_is_told_for_gemini() -> None:
    loop = [user(), call("a", "b", before=[SEAL]), tool("a", "b"), call("c"), tool("c")]
    assert found("gemini", *loop) == [("CTX223", "m4")]
    assert codes("gemini", *loop, user("next")) == []
    assert codes("openai-chat", *loop) == []


def test_a_signature_that_only_the_recording_has_is_missing_from_the_prompt() -> None:
    recorded = [user(), call("a", before=[SEAL]), tool("a")]
    assert codes("gemini", user(), call("a"), tool("a"), recorded=recorded) == ["CTX223"]
    assert codes("gemini", user(), call("a"), tool("a"), recorded=[user(), call("a"), tool("a")]) == []


def test_reasoning_without_the_item_that_it_came_with_is_told_for_the_responses_api() -> None:
    lonely = [user(), says(SIGNED), user("next")]
    assert found("openai-responses", *lonely) == [("CTX224", "m2")]
    assert found("openai-chat", *lonely) == []
    assert found("openai-responses", user(), says(SIGNED), says("ok", response="other"), user()) == []
    recap = says(SEAL).model_copy(update={"recap": True})
    assert found("openai-responses", recap, user()) == []
    assert found("openai-responses", user(), says(SIGNED)) == []


def test_what_a_request_ends_on_is_asked_of_recorded_calls_only() -> None:
    messages = [user(), says("one"), says("two"), user(), says("three")]
    for profile in BLOCKS:
        assert found(profile, *messages) == []
        assert found(profile, *messages, calls=[1, 2, 4]) == [("CTX225", "m2")]
        assert recording(profile, *messages, calls=[1, 2, 4]) == ["CTX225"]
        assert found(profile, *messages, calls=[5]) == [("CTX225", "m5")]
    assert found("openai-chat", *messages, calls=[2, 5]) == []


def test_gemini_is_told_of_two_answers_in_a_row_once() -> None:
    messages = [user(), says("one"), says("two")]
    assert recording("gemini", *messages, calls=[1, 2]) == ["CTX222"]
    assert found("gemini", user(), says("one"), calls=[2]) == [("CTX225", "m2")]


def test_a_call_of_a_branch_that_was_rewound_is_not_asked_what_it_ended_on() -> None:
    gone = says("two").model_copy(update={"superseded": "rewind"})
    assert recording("anthropic", user(), says("one"), gone, user(), says("ok"), calls=[1, 2, 4]) == []


def test_thinking_that_the_recording_has_and_the_prompt_has_not_breaks_its_open_loop() -> None:
    recorded = [user(), call("a", before=[SIGNED]), tool("a"), call("b", before=[SIGNED]), tool("b")]
    bare = [user(), call("a", before=[SIGNED]), tool("a"), call("b"), tool("b")]
    for profile in BLOCKS:
        assert "CTX219" in codes(profile, *bare, recorded=recorded)
        assert "CTX219" not in codes(profile, *bare, says("done"), recorded=[*recorded, says("done")])
        assert "CTX219" not in codes(profile, *bare, recorded=bare)
    assert codes("openai-chat", *bare, recorded=recorded) == []


def test_a_loop_whose_beginning_is_lost_is_broken_where_only_its_beginning_had_thinking() -> None:
    recorded = [user(), call("a", before=[SIGNED]), tool("a"), call("b"), tool("b")]
    assert codes("anthropic", user(), call("b"), tool("b"), recorded=recorded) == ["CTX219"]


def test_without_a_recording_only_a_first_answer_is_missed_whose_loop_thinks_ever_after() -> None:
    last = [call("b", before=[SIGNED]), tool("b")]
    assert codes("anthropic", user(), call("a"), tool("a"), *last) == ["CTX219"]
    assert codes("anthropic", user(), call("a"), tool("a"), *last, call("c"), tool("c")) == []
    assert codes("anthropic", user(), *last, call("c"), tool("c")) == []


def test_a_reminder_beside_results_does_not_end_a_loop() -> None:
    loop = [user(), call("a"), tool("a"), user("mind the gap"), call("b", before=[SIGNED]), tool("b")]
    assert codes("anthropic", *loop) == ["CTX219"]


def test_signed_blocks_after_a_changed_history_are_told_once_and_weigh_more_in_an_open_loop() -> None:
    old = [SYSTEM, user("a"), says("b"), user("c"), says(SIGNED, "d"), user("e")]
    recorded = [*old, call("x", before=[SIGNED]), tool("x")]
    cut = [SYSTEM, *recorded[3:]]
    (told,) = provider_findings("anthropic", cut, where="prompt", recorded=recorded)
    assert (told.code, told.severity, told.entry) == ("CTX220", Severity.WARNING, "m5")
    assert told.message.startswith("2 signed thinking blocks")
    (told,) = provider_findings("anthropic", cut[:4], where="prompt", recorded=old)
    assert (told.severity, told.entry) == (Severity.NOTE, "m3")
    assert codes("anthropic", *recorded, recorded=recorded) == []
    assert codes("anthropic", *recorded[:-2], recorded=recorded) == []
    assert codes("anthropic", *cut) == []
    assert codes("gemini", *old[:2], *old[4:], recorded=old) == []


def test_nothing_superseded_is_looked_at() -> None:
    gone = [m.model_copy(update={"superseded": "compaction"}) for m in (says("x"), tool("y"), call("z"))]
    for profile in PROFILES:
        assert found(profile, *gone, user(), *gone, says("ok")) == []


def test_of_a_recording_nothing_is_more_than_a_warning() -> None:
    messages = [says("a"), SYSTEM, user(" "), Message(role="user"), call("a"), user("so", answer("a"))]
    for profile in PROFILES:
        told = provider_findings(profile, messages, where="recording")
        assert all(item.severity is not Severity.ERROR for item in told)
        assert [f.code for f in told if f.code not in PAIRS] == [
            f.code for f in provider_findings(profile, messages, where="prompt") if f.code not in PAIRS
        ]


PAIRS = {"CTX212", "CTX213", "CTX214", "CTX216"}


def test_a_finding_names_place_section_entry_and_a_way_out_and_quotes_nothing() -> None:
    secret = says("secret words").model_copy(
        update={"location": Location("r", 7), "section": "recent", "id": "first"}
    )
    (told,) = provider_findings("anthropic", [secret], where="prompt")
    assert (told.location.line, told.section, told.entry) == (7, "recent", "first")
    assert told.hint
    assert "secret" not in repr(told)


def lint(profile: str, messages: Sequence[Message]) -> list[Finding]:
    told = provider_findings(profile, messages, where="recording")
    return told + pairing_findings(group(messages)[1], messages)


@pytest.mark.parametrize("place", [placed, list], ids=["with places", "without places"])
def test_only_what_the_recording_did_not_have_is_newly_broken(place: object) -> None:
    assert callable(place)
    broken = [user(), tool("x"), call("a"), user("wait"), tool("a"), says("ok"), user(" ")]
    recorded = place([*broken, call("b"), tool("b")])
    same = provider_findings("anthropic", recorded, where="prompt", recorded=recorded)
    assert {item.code for item in same} == {"CTX212", "CTX215", "CTX216"}
    assert newly_broken(lint("anthropic", recorded), same) == []
    cut = [*recorded[:7], recorded[8]]
    told = provider_findings("anthropic", cut, where="prompt", recorded=recorded)
    (new,) = newly_broken(lint("anthropic", recorded), told)
    assert new.code == "CTX212"


def test_an_unknown_profile_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UsageError) as caught:
        provider_findings("cohere", [user()], where="prompt")
    assert "openai-responses" in str(caught.value.hint)


@pytest.mark.parametrize(
    ("name", "profile"),
    [
        ("gpt-4o", "openai-chat"),
        ("claude-sonnet-4-5", "anthropic"),
        ("gemini-2.5-flash", "gemini"),
        ("anthropic.claude-3-haiku-20240307-v1:0", "anthropic"),
    ],
)
def test_a_models_profile_comes_from_its_row_of_the_registry(name: str, profile: str) -> None:
    try:
        record = find_model(name)
    except CapabilityError:
        pytest.fail(f"{name} is not in the registry")
    assert profile_of(record.provider, record.framing) == profile


def test_a_profile_is_known_without_a_row_too() -> None:
    assert profile_of(None, None) == "openai-chat"
    assert profile_of("plan", "anthropic-4.5") == "anthropic"
    assert profile_of("plan", "gemini-flat") == "gemini"
    assert profile_of("bedrock", "plain") == "bedrock"
    assert profile_of("openai", "openai-chat", "codex") == "openai-responses"
    assert profile_of("anthropic", None, "codex") == "anthropic"
    assert profile_of("mistral", "plain") == "openai-chat"


@given(st.data())
def test_parts_of_unknown_kinds_are_content(data: st.DataObject) -> None:
    part = OpaquePart(kind="widget", data="{}")
    profile = data.draw(st.sampled_from(PROFILES))
    assert found(profile, user(part), says(part)) == []
