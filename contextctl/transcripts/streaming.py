"""Conversations of a large file of JSON Lines, one after another, as reading it whole would give them.

The file is read twice. The first time tells what only all of its records can: the format, how many
conversations there are and what they are called. Between the two nothing is kept but their ids.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice

from contextctl.recording import Transcript
from contextctl.transcripts.answers import provider_of_answers
from contextctl.transcripts.conversations import (
    Draft,
    no_message,
    settle,
    transcript_from,
    unique_ids,
)
from contextctl.transcripts.detection import SNIFFED_RECORDS, Sniff
from contextctl.transcripts.line_formats import LINE_FORMATS, LineFormat
from contextctl.transcripts.records import Records, is_one_document, iter_lines, iter_records
from contextctl.transcripts.request_signs import Signs, signs_of

OpenChunks = Callable[[], Iterable[bytes]]
"""Gives the content of a file from its beginning, in pieces, as often as it is called."""


@dataclass(frozen=True, slots=True)
class Survey:
    """What the first reading of a file told: its format, and the id of each conversation that has one."""

    format: str
    ids: tuple[str | None, ...]


def survey(chunks: OpenChunks, path: str, format: str | None = None) -> Survey | None:
    """What there is to know before the conversations can be read one by one.

    None where the file has to be read as a whole: another format, one JSON document, or a conversation
    whose messages stand a record each.
    """
    found = _surveyed(chunks(), path, format)
    if found is not None and format is None:
        told, name = found
        if name != told.format:
            found = _surveyed(chunks(), path, name)
    return None if found is None else found[0]


def iter_conversations(chunks: Iterable[bytes], path: str, told: Survey) -> Iterator[Transcript]:
    """The conversations of a file that was surveyed, in order.

    Raises :class:`~contextctl.errors.TranscriptError` where no message at all could be read.
    """
    format = LINE_FORMATS[told.format]
    drafting, names = format.drafting(), unique_ids(told.ids, path)
    held: list[Draft] = []
    has_messages = False
    for group in _groups(iter_records(iter_lines(chunks), path), format):
        drafts = drafting(group.records, path)
        settle(drafts, group, path)
        held += drafts
        has_messages = has_messages or any(draft.messages for draft in drafts)
        if has_messages:
            for draft, name in zip(held, names, strict=False):
                yield transcript_from(draft, name, path, told.format)
            held.clear()
    if not has_messages:
        raise no_message(held, path)


def _surveyed(chunks: Iterable[bytes], path: str, format: str | None) -> tuple[Survey, str | None] | None:
    """The survey by the format that the first records have, and the format that all of them have."""
    lines = iter_lines(chunks)
    head = list(islice(lines, 2))
    if is_one_document(line for _, line in head):
        return None
    records = iter_records(chain(head, lines), path)
    sample = _sample(records)
    first = [record for item in sample for record in item.records]
    if format is None and provider_of_answers([record.value for record in first]) is not None:
        return None
    sniff = Sniff.of(first)
    name = format or sniff.format
    reading = LINE_FORMATS.get(name or "")
    if name is None or reading is None or not any(reading.begins(record.value) for record in first):
        return None
    ids: list[str | None] = []
    signs, drafting = Signs.NONE, reading.drafting()
    for group in _groups(chain(sample, records), reading):
        for record in group.records:
            if isinstance(record.value, dict) and reading.spans(record.value):
                return None
            signs |= signs_of(record.value)
        ids += [draft.id for draft in drafting([reading.emptied(record) for record in group.records], path)]
    return Survey(name, tuple(ids)), format or Sniff(sniff.objects, signs).format


def _sample(records: Iterator[Records]) -> list[Records]:
    """As many lines as it takes to tell a format."""
    sample: list[Records] = []
    seen = 0
    while seen < SNIFFED_RECORDS and (item := next(records, None)) is not None:
        sample.append(item)
        seen += len(item.records)
    return sample


def _groups(lines: Iterable[Records], format: LineFormat) -> Iterator[Records]:
    """Each line in which a conversation begins, with those after it in which none does."""
    group: list[Records] = []
    has_begun = False
    for line in lines:
        begins = any(format.begins(record.value) for record in line.records)
        if begins and has_begun:
            yield _joined(group)
            group = []
        has_begun = has_begun or begins
        group.append(line)
    if group:
        yield _joined(group)


def _joined(group: Sequence[Records]) -> Records:
    if len(group) == 1:
        return group[0]
    return Records(
        tuple(record for item in group for record in item.records),
        tuple(problem for item in group for problem in item.findings),
        sum(item.skipped for item in group),
    )
