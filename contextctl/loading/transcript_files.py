"""The only opener of transcript files: names, folders and patterns -> files -> transcripts."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePath

from contextctl.errors import Location, TranscriptError, native_name, shown_name
from contextctl.findings import Finding, finding, from_problem
from contextctl.recording import Transcript
from contextctl.transcripts import iter_transcripts as read_one_by_one
from contextctl.transcripts.conversations import transcript_error
from contextctl.transcripts.field_map import FieldMap, field_map

STDIN = "-"
_TEXT = (".json", ".jsonl", ".ndjson")
SUFFIXES = (
    *_TEXT,
    *(text + packed for packed in (".gz", ".zst") for text in _TEXT),
    ".traj",
    ".eval",
)
"""What a transcript's name ends in for it to be found in a folder."""

_CHUNK_BYTES = 1 << 20
"""How much of a file is read at once."""


@dataclass(frozen=True, slots=True)
class TranscriptFailure:
    """A file, as shown, of which nothing could be read, and everything that is wrong with it."""

    path: str
    findings: tuple[Finding, ...]


def find_files(arguments: Sequence[str]) -> tuple[str, ...]:
    """The files that the arguments name, as they are shown: ``/`` between folders, no leading ``./``.

    An existing name is taken literally before it is read as a pattern; a folder gives the transcripts in
    it and below, hidden folders and links that lead in a circle left out; ``-`` is standard input. The
    arguments keep their order; within a folder or pattern, code points of the shown path. Each file comes
    once. Raises :class:`~contextctl.errors.TranscriptError` for the arguments that name nothing.
    """
    found, problems = _search(arguments)
    if problems:
        raise transcript_error(item for failure in problems for item in failure.findings)
    return found


def load_transcripts(
    *paths: str | os.PathLike[str], format: str | None = None, map: Mapping[str, str] | None = None
) -> tuple[Transcript, ...]:
    """Every conversation in these files, folders and patterns, in order.

    ``format`` is a name from :data:`~contextctl.transcripts.READERS`, else found by content. ``map`` is for
    records that wrap requests in a shape of your own: ``messages`` and where wanted ``id``, ``model``,
    ``tools`` and ``system``, each with its path in a record, as ``{"messages": "request.messages"}``.
    Raises :class:`~contextctl.errors.UsageError` for a map or format that cannot be used, and
    :class:`~contextctl.errors.TranscriptError` for the first file that cannot be used at all. What is wrong
    with part of a file is among its transcripts' ``findings``.
    """
    fields = None if map is None else field_map(map)
    names = [path if isinstance(path, str) else os.fspath(path) for path in paths]
    found: list[Transcript] = []
    for name in find_files(names):
        found += _read_file(name, None, format, fields)
    return tuple(found)


def iter_transcripts(
    arguments: Sequence[str],
    *,
    format: str | None = None,
    map: Mapping[str, str] | None = None,
    stdin: bytes | None = None,
) -> Iterator[Transcript | TranscriptFailure]:
    """The same, a file at a time, with a failure in the place of each file that cannot be used.

    ``stdin`` is what was read from standard input, for the argument ``-``. Arguments that name nothing
    come last.
    """
    fields = None if map is None else field_map(map)
    found, problems = _search(arguments)
    for name in found:
        try:
            yield from _read_file(name, stdin, format, fields)
        except TranscriptError as error:
            yield TranscriptFailure(name, tuple(from_problem(problem) for problem in error.problems))
    yield from problems


def _search(arguments: Sequence[str]) -> tuple[tuple[str, ...], list[TranscriptFailure]]:
    found: list[str] = []
    problems: list[TranscriptFailure] = []
    seen: set[str] = set()
    for argument in arguments:
        names = _expand(argument)
        if not names:
            problems.append(_failure(argument, *_why_nothing(argument)))
        for name in names:
            real = name if name == STDIN else os.path.realpath(native_name(name))
            if real not in seen:
                seen.add(real)
                found.append(name)
    return tuple(found), problems


def _expand(argument: str) -> list[str]:
    if argument == STDIN:
        return [STDIN]
    if _is_folder(argument):
        return _sorted(_transcripts_below(argument))
    if os.path.lexists(argument):
        return [shown_path(argument)]
    if not glob.has_magic(argument):
        return []
    return _sorted(name for name in _matches(PurePath(argument).parts) if not _is_folder(name))


def _sorted(names: Iterable[str]) -> list[str]:
    return sorted({shown_path(name) for name in names})


def shown_path(path: str) -> str:
    """A path as reports show it: ``/`` between folders, no leading ``./``, otherwise as it was given."""
    return shown_name(PurePath(path).as_posix())


def _is_folder(name: str) -> bool:
    try:
        return bool(name) and Path(name).is_dir()
    except OSError:
        return False


def _matches(parts: tuple[str, ...]) -> Iterator[str]:
    """What a pattern matches. Unlike in :mod:`glob`, ``**`` goes into each real folder only once."""
    if "**" not in parts:
        yield from glob.glob(str(PurePath(*parts)))  # noqa: PTH207  Path.glob takes hidden files too
        return
    at = parts.index("**")
    heads = _matches(parts[:at]) if at else ["."]
    rest = parts[at + 1 :] or ("*",)
    for head in sorted(heads):
        for folder in _folders_below(head):
            yield from _matches((*PurePath(glob.escape(str(folder))).parts, *rest))


def _folders_below(start: str) -> Iterator[Path]:
    """A folder and all below it, hidden ones left out; each real folder once, by a link if need be."""
    seen: set[str] = set()
    waiting, links = [Path(start)], list[Path]()
    while waiting or links:
        folder = waiting.pop() if waiting else links.pop(0)
        real = os.path.realpath(folder)
        if real in seen or not folder.is_dir():
            continue
        seen.add(real)
        yield folder
        for entry in _entries(folder) or ():
            if not entry.name.startswith(".") and _is_folder(entry.path):
                (links if entry.is_symlink() else waiting).append(Path(entry.path))


def _entries(folder: Path) -> list[os.DirEntry[str]] | None:
    """What is in a folder, by name; None where it cannot be listed."""
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return None


def _transcripts_below(start: str) -> Iterator[str]:
    """The transcripts in a folder and below, broken links and folders that cannot be listed included."""
    for folder in _folders_below(start):
        entries = _entries(folder)
        if entries is None:
            yield str(folder)
        for entry in entries or ():
            is_broken_link = entry.is_symlink() and not _is_folder(entry.path)
            if entry.name.lower().endswith(SUFFIXES) and (_is_file(entry) or is_broken_link):
                yield entry.path


def _is_file(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_file()
    except OSError:
        return False


def _why_nothing(argument: str) -> tuple[str, str]:
    if _is_folder(argument):
        kinds = ", ".join(f"*{suffix}" for suffix in SUFFIXES)
        return f"the folder holds no transcript ({kinds})", "name the files themselves, or another folder"
    if glob.has_magic(argument):
        return "no file matches the pattern", "check the pattern; ** stands for any number of folders"
    return "the file does not exist", "check the path; it is taken from the current folder"


def _read_file(
    name: str, stdin: bytes | None, format: str | None, fields: FieldMap | None
) -> Iterator[Transcript]:
    """The conversations of one file, the file opened as often as it takes to hold few of them at once."""
    if name == STDIN and stdin is None:
        raise transcript_error(_failure(name, "standard input was not given", "name a file").findings)
    try:
        path = Path(native_name(name))
        size = path.stat().st_size if name != STDIN and path.is_file() else 0
        data = None if size else stdin if name == STDIN else path.read_bytes()
        chunks = partial(_file_chunks, path, size) if data is None else partial(_slices, data)
        yield from read_one_by_one(chunks, name, format, fields)
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        message = f"the file cannot be read: {reason}"
        raise transcript_error(
            _failure(name, message, "check that it exists and that you may read it").findings
        ) from error


def _file_chunks(path: Path, size: int) -> Iterator[bytes]:
    """The first ``size`` bytes of a file: what is written to it meanwhile is left for the next run."""
    with path.open("rb") as file:
        while size and (chunk := file.read(min(size, _CHUNK_BYTES))):
            size -= len(chunk)
            yield chunk


def _slices(data: bytes) -> Iterator[bytes]:
    for start in range(0, len(data), _CHUNK_BYTES):
        yield data[start : start + _CHUNK_BYTES]


def _failure(path: str, message: str, hint: str) -> TranscriptFailure:
    shown = shown_path(path) if path else path
    wrong = finding("CTX009", message, location=Location(shown), hint=hint)
    return TranscriptFailure(shown, (wrong,))
