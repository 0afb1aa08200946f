"""A recount of chat prompts that shares no code with contextctl: published ranks, tiktoken, two rules."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import tiktoken
from tiktoken_ext import openai_public

from contextctl.messages import Message


def published_encoding(shared: Path, name: str, monkeypatch: Any) -> tiktoken.Encoding:
    """tiktoken's own encoding of this name over the published ranks, with no download."""
    data = gzip.decompress((shared / "vocabularies" / f"{name}.tiktoken.gz").read_bytes())
    ranks = {base64.b64decode(token): int(rank) for token, rank in map(bytes.split, data.splitlines())}
    monkeypatch.setattr(openai_public, "load_tiktoken_bpe", lambda *_, **__: ranks)
    return tiktoken.Encoding(**getattr(openai_public, name)())


def dumped(message: Message) -> dict[str, Any]:
    """An assembled message as the plain facts that the recount needs."""
    parts = [part.model_dump() for part in message.content]
    return {
        "role": message.role,
        "name": message.name,
        "text": "".join(part["text"] for part in parts if part["type"] == "text"),
        "calls": [part for part in parts if part["type"] == "tool-call"],
        "results": [
            (part["call_id"], "".join(inner["text"] for inner in part["content"] if "text" in inner))
            for part in parts
            if part["type"] == "tool-result"
        ],
    }


def compact(arguments: str) -> str:
    try:
        return json.dumps(json.loads(arguments), separators=(",", ":"), ensure_ascii=False)
    except ValueError:
        return arguments


def listed(result: str) -> str:
    try:
        value = json.loads(result)
    except ValueError:
        return json.dumps(result, ensure_ascii=False)
    return json.dumps(value) if isinstance(value, dict | list) else result


def recount(messages: Sequence[Message], encoding: tiktoken.Encoding) -> int:
    """Tokens of a chat prompt of a model that does not reason, tool definitions left out."""

    def t(text: str) -> int:
        return len(encoding.encode(text, disallowed_special=()))

    plain = [dumped(message) for message in messages]
    total = 3
    for place, message in enumerate(plain):
        if message["results"]:
            continue
        if not message["calls"]:
            total += 4 + t(message["text"])
            if message["name"]:
                total += t(message["name"]) + (message["name"] != message["role"])
            continue
        answers = {}
        for later in plain[place + 1 :]:
            for call_id, text in later["results"]:
                answers.setdefault(call_id, text)
        results = [answers.get(call["id"], "") for call in message["calls"]]
        if message["text"]:
            total += 4 + t(message["text"])
        if len(results) == 1:
            (call,) = message["calls"]
            total += 13 + t("." + call["name"]) + t(call["name"])
            total += t(compact(call["arguments"])) + t(results[0])
        else:
            uses = ",".join(
                f'{{"recipient_name":"functions.{call["name"]}","parameters":{compact(call["arguments"])}}}'
                for call in message["calls"]
            )
            joined = "[" + ", ".join(listed(result) for result in results) + "]"
            total += 20 + t('{"tool_uses":[' + uses + "]}") + t(joined)
    return total
