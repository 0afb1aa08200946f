"""Every recording at hand, converted to our own shape: the same messages, counts and fates."""

from __future__ import annotations

from pathlib import Path

import pytest

from contextctl import audit, load_plan, load_transcripts, offline_provider
from contextctl.converting import Losses, converted
from contextctl.messages import Message
from contextctl.transcripts import read_transcripts
from tests.real.test_every_recording import RECORDINGS


def bare(messages: tuple[Message, ...]) -> list[Message]:
    return [message.model_copy(update={"location": None}) for message in messages]


@pytest.mark.parametrize("name", RECORDINGS)
def test_a_converted_recording_says_counts_and_loses_the_same(shared: Path, name: str) -> None:
    before = load_transcripts(shared / "transcripts" / name)
    data = "".join(f"{line}\n" for line in converted(before, "contextctl", Losses())).encode()
    after = read_transcripts(data, "x.jsonl")
    assert [bare(t.messages) for t in after] == [bare(t.messages) for t in before]
    assert [(t.id, t.model, t.lacks, t.settings) for t in after] == [
        (t.id, t.model, t.lacks, t.settings) for t in before
    ]
    assert [(len(t.compactions), len(t.requests)) for t in after] == [
        (len(t.compactions), len(t.requests)) for t in before
    ]
    plan = load_plan("preset:default").model_copy(update={"budget_tokens": 8000})
    rows = [audit(plan, found, offline_provider("gpt-4o")).assemblies for found in (before, after)]
    for one, other in zip(*rows, strict=True):
        assert (one.status, one.tokens_before, one.tokens_after) == (
            other.status,
            other.tokens_before,
            other.tokens_after,
        )
        assert [(e.id, e.fate, e.tokens) for e in one.entries] == [
            (e.id, e.fate, e.tokens) for e in other.entries
        ]


@pytest.mark.parametrize("shape", ["openai", "anthropic"])
@pytest.mark.parametrize("name", RECORDINGS)
def test_a_recording_becomes_requests_that_are_read_again(shared: Path, name: str, shape: str) -> None:
    before = load_transcripts(shared / "transcripts" / name)
    lines = list(converted(before, shape, Losses()))
    assert len(lines) == len(before)
    format = {"openai": "openai-chat", "anthropic": "anthropic"}[shape]
    after = read_transcripts("".join(f"{line}\n" for line in lines).encode(), "x.jsonl", format)
    assert len(after) == len(before)
