"""Recorded conversations in every format that is read: bytes -> transcripts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain
from typing import Protocol

from contextctl.errors import Location, TranscriptError, UsageError
from contextctl.findings import finding, from_problem
from contextctl.recording import Transcript
from contextctl.transcripts.anthropic import read_anthropic
from contextctl.transcripts.claude_code import read_claude_code
from contextctl.transcripts.codex import read_codex
from contextctl.transcripts.compression import Unpacking
from contextctl.transcripts.contextctl_jsonl import read_contextctl
from contextctl.transcripts.conversations import transcript_error
from contextctl.transcripts.detection import (
    archive_format,
    check_bytes,
    check_not_empty,
    detect_records,
    detect_requests,
)
from contextctl.transcripts.field_map import FieldMap
from contextctl.transcripts.gemini import read_gemini
from contextctl.transcripts.gemini_cli import read_gemini_cli
from contextctl.transcripts.google_adk import read_google_adk
from contextctl.transcripts.inspect import ZIP_START, read_inspect
from contextctl.transcripts.langchain import read_langchain
from contextctl.transcripts.langfuse import read_langfuse
from contextctl.transcripts.langsmith import read_langsmith
from contextctl.transcripts.litellm import read_litellm
from contextctl.transcripts.mapped import unwrap
from contextctl.transcripts.openai_chat import read_openai_chat
from contextctl.transcripts.openai_responses import read_openai_responses
from contextctl.transcripts.openhands import read_openhands
from contextctl.transcripts.otel import read_otel
from contextctl.transcripts.pi import read_pi
from contextctl.transcripts.pydantic_ai import read_pydantic_ai
from contextctl.transcripts.qwen_code import read_qwen_code
from contextctl.transcripts.records import Records, split_records
from contextctl.transcripts.sharegpt import read_sharegpt
from contextctl.transcripts.streaming import OpenChunks, iter_conversations, survey
from contextctl.transcripts.swe_agent import read_swe_agent
from contextctl.transcripts.tau_bench import read_tau_bench
from contextctl.transcripts.vercel_ai import read_vercel_ai

STREAMED_BYTES = 8_000_000
"""From which size on a file's conversations are read one by one. What is smaller is read once and held as a
whole, which takes about twelve times its size."""


class RecordReader(Protocol):
    """A :class:`~contextctl.ports.Reader` that can be spared from splitting the data again."""

    def __call__(self, data: bytes, path: str, records: Records | None = None) -> tuple[Transcript, ...]:
        """As :class:`~contextctl.ports.Reader` promises."""
        ...


READERS: dict[str, RecordReader] = {
    "anthropic": read_anthropic,
    "claude-code": read_claude_code,
    "codex": read_codex,
    "contextctl": read_contextctl,
    "gemini": read_gemini,
    "gemini-cli": read_gemini_cli,
    "google-adk": read_google_adk,
    "inspect": read_inspect,
    "langchain": read_langchain,
    "langfuse": read_langfuse,
    "langsmith": read_langsmith,
    "litellm": read_litellm,
    "openai-chat": read_openai_chat,
    "openai-responses": read_openai_responses,
    "openhands": read_openhands,
    "otel": read_otel,
    "pi": read_pi,
    "pydantic-ai": read_pydantic_ai,
    "qwen-code": read_qwen_code,
    "sharegpt": read_sharegpt,
    "swe-agent": read_swe_agent,
    "tau-bench": read_tau_bench,
    "vercel-ai": read_vercel_ai,
}
"""Format name -> reader."""


def read_transcripts(
    data: bytes, path: str, format: str | None = None, map: FieldMap | None = None
) -> tuple[Transcript, ...]:
    """Every conversation in the bytes of one file, compressed or not, in file order.

    ``path`` is for places and names only; ``format`` a name from :data:`READERS`, else it is found by
    content. A ``map`` takes a request out of each record; the format is then that of the requests. Raises
    :class:`~contextctl.errors.TranscriptError` with all that is wrong where nothing can be read,
    :class:`~contextctl.errors.UsageError` for a format that is not known.
    """
    _check_format(format)
    unpacking = Unpacking([data], path)
    return tuple(_to_the_end(_whole(unpacking, path, format, map), unpacking))


def iter_transcripts(
    chunks: OpenChunks, path: str, format: str | None = None, map: FieldMap | None = None
) -> Iterator[Transcript]:
    """The same, one by one.

    Of JSON Lines with a conversation or request a line, however many, one is held at a time; the file is
    then read more than once. A file of any other format, with a map, or below :data:`STREAMED_BYTES` is
    held as a whole.
    """
    _check_format(format)
    unpacking = Unpacking(chunks(), path)
    pieces = iter(unpacking)
    head = _taken(pieces, STREAMED_BYTES)
    told = None
    if len(head) >= STREAMED_BYTES and map is None and not head.startswith(ZIP_START):
        check_bytes(head, path)
        told = survey(lambda: Unpacking(chunks(), path), path, format)
    if told is None:
        found = _whole(chain([head], pieces), path, format, map)
    else:
        del head, pieces
        unpacking = Unpacking(chunks(), path)
        found = iter_conversations(unpacking, path, told)
    yield from _to_the_end(found, unpacking)


def _check_format(format: str | None) -> None:
    if format is not None and format not in READERS:
        known = ", ".join(READERS)
        raise UsageError(f"unknown transcript format '{format}'", hint=f"the formats are {known}")


def _taken(pieces: Iterator[bytes], most: int) -> bytes:
    """The first pieces that make up so many bytes, or all there are."""
    parts: list[bytes] = []
    size = 0
    while size < most and (piece := next(pieces, None)) is not None:
        parts.append(piece)
        size += len(piece)
    return b"".join(parts)


def _to_the_end(found: Iterator[Transcript], unpacking: Unpacking) -> Iterator[Transcript]:
    """The conversations, the last one with what is wrong with the end of the file."""
    last: Transcript | None = None
    try:
        for transcript in found:
            if last is not None:
                yield last
            last = transcript
    except TranscriptError as error:
        if unpacking.problem is None:
            raise
        told = [from_problem(item) for item in error.problems]
        raise transcript_error([*told, unpacking.problem]) from None
    if last is not None and unpacking.problem is not None:
        last = replace(last, findings=(*last.findings, unpacking.problem))
    if last is not None:
        yield last


def _whole(
    pieces: Iterable[bytes], path: str, format: str | None, map: FieldMap | None
) -> Iterator[Transcript]:
    yield from _read(b"".join(pieces), path, format, map)


def _read(data: bytes, path: str, format: str | None, map: FieldMap | None) -> tuple[Transcript, ...]:
    check_bytes(data, path)
    if map is not None:
        return _read_mapped(split_records(data, path), path, format, map)
    packed = archive_format(data)
    if packed is not None and format in (None, packed):
        return READERS[packed](data, path)
    records = split_records(data, path)
    name = format or detect_records(records, path, known=READERS)
    if name not in READERS:
        unread = finding(
            "CTX014",
            f"the format looks like {name}, which is not read",
            location=Location(path, records.records[0].line),
            hint=f"the formats that are read are {', '.join(READERS)}; one of them can be named by hand",
        )
        raise transcript_error([unread])
    return READERS[name](data, path, records)


def _read_mapped(records: Records, path: str, format: str | None, map: FieldMap) -> tuple[Transcript, ...]:
    check_not_empty(records, path)
    wrapped = unwrap(records, path, map, format)
    name = format or detect_requests(wrapped.records)
    return wrapped.completed(READERS[name](b"", path, wrapped.records))
