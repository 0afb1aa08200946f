"""pi coding agent sessions: a header and an entry a line, linear in version 1, a tree from version 2 on."""

from __future__ import annotations

from collections.abc import Sequence

from contextctl.errors import Location
from contextctl.messages import Message, Usage
from contextctl.recording import RecordedCompaction, Transcript
from contextctl.transcripts.chat_messages import MessageReading, json_kind
from contextctl.transcripts.conversations import Draft, place, transcripts_from
from contextctl.transcripts.json_shapes import (
    UnknownKinds,
    chat_call,
    chat_message,
    count,
    data_url,
    image_url,
    listed,
    mapping,
    note_model,
    recorded_time,
    string,
    superseded,
    total,
    usage_of,
    with_thinking,
)
from contextctl.transcripts.records import Record, Records, split_records

NAME = "pi"
_ROLES = {
    "user": "user",
    "assistant": "assistant",
    "toolResult": "tool",
    "custom": "user",
    "hookMessage": "user",
}
_SUMMARY_ROLES = frozenset({"branchSummary", "compactionSummary"})
_NO_CONTEXT = frozenset(
    {"session", "thinking_level_change", "custom", "label", "session_info", "model_change", "compaction"}
)


def read_pi(data: bytes, path: str, records: Records | None = None) -> tuple[Transcript, ...]:
    """A session, or one after another. Entries off the path to the last one are superseded as a fork; a
    compaction's summary stands before the first entry that it kept."""
    records = records or split_records(data, path)
    sessions: list[list[Record]] = []
    for record in records.records:
        if not sessions or (len(sessions[-1]) > 0 and mapping(record.value).get("type") == "session"):
            sessions.append([])
        sessions[-1].append(record)
    unknown = UnknownKinds("an entry")
    drafts = [_Session(session, path, unknown).read() for session in sessions]
    return transcripts_from(drafts, records, path, NAME)


class _Session:
    """The entries of one session; each makes one message or none."""

    def __init__(self, records: Sequence[Record], path: str, unknown: UnknownKinds) -> None:
        self._entries = [mapping(record.value) for record in records]
        self._records = records
        self._path = path
        self._unknown = unknown
        self._draft = Draft(records[0].line, lacks=("system", "tools"))
        self._made: dict[int, Message] = {}

    def read(self) -> Draft:
        draft = self._draft
        draft.id = string(self._entries[0].get("id")) if self._type(0) == "session" else None
        for number, record in enumerate(self._records):
            self._entry(number, record)
        if draft.model is None:
            for entry in self._entries:
                note_model(draft, entry.get("modelId"))
        on_path = self._path_to_last()
        for number in self._made.keys() - set(on_path):
            self._made[number] = superseded(self._made[number], "fork")
        recaps: dict[int, list[Message]] = {}
        for number in sorted(
            number for number in range(len(self._entries)) if self._type(number) == "compaction"
        ):
            self._compact(number, on_path, recaps)
        for number in range(len(self._entries)):
            draft.messages += recaps.get(number, [])
            if number in self._made:
                draft.messages.append(self._made[number])
        return draft

    def _type(self, number: int) -> object:
        return self._entries[number].get("type")

    def _entry(self, number: int, record: Record) -> None:
        at, entry = place(record, self._path), self._entries[number]
        if not isinstance(record.value, dict):
            wrong = f"an entry is an object, not {json_kind(record.value)}; it was not read"
            self._draft.report(wrong, at, skipped=1)
            return
        match entry.get("type"):
            case "message":
                self._message(number, entry.get("message"), at)
            case "custom_message":
                self._take(number, chat_message({"role": "user", "content": _content(entry)}, at))
            case "branch_summary":
                self._take(number, chat_message({"role": "user", "content": entry.get("summary")}, at))
            case kind if not isinstance(kind, str) or kind not in _NO_CONTEXT:
                self._unknown.tell(self._draft, kind, at)
        if number in self._made and self._made[number].time is None:
            time = recorded_time(entry.get("timestamp"))
            self._made[number] = self._made[number].model_copy(update={"time": time})

    def _message(self, number: int, value: object, at: Location) -> None:
        message = mapping(value)
        role = message.get("role")
        if role == "bashExecution":
            if message.get("excludeFromContext") is not True:
                ran = [text for key in ("command", "output") if (text := string(message.get(key)))]
                self._take(number, chat_message({"role": "user", "content": "\n".join(ran)}, at))
        elif isinstance(role, str) and role in _SUMMARY_ROLES:
            told = {"role": "user", "content": message.get("summary")}
            self._take(number, chat_message(told, at, recap=role == "compactionSummary"))
        elif isinstance(role, str) and role in _ROLES:
            self._take(number, _reading(message, _ROLES[role], at, self._draft))
        else:
            self._take(number, chat_message(value, at))

    def _take(self, number: int, reading: MessageReading) -> None:
        self._draft.findings += reading.findings
        if reading.message is None:
            self._draft.skipped += 1
        else:
            self._made[number] = reading.message

    def _path_to_last(self) -> list[int]:
        """The entries from the first to the last one by their parents, in order; all of a linear session.

        Where a parent is not in the file, the entry before goes for it.
        """
        if not any("parentId" in entry for entry in self._entries):
            return list(range(len(self._entries)))
        numbers: dict[str, int] = {}
        parents: list[int | None] = []
        for number, entry in enumerate(self._entries):
            parent = entry.get("parentId")
            before = number - 1 if number else None
            if isinstance(parent, str):
                parents.append(numbers.get(parent, before))
            else:
                parents.append(None if "parentId" in entry else before)
            if identity := string(entry.get("id")):
                numbers[identity] = number
        path: list[int] = []
        step: int | None = len(self._entries) - 1
        while step is not None:
            path.append(step)
            step = parents[step]
        return path[::-1]

    def _compact(self, number: int, on_path: list[int], recaps: dict[int, list[Message]]) -> None:
        """Supersede what stands before the first kept entry, and put the summary there."""
        entry, at = self._entries[number], place(self._records[number], self._path)
        reading = chat_message({"role": "user", "content": entry.get("summary")}, at, recap=True)
        summary = string(entry.get("summary"))
        tokens = count(entry.get("tokensBefore"))
        self._draft.compactions.append(
            RecordedCompaction(at, "summary", tokens_before=tokens, readable=summary is not None)
        )
        self._draft.findings += reading.findings
        self._draft.skipped += reading.message is None
        first = self._first_kept(entry, number)
        if number not in on_path:
            recap = reading.message and superseded(reading.message, "fork")
        else:
            recap = reading.message
            for earlier in on_path:
                if earlier < first and earlier in self._made:
                    self._made[earlier] = superseded(self._made[earlier], "compaction")
            for place_, messages in recaps.items():
                recaps[place_] = [superseded(message, "compaction") for message in messages]
        if recap is not None:
            recaps.setdefault(first, []).append(recap)

    def _first_kept(self, entry: dict[str, object], number: int) -> int:
        """The first entry that a compaction kept, else the compaction itself."""
        index = count(entry.get("firstKeptEntryIndex"))
        if index is not None:
            return min(index, number)
        wanted = string(entry.get("firstKeptEntryId"))
        for earlier in range(number):
            if wanted is not None and self._entries[earlier].get("id") == wanted:
                return earlier
        return number


def _reading(message: dict[str, object], role: str, at: Location, draft: Draft) -> MessageReading:
    blocks = listed(message.get("content"))
    value: dict[str, object] = {"role": role, "content": _content(message)}
    if role == "tool":
        value |= {"tool_call_id": message.get("toolCallId"), "name": message.get("toolName")}
        return chat_message(value, at)
    if role == "user":
        return chat_message(value, at)
    calls = [mapping(block) for block in blocks if mapping(block).get("type") == "toolCall"]
    value["tool_calls"] = [
        chat_call(call.get("id"), call.get("name"), call.get("arguments")) for call in calls
    ]
    thoughts = [mapping(block) for block in blocks if mapping(block).get("type") == "thinking"]
    signed = [{**thought, "signature": thought.get("thinkingSignature")} for thought in thoughts]
    reading = chat_message(
        value,
        at,
        usage=_usage(mapping(message.get("usage"))),
        model=note_model(draft, message.get("model")),
        response_id=string(message.get("responseId")),
    )
    return with_thinking(reading, signed)


def _content(message: dict[str, object]) -> object:
    """Text and images in OpenAI's shape; thinking and calls are taken elsewhere."""
    content = message.get("content")
    if not isinstance(content, list):
        return content
    parts: list[object] = []
    for block in content:
        match mapping(block).get("type"):
            case "image":
                parts.append(image_url(data_url(mapping(block).get("mimeType"), mapping(block).get("data"))))
            case "thinking" | "toolCall":
                continue
            case _:
                parts.append(block)
    return parts


def _usage(usage: dict[str, object]) -> Usage | None:
    """What was reported; a reply that was aborted before it began reports nothing but zeros."""
    whole = total(usage.get("input"), usage.get("cacheRead"), usage.get("cacheWrite"))
    output = count(usage.get("output"))
    return usage_of(whole, count(usage.get("cacheRead")), output) if whole or output else None
