"""Recorded conversations in every format that is read: bytes -> transcripts."""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

from contextctl.errors import Location, TranscriptError, UsageError
from contextctl.findings import Finding, finding, from_problem
from contextctl.recording import Transcript
from contextctl.transcripts.anthropic import read_anthropic
from contextctl.transcripts.claude_code import read_claude_code
from contextctl.transcripts.codex import read_codex
from contextctl.transcripts.compression import unpacked
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
from contextctl.transcripts.inspect import read_inspect
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
from contextctl.transcripts.swe_agent import read_swe_agent
from contextctl.transcripts.tau_bench import read_tau_bench
from contextctl.transcripts.vercel_ai import read_vercel_ai


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
    if format is not None and format not in READERS:
        known = ", ".join(READERS)
        raise UsageError(f"unknown transcript format '{format}'", hint=f"the formats are {known}")
    content, problem = unpacked(data, path)
    if problem is None:
        return _read(content, path, format, map)
    try:
        *others, last = _read(content, path, format, map)
    except TranscriptError as error:
        raise transcript_error([*(from_problem(item) for item in error.problems), problem]) from None
    return (*others, with_problem(last, problem))


def with_problem(last: Transcript, problem: Finding) -> Transcript:
    """A file's last conversation, with what is wrong with the end of the file."""
    return replace(last, findings=(*last.findings, problem))


def _read(data: bytes, path: str, format: str | None, map: FieldMap | None) -> tuple[Transcript, ...]:
    check_bytes(data, path)
    if map is not None:
        return _read_mapped(split_records(data, path), path, format, map)
    packed = archive_format(data)
    if packed is not None and format in (None, packed):
        return READERS[packed](data, path)
    records = split_records(data, path)
    name = format or detect_records(data, records, path, known=READERS)
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
