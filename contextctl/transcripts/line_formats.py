"""The formats in which a record is a conversation of its own, so that a file need not be held as a whole."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from contextctl.transcripts import anthropic, gemini, sharegpt
from contextctl.transcripts.chat_messages import message_from_json
from contextctl.transcripts.contextctl_jsonl import own_message_from_json
from contextctl.transcripts.conversations import (
    Draft,
    MessageReader,
    chat_drafts,
    holds_conversation,
    is_loose,
)
from contextctl.transcripts.openai_responses import response_shape
from contextctl.transcripts.records import Record
from contextctl.transcripts.request_signs import BATCH_KEYS
from contextctl.transcripts.requests import RequestShape, holds_request, request_drafts

Drafting = Callable[[Sequence[Record], str], list[Draft]]
"""Reads records as the conversations that they are; the second argument is the path."""


@dataclass(frozen=True, slots=True)
class LineFormat:
    """How a format's records are told apart and read.

    ``keys`` name the list in a record that holds its messages. ``begins`` is True for a record that holds
    conversations; any other belongs to the one before it. ``spans`` is True for a record that stands in one
    conversation with others, wherever in the file they are. ``drafting`` is asked for once a file.
    """

    keys: tuple[str, ...]
    begins: Callable[[object], bool]
    spans: Callable[[Mapping[str, object]], bool]
    drafting: Callable[[], Drafting]

    def emptied(self, record: Record) -> Record:
        """The record with no messages: of the same id, and read at once."""
        return Record(_emptied(record.value, self.keys), record.line, record.index)


def _emptied(value: object, keys: tuple[str, ...]) -> object:
    if not isinstance(value, dict):
        return value
    return {
        key: []
        if key in keys and isinstance(item, list)
        else (_emptied(item, keys) if key in BATCH_KEYS else item)
        for key, item in value.items()
    }


def _chat(read: MessageReader, spans: Callable[[Mapping[str, object]], bool]) -> LineFormat:
    def drafts(records: Sequence[Record], path: str) -> list[Draft]:
        return chat_drafts(records, path, read)

    return LineFormat(("messages",), holds_conversation, spans, lambda: drafts)


def _requests(shape: Callable[[], RequestShape]) -> LineFormat:
    made = shape()

    def drafting() -> Drafting:
        own = shape()
        return lambda records, path: request_drafts(records, path, own)

    return LineFormat((made.key,), partial(holds_request, shape=made), made.is_item, drafting)


LINE_FORMATS: dict[str, LineFormat] = {
    "anthropic": _requests(lambda: anthropic.SHAPE),
    "contextctl": _chat(own_message_from_json, lambda value: is_loose(value) or "contextctl" in value),
    "gemini": _requests(lambda: gemini.SHAPE),
    "openai-chat": _chat(message_from_json, is_loose),
    "openai-responses": _requests(response_shape),
    "sharegpt": LineFormat(
        ("conversations", "messages"),
        lambda value: not isinstance(value, list) or bool(value),
        lambda value: False,
        lambda: sharegpt.sharegpt_drafts,
    ),
}
"""Format name -> how its records are read one by one."""
