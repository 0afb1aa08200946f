"""Codex rollouts: a record a line, of which the response items are what the model saw."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from contextctl.errors import Location
from contextctl.messages import (
    KNOWN_ROLES,
    SYSTEM_ROLES,
    Message,
    ThinkingPart,
    ToolResultPart,
    Usage,
    part_texts,
)
from contextctl.recording import RecordedCompaction, Transcript
from contextctl.transcripts.chat_messages import MessageReading, json_kind, read_message
from contextctl.transcripts.conversations import Draft, place, transcripts_from
from contextctl.transcripts.json_shapes import (
    UnknownKinds,
    count,
    listed,
    mapping,
    note_model,
    string,
    superseded,
)
from contextctl.transcripts.openai_responses import (
    COMPACTIONS,
    ITEM_HINT,
    TOOL_LISTS,
    add_tools,
    is_known_item,
    message_from_item,
    response_parts,
)
from contextctl.transcripts.records import Record, Records, split_records

NAME = "codex"

_NO_CONTEXT = frozenset({"world_state", "inter_agent_communication_metadata"})
_NO_ITEMS = ("ghost_snapshot",)
_MACHINE_WRITTEN = (
    "<environment_context>",
    "<user_instructions>",
    "<turn_aborted>",
    "<subagent_notification>",
    "# AGENTS.md instructions",
)
"""How user messages begin that no human wrote."""

_FORK_MOMENT = timedelta(seconds=1)
"""The lines that a fork copies are all stamped within less than this."""


def read_codex(data: bytes, path: str, records: Records | None = None) -> tuple[Transcript, ...]:
    """One rollout. Events for the screen are not content; of them the token counts are taken as usage.

    A compaction's replacement history is a recap. A fork's copied history is part of it, without the usage,
    which was the parent's. The tools are not recorded, but for those that were added on the way.
    """
    records = records or split_records(data, path)
    if not records.records:
        return transcripts_from([], records, path, NAME)
    rollout = _Rollout(records.records[0].line, path)
    for record in records.records:
        rollout.read(record)
    return transcripts_from([rollout.finished()], records, path, NAME)


class _Rollout:
    """Records on their way into a draft; each response item makes one message or none."""

    def __init__(self, line: int, path: str) -> None:
        self._draft = Draft(line)
        self._path = path
        self._unknown_records = UnknownKinds("a record")
        self._unknown_items = UnknownKinds(
            "an item", done="each was kept as an opaque part", hint="its count is an estimate"
        )
        self._sessions = 0
        self._forked_at: datetime | None = None
        self._has_system = False
        self._is_sealed = False
        self._responses = 0
        self._answering = False
        self._unreported: int | None = None
        self._changed_model: str | None = None
        self._total: object = None
        self._in_use: int | None = None

    def finished(self) -> Draft:
        """The draft with all that was read."""
        system = () if self._has_system else ("system",)
        reasoning = ("reasoning",) if self._is_sealed else ()
        self._draft.lacks = (*system, "tools", *reasoning)
        return self._draft

    def read(self, record: Record) -> None:
        """Take in one record."""
        at, value = place(record, self._path), record.value
        if not isinstance(value, dict):
            wrong = f"a record is an object, not {json_kind(value)}; it was not read"
            self._draft.report(wrong, at, skipped=1)
            return
        kind, payload = _unwrapped(value)
        if kind in _NO_CONTEXT:
            return
        if not isinstance(payload, dict):
            wrong = f"the payload of a record is an object, not {json_kind(payload)}; it was not read"
            self._draft.report(wrong, at, skipped=1)
            return
        match kind:
            case "session_meta":
                self._session(payload, value, at)
            case "turn_context":
                self._changed_model = note_model(self._draft, payload.get("model")) or self._changed_model
            case "response_item":
                self._item(payload, value, at)
            case "compacted":
                self._compacted(payload, value, at)
            case "event_msg":
                self._event(payload, value)
            case _:
                self._unknown_records.tell(self._draft, kind, at)

    def _session(self, payload: dict[str, object], value: dict[str, object], at: Location) -> None:
        """Take in the first header; a second one is that of the session from which this one was forked."""
        self._sessions += 1
        if self._sessions > 1:
            if self._sessions == 2 and not self._responses:
                self._forked_at = _time(value)
            return
        self._draft.id = string(payload.get("id"))
        dynamic = payload.get("dynamic_tools")
        tools = mapping(dynamic).get("tools") if isinstance(dynamic, dict) else dynamic
        if found := [tool for tool in listed(tools) if isinstance(tool, dict)]:
            add_tools(self._draft, found)
        base = payload.get("base_instructions")
        text = string(mapping(base).get("text") or base) or string(payload.get("instructions"))
        if text is not None:
            self._has_system = True
            system = Message(role="system", content=text, location=at, time=string(value.get("timestamp")))
            self._draft.messages.insert(0, system)
            self._unreported = None if self._unreported is None else self._unreported + 1

    def _item(self, payload: dict[str, object], value: dict[str, object], at: Location) -> None:
        kind = payload.get("type")
        if kind in _NO_ITEMS:
            return
        if kind in TOOL_LISTS:
            add_tools(self._draft, [tool for tool in listed(payload.get("tools")) if isinstance(tool, dict)])
            if string(payload.get("call_id")) is None:
                return
        reading = self._reading(payload, at)
        self._draft.findings += reading.findings
        if reading.message is None:
            self._draft.skipped += 1
            return
        message = reading.message.model_copy(update={"time": string(value.get("timestamp")), "recap": False})
        if message.role == "assistant":
            message = self._answer(message)
        else:
            self._answering = False
        self._draft.messages.append(message)

    def _reading(self, item: object, at: Location) -> MessageReading:
        kind = mapping(item).get("type")
        reading = read_message(_message, item, at, roles=KNOWN_ROLES, hint=ITEM_HINT)
        if reading.message is None:
            return reading
        if isinstance(kind, str) and reading.message.role == "assistant" and not is_known_item(kind):
            self._unknown_items.tell(self._draft, kind, at)
        parts = reading.message.content
        self._is_sealed = self._is_sealed or any(isinstance(p, ThinkingPart) and not p.text for p in parts)
        return reading

    def _answer(self, message: Message) -> Message:
        """Join the response at hand; the first message of a response waits for its usage."""
        changed = None
        if not self._answering:
            self._responses += 1
            self._answering, self._unreported = True, len(self._draft.messages)
            changed, self._changed_model = self._changed_model, None
        return message.model_copy(update={"response_id": f"response-{self._responses}", "model": changed})

    def _event(self, payload: dict[str, object], value: dict[str, object]) -> None:
        if payload.get("type") == "token_count":
            self._usage(mapping(payload.get("info")), value)
        elif payload.get("type") == "thread_rolled_back":
            self._roll_back(count(payload.get("num_turns")) or 0)

    def _usage(self, info: dict[str, object], value: dict[str, object]) -> None:
        """Give the response at hand what was reported; the same totals again report nothing new."""
        last, total = mapping(info.get("last_token_usage")), info.get("total_token_usage")
        if not last:
            return
        self._in_use = count(last.get("total_tokens"))
        if not count(last.get("input_tokens")):
            self._estimate()
            return
        if total is not None and total == self._total:
            return
        self._total = total
        self._answering = False
        index, self._unreported = self._unreported, None
        if index is None or self._is_copied(value):
            return
        usage = Usage(
            input_tokens=count(last.get("input_tokens")),
            cached_tokens=count(last.get("cached_input_tokens")),
            output_tokens=count(last.get("output_tokens")),
            window_tokens=count(info.get("model_context_window")),
        )
        self._draft.messages[index] = self._draft.messages[index].model_copy(update={"usage": usage})

    def _estimate(self) -> None:
        """What stands in place of usage just after a compaction: Codex's estimate of the new history."""
        made = self._draft.compactions
        if made and made[-1].tokens_after is None and self._unreported is None:
            made[-1] = replace(made[-1], tokens_after=self._in_use)

    def _is_copied(self, value: dict[str, object]) -> bool:
        now = _time(value)
        if self._forked_at is None or now is None:
            return False
        return abs(now - self._forked_at) < _FORK_MOMENT

    def _compacted(self, payload: dict[str, object], value: dict[str, object], at: Location) -> None:
        """Replace all but the system prompt by the history that is recorded for it.

        Without one, the messages of the user stay (Codex may have shortened them), and the summary follows.
        """
        history = payload.get("replacement_history")
        stay = {"system"} if isinstance(history, list) else {"user", *SYSTEM_ROLES}
        self._draft.messages = [
            message if message.role in stay and not message.recap else superseded(message, "compaction")
            for message in self._draft.messages
        ]
        self._answering, self._unreported = False, None
        is_readable = True
        if isinstance(history, list):
            is_readable = not any(mapping(item).get("type") in COMPACTIONS for item in history)
            for index, item in enumerate(history, 1):
                if mapping(item).get("type") not in _NO_ITEMS:
                    self._recap(item, value, Location(at.path, at.line, index=index))
        elif text := string(payload.get("message")):
            self._recap({"role": "user", "content": text}, value, at)
        self._draft.compactions.append(
            RecordedCompaction(
                at,
                "replaced" if isinstance(history, list) else "summary",
                tokens_before=self._in_use,
                readable=is_readable,
            )
        )

    def _recap(self, item: object, value: dict[str, object], at: Location) -> None:
        reading = self._reading(item, at)
        self._draft.findings += reading.findings
        if reading.message is None:
            self._draft.skipped += 1
            return
        more = {"time": string(value.get("timestamp")), "recap": True}
        self._draft.messages.append(reading.message.model_copy(update=more))

    def _roll_back(self, turns: int) -> None:
        """Take the last turns out of sight, each from what a human said on."""
        messages = self._draft.messages
        starts = [n for n, message in enumerate(messages) if _is_prompt(message)][-turns:] if turns else []
        for index in range(starts[0], len(messages)) if starts else ():
            messages[index] = superseded(messages[index], "rewind")
        self._answering, self._unreported = False, None


def _unwrapped(value: dict[str, object]) -> tuple[str | None, object]:
    """A record's type and payload; in the oldest files the items and the header stand bare."""
    if "payload" in value:
        return string(value.get("type")), value["payload"]
    if "record_type" in value:
        return "world_state", None
    is_header = "instructions" in value and "type" not in value and "role" not in value
    return ("session_meta" if is_header else "response_item"), value


def _message(value: object, location: Location) -> Message:
    """One item as a message; an answer to a search for tools is empty, as its tools are in the settings."""
    item = mapping(value)
    if item.get("type") == "agent_message":
        content = response_parts(item.get("content"), "a message's content")
        return Message(role="user", content=content, location=location)
    if item.get("type") in TOOL_LISTS:
        result = ToolResultPart(call_id=string(item.get("call_id")))
        return Message(role="tool", content=(result,), location=location)
    return message_from_item(value, location)


def _is_prompt(message: Message) -> bool:
    said = "".join(part_texts(message.content)).lstrip()
    return message.role == "user" and message.superseded is None and not said.startswith(_MACHINE_WRITTEN)


def _time(value: dict[str, object]) -> datetime | None:
    moment = None
    with suppress(ValueError):
        moment = datetime.fromisoformat(string(value.get("timestamp")) or "")
    return moment.replace(tzinfo=UTC) if moment and moment.tzinfo is None else moment
