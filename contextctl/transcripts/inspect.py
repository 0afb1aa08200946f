"""inspect_ai logs: one JSON document, or an ``.eval`` archive read sample by sample."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from io import BytesIO
from zipfile import BadZipFile, ZipFile

from contextctl.errors import Location
from contextctl.recording import Transcript
from contextctl.transcripts.chat_messages import json_kind
from contextctl.transcripts.conversations import Draft, place, transcripts_from
from contextctl.transcripts.inspect_events import Agent, Step, steps_of
from contextctl.transcripts.inspect_messages import SampleMessages
from contextctl.transcripts.inspect_view import SampleView
from contextctl.transcripts.json_shapes import listed, mapping
from contextctl.transcripts.records import Record, Records, split_records

NAME = "inspect"
ZIP_START = b"PK\x03\x04"
_SAMPLE_NAME = re.compile(r"samples/[^/]+\.json")
_UNREADABLE = (BadZipFile, NotImplementedError, RuntimeError, EOFError, OSError, ValueError, zlib.error)
"""What zipfile raises: damage (BadZipFile, EOFError, OSError, ValueError, zlib.error), a compression method
that Python lacks (NotImplementedError), a password (RuntimeError). Each becomes a finding of its sample."""


def read_inspect(data: bytes, path: str, records: Records | None = None) -> tuple[Transcript, ...]:
    """A conversation for each sample, and one for each agent that was called as a tool in it.

    The messages are those that the sample ends with; every model call is a request as it was sent. Calls of
    scorers are no part of a conversation and are left out.
    """
    if data.startswith(ZIP_START):
        return transcripts_from(list(_archived(data, path)), Records((), (), 0), path, NAME)
    records = records or split_records(data, path)
    drafts = [draft for record in records.records for draft in _logged(record, path)]
    return transcripts_from(drafts, records, path, NAME)


def _archived(data: bytes, path: str) -> Iterator[Draft]:
    """The samples of an archive; what is wrong inside one stays with it."""
    try:
        archive = ZipFile(BytesIO(data))
        names = [name for name in archive.namelist() if _SAMPLE_NAME.fullmatch(name)]
    except _UNREADABLE:
        yield _unread("the archive cannot be read", Location(path, 1))
        return
    with archive:
        for name in names:
            try:
                records = split_records(archive.read(name), path)
            except _UNREADABLE:
                yield _unread(
                    "a sample of the archive cannot be unpacked; it was not read", Location(path, 1)
                )
                continue
            drafts = [draft for record in records.records for draft in _sample(record.value, record, path)]
            drafts = drafts or [Draft(1)]
            drafts[0].findings += records.findings
            drafts[0].skipped += records.skipped
            yield from drafts


def _unread(message: str, at: Location) -> Draft:
    draft = Draft(1)
    draft.report(message, at, skipped=1)
    return draft


def _logged(record: Record, path: str) -> Iterator[Draft]:
    """The samples of a log, or a sample that was taken out of its archive."""
    value = mapping(record.value)
    if "samples" not in value:
        yield from _sample(record.value, record, path)
        return
    samples = value["samples"]
    if not isinstance(samples, list):
        if samples is not None:
            wrong = f"'samples' is a list, not {json_kind(samples)}; it was not read"
            yield _unread(wrong, place(record, path))
        else:
            yield Draft(record.line)
        return
    for sample in samples:
        yield from _sample(sample, record, path)


def _sample(value: object, record: Record, path: str) -> Iterator[Draft]:
    at = place(record, path)
    if not isinstance(value, dict):
        yield _unread(f"a sample is an object, not {json_kind(value)}; it was not read", at)
        return
    source = SampleMessages(value, at)
    steps = list(steps_of(value))
    draft = Draft(record.line, id=_sample_id(value))
    view = SampleView(draft, _ended_with(value, steps, source), source, at)
    conversations: dict[Agent | None, tuple[Draft, SampleView]] = {None: (draft, view)}
    for agent in dict.fromkeys(step.agent for step in steps if view.answered(step) is None):
        if agent is not None:
            own = Draft(record.line, id=f"{draft.id}/{agent.name}")
            conversations[agent] = own, SampleView(own, _last_seen(steps, agent, source), source, at)
    for step in steps:
        _, taking = conversations[None if view.answered(step) is not None else step.agent]
        taking.take(step)
    draft.findings += source.findings()
    for made, seen in conversations.values():
        seen.finish()
        if made is draft or made.messages:
            yield made


def _ended_with(sample: dict[str, object], steps: list[Step], source: SampleMessages) -> list[object]:
    """The messages of a sample; what its last call saw and answered where it broke off before it had any."""
    return listed(sample.get("messages")) or _last_seen(steps, None, source)


def _last_seen(steps: list[Step], agent: Agent | None, source: SampleMessages) -> list[object]:
    for step in reversed(steps):
        if step.agent == agent and step.event.get("event") == "model":
            return [*source.inputs(step.event), *([] if step.answer is None else [step.answer])]
    return []


def _sample_id(sample: dict[str, object]) -> str | None:
    identity, epoch = sample.get("id"), sample.get("epoch")
    if not isinstance(identity, int | str):
        return None
    return f"sample-{identity}-epoch-{epoch}" if isinstance(epoch, int) else f"sample-{identity}"
