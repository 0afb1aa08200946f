"""Recordings that are compressed."""

from __future__ import annotations

import gzip
import json
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from contextctl.errors import TranscriptError
from contextctl.loading.transcript_files import find_files, load_transcripts
from contextctl.recording import Transcript
from contextctl.transcripts import compression, read_transcripts
from contextctl.transcripts.detection import detect

SECRET = "the vault opens at nine"
ROWS = [{"messages": [{"role": "user", "content": f"{SECRET} {n:>9}"}]} for n in range(50)]
PLAIN = "".join(json.dumps(row) + "\n" for row in ROWS).encode()

needs_zstd = pytest.mark.skipif(
    find_spec("zstandard") is None and sys.version_info < (3, 14), reason="no zstd decoder is installed"
)


def zstd_frame(content: bytes) -> bytes:
    """A frame that keeps its content as it is: a header with the size in 4 bytes, one raw block."""
    block = 1 | len(content) << 3
    header = b"\x28\xb5\x2f\xfd\xa0" + len(content).to_bytes(4, "little")
    return header + block.to_bytes(3, "little") + content


def codes(transcripts: tuple[Transcript, ...]) -> list[str]:
    return [item.code for transcript in transcripts for item in transcript.findings]


def refusal(data: bytes) -> TranscriptError:
    with pytest.raises(TranscriptError) as caught:
        read_transcripts(data, "x.jsonl")
    assert SECRET not in str(caught.value)
    assert all(problem.hint for problem in caught.value.problems)
    return caught.value


def test_gzip_is_told_by_its_leading_bytes_whatever_the_name_says() -> None:
    assert read_transcripts(gzip.compress(PLAIN), "x.jsonl") == read_transcripts(PLAIN, "x.jsonl")
    assert detect(gzip.compress(PLAIN)) == "openai-chat"


def test_a_compressed_file_is_named_without_either_suffix() -> None:
    one = json.dumps(ROWS[0]).encode()
    assert [item.id for item in read_transcripts(gzip.compress(one), "logs/chat.jsonl.gz")] == ["chat"]
    assert read_transcripts(gzip.compress(PLAIN), "chat.jsonl.gz")[1].id == "chat#2"


def test_several_members_one_after_another_are_one_recording() -> None:
    cut = len(PLAIN) // 3
    members = gzip.compress(PLAIN[:cut]) + gzip.compress(b"") + gzip.compress(PLAIN[cut:]) + bytes(100)
    assert read_transcripts(members, "x.jsonl") == read_transcripts(PLAIN, "x.jsonl")


def test_of_a_file_that_is_cut_off_what_is_there_is_read_and_the_rest_is_a_finding() -> None:
    data = gzip.compress(PLAIN)
    transcripts = read_transcripts(data[: len(data) // 2], "x.jsonl")
    whole = read_transcripts(PLAIN, "x.jsonl")
    assert 0 < len(transcripts) < len(whole)
    assert transcripts[:-1] == whole[: len(transcripts) - 1]
    assert set(codes(transcripts)) == {"CTX016"}
    said = transcripts[-1].findings[-1]
    assert said.message == "the gzip data end before they are complete; what comes before was read"
    assert said.location.line == len(transcripts) + 1
    assert said.is_input_error


def test_a_checksum_that_is_cut_off_or_bytes_too_many_are_a_finding_and_the_content_is_read() -> None:
    data = gzip.compress(PLAIN)
    for damaged in (data[:-3], data + b"more"):
        transcripts = read_transcripts(damaged, "x.jsonl")
        assert [item.messages for item in transcripts] == [
            item.messages for item in read_transcripts(PLAIN, "x.jsonl")
        ]
        assert codes(transcripts) == ["CTX016"]


def test_of_a_damaged_file_what_comes_before_the_damage_is_read() -> None:
    data = gzip.compress(PLAIN, compresslevel=0)
    transcripts = read_transcripts(data[:3000] + b"\xff" * 200 + data[3200:], "x.jsonl")
    assert 20 < len(transcripts) <= 50
    transcripts = read_transcripts(data[:-8] + bytes(8), "x.jsonl")
    assert 30 < len(transcripts) < 50
    assert "damaged" in transcripts[-1].findings[-1].message
    assert codes(transcripts)[-1] == "CTX016"


def test_where_nothing_can_be_read_the_error_says_that_the_file_is_cut_off() -> None:
    told = [problem.message for problem in refusal(gzip.compress(PLAIN)[:12]).problems]
    assert any("the gzip data end" in message for message in told)


def test_what_is_compressed_twice_is_refused_in_a_line_that_says_so() -> None:
    (problem,) = refusal(gzip.compress(gzip.compress(PLAIN))).problems
    assert problem.message == "the file is gzip-compressed twice, which is not read"


def test_data_that_swell_beyond_what_a_recording_does_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    swelling = gzip.compress(PLAIN + b" " * 10**7)
    assert len(read_transcripts(swelling, "x.jsonl")) == 50
    monkeypatch.setattr(compression, "SUSPECT_BYTES", 10**6)
    (problem,) = refusal(swelling).problems
    assert problem.code == "CTX009"
    assert "1,000 bytes for each of their own" in problem.message
    ordinary = gzip.compress(b"".join(str(n).encode() + b"\n" for n in range(200_000)))
    assert refusal(ordinary).rule == "CTX014"


def test_a_folder_gives_its_compressed_transcripts_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names = ("a.jsonl.gz", "b.json.gz", "c.jsonl.zst", "d.traj", "e.eval", "f.JSONL.GZ")
    for name in (*names, "notes.gz", "x.tar.gz"):
        Path(name).write_bytes(gzip.compress(PLAIN))
    assert find_files(["."]) == tuple(sorted(names))
    assert len(load_transcripts("a.jsonl.gz")) == 50


def test_without_a_decoder_for_zstd_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("zstandard", "compression.zstd"):
        monkeypatch.setitem(sys.modules, name, None)
    (problem,) = refusal(zstd_frame(PLAIN)).problems
    assert problem.code == "CTX009"
    assert "contextctl[zstd]" in (problem.hint or "")


@needs_zstd
def test_zstd_is_told_by_its_leading_bytes_and_may_come_in_several_frames() -> None:
    data = zstd_frame(PLAIN[:1500]) + zstd_frame(PLAIN[1500:])
    assert read_transcripts(data, "x.jsonl") == read_transcripts(PLAIN, "x.jsonl")


@needs_zstd
def test_of_a_zstd_file_that_is_cut_off_what_is_there_is_read() -> None:
    first = PLAIN[: PLAIN.index(b"\n") + 1]
    transcripts = read_transcripts(zstd_frame(first * 3) + zstd_frame(first)[:-20], "x.jsonl")
    assert len(transcripts) == 3
    assert "the zstd data end before they are complete" in transcripts[-1].findings[-1].message
    assert codes(read_transcripts(zstd_frame(first) + b"more", "x.jsonl")) == ["CTX016"]


@needs_zstd
def test_zstd_data_that_swell_beyond_what_a_recording_does_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(compression, "SUSPECT_BYTES", 10**6)
    repeated = (1 << 1 | (128 << 10) << 3).to_bytes(3, "little") + b" "
    header = b"\x28\xb5\x2f\xfd\x00\x48"
    (problem,) = refusal(header + repeated * 1000).problems
    assert problem.code == "CTX009"
