"""LangChain messages: ``messages_to_dict``, ``dumpd`` and flat objects."""

from __future__ import annotations

from collections.abc import Iterable

from contextctl.errors import Location
from contextctl.messages import Usage
from contextctl.recording import RecordedCompaction, Transcript
from contextctl.transcripts.chat_messages import MessageReading, json_kind
from contextctl.transcripts.conversations import Draft, transcripts_from
from contextctl.transcripts.json_shapes import (
    chat_call,
    chat_message,
    count,
    data_url,
    image_url,
    listed,
    mapping,
    note_model,
    openai_usage,
    string,
    superseded,
    total,
    usage_of,
    with_thinking,
)
from contextctl.transcripts.message_lists import message_lists
from contextctl.transcripts.records import Records, split_records

NAME = "langchain"
_ROLES = {
    "human": "user",
    "ai": "assistant",
    "system": "system",
    "developer": "developer",
    "tool": "tool",
    "function": "function",
}
_KINDS = frozenset({*_ROLES, "chat", "remove"})
_REMOVE_ALL = "__remove_all__"
_TAKEN_ELSEWHERE = frozenset(
    {"tool_use", "tool_call", "tool_call_chunk", "invalid_tool_call", "input_json_delta", "function_call"}
    | {"thinking", "redacted_thinking", "reasoning", "reasoning_content"}
)


def read_langchain(data: bytes, path: str, records: Records | None = None) -> tuple[Transcript, ...]:
    """A list of messages, an object that has one in ``messages``, or a message a line.

    A call that stands in several places of its message is read once. What a message of type ``remove``
    takes out of the state is superseded.
    """
    records = records or split_records(data, path)
    found = message_lists(records.records, path, _listed_in, is_langchain_message)
    for conversation in found:
        _read(conversation.draft, conversation.values)
    return transcripts_from([conversation.draft for conversation in found], records, path, NAME)


def is_langchain_message(value: dict[str, object]) -> bool:
    """True for a message in any of the three forms; other senders use the same words with a ``role``."""
    return _opened(value) is not None


def _listed_in(value: dict[str, object]) -> object:
    for holder in (value, mapping(value.get("kwargs")), mapping(value.get("values"))):
        if "messages" in holder:
            return holder["messages"]
    return None


def _opened(value: object) -> tuple[str, dict[str, object]] | None:
    """The type of a message and its fields, or None for what is no message of LangChain."""
    message = mapping(value)
    if message.get("lc") == 1:
        names = listed(message.get("id"))
        kind = _kind(names[-1]) if names else None
        return None if kind is None else (kind, mapping(message.get("kwargs")))
    kind = _kind(message.get("type"))
    if kind is None or ("role" in message and kind != "chat"):
        return None
    if isinstance(message.get("data"), dict):
        return kind, mapping(message["data"])
    return (kind, message) if "content" in message or kind == "remove" else None


def _kind(name: object) -> str | None:
    """``human`` for human, HumanMessage and HumanMessageChunk."""
    if not isinstance(name, str):
        return None
    kind = name.removesuffix("Chunk").removesuffix("Message").lower()
    return kind if kind in _KINDS else None


def _read(draft: Draft, values: Iterable[tuple[object, Location]]) -> None:
    ids: list[str | None] = []
    for value, at in values:
        opened = _opened(value)
        if opened is None:
            wrong = (
                "a message has a type" if isinstance(value, dict) else f"a message is not {json_kind(value)}"
            )
            draft.report(f"{wrong}; it was not read", at, skipped=1)
            continue
        kind, fields = opened
        if kind == "remove":
            _remove(draft, ids, string(fields.get("id")), at)
            continue
        before = len(draft.messages)
        draft.add(_message(draft, kind, fields, at))
        ids += [string(fields.get("id"))] * (len(draft.messages) - before)


def _remove(draft: Draft, ids: list[str | None], identity: str | None, at: Location) -> None:
    gone = [
        number for number, known in enumerate(ids) if identity == _REMOVE_ALL or (known and known == identity)
    ]
    for number in gone:
        draft.messages[number] = superseded(draft.messages[number], "compaction")
    if gone:
        draft.compactions.append(RecordedCompaction(at, "trimmed"))


def _message(draft: Draft, kind: str, fields: dict[str, object], at: Location) -> MessageReading:
    value: dict[str, object] = {
        "role": fields.get("role") if kind == "chat" else _ROLES[kind],
        "content": _content(fields.get("content")),
        "name": fields.get("name"),
    }
    if kind == "tool":
        value["tool_call_id"] = fields.get("tool_call_id")
    if kind != "ai":
        return chat_message(value, at)
    extra = mapping(fields.get("additional_kwargs"))
    metadata = mapping(fields.get("response_metadata"))
    value["tool_calls"] = _calls(fields, extra)
    value["reasoning_content"] = extra.get("reasoning_content")
    value["refusal"] = extra.get("refusal")
    if not value["tool_calls"]:
        value["function_call"] = extra.get("function_call")
    reading = chat_message(
        value,
        at,
        usage=_usage(fields, metadata),
        model=note_model(draft, metadata.get("model_name") or metadata.get("model")),
        response_id=string(fields.get("id")),
    )
    return with_thinking(reading, _thoughts(fields.get("content")))


def _calls(fields: dict[str, object], extra: dict[str, object]) -> list[object]:
    """The calls from the first place that has any; of those that could not be parsed, the raw text."""
    calls: list[object] = []
    for call in [*listed(fields.get("tool_calls")), *listed(fields.get("invalid_tool_calls"))]:
        own = mapping(call)
        calls.append(chat_call(own.get("id"), own.get("name"), own.get("args")) if own else call)
    if calls:
        return calls
    if listed(extra.get("tool_calls")):
        return listed(extra["tool_calls"])
    for name, arguments in (("tool_use", "input"), ("tool_call", "args")):
        blocks = [mapping(block) for block in listed(fields.get("content"))]
        calls += [
            chat_call(block.get("id"), block.get("name"), block.get(arguments))
            for block in blocks
            if block.get("type") == name
        ]
    return calls


def _content(content: object) -> object:
    """Text, or parts in OpenAI's shape; calls and reasoning among them are taken elsewhere."""
    if not isinstance(content, list):
        return content
    parts: list[object] = []
    for block in content:
        kind = mapping(block).get("type")
        if kind == "image":
            parts.append(_image(mapping(block)))
        elif not (isinstance(kind, str) and kind in _TAKEN_ELSEWHERE):
            parts.append(block)
    return parts


def _image(block: dict[str, object]) -> object:
    """An image as Anthropic or LangChain writes it: an address, or base64 with its type."""
    source = mapping(block.get("source")) or block
    data = source.get("base64", source.get("data"))
    if isinstance(data, str):
        return image_url(data_url(source.get("media_type", source.get("mime_type")), data))
    address = source.get("url")
    return image_url(address) if isinstance(address, str) else block


def _thoughts(content: object) -> list[dict[str, object]]:
    """Reasoning among the blocks; its text is under another name with every provider."""
    thoughts: list[dict[str, object]] = []
    for block in map(mapping, listed(content)):
        match block.get("type"):
            case "thinking" | "redacted_thinking":
                thoughts.append(block)
            case "reasoning" | "reasoning_content":
                extras = mapping(block.get("extras"))
                text = block.get("reasoning", mapping(block.get("reasoning_content")).get("text"))
                thoughts.append({"thinking": text, "signature": extras.get("signature")})
    return thoughts


def _usage(fields: dict[str, object], metadata: dict[str, object]) -> Usage | None:
    """The usage in LangChain's names, else in those of the provider."""
    own = mapping(fields.get("usage_metadata"))
    if own:
        cached = count(mapping(own.get("input_token_details")).get("cache_read"))
        return usage_of(count(own.get("input_tokens")), cached, count(own.get("output_tokens")))
    told = openai_usage(metadata.get("token_usage"))
    if told is not None:
        return told
    js = mapping(metadata.get("tokenUsage"))
    if js:
        return usage_of(count(js.get("promptTokens")), None, count(js.get("completionTokens")))
    raw = mapping(metadata.get("usage"))
    names = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    whole = total(*(raw.get(name) for name in names))
    return usage_of(whole, count(raw.get("cache_read_input_tokens")), count(raw.get("output_tokens")))
