"""Recorded conversations in every format that is read: bytes -> transcripts."""

from __future__ import annotations

from typing import Protocol

from contextctl.errors import Location, UsageError
from contextctl.findings import finding
from contextctl.recording import Transcript
from contextctl.transcripts.contextctl_jsonl import read_contextctl
from contextctl.transcripts.conversations import transcript_error
from contextctl.transcripts.detection import check_bytes, detect_records
from contextctl.transcripts.google_adk import read_google_adk
from contextctl.transcripts.langfuse import read_langfuse
from contextctl.transcripts.langsmith import read_langsmith
from contextctl.transcripts.litellm import read_litellm
from contextctl.transcripts.openai_chat import read_openai_chat
from contextctl.transcripts.otel import read_otel
from contextctl.transcripts.qwen_code import read_qwen_code
from contextctl.transcripts.records import Records, split_records
from contextctl.transcripts.tau_bench import read_tau_bench


class RecordReader(Protocol):
    """A :class:`~contextctl.ports.Reader` that can be spared from splitting the data again."""

    def __call__(self, data: bytes, path: str, records: Records | None = None) -> tuple[Transcript, ...]:
        """As :class:`~contextctl.ports.Reader` promises."""
        ...


READERS: dict[str, RecordReader] = {
    "contextctl": read_contextctl,
    "openai-chat": read_openai_chat,
    "tau-bench": read_tau_bench,
    "langfuse": read_langfuse,
    "otel": read_otel,
    "langsmith": read_langsmith,
    "litellm": read_litellm,
    "google-adk": read_google_adk,
    "qwen-code": read_qwen_code,
}
"""Format name -> reader."""


def read_transcripts(data: bytes, path: str, format: str | None = None) -> tuple[Transcript, ...]:
    """Every conversation in the bytes of one file, in file order.

    ``path`` is for places and names only; ``format`` a name from :data:`READERS`, else it is found by
    content. Raises :class:`~contextctl.errors.TranscriptError` with all that is wrong where nothing can be
    read, :class:`~contextctl.errors.UsageError` for a format that is not known.
    """
    if format is not None and format not in READERS:
        known = ", ".join(READERS)
        raise UsageError(f"unknown transcript format '{format}'", hint=f"the formats are {known}")
    check_bytes(data, path)
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
