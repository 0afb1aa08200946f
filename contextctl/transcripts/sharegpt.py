"""ShareGPT: conversations of turns, with calls and their results as turns of their own and without ids."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from contextctl.errors import Location
from contextctl.findings import Finding, Severity, finding
from contextctl.messages import RequestSettings
from contextctl.recording import Transcript
from contextctl.transcripts.chat_messages import MessageReading
from contextctl.transcripts.conversations import Draft, place, transcripts_from
from contextctl.transcripts.json_shapes import chat_call, chat_message, listed, mapping, string
from contextctl.transcripts.records import Record, Records, json_value, split_records

NAME = "sharegpt"
_ROLES = {
    **dict.fromkeys(("human", "user"), "user"),
    **dict.fromkeys(("gpt", "assistant", "chatgpt", "bard", "bing", "model"), "assistant"),
    **dict.fromkeys(("observation", "tool_response", "tool", "function_response"), "tool"),
}
_CALLS = frozenset({"function_call", "tool_call"})
_MEDIA = (("<image>", "images"), ("<video>", "videos"), ("<audio>", "audios"))
_PLACEHOLDER = re.compile("(<image>|<video>|<audio>)")


def read_sharegpt(data: bytes, path: str, records: Records | None = None) -> tuple[Transcript, ...]:
    """A list of conversations, or a conversation a line. A result answers the call before it.

    Placeholders in the text are filled in order from the media that are listed beside the turns.
    """
    records = records or split_records(data, path)
    return transcripts_from(sharegpt_drafts(records.records, path), records, path, NAME)


def sharegpt_drafts(records: Sequence[Record], path: str) -> list[Draft]:
    """The conversations of some records of a file."""
    return [draft for record in records for draft in _drafts(record, path)]


def _drafts(record: Record, path: str) -> list[Draft]:
    if not isinstance(record.value, list):
        return [_conversation(record.value, record, place(record, path))]
    return [
        _conversation(value, record, Location(path, record.line, index=number))
        for number, value in enumerate(record.value, 1)
    ]


def _conversation(value: object, record: Record, at: Location) -> Draft:
    draft = Draft(record.line)
    conversation = mapping(value)
    turns = conversation.get("conversations", conversation.get("messages"))
    if not isinstance(turns, list):
        draft.report("a conversation has a list of turns; it was not read", at, skipped=1)
        return draft
    identity = conversation.get("id")
    if isinstance(identity, str | int) and not isinstance(identity, bool) and identity != "":
        draft.id = str(identity)
    draft.settings = RequestSettings(tools=_tools(draft, conversation.get("tools"), at))
    if string(conversation.get("system")):
        draft.add(chat_message({"role": "system", "content": conversation["system"]}, at))
    media = {mark: iter(listed(conversation.get(key))) for mark, key in _MEDIA}
    for index, turn in enumerate(turns, 1):
        draft.add(_turn(turn, media, Location(at.path, record.line, index=index)))
    if any(True for left in media.values() for _ in left):
        left_over = "more media are listed than the text has placeholders for; the rest was not read"
        draft.findings.append(_warning(left_over, at, "put a placeholder where each of them was shown"))
    return draft


def _warning(message: str, at: Location, hint: str) -> Finding:
    return finding("CTX011", message, location=at, severity=Severity.WARNING, hint=hint)


def _tools(draft: Draft, value: object, at: Location) -> tuple[dict[str, object], ...] | None:
    """Definitions, usually as JSON text, of functions without a wrapper."""
    if value is None or value == "":
        return None
    tools = json_value(value) if isinstance(value, str) else value
    if isinstance(tools, list) and all(isinstance(tool, dict) for tool in tools):
        return tuple(tools)
    draft.report("the tool definitions are a list of objects; they were not read", at)
    return None


def _turn(turn: object, media: dict[str, Iterator[object]], at: Location) -> MessageReading:
    if not isinstance(turn, dict):
        return chat_message(turn, at)
    if "role" in turn and ("tool_calls" in turn or "tool_call_id" in turn):
        return chat_message(turn, at)
    speaker = turn.get("from", turn.get("role"))
    said = turn.get("value", turn.get("content"))
    if isinstance(speaker, str) and speaker in _CALLS:
        return _called(said, at)
    role = _ROLES.get(speaker, speaker) if isinstance(speaker, str) else speaker
    content = _filled(said, media) if isinstance(said, str) else said
    return chat_message({"role": role, "content": content, "name": turn.get("name")}, at)


def _called(said: object, at: Location) -> MessageReading:
    """The calls of a turn: one as JSON text, or a list of them; any other text is kept as it is."""
    value = json_value(said) if isinstance(said, str) else said
    calls = [mapping(call) for call in (value if isinstance(value, list) else [value])]
    if calls and all(isinstance(call.get("name"), str) for call in calls):
        made = [chat_call(None, call["name"], call.get("arguments")) for call in calls]
        return chat_message({"role": "assistant", "tool_calls": made}, at)
    reading = chat_message({"role": "assistant", "content": said}, at)
    if reading.message is None:
        return reading
    hint = "a call is the JSON text of an object with a name and arguments, or of a list of such"
    wrong = _warning("the turn is no call that can be read; it was kept as text", at, hint)
    return MessageReading(reading.message, (*reading.findings, wrong))


def _filled(text: str, media: dict[str, Iterator[object]]) -> object:
    """The text, or parts where a placeholder stands for something that is listed."""
    parts: list[object] = []
    for piece in _PLACEHOLDER.split(text):
        shown = next(media[piece], None) if piece in media else None
        if shown is not None:
            parts.append(_medium(piece, shown))
        elif parts and isinstance(parts[-1], str):
            parts[-1] += piece
        elif piece:
            parts.append(piece)
    return parts if any(not isinstance(part, str) for part in parts) else text


def _medium(mark: str, shown: object) -> object:
    """A path or address, or an object that has one."""
    address = shown if isinstance(shown, str) else mapping(shown).get("path")
    match mark:
        case "<image>":
            return {"type": "image_url", "image_url": address if isinstance(address, str) else ""}
        case "<audio>":
            return {"type": "input_audio", "input_audio": shown}
        case _:
            return {"type": "video", "video": shown}
