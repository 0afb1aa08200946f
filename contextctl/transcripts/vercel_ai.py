"""Vercel AI SDK ``UIMessage`` lists of versions 4 and 5, in which a call and its result are one part."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from contextctl.errors import Location
from contextctl.recording import Transcript
from contextctl.transcripts.chat_messages import json_kind
from contextctl.transcripts.conversations import Draft, transcripts_from
from contextctl.transcripts.json_shapes import (
    UnknownKinds,
    chat_call,
    chat_message,
    data_url,
    image_url,
    listed,
    mapping,
    recorded_time,
    string,
    text_or_json,
    with_thinking,
)
from contextctl.transcripts.message_lists import message_lists
from contextctl.transcripts.nested_json import first_text
from contextctl.transcripts.records import Records, split_records

NAME = "vercel-ai"
_NOT_SENT = frozenset({"source-url", "source-document", "source", "step-start"})


def read_vercel_ai(data: bytes, path: str, records: Records | None = None) -> tuple[Transcript, ...]:
    """A list of messages, a chat that has one in ``messages``, or a message a line.

    Each step of an assistant's message is a model call: a message with its text, reasoning and calls, then
    one for each result. Data and source parts are not sent to a model and are left out.
    """
    records = records or split_records(data, path)
    found = message_lists(records.records, path, lambda value: value.get("messages"), _is_message)
    unknown = UnknownKinds("a part")
    for conversation in found:
        _read(conversation.draft, conversation.values, unknown)
    return transcripts_from([conversation.draft for conversation in found], records, path, NAME)


def _is_message(value: dict[str, object]) -> bool:
    return "role" in value


def _read(draft: Draft, values: Iterable[tuple[object, Location]], unknown: UnknownKinds) -> None:
    for value, at in values:
        if not isinstance(value, dict):
            draft.report(f"a message is an object, not {json_kind(value)}; it was not read", at, skipped=1)
            continue
        time = recorded_time(value.get("createdAt"))
        if value.get("role") == "assistant":
            for step in _steps(draft, value, at, unknown):
                step.take(draft, at, time)
        else:
            content = _said(draft, value, at, unknown)
            draft.add(chat_message({"role": value.get("role"), "content": content}, at, time=time))
    has_system = any(message.role == "system" for message in draft.messages)
    draft.lacks = ("tools",) if has_system else ("system", "tools")


@dataclass(slots=True)
class _Step:
    """What one model call answered, and the results of its calls."""

    content: list[object] = field(default_factory=list)
    thoughts: list[object] = field(default_factory=list)
    calls: list[object] = field(default_factory=list)
    results: list[dict[str, object]] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        return not (self.content or self.thoughts or self.calls)

    def add_call(self, tool: dict[str, object], name: object, arguments: object) -> None:
        """Take in a call; its result follows by :meth:`add_result`, where there is one."""
        self.calls.append(chat_call(tool.get("toolCallId"), name, arguments))

    def add_result(self, tool: dict[str, object], name: object, content: object) -> None:
        result = {"role": "tool", "tool_call_id": tool.get("toolCallId"), "name": name}
        self.results.append({**result, "content": content})

    def take(self, draft: Draft, at: Location, time: str | None) -> None:
        value = {"role": "assistant", "content": self.content, "tool_calls": self.calls}
        draft.add(with_thinking(chat_message(value, at, time=time), self.thoughts))
        for result in self.results:
            draft.add(chat_message(result, at, time=time))


def _steps(draft: Draft, message: dict[str, object], at: Location, unknown: UnknownKinds) -> Iterator[_Step]:
    """The steps of an assistant's message; one without anything in it is none, unless it is the only one."""
    parts = message.get("parts")
    if not isinstance(parts, list):
        yield from _older_steps(message)
        return
    steps = [_Step()]
    for part in parts:
        own = mapping(part)
        kind = own.get("type")
        if kind == "step-start":
            steps.append(_Step())
        elif kind == "reasoning":
            text = first_text(own, "text", "reasoning")
            steps[-1].thoughts.append({"thinking": text})
        elif kind == "tool-invocation":
            _older_call(steps[-1], mapping(own.get("toolInvocation")))
        elif isinstance(kind, str) and (kind == "dynamic-tool" or kind.startswith("tool-")):
            _call(steps[-1], own, own.get("toolName") if kind == "dynamic-tool" else kind.partition("-")[2])
        else:
            steps[-1].content += _part(draft, part, at, unknown)
    filled = [step for step in steps if not step.is_empty]
    yield from filled or steps[:1]


def _call(step: _Step, tool: dict[str, object], name: object) -> None:
    """A part of version 5; its result is final only in three of its states."""
    arguments = tool.get("input")
    step.add_call(tool, name, tool.get("rawInput") if arguments is None else arguments)
    match tool.get("state"):
        case "output-available" if tool.get("preliminary") is not True:
            step.add_result(tool, name, text_or_json(tool.get("output")))
        case "output-error":
            step.add_result(tool, name, tool.get("errorText"))
        case "output-denied":
            step.add_result(tool, name, mapping(tool.get("approval")).get("reason"))


def _older_call(step: _Step, tool: dict[str, object]) -> None:
    """An invocation of version 4."""
    step.add_call(tool, tool.get("toolName"), tool.get("args"))
    if tool.get("state") == "result":
        step.add_result(tool, tool.get("toolName"), text_or_json(tool.get("result")))


def _older_steps(message: dict[str, object]) -> Iterator[_Step]:
    """Version 4 without parts: the text belongs to the only step, or is the last one of several."""
    steps: dict[int, _Step] = {}
    for tool in map(mapping, listed(message.get("toolInvocations"))):
        number = tool.get("step")
        _older_call(steps.setdefault(number if isinstance(number, int) else 0, _Step()), tool)
    text = string(message.get("content"))
    reasoning = string(message.get("reasoning"))
    last = _Step([text] if text else [], [{"thinking": reasoning}] if reasoning else [])
    if len(steps) == 1:
        (only,) = steps.values()
        only.content, only.thoughts = last.content, last.thoughts
        yield only
        return
    yield from steps.values()
    if not steps or not last.is_empty:
        yield last


def _said(draft: Draft, message: dict[str, object], at: Location, unknown: UnknownKinds) -> object:
    parts = message.get("parts")
    attached = [
        _file(mapping(file)) for file in listed(message.get("experimental_attachments")) if mapping(file)
    ]
    if isinstance(parts, list):
        return [item for part in parts for item in _part(draft, part, at, unknown)] + attached
    content = message.get("content")
    return [content, *attached] if attached and isinstance(content, str) else content


def _part(draft: Draft, part: object, at: Location, unknown: UnknownKinds) -> list[object]:
    """A text or file in OpenAI's shape, or nothing for what no model is sent."""
    own = mapping(part)
    kind = own.get("type")
    if not own or kind == "text":
        return [part]
    if kind == "file":
        return [_file(own)]
    if (
        not (isinstance(kind, str) and (kind in _NOT_SENT or kind.startswith("data-")))
        and kind != "step-start"
    ):
        unknown.tell(draft, kind, at)
    return []


def _file(file: dict[str, object]) -> object:
    media_type = first_text(file, "mediaType", "mimeType", "contentType") or ""
    address = string(file.get("url")) or data_url(media_type, file.get("data"))
    if media_type.startswith("image/"):
        return image_url(address)
    if media_type.startswith("audio/"):
        return {**file, "type": "input_audio"}
    return {"type": "file", "file": {**file, "filename": first_text(file, "filename", "name")}}
