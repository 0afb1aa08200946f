"""Recorded conversations and the published cases about reading them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from contextctl.errors import TranscriptError
from contextctl.loading.transcript_files import find_files, load_transcripts
from contextctl.messages import Message, part_texts
from contextctl.recording import Transcript
from contextctl.transcripts import READERS, read_transcripts
from contextctl.transcripts.detection import detect

CHAT_REQUESTS = ["developer-role", "image-url", "legacy-functions", "parallel-tools", "tools"]


def texts(transcript: Transcript) -> list[str]:
    return ["".join(part_texts(message.content)) for message in transcript.messages]


def raw_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().split(b"\n") if line.strip()]


def raw_calls(messages: Iterable[dict[str, Any]]) -> list[tuple[str, str]]:
    """Name and arguments of every call, read from the raw JSON in another way than the reader does."""
    found = []
    for message in messages:
        functions = [call["function"] for call in message.get("tool_calls") or ()]
        functions += [message["function_call"]] if message.get("function_call") else []
        found += [(function["name"], function["arguments"]) for function in functions]
    return found


def calls(messages: Iterable[Message]) -> list[tuple[str, str]]:
    return [(call.name, call.arguments) for message in messages for call in message.calls]


def assert_same(transcript: Transcript, messages: list[dict[str, Any]]) -> None:
    assert not transcript.findings
    assert transcript.skipped == 0
    assert [item.role for item in transcript.messages] == [item["role"] for item in messages]
    assert calls(transcript.messages) == raw_calls(messages)
    results = [item.results[0].call_id for item in transcript.messages if item.results]
    assert results == [item.get("tool_call_id") for item in messages if item["role"] in ("tool", "function")]
    for read, raw in zip(transcript.messages, messages, strict=True):
        if isinstance(raw.get("content"), str) and not read.calls:
            assert "".join(part_texts(read.content)) == raw["content"]


def test_b005_half_characters_are_read_as_they_are(shared: Path) -> None:
    (transcript,) = load_transcripts(shared / "cases/B005-lone-surrogates/transcript.jsonl")
    assert len(transcript.messages) == 4
    assert not transcript.findings
    assert "\ud83d" in texts(transcript)[0]
    assert texts(transcript)[2] == "A proper pair \U0001f44d is one thumb."


@pytest.mark.parametrize("name", ["transcript", "transcript-legacy"])
def test_b020_the_weight_of_a_call_is_in_its_arguments(shared: Path, name: str) -> None:
    path = shared / f"cases/B020-heavy-tool-arguments/{name}.jsonl"
    (transcript,) = load_transcripts(path)
    assert_same(transcript, raw_lines(path))
    assert transcript.lacks == ("tools",)
    (call,) = [call for message in transcript.messages for call in message.calls]
    assert call.legacy is (name == "transcript-legacy")
    assert len(call.arguments.split()) > 390


def test_b074_only_a_line_feed_ends_a_record(shared: Path) -> None:
    (transcript,) = load_transcripts(shared / "cases/B074-unicode-line-separators/transcript.jsonl")
    assert [item.location and item.location.line for item in transcript.messages] == [1, 2, 3]
    assert not transcript.findings
    together = "".join(texts(transcript))
    assert all(together.count(separator) == 1 for separator in "\u2028\u2029\u0085")


@pytest.mark.parametrize("name", ["transcript", "transcript-then-blank"])
def test_b075_a_torn_tail_is_counted_and_the_rest_is_read(shared: Path, name: str) -> None:
    (transcript,) = load_transcripts(shared / f"cases/B075-torn-tail/{name}.jsonl")
    assert texts(transcript) == ["Log the tide.", "Logged.", "And the wind?"]
    assert transcript.skipped == 1
    (wrong,) = transcript.findings
    assert (wrong.code, wrong.location.line, wrong.is_input_error) == ("CTX016", 4, True)


@pytest.mark.parametrize("name", ["array", "pretty"])
def test_b086_a_json_document_is_read_whatever_it_is_called(shared: Path, name: str) -> None:
    (transcript,) = load_transcripts(shared / f"cases/B086-json-array-named-jsonl/{name}.jsonl")
    assert texts(transcript) == ["Log the tide.", "Logged.", "And the wind?"]
    assert not transcript.findings


def test_b086_a_stray_comma_is_refused_at_its_place(shared: Path) -> None:
    path = shared / "cases/B086-json-array-named-jsonl/array-trailing-comma.jsonl"
    with pytest.raises(TranscriptError) as caught:
        load_transcripts(path)
    (problem,) = caught.value.problems
    line, column = problem.location.line or 0, problem.location.column or 0
    assert (line, path.read_text().split("\n")[line - 1][column - 1]) == (4, ",")
    assert path.name in str(caught.value)


def test_b103_square_brackets_are_no_pattern_and_no_markup(shared: Path) -> None:
    path = (shared / "cases/B103-square-brackets/transcript[b].jsonl").as_posix()
    assert find_files([path]) == (path,)
    (transcript,) = load_transcripts(path)
    assert [item.code for item in transcript.findings] == ["CTX015"]
    assert "[/role]" in transcript.findings[0].message
    assert transcript.messages[0].name == "[bold]admin"
    assert (transcript.messages[1].calls[0].id, transcript.messages[1].calls[0].name) == ("[/id]", "run[/]")
    assert transcript.messages[2].results[0].call_id == "[/id]"
    assert transcript.messages[3].role == "[/role]"


@pytest.mark.parametrize(
    "case", ["B035-orphan-tool-result", "B039-reused-call-id", "B073-nothing-unaccounted"]
)
def test_every_line_of_an_engine_case_is_read(shared: Path, case: str) -> None:
    path = shared / "cases" / case / "transcript.jsonl"
    (transcript,) = load_transcripts(path)
    assert_same(transcript, raw_lines(path))


def test_all_tau_bench_conversations_are_read_whole(shared: Path) -> None:
    (path,) = (shared / "transcripts/tau-bench").glob("*.json")
    runs = json.loads(path.read_bytes())
    transcripts = load_transcripts(path)
    assert len(transcripts) == len(runs) == 40
    assert len({item.id for item in transcripts}) == 40
    for transcript, run in zip(transcripts, runs, strict=True):
        assert_same(transcript, run["traj"])
        assert transcript.lacks == ("tools",)
        assert transcript.format == "tau-bench"


@pytest.mark.parametrize("name", CHAT_REQUESTS)
def test_chat_requests_are_read_a_transcript_a_line(shared: Path, name: str) -> None:
    path = shared / f"transcripts/api-requests/openai-chat-{name}.requests.jsonl"
    requests = raw_lines(path)
    transcripts = load_transcripts(path)
    assert len(transcripts) == len(requests)
    for line, (transcript, request) in enumerate(zip(transcripts, requests, strict=True), 1):
        assert_same(transcript, request["messages"])
        assert transcript.model == request["model"]
        assert transcript.id == (path.stem if len(requests) == 1 else f"{path.stem}#{line}")
        assert list(transcript.settings.tools or ()) == (
            request.get("tools") or request.get("functions") or []
        )
        assert transcript.settings.legacy is ("functions" in request)
        assert transcript.lacks == ()
        assert [item.location and item.location.record for item in transcript.messages] == [
            f"{line}:{index}" for index in range(1, len(request["messages"]) + 1)
        ]


@pytest.mark.parametrize("name", ["drone-training.first-5", "toy-chat.first-4"])
def test_fine_tuning_lines_are_read_a_transcript_a_line(shared: Path, name: str) -> None:
    path = shared / f"transcripts/fine-tuning/{name}.jsonl"
    transcripts = load_transcripts(path)
    rows = raw_lines(path)
    assert len(transcripts) == len(rows)
    for transcript, row in zip(transcripts, rows, strict=True):
        assert_same(transcript, row["messages"])
        assert len(transcript.settings.tools or ()) == len(row.get("tools", ()))


def test_other_formats_are_refused_and_not_misread(shared: Path) -> None:
    """No recording of a provider or tool that is not read yet is taken for chat."""
    folders = ["claude-code", "codex", "gemini-cli", "inspect", "langfuse", "pi", "sharegpt", "swe-agent"]
    paths = [path for folder in folders for path in sorted((shared / "transcripts" / folder).iterdir())]
    requests = shared / "transcripts/api-requests"
    paths += [path for path in sorted(requests.iterdir()) if not path.name.startswith("openai-chat")]
    unread = [path for path in paths if not is_read(path.read_bytes())]
    assert unread
    for path in unread:
        with pytest.raises(TranscriptError) as caught:
            read_transcripts(path.read_bytes(), path.name)
        assert [problem.code for problem in caught.value.problems] == ["CTX014"], path.name


def is_read(data: bytes) -> bool:
    try:
        return detect(data) in READERS
    except TranscriptError:
        return False


@pytest.mark.parametrize("step", [997, 1009])
def test_a_recording_cut_anywhere_is_read_up_to_the_cut(shared: Path, step: int) -> None:
    """Every whole line before the cut is read, and the torn line is counted."""
    data = (shared / "transcripts/fine-tuning/drone-training.first-5.jsonl").read_bytes()
    for end in range(step, len(data), step):
        cut = data[:end]
        whole = cut.count(b"\n")
        if whole == 0:
            with pytest.raises(TranscriptError) as caught:
                read_transcripts(cut, "x.jsonl")
            assert [problem.code for problem in caught.value.problems] == ["CTX016"]
            continue
        transcripts = read_transcripts(cut, "x.jsonl")
        torn = not cut.endswith(b"\n") and not data.startswith(cut + b"\n")
        assert len(transcripts) == whole + (not torn and not cut.endswith(b"\n"))
        assert [item.code for item in transcripts[-1].findings] == (["CTX016"] if torn else [])
