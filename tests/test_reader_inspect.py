"""inspect_ai logs: JSON documents and archives, requests from model events, compactions."""

from __future__ import annotations

import json
import zipfile
from io import BytesIO
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contextctl.errors import TranscriptError
from contextctl.messages import ImagePart, TextPart, ThinkingPart, ToolCallPart, Usage, part_texts
from contextctl.recording import Transcript
from contextctl.transcripts import read_transcripts
from contextctl.transcripts.detection import detect
from contextctl.transcripts.inspect import read_inspect
from tests.mutations import EXAMPLES, check_reading, mutated

HASH = "0123456789abcdef0123456789abcdef"
TOOL = {"name": "bash", "description": "runs", "parameters": {"type": "object"}}
TASK = {"id": "m1", "role": "user", "content": "do it", "source": "input"}


def call(identity: str, call_id: str) -> dict[str, Any]:
    calls = [{"id": call_id, "function": "bash", "arguments": {"cmd": "ls"}, "type": "function"}]
    return {"id": identity, "role": "assistant", "content": "", "tool_calls": calls}


def result(identity: str, call_id: str, content: str, **more: object) -> dict[str, Any]:
    named = {"tool_call_id": call_id, "function": "bash"}
    return {"id": identity, "role": "tool", "content": content, **named, **more}


ONE, SEEN, DONE = (
    call("m2", "c1"),
    result("m3", "c1", "a.txt"),
    {"id": "m4", "role": "assistant", "content": "ok"},
)
USAGE = {"input_tokens": 30, "output_tokens": 5, "total_tokens": 135, "input_tokens_cache_read": 100}


def model(inputs: list[Any], answer: Any, **more: object) -> dict[str, Any]:
    output = {"model": "m-1-2025", "choices": [{"message": answer}], "usage": USAGE}
    given = {"input": inputs, "tools": [TOOL], "tool_choice": "auto", "config": {}}
    return {"event": "model", "model": "x/m-1", "timestamp": "t1", **given, "output": output, **more}


def span(identity: str, type: str, name: str, parent: str | None = None) -> dict[str, Any]:
    return {"event": "span_begin", "id": identity, "type": type, "name": name, "parent_id": parent}


def sample(messages: Any, events: Any, **more: object) -> dict[str, Any]:
    return {
        "id": 1,
        "epoch": 1,
        "input": "do it",
        "target": "",
        "messages": messages,
        "events": events,
        **more,
    }


PLAIN = sample([TASK, ONE, SEEN, DONE], [model([TASK], ONE), model([TASK, ONE, SEEN], DONE)])


def log(*samples: object) -> bytes:
    head = {"version": 2, "status": "success", "eval": {"model": "x/m-1"}, "plan": {}}
    return json.dumps({**head, "samples": list(samples)}, indent=1).encode()


def archive(members: dict[str, bytes | Any], *, header: bool = True) -> bytes:
    stream = BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, value in members.items():
            packed.writestr(name, value if isinstance(value, bytes) else json.dumps(value))
        if header:
            packed.writestr("header.json", json.dumps({"version": 2, "eval": {}}))
    return stream.getvalue()


def only(*samples: object) -> Transcript:
    (transcript,) = read_transcripts(log(*samples), "logs/a.json")
    assert transcript.format == "inspect"
    return transcript


def words(messages: Any, *, live: bool = False) -> list[str]:
    return [" ".join(part_texts(m.content)) for m in messages if not (live and m.superseded)]


def test_a_sample_is_a_conversation_with_its_final_messages() -> None:
    transcript = only(PLAIN)
    assert (transcript.id, transcript.model, transcript.lacks) == ("sample-1-epoch-1", "m-1-2025", ())
    assert [message.role for message in transcript.messages] == ["user", "assistant", "tool", "assistant"]
    assert transcript.messages[1].calls == (ToolCallPart(id="c1", name="bash", arguments='{"cmd":"ls"}'),)
    answer = transcript.messages[2].results[0]
    assert (answer.call_id, answer.name, answer.content) == ("c1", "bash", (TextPart(text="a.txt"),))
    assert (str(transcript.messages[2].location), transcript.messages[3].time) == ("logs/a.json:1:3", "t1")
    assert not transcript.findings and not transcript.compactions


def test_every_model_call_is_a_request_with_its_settings_and_usage() -> None:
    transcript = only(PLAIN)
    assert [len(request.messages) for request in transcript.requests] == [1, 3]
    first = transcript.requests[0]
    assert (first.settings.tools, first.settings.tool_choice) == ((TOOL,), "auto")
    assert (first.model, str(first.location)) == ("m-1-2025", "logs/a.json:1:2")
    assert first.usage == Usage(input_tokens=130, cached_tokens=100, output_tokens=5)
    assert transcript.settings == transcript.requests[-1].settings


def test_trap_19_the_usage_of_a_call_is_its_own_and_never_the_sum_over_calls() -> None:
    sums = {"x/m-1": {"input_tokens": 9000, "output_tokens": 10, "total_tokens": 9010}}
    transcript = only({**PLAIN, "model_usage": sums})
    reported = [message.usage.input_tokens for message in transcript.messages if message.usage]
    assert reported == [130, 130]
    assert all(request.usage and request.usage.input_tokens == 130 for request in transcript.requests)


@pytest.mark.parametrize(
    ("usage", "whole"),
    [
        ({"input_tokens": 130, "output_tokens": 5, "total_tokens": 135, "input_tokens_cache_read": 100}, 130),
        ({"input_tokens": 20, "output_tokens": 5, "input_tokens_cache_read": 100}, 120),
        ({"input_tokens": 20, "input_tokens_cache_write": 7}, 27),
        ({}, None),
    ],
)
def test_cached_tokens_are_part_of_the_input_whatever_the_provider_says(
    usage: dict[str, int], whole: int | None
) -> None:
    event = model([TASK], DONE)
    event["output"]["usage"] = usage
    reported = only(sample([TASK, DONE], [event])).messages[1].usage
    assert (reported and reported.input_tokens) == whole


def test_trap_16_attachments_are_resolved_in_messages_requests_and_tools() -> None:
    task = {**TASK, "content": f"attachment://{HASH}"}
    tool = {**TOOL, "description": f"attachment://{HASH}"}
    value = sample([task, DONE], [model([task], DONE, tools=[tool])], attachments={HASH: "a long text"})
    transcript = only(value)
    assert words(transcript.messages) == ["a long text", "ok"]
    assert words(transcript.requests[0].messages) == ["a long text"]
    assert transcript.settings.tools and transcript.settings.tools[0]["description"] == "a long text"


def test_trap_16_inputs_are_taken_from_the_pool_by_their_ranges() -> None:
    events = [model([], ONE, input_refs=[[0, 1]]), model([], DONE, input_refs=[[0, 1], [2, 4]])]
    pool = [TASK, {"id": "x", "role": "user", "content": "not sent"}, ONE, SEEN]
    for stored in ({"message_pool": pool}, {"events_data": {"messages": pool}}):
        transcript = only(sample([TASK, ONE, SEEN, DONE], events, **stored))
        assert [len(request.messages) for request in transcript.requests] == [1, 3]
        assert "not sent" not in words(transcript.requests[1].messages)


def test_an_attachment_that_is_not_in_the_log_is_told_once_and_its_reference_kept() -> None:
    task = {**TASK, "content": f"attachment://{HASH}"}
    transcript = only(sample([task, DONE], [model([task], DONE)]))
    assert [item.code for item in transcript.findings] == ["CTX011"]
    assert words(transcript.messages)[0] == f"attachment://{HASH}"


def test_the_layout_of_2024_has_its_events_and_contents_in_a_transcript() -> None:
    task, done = {"role": "user", "content": "do it"}, {"role": "assistant", "content": "ok"}
    stored = {**task, "content": f"tc://{HASH}"}
    events = [
        model([stored], done),
        {"event": "step", "type": "scorer", "action": "begin"},
        model([{"role": "user", "content": "grade"}], {"role": "assistant", "content": "C"}),
        {"event": "step", "type": "scorer", "action": "end"},
    ]
    value = sample([task, done], None, transcript={"events": events, "content": {HASH: "do it"}})
    del value["events"]
    transcript = only(value)
    assert [words(request.messages) for request in transcript.requests] == [["do it"]]
    assert transcript.messages[1].usage is not None


def test_parts_of_every_kind_are_read() -> None:
    content = [
        {"type": "text", "text": "see"},
        {"type": "image", "image": "data:image/png;base64,AA", "detail": "low"},
        {"type": "audio", "audio": "data:audio/wav;base64,AA", "format": "wav"},
        {"type": "document", "document": "/a.pdf", "filename": "a.pdf"},
    ]
    thought = {"type": "reasoning", "reasoning": "deep", "signature": "sig"}
    hidden = {"type": "reasoning", "reasoning": "0xff", "redacted": True}
    answer = {"role": "assistant", "content": [thought, hidden, {"type": "text", "text": "ok"}]}
    transcript = only(sample([{**TASK, "content": content}, answer], []))
    assert [part.type for part in transcript.messages[0].content] == ["text", "image", "audio", "file"]
    assert transcript.messages[0].content[1] == ImagePart(url="data:image/png;base64,AA", detail="low")
    assert transcript.messages[1].content == (
        ThinkingPart(text="deep", signature="sig"),
        ThinkingPart(signature="0xff"),
        TextPart(text="ok"),
    )


def test_where_a_tool_failed_the_model_read_the_error() -> None:
    failed = result("m3", "c1", "", error={"type": "timeout", "message": "too slow"})
    assert words(only(sample([TASK, ONE, failed], [])).messages)[2] == "too slow"


def test_calls_of_scorers_are_left_out_and_agents_called_as_tools_have_their_own_conversation() -> None:
    grade = {"id": "g1", "role": "user", "content": "grade"}
    ask, told = (
        {"id": "a1", "role": "user", "content": "help"},
        {"id": "a2", "role": "assistant", "content": "so"},
    )
    events = [
        *(span("s1", "solver", "react"), model([TASK], ONE, span_id="s1")),
        *(span("s2", "tool", "helper", "s1"), span("s3", "agent", "helper", "s2")),
        model([ask], told, span_id="s3"),
        model([TASK, ONE, SEEN], DONE, span_id="s1"),
        *(span("s4", "scorers", "scorers"), span("s5", "scorer", "grader", "s4")),
        model([grade], {"id": "g2", "role": "assistant", "content": "C"}, span_id="s5"),
    ]
    main, helper = read_transcripts(log(sample([TASK, ONE, SEEN, DONE], events)), "a.json")
    assert [len(request.messages) for request in main.requests] == [1, 3]
    assert (helper.id, words(helper.messages)) == ("sample-1-epoch-1/helper", ["help", "so"])
    assert len(helper.requests) == 1


def test_a_compaction_supersedes_what_the_last_call_did_not_see_and_keeps_what_stood_for_it() -> None:
    summary = {"id": "z1", "role": "user", "content": "so far", "metadata": {"summary": True}}
    more = call("m5", "c2")
    seen = result("m6", "c2", "long")
    cleared = {**seen, "content": "(cleared)"}
    final = [TASK, ONE, SEEN, more, seen, DONE]
    compacted = {"event": "compaction", "type": "summary", "tokens_before": 900, "tokens_after": 50}
    events = [
        *(model([TASK], ONE), model([TASK, ONE, SEEN], more), compacted),
        model([TASK, summary, more, cleared], DONE),
    ]
    transcript = only(sample(final, events))
    assert words(transcript.messages, live=True) == [
        "do it",
        "so far",
        words([transcript.messages[4]])[0],
        "(cleared)",
        "ok",
    ]
    whole = [message for message in transcript.messages if not message.recap]
    assert len(whole) == len(final)
    assert [message.superseded for message in whole] == [
        *(None, "compaction", "compaction", None),
        *("compaction", None),
    ]
    (told,) = transcript.compactions
    assert (told.kind, told.tokens_before, told.tokens_after) == ("summary", 900, 50)
    assert str(told.location) == "logs/a.json:1:4"


@pytest.mark.parametrize(("type", "kind"), [("edit", "cleared"), ("trim", "trimmed"), ("new", "replaced")])
def test_every_kind_of_compaction_is_noted(type: str, kind: str) -> None:
    events = [{"event": "compaction", "type": type}, model([TASK], DONE)]
    assert [told.kind for told in only(sample([TASK, DONE], events)).compactions] == [kind]


def test_a_sample_that_broke_off_before_it_had_messages_holds_what_its_last_call_saw() -> None:
    assert words(only(sample([], [model([TASK], DONE)])).messages) == ["do it", "ok"]


def test_an_archive_is_read_sample_by_sample() -> None:
    members = {
        "_journal/start.json": {},
        "samples/0_epoch_1.json": PLAIN,
        "samples/b_epoch_2.json": {**PLAIN, "id": "b", "epoch": 2},
        "summaries.json": [],
    }
    data = archive(members)
    assert detect(data) == "inspect"
    for format in (None, "inspect"):
        first, second = read_transcripts(data, "logs/a.eval", format)
        assert (first.id, second.id) == ("sample-1-epoch-1", "sample-b-epoch-2")
        assert (len(second.messages), len(second.requests), second.path) == (4, 2, "logs/a.eval")
        assert not first.findings


def test_a_sample_that_cannot_be_read_is_reported_and_the_others_are_read() -> None:
    data = archive({"samples/a.json": PLAIN, "samples/b.json": b"{", "samples/c.json": 7})
    first, *others = read_transcripts(data, "a.eval")
    assert len(first.messages) == 4
    assert [[item.code for item in other.findings] for other in others] == [["CTX016"], ["CTX011"]]
    assert [other.skipped for other in others] == [1, 1]


def test_an_archive_without_a_header_or_with_broken_members_is_refused() -> None:
    for data in (archive({"a.txt": "x"}, header=False), b"PK\x03\x04\x00"):
        with pytest.raises(TranscriptError) as caught:
            read_transcripts(data, "a.zip")
        assert "zip" in str(caught.value)
    whole = bytearray(archive({"samples/a.json": PLAIN}))
    whole[60:70] = b"\xff" * 10
    with pytest.raises(TranscriptError) as caught:
        read_transcripts(bytes(whole), "a.eval")
    assert [problem.code for problem in caught.value.problems] == ["CTX011"]


def test_a_sample_taken_out_of_its_archive_is_read_as_well() -> None:
    (transcript,) = read_transcripts(json.dumps(PLAIN).encode(), "0_epoch_1.json")
    assert (transcript.format, len(transcript.requests)) == ("inspect", 2)


FULL = sample(
    [TASK, ONE, SEEN, DONE],
    [
        *(span("s1", "solver", "react"), model([TASK], ONE, span_id="s1")),
        *(span("s2", "tool", "t", "s1"), model([TASK], DONE, span_id="s2")),
        {"event": "compaction", "type": "summary"},
        model([], DONE, input_refs=[[0, 1]]),
        {"event": "tool", "function": "f", "events": [model([TASK], TASK)]},
    ],
    attachments={HASH: "x"},
    message_pool=[TASK],
)


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.one_of(mutated(FULL), mutated({"eval": {}, "samples": [FULL]})))
def test_whatever_the_json_a_reading_ends_in_transcripts_or_a_refusal(document: Any) -> None:
    check_reading(read_inspect, json.dumps(document).encode())
    check_reading(read_inspect, archive({"samples/a.json": document}))


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.integers(4, 400), st.binary(min_size=1, max_size=8))
def test_whatever_the_bytes_of_an_archive_a_reading_ends_in_transcripts_or_a_refusal(
    at: int, with_: bytes
) -> None:
    data = archive({"samples/a.json": PLAIN})
    at = at * len(data) // 400
    check_reading(read_transcripts, data[:at] + with_ + data[at + len(with_) :])
    check_reading(read_inspect, data[:4] + with_ + data[4:at])
