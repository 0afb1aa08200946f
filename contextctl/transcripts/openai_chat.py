"""OpenAI chat: a message a line, a conversation, request or batch entry a line, or one JSON document."""

from __future__ import annotations

from contextctl.recording import Transcript
from contextctl.transcripts.chat_messages import message_from_json
from contextctl.transcripts.conversations import chat_drafts, transcripts_from
from contextctl.transcripts.records import Records, split_records

NAME = "openai-chat"


def read_openai_chat(data: bytes, path: str, records: Records | None = None) -> tuple[Transcript, ...]:
    """See :class:`~contextctl.ports.Reader`; ``records`` are those of ``data`` where they are known."""
    records = records or split_records(data, path)
    return transcripts_from(chat_drafts(records.records, path, message_from_json), records, path, NAME)
