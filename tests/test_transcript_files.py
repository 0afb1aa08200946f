"""Names, folders and patterns -> files -> transcripts."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from contextctl.errors import TranscriptError
from contextctl.loading.transcript_files import (
    TranscriptFailure,
    find_files,
    iter_transcripts,
    load_transcripts,
)
from contextctl.recording import Transcript

LINE = json.dumps({"role": "user", "content": "hello"}) + "\n"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(*names: str, text: str = LINE) -> None:
    for name in names:
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text, encoding="utf-8")


def link(name: str, target: str) -> None:
    """A symbolic link; skips where the system allows none, as Windows does without a privilege."""
    try:
        Path(name).symlink_to(target, target_is_directory=Path(name).parent.joinpath(target).is_dir())
    except OSError:
        pytest.skip("symbolic links cannot be made here")


def problems(*arguments: str) -> list[str]:
    with pytest.raises(TranscriptError) as caught:
        find_files(arguments)
    assert {problem.code for problem in caught.value.problems} == {"CTX009"}
    assert all(problem.hint for problem in caught.value.problems)
    return [str(problem.location) for problem in caught.value.problems]


def test_an_existing_name_is_taken_before_a_pattern(here: Path) -> None:
    write("transcript[b].jsonl", "transcriptb.jsonl")
    assert find_files(["transcript[b].jsonl"]) == ("transcript[b].jsonl",)
    Path("transcript[b].jsonl").unlink()
    assert find_files(["transcript[b].jsonl"]) == ("transcriptb.jsonl",)


def test_a_folder_gives_its_transcripts_by_code_points_of_their_paths(here: Path) -> None:
    write(
        "d/z.jsonl",
        "d/A.json",
        "d/a10.ndjson",
        "d/a2.jsonl",
        "d/a/b.jsonl",
        "d/notes.md",
        "d/.hidden/x.jsonl",
    )
    assert find_files(["d"]) == ("d/A.json", "d/a/b.jsonl", "d/a10.ndjson", "d/a2.jsonl", "d/z.jsonl")


def test_arguments_keep_their_order_and_each_file_comes_once(here: Path) -> None:
    write("d/b.jsonl", "d/a.jsonl", "c.txt")
    assert find_files(["c.txt", "d/b.jsonl", "./d", "-", "d/*.jsonl", "-"]) == (
        "c.txt",
        "d/b.jsonl",
        "d/a.jsonl",
        "-",
    )


def test_paths_are_shown_as_given_without_a_leading_dot(here: Path) -> None:
    write("d/a.jsonl")
    assert (
        find_files(["./d/a.jsonl"])
        == find_files(["././d/"])
        == find_files(["./**/*.jsonl"])
        == ("d/a.jsonl",)
    )
    absolute = str(here / "d")
    assert find_files([absolute]) == ((here / "d" / "a.jsonl").as_posix(),)


def test_patterns_reach_into_folders(here: Path) -> None:
    write("a.jsonl", "d/b.jsonl", "d/e/c.jsonl", "d/e/f/g.jsonl", "d/.hidden/x.jsonl")
    assert find_files(["d/*.jsonl"]) == ("d/b.jsonl",)
    assert find_files(["**/*.jsonl"]) == ("a.jsonl", "d/b.jsonl", "d/e/c.jsonl", "d/e/f/g.jsonl")
    assert find_files(["d/**/e/**/*.jsonl"]) == ("d/e/c.jsonl", "d/e/f/g.jsonl")
    assert find_files(["d/e/**"]) == ("d/e/c.jsonl", "d/e/f/g.jsonl")
    assert find_files(["[ab].jsonl"]) == ("a.jsonl",)


@pytest.mark.parametrize("argument", ["d", "d/**/*.jsonl"])
def test_links_that_lead_in_circles_are_not_followed(here: Path, argument: str) -> None:
    write("d/a.jsonl", "d/e/b.jsonl")
    link("d/e/up", "..")
    link("d/e/self", ".")
    link("d/again", "e")
    link("d/nowhere", "nowhere")
    assert find_files([argument]) == ("d/a.jsonl", "d/e/b.jsonl")


def test_a_file_that_is_linked_comes_once(here: Path) -> None:
    write("d/b.jsonl")
    link("d/a.jsonl", "b.jsonl")
    assert find_files(["d"]) == ("d/a.jsonl",)


def test_a_link_to_a_folder_elsewhere_is_followed(here: Path) -> None:
    write("far/a.jsonl")
    Path("d").mkdir()
    link("d/near", "../far")
    assert find_files(["d"]) == ("d/near/a.jsonl",)


def test_every_argument_that_names_nothing_is_a_problem(here: Path) -> None:
    write("a.jsonl", "d/readme.md")
    assert problems("nope.jsonl", "a.jsonl", "x*.jsonl", "d", "") == ["nope.jsonl", "x*.jsonl", "d", "-"]


def test_one_bad_file_does_not_hide_the_others(here: Path) -> None:
    write("a.jsonl", "d.jsonl")
    write("b.jsonl", text="")
    write("c.jsonl", text='{"role": "us')
    results = list(iter_transcripts(["a.jsonl", "missing.jsonl", "b.jsonl", "c.jsonl", "d.jsonl"]))
    assert [item.path for item in results] == ["a.jsonl", "b.jsonl", "c.jsonl", "d.jsonl", "missing.jsonl"]
    failures = [item for item in results if isinstance(item, TranscriptFailure)]
    assert [finding.code for item in failures for finding in item.findings] == ["CTX013", "CTX016", "CTX009"]
    assert all(str(finding.location).startswith(item.path) for item in failures for finding in item.findings)


def test_files_are_read_one_at_a_time(here: Path) -> None:
    """The second file is opened only when the first one's transcripts have been taken."""
    write("a.jsonl", "b.jsonl")
    results = iter_transcripts(["a.jsonl", "b.jsonl"])
    assert isinstance(next(results), Transcript)
    write("b.jsonl", text="")
    assert isinstance(next(results), TranscriptFailure)


def test_standard_input_is_what_the_caller_read(here: Path) -> None:
    (transcript,) = iter_transcripts(["-"], stdin=LINE.encode())
    assert isinstance(transcript, Transcript)
    assert (transcript.path, transcript.id) == ("-", "stdin")
    (failure,) = iter_transcripts(["-"])
    assert isinstance(failure, TranscriptFailure)


def test_a_file_called_like_standard_input_can_be_named(here: Path) -> None:
    write("-")
    assert [item.path for item in load_transcripts(Path("-").resolve())] == [Path("-").resolve().as_posix()]


def test_a_library_user_gets_every_transcript_in_order(here: Path) -> None:
    write("d/b.jsonl", "d/a.jsonl", "c.jsonl")
    assert [item.id for item in load_transcripts("c.jsonl", Path("d"))] == ["c", "a", "b"]
    assert load_transcripts("c.jsonl", format="contextctl")[0].format == "contextctl"


@pytest.mark.parametrize(("text", "code"), [("", "CTX013"), ('{"a": 1}', "CTX014"), ("{", "CTX016")])
def test_a_library_user_gets_an_error_for_a_file_that_cannot_be_used(
    here: Path, text: str, code: str
) -> None:
    write("a.jsonl", text=text)
    with pytest.raises(TranscriptError) as caught:
        load_transcripts("a.jsonl")
    assert caught.value.rule == code
    assert caught.value.location.path == "a.jsonl"


def test_a_missing_file_is_an_error_with_its_name(here: Path) -> None:
    with pytest.raises(TranscriptError, match=r"nope\.jsonl: error CTX009: the file does not exist"):
        load_transcripts("nope.jsonl")


def test_a_link_to_nothing_is_an_error_with_the_systems_reason(here: Path) -> None:
    Path("d").mkdir()
    link("d/a.jsonl", "nowhere")
    for argument in ("d", "d/a.jsonl"):
        (failure,) = iter_transcripts([argument])
        assert isinstance(failure, TranscriptFailure)
        assert failure.findings[0].code == "CTX009"
        assert "no such file" in failure.findings[0].message


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="this user may read everything")
def test_a_file_that_may_not_be_read_is_an_error_with_the_systems_reason(here: Path) -> None:
    write("a.jsonl", "d/b.jsonl")
    Path("a.jsonl").chmod(0)
    Path("d").chmod(0)
    results = list(iter_transcripts(["a.jsonl", "d"]))
    Path("d").chmod(0o700)
    assert all(isinstance(item, TranscriptFailure) for item in results)
    assert all("permission denied" in item.findings[0].message for item in results)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_in_a_folder_is_not_waited_for(here: Path) -> None:
    write("d/a.jsonl")
    os.mkfifo("d/b.jsonl")
    assert [item.path for item in iter_transcripts(["d"])] == ["d/a.jsonl"]


def test_names_that_no_file_can_have_are_problems_and_no_crash(here: Path) -> None:
    assert len(problems("a\0b", "x" * 5000, "[", "**/" * 3 + "x")) == 4


def test_bytes_are_read_whatever_the_platforms_encoding(here: Path) -> None:
    Path("a.jsonl").write_bytes(b'{"role": "user", "content": "caf\xc3\xa9"}\r\n')
    (transcript,) = load_transcripts("a.jsonl")
    assert transcript.messages[0].content[0].model_dump()["text"] == "café"
