"""Real Claude Code sessions against their description and a count of the raw records."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from contextctl.entries import group
from contextctl.messages import ImagePart, Message, part_texts
from contextctl.recording import Transcript
from contextctl.transcripts import read_transcripts

FILES = {
    "compact-and-microcompact": (70, 127, 49, 60, 60, 0, 2, 60_206),
    "glued-line": (47, 103, 42, 41, 41, 0, 0, 90_454),
    "pasted-image": (100, 147, 89, 74, 74, 0, 0, 148_007),
    "v2.1.119-attachments": (41, 65, 39, 33, 32, 21, 0, 103_092),
}
"""Name -> user, assistant, responses, calls, results, attachments that are context, compactions, last input.

One assistant record of ``glued-line`` was written twice; it is one message.
"""

NOT_CONTEXT = {"hook_system_message", "command_permissions"}


def raw_records(data: bytes) -> list[dict[str, Any]]:
    decoder = json.JSONDecoder()
    records = []
    for line in data.decode().split("\n"):
        position = 0
        while line[position:].strip():
            record, position = decoder.raw_decode(line, position)
            records.append(record)
    return records


def read(shared: Path, name: str) -> tuple[Transcript, list[dict[str, Any]]]:
    data = (shared / "transcripts" / "claude-code" / f"{name}.jsonl").read_bytes()
    (transcript,) = read_transcripts(data, f"{name}.jsonl")
    records = raw_records(data)
    unique = {record["uuid"]: record for record in records if "uuid" in record}
    return transcript, list(unique.values())


def blocks(record: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    content = record.get("message", {}).get("content")
    return [block for block in content if block["type"] == kind] if isinstance(content, list) else []


def of_kind(records: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [record for record in records if record["type"] == kind]


@pytest.mark.parametrize("name", FILES)
def test_a_real_session_holds_what_was_counted_in_it(shared: Path, name: str) -> None:
    transcript, records = read(shared, name)
    user, assistant, responses, calls, results, attachments, compactions, last = FILES[name]
    assert (transcript.format, transcript.skipped) == ("claude-code", 0)
    assert [item.code for item in transcript.findings] == ["CTX018"] * (name == "glued-line")
    assert transcript.lacks[:2] == ("system", "tools")
    roles = [item.role for item in transcript.messages]
    assert (roles.count("user"), roles.count("assistant")) == (user + attachments, assistant)
    assert len(of_kind(records, "user")) == user
    assert len(of_kind(records, "assistant")) == assistant
    attached = [record["attachment"] for record in of_kind(records, "attachment")]
    silent = [one for one in attached if one["type"] in NOT_CONTEXT or one.get("content") == ""]
    assert len(attached) - len(silent) == attachments
    made = [call.id for message in transcript.messages for call in message.calls]
    answered = [answer.call_id for message in transcript.messages for answer in message.results]
    assert sorted(made) == sorted(block["id"] for record in records for block in blocks(record, "tool_use"))
    assert sorted(answered) == sorted(
        block["tool_use_id"] for record in records for block in blocks(record, "tool_result")
    )
    assert (len(made), len(answered)) == (calls, results)
    assert len(transcript.compactions) == compactions
    names = {record["message"]["id"] for record in of_kind(records, "assistant")}
    assert transcript.calls == len(names) == responses
    assert reported(transcript) == reported_raw(records)
    assert reported(transcript)[-1] == last


def reported(transcript: Transcript) -> list[int | None]:
    return [item.usage.input_tokens for item in transcript.messages if item.usage]


def reported_raw(records: list[dict[str, Any]]) -> list[int]:
    usages = {record["message"]["id"]: record["message"]["usage"] for record in of_kind(records, "assistant")}
    keys = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    return [sum(usage[key] for key in keys) for usage in usages.values()]


@pytest.mark.parametrize("name", FILES)
def test_trap_2_no_real_message_is_off_the_branch_and_every_result_finds_its_call(
    shared: Path, name: str
) -> None:
    transcript, _ = read(shared, name)
    assert all(item.superseded in (None, "compaction") for item in transcript.messages)
    seen = [item for item in transcript.messages if item.superseded is None]
    assert group(seen)[1] == () and group(transcript.messages)[1] == ()


def test_a_real_compaction_leaves_the_summary_and_what_follows_in_sight(shared: Path) -> None:
    transcript, _ = read(shared, "compact-and-microcompact")
    cleared, compacted = transcript.compactions
    assert (cleared.kind, cleared.location.line) == ("cleared", 33)
    assert (compacted.kind, compacted.location.line, compacted.tokens_before) == ("summary", 155, 155_068)
    seen = [item for item in transcript.messages if item.superseded is None]
    assert [lines(item) for item in seen if item.recap] == [156]
    assert min(lines(item) for item in seen) == 156
    assert all(lines(item) < 155 for item in transcript.messages if item.superseded)


def lines(message: Message) -> int:
    assert message.location is not None and message.location.line is not None
    return message.location.line


def test_trap_4_real_placeholders_are_no_output_counts_and_real_ones_are(shared: Path) -> None:
    old, _ = read(shared, "compact-and-microcompact")
    assert {item.usage.output_tokens for item in old.messages if item.usage} == {None}
    new, records = read(shared, "v2.1.119-attachments")
    ended = {
        record["message"]["id"]: record["message"]["usage"]["output_tokens"]
        for record in of_kind(records, "assistant")
    }
    assert [item.usage.output_tokens for item in new.messages if item.usage] == list(ended.values())


def test_trap_15_the_last_real_call_waits_for_its_result(shared: Path) -> None:
    transcript, _ = read(shared, "v2.1.119-attachments")
    entries, _ = group(transcript.messages)
    assert [entry.pending for entry in entries] == [False] * (len(entries) - 1) + [True]


def test_trap_23_a_real_image_adds_no_text(shared: Path) -> None:
    transcript, _ = read(shared, "pasted-image")
    (image,) = [item for item in transcript.messages if any(isinstance(p, ImagePart) for p in item.content)]
    assert part_texts(image.content) == []
