"""Records -> conversations -> transcripts: what the readers of chat shapes have in common."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from contextctl.errors import Location, Problem, TranscriptError
from contextctl.findings import Finding, Severity, finding
from contextctl.messages import Message, RequestSettings
from contextctl.recording import RecordedCompaction, RecordedRequest, Transcript
from contextctl.transcripts.chat_messages import MessageReading, json_kind
from contextctl.transcripts.records import Record, Records

MessageReader = Callable[[object, Location], MessageReading]
"""Reads one JSON value as a message."""

_CONVERSATION_HINT = "a message has a role, a conversation or request has a list of messages"


@dataclass(slots=True)
class Draft:
    """A conversation under construction; ``line`` is where it starts. ``lacks`` comes before what can be
    told from the messages."""

    line: int
    id: str | None = None
    model: str | None = None
    settings: RequestSettings = field(default_factory=RequestSettings)
    messages: list[Message] = field(default_factory=list)
    records: list[object] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    skipped: int = 0
    lacks: tuple[str, ...] = ()
    compactions: list[RecordedCompaction] = field(default_factory=list)
    requests: list[RecordedRequest] = field(default_factory=list)

    def add(self, reading: MessageReading) -> None:
        """Take in a message, or count the record that holds none."""
        self.findings += reading.findings
        if reading.message is None:
            self.skipped += 1
        else:
            self.messages.append(reading.message)
            self.records.append(reading.record)

    def report(self, message: str, location: Location, *, skipped: int = 0) -> None:
        """Note a fault in the shape of a record."""
        self.findings.append(finding("CTX011", message, location=location, hint=_CONVERSATION_HINT))
        self.skipped += skipped


def place(record: Record, path: str) -> Location:
    """Where a record stands."""
    return Location(path, record.line, index=record.index)


def read_messages(draft: Draft, values: object, record: Record, path: str, read: MessageReader) -> None:
    """Take in a conversation's list of messages, each at ``line:index``."""
    if not isinstance(values, list):
        message = f"'messages' is a list, not {json_kind(values)}; the conversation was not read"
        draft.report(message, place(record, path), skipped=1)
        return
    for index, value in enumerate(values, 1):
        draft.add(read(value, Location(path, record.line, index=index)))


def read_envelope(draft: Draft, value: Mapping[str, object], location: Location) -> None:
    """Take in what a request says beside its messages: id, model, tools, tool choice, response format."""
    identity = value.get("id")
    if isinstance(identity, str | int) and not isinstance(identity, bool) and identity != "":
        draft.id = str(identity)
    model = value.get("model")
    if isinstance(model, str) and model:
        draft.model = model
    elif model is not None:
        draft.report("'model' is a name; it was not read", location)
    legacy = value.get("tools") is None and value.get("functions") is not None
    choice = value.get("tool_choice")
    draft.settings = RequestSettings(
        tools=_tools(draft, value.get("functions" if legacy else "tools"), location),
        tool_choice=value.get("function_call") if choice is None else choice,
        response_format=value.get("response_format"),
        legacy=legacy,
    )


def _tools(draft: Draft, tools: object, location: Location) -> tuple[dict[str, object], ...] | None:
    if tools is None:
        return None
    if isinstance(tools, list) and all(isinstance(tool, dict) for tool in tools):
        return tuple(tools)
    draft.report("the tool definitions are a list of objects; they were not read", location)
    return None


def conversation_drafts(record: Record, path: str, read: MessageReader) -> list[Draft] | None:
    """The conversations that one JSON value holds, or None where it is of no such shape.

    A request or conversation, a batch line, a list of such, or a bare list of messages.
    """
    value = record.value
    if isinstance(value, dict):
        draft = _conversation(value, record, path, read)
        return None if draft is None else [draft]
    if not isinstance(value, list) or not value:
        return None
    if any(isinstance(item, dict) and "role" in item for item in value):
        draft = Draft(record.line)
        read_messages(draft, value, record, path, read)
        return [draft]
    found = [_conversation(item, record, path, read) if isinstance(item, dict) else None for item in value]
    drafts = [draft for draft in found if draft is not None]
    if not drafts:
        return None
    for number, item in enumerate(found, 1):
        if item is None:
            wrong = f"item {number} of the list is no conversation; it was not read"
            drafts[0].report(wrong, Location(path, record.line, index=number), skipped=1)
    return drafts


def _conversation(
    value: Mapping[str, object], record: Record, path: str, read: MessageReader
) -> Draft | None:
    request = _request(value)
    if "messages" not in request:
        return None
    draft = Draft(record.line)
    read_envelope(draft, request, place(record, path))
    custom_id = value.get("custom_id")
    if isinstance(custom_id, str) and custom_id:
        draft.id = custom_id
    read_messages(draft, request["messages"], record, path, read)
    return draft


def _request(value: Mapping[str, object]) -> Mapping[str, object]:
    body = value.get("body")
    return body if isinstance(body, dict) and "messages" in body else value


def holds_conversation(value: object) -> bool:
    """True for a record of which :func:`conversation_drafts` makes something."""
    if isinstance(value, dict):
        return "messages" in _request(value)
    items = [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
    return any("role" in item or "messages" in _request(item) for item in items)


def is_loose(value: Mapping[str, object]) -> bool:
    """True for a message that stands alone: all of them in a file are one conversation."""
    return "role" in value and "messages" not in value


def chat_drafts(records: Sequence[Record], path: str, read: MessageReader) -> list[Draft]:
    """Every conversation of a file: all messages that stand alone are one, every other record its own."""
    drafts: list[Draft] = []
    loose: Draft | None = None
    strays: list[Record] = []
    for record in records:
        value = record.value
        if isinstance(value, dict) and is_loose(value):
            if loose is None:
                loose = Draft(record.line)
                drafts.append(loose)
            loose.add(read(value, place(record, path)))
            continue
        found = conversation_drafts(record, path, read)
        if found is None:
            strays.append(record)
        else:
            drafts += found
    for record in strays:
        nearest_draft(drafts, record.line).report(_stray(record.value), place(record, path), skipped=1)
    return drafts


def _stray(value: object) -> str:
    if isinstance(value, dict):
        return "the record has neither a role nor messages; it was not read"
    if value == []:
        return "the record is an empty list; it was not read"
    return f"a record is an object, not {json_kind(value)}; it was not read"


def nearest_draft(drafts: list[Draft], line: int) -> Draft:
    """The draft that starts at or last before a line, else the first; a new one where there is none."""
    if not drafts:
        drafts.append(Draft(line))
    return drafts[max(0, bisect_right(drafts, line, key=lambda draft: draft.line) - 1)]


def transcripts_from(
    drafts: list[Draft], records: Records, path: str, format: str, *, lacks: tuple[str, ...] = ()
) -> tuple[Transcript, ...]:
    """Finished transcripts with ids that are unique in the file.

    What is wrong with the file's lines goes to the conversation that starts at or before them. Raises
    :class:`~contextctl.errors.TranscriptError` where no message at all could be read.
    """
    settle(drafts, records, path)
    if not any(draft.messages for draft in drafts):
        raise no_message(drafts, path)
    names = unique_ids([draft.id for draft in drafts], path)
    return tuple(
        transcript_from(draft, name, path, format, lacks=lacks)
        for draft, name in zip(drafts, names, strict=True)
    )


def settle(drafts: list[Draft], records: Records, path: str) -> None:
    """Give what is wrong with the file's lines to the draft that starts at or before each of them."""
    for problem in records.findings:
        nearest_draft(drafts, problem.location.line or 1).findings.append(problem)
    if records.skipped:
        _share_skipped(drafts, records)
    for draft in drafts:
        if not draft.messages and not any(item.is_input_error for item in draft.findings):
            draft.findings.append(_nothing(Location(path, draft.line)))


def no_message(drafts: Iterable[Draft], path: str) -> TranscriptError:
    """The error for a file in which there is no message, or none that could be read."""
    found = [item for draft in drafts for item in draft.findings]
    return transcript_error(found or [_nothing(Location(path, 1))])


def transcript_from(
    draft: Draft, name: str, path: str, format: str, *, lacks: tuple[str, ...] = ()
) -> Transcript:
    """The finished transcript of a draft to which nothing will be added."""
    return Transcript(
        path=path,
        id=name,
        format=format,
        messages=tuple(draft.messages),
        model=draft.model,
        settings=draft.settings,
        lacks=draft.lacks or lacks or _lacks(draft),
        findings=tuple(sorted(draft.findings, key=_by_place)),
        skipped=draft.skipped,
        compactions=tuple(draft.compactions),
        requests=tuple(draft.requests),
        records=_whole_records(draft),
    )


def _whole_records(draft: Draft) -> tuple[object, ...]:
    """The record of each message, or nothing where one has none of its own."""
    whole = len(draft.records) == len(draft.messages) and None not in draft.records
    return tuple(draft.records) if whole else ()


def _share_skipped(drafts: list[Draft], records: Records) -> None:
    for problem in records.findings:
        if problem.severity is Severity.ERROR:
            nearest_draft(drafts, problem.location.line or 1).skipped += 1


def _nothing(location: Location) -> Finding:
    return finding(
        "CTX013",
        "there is no message in it, so there is nothing to audit",
        location=location,
        hint="record at least one message, or leave it out",
    )


def _by_place(item: Finding) -> tuple[int, int]:
    return item.location.line or 0, item.location.index or 0


def _lacks(draft: Draft) -> tuple[str, ...]:
    called = any(message.calls for message in draft.messages)
    return ("tools",) if called and not draft.settings.tools else ()


def unique_ids(ids: Sequence[str | None], path: str) -> Iterator[str]:
    """A name for each conversation of a file: its own id where it has one, each only once.

    One without an id is named after the file, and numbered where it is not alone.
    """
    stem = _stem(path)
    alone = len(ids) == 1
    if not any(ids):
        yield from (stem if alone else f"{stem}#{n}" for n in range(1, len(ids) + 1))
        return
    wanted = [own or (stem if alone else f"{stem}#{n}") for n, own in enumerate(ids, 1)]
    reserved, counts = set(wanted), dict.fromkeys(wanted, 0)
    for name in wanted:
        counts[name] += 1
        candidate = name
        while counts[name] > 1 and candidate in reserved:
            candidate = f"{name}#{counts[name]}"
            counts[name] += candidate in reserved
        reserved.add(candidate)
        yield candidate


def _stem(path: str) -> str:
    """A file's name without its suffix, and without that of its compression."""
    if path == "-":
        return "stdin"
    name = PurePosixPath(path)
    return PurePosixPath(name.stem if name.suffix in (".gz", ".zst") else name).stem or path


def transcript_error(findings: Iterable[Finding]) -> TranscriptError:
    """The exception that tells the errors among the findings, or all of them where none is an error."""
    told = list(findings)
    errors = [item for item in told if item.severity is Severity.ERROR] or told
    return TranscriptError(
        Problem(item.code, item.message, item.location, item.hint) for item in sorted(errors, key=_by_place)
    )
