"""Conversations of a large file, one after another, against the same file read as a whole."""

from __future__ import annotations

import gzip
import json
import tracemalloc
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import contextctl.transcripts as reading
from contextctl.errors import TranscriptError
from contextctl.findings import from_problem
from contextctl.loading import transcript_files
from contextctl.loading.transcript_files import TranscriptFailure, iter_transcripts
from contextctl.recording import Transcript
from contextctl.transcripts.line_formats import LINE_FORMATS
from contextctl.transcripts.streaming import survey

HELLO = {"role": "user", "content": "hello"}
CALL = {"type": "function", "function": {"name": "look", "arguments": "{}"}, "id": "c"}
CHAT = {"model": "gpt-4o", "messages": [HELLO, {"role": "assistant", "tool_calls": [CALL]}]}
USE = {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "look", "input": {}}]}
ROWS: dict[str, Any] = {
    "openai-chat": CHAT,
    "contextctl": {"messages": [{**HELLO, "pinned": True, "id": "m"}]},
    "anthropic": {"model": "claude-x", "system": "s", "messages": [HELLO, USE]},
    "gemini": {"contents": [{"role": "user", "parts": [{"text": "hello"}]}], "model": "models/g"},
    "openai-responses": {"model": "m", "input": [HELLO, {"type": "new_kind", "x": 1}]},
    "sharegpt": {"conversations": [{"from": "human", "value": "hello"}]},
}


def pieces(data: bytes, size: int) -> Iterator[bytes]:
    for start in range(0, len(data), size):
        yield data[start : start + size]


Result = tuple[list[Transcript], list[object], TranscriptError | None]


def drained(found: Iterator[Transcript]) -> Result:
    transcripts: list[Transcript] = []
    try:
        transcripts += found
    except TranscriptError as error:
        return transcripts, [], error
    return transcripts, [item.records for item in transcripts], None


def streamed(data: bytes, format: str | None = None, size: int = 7) -> Result:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading, "STREAMED_BYTES", 1)
        return drained(reading.iter_transcripts(partial(pieces, data, size), "logs/x.jsonl", format))


def whole(data: bytes, format: str | None = None) -> Result:
    return drained(reading.iter_transcripts(lambda: [data], "logs/x.jsonl", format))


def check_same(data: bytes, format: str | None = None, size: int = 7) -> None:
    left, left_records, wrong = streamed(data, format, size)
    right, right_records, error = whole(data, format)
    assert left == right
    assert left_records == right_records
    assert (wrong and wrong.problems) == (error and error.problems)


def lines(*rows: object) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


@pytest.mark.parametrize("format", list(LINE_FORMATS))
def test_a_file_of_each_of_these_formats_is_read_one_by_one(format: str) -> None:
    data = lines(*[ROWS[format]] * 3)
    told = survey(lambda: [data], "x.jsonl")
    assert told is not None
    assert (told.format, len(told.ids)) == (format, 3)
    check_same(data)
    check_same(lines(ROWS[format]))


@pytest.mark.parametrize(
    "data",
    [
        lines(HELLO, HELLO),
        lines(CHAT, HELLO, CHAT),
        lines({"contextctl": 1}, ROWS["contextctl"]),
        json.dumps([CHAT, CHAT], indent=1).encode(),
        lines({"type": "session_meta", "payload": {}}),
        lines({"choices": []}, {"choices": []}),
        lines({"a": 1}),
        b"",
        b"\n \n",
        b"{",
    ],
)
def test_a_file_that_only_its_whole_explains_is_read_as_a_whole(data: bytes) -> None:
    assert survey(lambda: [data], "x.jsonl") is None
    check_same(data)


def test_a_format_that_only_a_late_record_tells_is_told_all_the_same() -> None:
    for late, format in (
        (ROWS["anthropic"], "anthropic"),
        (ROWS["contextctl"], "contextctl"),
        (CHAT, "openai-chat"),
    ):
        data = lines(*[{"messages": [HELLO]}] * 100, late)
        told = survey(lambda data=data: [data], "x.jsonl")  # type: ignore[misc]
        assert told is not None
        assert told.format == format
        check_same(data)
    check_same(lines(*[{"model": "claude-x", "messages": [HELLO]}] * 100, CHAT))


def test_a_kind_that_is_not_known_is_told_once_a_file() -> None:
    transcripts, _, _ = streamed(lines(*[ROWS["openai-responses"]] * 5))
    assert [len(item.findings) for item in transcripts] == [1, 0, 0, 0, 0]


BROKEN = [
    *(b"{", b'{"role": "us', b'{"a": "\xff"}', b"nonsense", b"[]", b"7", b"null", b"{}", b" \t"),
    b'{"a": 1, "a": 2}',
]


@st.composite
def files(draw: st.DrawFn) -> tuple[bytes, str | None]:
    """A file of one format with strays, blanks, torn and glued lines, ids that collide, and now and then a
    message that stands alone."""
    format = draw(st.sampled_from(list(ROWS)))
    ids = st.sampled_from(["x", "x#2", "x#3", "a", "a#2", "", 7, None])
    row: st.SearchStrategy[dict[str, Any]] = st.builds(lambda id: {**ROWS[format], "id": id}, ids)
    row |= st.just(ROWS[format])
    row |= st.builds(lambda id: {"custom_id": id, "body": ROWS[format]}, ids)
    row |= st.sampled_from(
        [{key: [] for key in ("messages", "contents", "input", "conversations")}, {"messages": 3}]
    )
    value: st.SearchStrategy[Any] = row | st.lists(row, max_size=3)
    if draw(st.integers(0, 4)) == 0:
        value |= st.just(HELLO)
    line = st.builds(lambda value: json.dumps(value).encode(), value) | st.sampled_from(BROKEN)
    line |= st.builds(lambda a, b: a + b, line, line)
    end = draw(st.sampled_from([b"\n", b"\r\n"]))
    data = end.join(draw(st.lists(line, max_size=12))) + draw(st.sampled_from([b"", end, end * 2]))
    mark = draw(st.sampled_from([b"", b"", b"\xef\xbb\xbf"]))
    return mark + data, draw(st.sampled_from([None, None, format]))


@settings(max_examples=500, deadline=None)
@given(files(), st.sampled_from([1, 7, 1000]))
def test_reading_one_by_one_gives_what_reading_the_whole_gives(
    file: tuple[bytes, str | None], size: int
) -> None:
    check_same(*file, size=size)


def test_a_compressed_file_that_is_cut_off_ends_as_when_it_is_read_as_a_whole() -> None:
    data = gzip.compress(lines(*[{**CHAT, "id": str(number)} for number in range(300)]))
    for cut in (len(data), len(data) - 4, len(data) // 2, 30):
        check_same(data[:cut], size=50)


def file_of(path: Path, conversations: int, row: Callable[[int], object]) -> Path:
    with path.open("w", encoding="utf-8") as file:
        for number in range(conversations):
            file.write(json.dumps(row(number)) + "\n")
    return path


def peak(path: Path) -> tuple[int, int]:
    """How many conversations a file has, and the most bytes that were held while they were read."""
    tracemalloc.start()
    try:
        count = sum(isinstance(item, Transcript) for item in iter_transcripts([str(path)]))
        return count, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("format", ["openai-chat", "gemini"])
def test_ten_times_the_conversations_take_no_more_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format: str
) -> None:
    monkeypatch.setattr(reading, "STREAMED_BYTES", 100_000)
    monkeypatch.setattr(transcript_files, "_CHUNK_BYTES", 100_000)

    def row(number: int) -> object:
        return {**ROWS[format], "id": f"conversation-{number}", "note": "x" * 2000}

    few, many = (peak(file_of(tmp_path / f"{count}.jsonl", count, row)) for count in (300, 3000))
    assert (few[0], many[0]) == (300, 3000)
    assert many[1] < 1.5 * few[1]


def test_what_is_written_to_a_file_while_it_is_read_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "STREAMED_BYTES", 1)
    path = file_of(tmp_path / "x.jsonl", 5, lambda number: CHAT)
    found = iter_transcripts([str(path)])
    first = next(found)
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(CHAT) + "\n")
    assert [first.id, *(item.id for item in found if isinstance(item, Transcript))] == [
        f"x#{number}" for number in range(1, 6)
    ]


def test_a_large_file_that_cannot_be_used_is_a_failure_beside_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "STREAMED_BYTES", 1)
    empty = file_of(tmp_path / "a.jsonl", 3, lambda number: {"messages": []})
    good = file_of(tmp_path / "b.jsonl", 2, lambda number: CHAT)
    failure, *others = iter_transcripts([str(empty), str(good)])
    assert isinstance(failure, TranscriptFailure)
    assert [item.code for item in failure.findings] == ["CTX013"] * 3
    assert [from_problem(problem) for problem in _error(empty).problems] == list(failure.findings)
    assert len(others) == 2


def _error(path: Path) -> TranscriptError:
    with pytest.raises(TranscriptError) as caught:
        reading.read_transcripts(path.read_bytes(), transcript_files.shown_path(str(path)))
    return caught.value
