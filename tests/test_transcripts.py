"""Bytes -> transcripts: the shapes of OpenAI chat, our own format, tau-bench, and how they are told apart."""

from __future__ import annotations

import gzip
import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contextctl.errors import TranscriptError, UsageError
from contextctl.findings import RULES
from contextctl.messages import (
    AudioPart,
    FilePart,
    FoldCounts,
    ImagePart,
    Message,
    OpaquePart,
    RefusalPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolResultPart,
)
from contextctl.recording import Transcript
from contextctl.transcripts import READERS, read_transcripts
from contextctl.transcripts.detection import FORMATS, detect

SECRET = "marigold"
HELLO = {"role": "user", "content": "hello"}
TOOL = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}
CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"a": 1}'}}


def jsonl(*rows: object) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def read(*rows: object, path: str = "logs/chat.jsonl") -> tuple[Transcript, ...]:
    return read_transcripts(jsonl(*rows), path)


def message(row: dict[str, object]) -> Message:
    (transcript,) = read(row)
    assert not transcript.findings
    (only,) = transcript.messages
    return only


def told(transcript: Transcript) -> list[tuple[str, int | str | None]]:
    return [(item.code, item.location.record) for item in transcript.findings]


def refusal(data: bytes, path: str = "chat.jsonl", format: str | None = None) -> TranscriptError:
    with pytest.raises(TranscriptError) as caught:
        read_transcripts(data, path, format)
    return caught.value


# Shapes of a file


def test_a_message_a_line_is_one_transcript_named_after_the_file() -> None:
    (transcript,) = read(HELLO, {"role": "assistant", "content": "hi"})
    assert (transcript.id, transcript.path, transcript.format) == ("chat", "logs/chat.jsonl", "openai-chat")
    assert [str(item.location) for item in transcript.messages] == ["logs/chat.jsonl:1", "logs/chat.jsonl:2"]
    assert transcript.calls == 1


def test_a_request_a_line_is_a_transcript_of_its_own_with_its_settings() -> None:
    request = {
        "model": "gpt-4o",
        "messages": [HELLO, HELLO],
        "tools": [TOOL],
        "tool_choice": "auto",
        "response_format": {"type": "json_object"},
    }
    first, second = read(request, {"messages": [HELLO]})
    assert (first.id, second.id) == ("chat#1", "chat#2")
    assert (first.model, second.model) == ("gpt-4o", None)
    assert first.settings.tools == (TOOL,)
    assert first.settings.tool_choice == "auto"
    assert first.settings.response_format == {"type": "json_object"}
    assert not first.settings.legacy
    assert second.settings.tools is None
    assert [item.location and item.location.record for item in first.messages] == ["1:1", "1:2"]
    assert [item.location and item.location.record for item in second.messages] == ["2:1"]


def test_functions_are_tools_of_the_older_kind() -> None:
    (transcript,) = read({"messages": [HELLO], "functions": [{"name": "look"}], "function_call": "auto"})
    assert transcript.settings.tools == ({"name": "look"},)
    assert transcript.settings.tool_choice == "auto"
    assert transcript.settings.legacy


def test_batch_lines_are_read_by_their_body_and_named_by_their_id() -> None:
    rows = [{"custom_id": f"job-{n}", "body": {"model": "gpt-4o", "messages": [HELLO]}} for n in (7, 8)]
    assert [(item.id, item.model) for item in read(*rows)] == [("job-7", "gpt-4o"), ("job-8", "gpt-4o")]


@pytest.mark.parametrize("indent", [None, 2])
def test_one_document_may_be_a_conversation_a_list_of_them_or_a_list_of_messages(indent: int | None) -> None:
    conversation = {"messages": [HELLO, HELLO]}
    for document, count in ((conversation, 1), ([conversation, conversation], 2), ([HELLO, HELLO], 1)):
        transcripts = read_transcripts(json.dumps(document, indent=indent).encode(), "a.json")
        assert len(transcripts) == count
        for transcript in transcripts:
            assert [item.location and item.location.record for item in transcript.messages] == ["1:1", "1:2"]


def test_ids_are_unique_in_a_file() -> None:
    rows = [{"id": name, "messages": [HELLO]} for name in ("a", "b", "a", "a#2", "a")]
    names = [item.id for item in read(*rows)]
    assert len(set(names)) == 5
    assert names[:2] == ["a", "b"]
    assert names[3] == "a#2"


def test_the_name_of_a_file_does_not_decide() -> None:
    assert read_transcripts(jsonl(HELLO), "x.yaml") and read_transcripts(jsonl([HELLO]), "x.jsonl")


def test_standard_input_is_named_so() -> None:
    assert read(HELLO, path="-")[0].id == "stdin"


# Messages


@pytest.mark.parametrize(
    ("fields", "parts"),
    [
        ({"content": None}, ()),
        ({}, ()),
        ({"content": ""}, (TextPart(text=""),)),
        ({"content": []}, ()),
        ({"content": [{"type": "text", "text": ""}]}, (TextPart(text=""),)),
        ({"refusal": "no", "content": None}, (RefusalPart(text="no"),)),
        (
            {"content": None, "tool_calls": [CALL]},
            (ToolCallPart(id="c1", name="look", arguments='{"a": 1}'),),
        ),
        ({"content": "x", "tool_calls": None, "refusal": None, "function_call": None}, (TextPart(text="x"),)),
    ],
)
def test_empty_content_in_every_spelling_is_a_message(
    fields: dict[str, object], parts: tuple[object, ...]
) -> None:
    assert message({"role": "assistant", **fields}).content == parts


def test_every_kind_of_part_is_kept() -> None:
    content = [
        {"type": "text", "text": "t"},
        {"type": "image_url", "image_url": {"url": "http://x/y.png", "detail": "low"}},
        {"type": "input_audio", "input_audio": {"format": "wav", "data": "AA"}},
        {"type": "file", "file": {"filename": "a.pdf", "file_id": "f"}},
        {"type": "refusal", "refusal": "r"},
        {"type": "video_url", "b": 1, "a": 2},
        {"b": 1},
    ]
    assert message({"role": "user", "content": content}).content == (
        TextPart(text="t"),
        ImagePart(url="http://x/y.png", detail="low"),
        AudioPart(data='{"input_audio":{"data":"AA","format":"wav"},"type":"input_audio"}'),
        FilePart(name="a.pdf", data='{"file":{"file_id":"f","filename":"a.pdf"},"type":"file"}'),
        RefusalPart(text="r"),
        OpaquePart(kind="video_url", data='{"a":2,"b":1,"type":"video_url"}'),
        OpaquePart(kind="untyped", data='{"b":1}'),
    )


def test_reasoning_stands_before_the_answer_it_came_with() -> None:
    parts = message({"role": "assistant", "content": "a", "reasoning_content": "r"}).content
    assert parts == (ThinkingPart(text="r"), TextPart(text="a"))


def test_calls_keep_their_ids_order_and_arguments_as_recorded() -> None:
    calls = [
        {"id": "c1", "function": {"name": "a", "arguments": ' {"x": 1}'}},
        {"function": {"name": "b", "arguments": {"y": [1, "é"], "x": 2}}},
        {"id": None, "function": {"name": "c"}},
        {"id": "c4", "type": "custom", "custom": {"name": "d", "input": "free text"}},
    ]
    assert message({"role": "assistant", "tool_calls": calls}).calls == (
        ToolCallPart(id="c1", name="a", arguments=' {"x": 1}'),
        ToolCallPart(name="b", arguments='{"y":[1,"é"],"x":2}'),
        ToolCallPart(name="c"),
        ToolCallPart(id="c4", name="d", arguments="free text"),
    )


def test_the_older_call_and_its_result_are_read_without_ids() -> None:
    rows = [
        {"role": "assistant", "content": None, "function_call": {"name": "look", "arguments": "{}"}},
        {"role": "function", "name": "look", "content": "seen"},
    ]
    (transcript,) = read(*rows)
    assert transcript.messages[0].calls == (ToolCallPart(name="look", arguments="{}", legacy=True),)
    assert transcript.messages[1].results == (ToolResultPart(name="look", content=(TextPart(text="seen"),)),)


@pytest.mark.parametrize("content", ["seen", [{"type": "text", "text": "seen"}]])
def test_a_tool_message_is_one_result(content: object) -> None:
    row = {"role": "tool", "tool_call_id": "c1", "name": "look", "content": content}
    result = ToolResultPart(call_id="c1", name="look", content=(TextPart(text="seen"),))
    assert message(row).content == (result,)


def test_fields_for_storage_are_not_content() -> None:
    """Times, usage, metadata and the like leave a message as it is without them (an id names it)."""
    stored = {**HELLO, "timestamp": "now", "usage": {"n": 1}, "cwd": "/x", "metadata": {"note": "y" * 2000}}
    assert message(stored).content == message(HELLO).content
    assert message({**stored, "id": "m1"}).id == "m1"


def test_half_characters_stay_as_they_are() -> None:
    data = b'{"role": "user", "name": "b\\ud83d", "content": "cut \\ud83d"}\n'
    (transcript,) = read_transcripts(data, "x")
    assert transcript.messages[0].name == "b\ud83d"
    assert transcript.messages[0].content == (TextPart(text="cut \ud83d"),)


def test_a_message_with_an_unknown_role_is_an_error_and_is_kept() -> None:
    (transcript,) = read(HELLO, {"role": "[/role]", "content": "x"})
    assert told(transcript) == [("CTX015", 2)]
    assert "'[/role]'" in transcript.findings[0].message
    assert transcript.messages[1].role == "[/role]"
    assert transcript.messages[1].content == (TextPart(text="x"),)
    assert transcript.skipped == 0


@pytest.mark.parametrize(
    "row",
    [
        None,
        42,
        SECRET,
        [],
        [SECRET],
        {},
        {"content": SECRET},
        {"role": None, "content": SECRET},
        {"role": 3, "content": SECRET},
        {"role": "user", "content": 3},
        {"role": "user", "content": True},
        {"role": "user", "content": {"text": SECRET}},
        {"role": "user", "content": [3]},
        {"role": "user", "content": [None]},
        {"role": "user", "content": [{"type": "text", "text": 3, "x": SECRET}]},
        {"role": "user", "content": [{"type": "image_url"}]},
        {"role": "user", "content": SECRET, "name": 3},
        {"role": "assistant", "tool_calls": SECRET},
        {"role": "assistant", "tool_calls": [SECRET]},
        {"role": "assistant", "tool_calls": [{"id": "c", "function": {"arguments": SECRET}}]},
        {"role": "assistant", "tool_calls": [{"id": 3, "function": {"name": "a", "arguments": SECRET}}]},
        {"role": "assistant", "tool_calls": [{"function": {"name": "a", "arguments": 3}}]},
        {"role": "assistant", "function_call": SECRET},
        {"role": "assistant", "refusal": [SECRET]},
        {"role": "tool", "tool_call_id": 3, "content": SECRET},
    ],
)
def test_a_record_that_is_no_message_is_reported_by_line_and_the_others_are_read(row: object) -> None:
    (transcript,) = read(HELLO, row, HELLO)
    assert len(transcript.messages) == 2
    assert told(transcript) == [("CTX011", 2)]
    assert transcript.skipped == 1
    assert SECRET not in str(transcript.findings)
    assert transcript.findings[0].hint


def test_what_is_no_message_in_a_list_of_messages_is_reported_by_line_and_place() -> None:
    (transcript,) = read({"messages": [HELLO, "text", None, HELLO]})
    assert told(transcript) == [("CTX011", "1:2"), ("CTX011", "1:3")]
    assert (len(transcript.messages), transcript.skipped) == (2, 2)


def test_non_finite_numbers_are_taken_beside_the_text_and_refused_in_it() -> None:
    (transcript,) = read({**HELLO, "logprob": math.nan}, {"role": "assistant", "content": math.inf})
    assert told(transcript) == [("CTX025", 1), ("CTX011", 2), ("CTX025", 2)]
    call = {"id": "c", "function": {"name": "f", "arguments": {"x": math.nan}}}
    (transcript,) = read(HELLO, {"role": "assistant", "tool_calls": [call]})
    assert told(transcript) == [("CTX011", 2), ("CTX025", 2)]


@pytest.mark.parametrize("tools", [SECRET, [SECRET], {"a": 1}, [None]])
def test_tool_definitions_of_a_wrong_shape_are_an_error(tools: object) -> None:
    (transcript,) = read({"messages": [HELLO], "tools": tools})
    assert told(transcript) == [("CTX011", 1)]
    assert transcript.settings.tools is None
    assert SECRET not in str(transcript.findings)


def test_calls_without_recorded_definitions_lack_their_tools() -> None:
    calling = {"role": "assistant", "tool_calls": [CALL]}
    assert read(HELLO, calling)[0].lacks == ("tools",)
    assert read(HELLO)[0].lacks == ()
    assert read({"messages": [calling], "tools": [TOOL]})[0].lacks == ()


# Whole files that cannot be used


@pytest.mark.parametrize(
    "data", [b"", b"\n\n", b" \r\n", b"\xef\xbb\xbf", b"[]", b'{"messages": []}', b'{"contextctl": 1}\n']
)
def test_a_file_without_messages_has_nothing_to_audit(data: bytes) -> None:
    error = refusal(data)
    assert [problem.code for problem in error.problems] == ["CTX013"]
    assert "nothing to audit" in str(error)


def test_an_empty_conversation_among_others_is_an_error_of_its_own_line() -> None:
    first, second = read({"messages": [HELLO]}, {"messages": []})
    assert not first.findings
    assert told(second) == [("CTX013", 2)]


def test_a_file_in_which_every_record_is_broken_is_refused_with_every_problem() -> None:
    error = refusal(b'{"role": user}\n{"role": "user" "x"}\n{"role": "us')
    assert [(p.code, p.location.line) for p in error.problems] == [
        ("CTX010", 1),
        ("CTX010", 2),
        ("CTX016", 3),
    ]
    error = refusal(jsonl({"role": 1}, {"role": "user", "content": 3}), format="openai-chat")
    assert [(p.code, p.location.line) for p in error.problems] == [("CTX011", 1), ("CTX011", 2)]


def test_a_format_that_is_not_understood_names_the_keys_and_the_known_formats() -> None:
    error = refusal(jsonl({"beta": SECRET, "alpha": 1, f"{SECRET} and more": 2}))
    (problem,) = error.problems
    assert problem.code == "CTX014"
    assert "alpha, beta" in problem.message
    assert SECRET not in str(error)
    assert all(name in (problem.hint or "") for name in READERS)


@pytest.mark.parametrize("data", [b"42\n", b'"text"\n', b"null\n"])
def test_json_without_an_object_is_not_understood(data: bytes) -> None:
    assert refusal(data).rule == "CTX014"


@pytest.mark.parametrize(
    ("data", "word"),
    [
        pytest.param(gzip.compress(gzip.compress(b"{}")), "gzip", id="gzip"),
        (b"PK\x03\x04\x00", "zip"),
        ('{"role": "user"}'.encode("utf-16"), "UTF-16"),
    ],
)
def test_packed_bytes_are_refused_in_one_line_that_says_what_they_are(data: bytes, word: str) -> None:
    (problem,) = refusal(data).problems
    assert word in problem.message
    assert problem.hint


@pytest.mark.parametrize(
    "request_line",
    [
        {"system": "s", "messages": [HELLO]},
        {"messages": [HELLO], "tools": [{"name": "a", "input_schema": {}}]},
        {
            "messages": [
                {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "a", "input": {}}]}
            ]
        },
        {"messages": [{"role": "user", "content": [{"type": "image", "source": {}}]}]},
        {"model": "claude-x", "messages": [HELLO]},
    ],
)
def test_another_providers_shape_is_named_also_where_the_sign_of_it_comes_in_a_later_line(
    request_line: dict[str, object],
) -> None:
    assert detect(jsonl(request_line)) == "anthropic"
    assert detect(jsonl({"messages": [HELLO]}, request_line)) == "anthropic"


def test_media_listed_beside_the_messages_are_read_or_told_of_and_not_left_out() -> None:
    (transcript,) = read({"messages": [HELLO], "images": ["a.png"]})
    assert (transcript.format, told(transcript)) == ("sharegpt", [("CTX011", 1)])


def test_an_unknown_format_name_is_a_usage_error_with_the_known_ones() -> None:
    with pytest.raises(UsageError) as caught:
        read_transcripts(b"", "x", "openai")
    assert "openai-chat" in (caught.value.hint or "")


def test_every_reader_has_a_signature() -> None:
    assert set(READERS) <= {name for name, _ in FORMATS}


def test_a_named_format_is_not_guessed() -> None:
    assert read_transcripts(jsonl(HELLO), "x", "contextctl")[0].format == "contextctl"


# Our own format


@pytest.mark.parametrize("row", [{**HELLO, "section": "recent"}, {**HELLO, "pinned": True}])
def test_a_key_of_our_own_in_any_record_makes_a_file_ours(row: dict[str, object]) -> None:
    assert detect(jsonl(HELLO, row)) == "contextctl"
    assert detect(jsonl({"messages": [HELLO]}, {"messages": [row]})) == "contextctl"
    assert detect(jsonl(*[HELLO] * 100, row)) == "contextctl"
    assert detect(jsonl(HELLO)) == "openai-chat"


def test_our_fields_travel_on_the_message() -> None:
    row = {
        **HELLO,
        "id": "n1",
        "section": "recent",
        "pinned": True,
        "protected": True,
        "response_id": "r1",
        "kind": "note",
        "stands_for": ["m1", "m2"],
        "folded": {"entries": 2, "messages": 3, "tokens": 40},
        "usage": {"prompt_tokens": 5},
    }
    read_back = message(row)
    assert read_back.id == "n1"
    assert read_back.section == "recent"
    assert read_back.pinned and read_back.protected
    assert read_back.response_id == "r1"
    assert read_back.kind == "note"
    assert read_back.stands_for == ("m1", "m2")
    assert read_back.folded == FoldCounts(entries=2, messages=3, tokens=40)
    assert read_back.content == (TextPart(text="hello"),)


def test_a_header_names_the_conversation_and_holds_its_settings() -> None:
    header = {"contextctl": 1, "id": "trip", "model": "gpt-4o", "tools": [TOOL], "tool_choice": "auto"}
    (transcript,) = read(header, HELLO)
    assert (transcript.id, transcript.model, transcript.format) == ("trip", "gpt-4o", "contextctl")
    assert transcript.settings.tools == (TOOL,)
    assert transcript.settings.tool_choice == "auto"
    assert [item.location and item.location.line for item in transcript.messages] == [2]


def test_our_format_with_a_conversation_a_line() -> None:
    rows = [
        {"contextctl": 1, "id": name, "messages": [{**HELLO, "section": "recent"}]} for name in ("a", "b")
    ]
    transcripts = read(*rows)
    assert [item.id for item in transcripts] == ["a", "b"]
    assert [item.messages[0].section for item in transcripts] == ["recent", "recent"]


@pytest.mark.parametrize("version", [2, 0, "1", 1.0, True, None])
def test_an_unknown_version_is_refused(version: object) -> None:
    (problem,) = refusal(jsonl({"contextctl": version}, HELLO)).problems
    assert problem.code == "CTX014"
    assert "version 1" in problem.message


def test_a_header_that_is_not_first_is_reported() -> None:
    (transcript,) = read({"contextctl": 1}, HELLO, {"contextctl": 1}, HELLO)
    assert told(transcript) == [("CTX011", 3)]
    assert len(transcript.messages) == 2


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("id", 3),
        ("id", ""),
        ("section", ["a"]),
        ("pinned", "yes"),
        ("pinned", 1),
        ("protected", "no"),
        ("response_id", {}),
        ("kind", "story"),
        ("stands_for", "m1"),
        ("stands_for", [1]),
        ("folded", {"entries": 1}),
        ("folded", {"entries": 1, "messages": 1, "tokens": -1}),
        ("usage", 3),
    ],
)
def test_a_field_of_ours_with_a_wrong_type_is_an_error_and_the_message_is_kept(
    key: str, value: object
) -> None:
    (transcript,) = read({"contextctl": 1}, {**HELLO, key: value})
    assert told(transcript) == [("CTX011", 2)]
    assert f"'{key}'" in transcript.findings[0].message
    assert len(transcript.messages) == 1
    assert transcript.skipped == 0


# tau-bench


def test_tau_bench_runs_are_conversations_that_lack_their_tools() -> None:
    runs = [{"task_id": n, "trial": 0, "reward": 1.0, "info": {}, "traj": [HELLO]} for n in (3, 4)]
    transcripts = read_transcripts(json.dumps(runs).encode(), "runs.json")
    assert [item.id for item in transcripts] == ["task-3-trial-0", "task-4-trial-0"]
    assert {item.format for item in transcripts} == {"tau-bench"}
    assert {item.lacks for item in transcripts} == {("tools",)}


def test_a_broken_tau_bench_run_is_reported_and_the_others_are_read() -> None:
    transcripts = read_transcripts(json.dumps([{"traj": [HELLO]}, 3, {"task_id": 1}]).encode(), "runs.json")
    assert [len(item.messages) for item in transcripts] == [1, 0, 0]
    assert [told(item) for item in transcripts] == [[], [("CTX011", "1:2")], [("CTX011", "1:3")]]


# What holds for any bytes

CHAT = jsonl(
    {"contextctl": 1, "id": "trip", "tools": [TOOL]},
    {"role": "system", "content": "be brief", "pinned": True},
    {
        "role": "user",
        "content": [{"type": "text", "text": "é 😀"}, {"type": "image_url", "image_url": {"url": "u"}}],
    },
    {"role": "assistant", "content": None, "tool_calls": [CALL], "section": "recent"},
    {"role": "tool", "tool_call_id": "c1", "content": "seen"},
)
REQUESTS = jsonl({"messages": [HELLO], "tools": [TOOL]}, {"custom_id": "a", "body": {"messages": [HELLO]}})
RUNS = json.dumps([{"task_id": 1, "trial": 0, "traj": [HELLO, HELLO]}], indent=1).encode()
PIECES = [
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b'"',
    b"\n",
    b"null",
    b"1e999",
    b"\xff",
    b"\xc3",
    b'"role":',
    b"3",
    b"{}",
]


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    data = draw(st.sampled_from([CHAT, REQUESTS, RUNS, CHAT[1:] + CHAT, RUNS + REQUESTS]))
    for _ in range(draw(st.integers(0, 3))):
        start = draw(st.integers(0, len(data)))
        end = draw(st.integers(start, min(len(data), start + 8)))
        data = data[:start] + draw(st.sampled_from(PIECES)) + data[end:]
    return data[: draw(st.integers(0, len(data)))] if draw(st.booleans()) else data


json_scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
KEYS = """role content messages tool_calls function name arguments traj body contextctl type text pinned
section id tools model image_url url function_call"""
keys = st.sampled_from(KEYS.split())
odd_values = st.recursive(
    json_scalars | st.sampled_from(["user", "assistant", "tool", "text", "image_url"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=5),
    max_leaves=20,
)


def check(data: bytes, format: str | None) -> None:
    """Transcripts or a TranscriptError; every input finding has a line; ids are unique."""
    try:
        transcripts = read_transcripts(data, "x.jsonl", format)
    except TranscriptError as error:
        assert error.problems
        assert all(problem.code in RULES and problem.location.line for problem in error.problems)
        return
    assert any(item.messages for item in transcripts)
    assert len({item.id for item in transcripts}) == len(transcripts)
    for transcript in transcripts:
        assert all(item.location.line for item in transcript.findings if item.code.startswith("CTX0"))
        errors = [item for item in transcript.findings if item.is_input_error]
        assert transcript.skipped <= len(errors)
        assert transcript.messages or errors


@settings(max_examples=400)
@given(damaged(), st.sampled_from([None, *READERS]))
def test_damaged_files_are_read_or_refused_and_never_crash(data: bytes, format: str | None) -> None:
    """Truncation and strange bytes anywhere end in transcripts or in a TranscriptError with places."""
    check(data, format)


@settings(max_examples=400)
@given(st.lists(odd_values, min_size=1, max_size=4), st.sampled_from([None, *READERS]))
def test_json_of_any_shape_is_read_or_refused_and_never_crashes(
    rows: list[object], format: str | None
) -> None:
    """Values of the wrong type in any place end in transcripts or in a TranscriptError with places."""
    check(jsonl(*rows), format)
    check(json.dumps(rows, indent=1).encode(), format)


def test_the_same_bytes_give_the_same_transcripts() -> None:
    assert read_transcripts(CHAT, "x") == read_transcripts(CHAT, "x")
