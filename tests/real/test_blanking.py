"""Every recording at hand, blanked: the same counts and fates."""

from __future__ import annotations

from pathlib import Path

import pytest

from contextctl import audit, load_plan, load_transcripts, offline_provider
from contextctl.blanking import blanked
from tests.real.test_every_recording import RECORDINGS


@pytest.mark.parametrize("name", RECORDINGS)
def test_a_blanked_recording_counts_and_loses_the_same(shared: Path, name: str) -> None:
    provider = offline_provider("gpt-4o")
    before = load_transcripts(shared / "transcripts" / name)[:40]
    results = [blanked(transcript, provider) for transcript in before]
    assert sum(result.inexact for result in results) == 0
    plan = load_plan("preset:default").model_copy(update={"budget_tokens": 8000})
    rows = [audit(plan, found, provider).assemblies for found in (before, [r.transcript for r in results])]
    for one, other in zip(*rows, strict=True):
        assert (one.status, one.tokens_before, one.tokens_after) == (
            other.status,
            other.tokens_before,
            other.tokens_after,
        )
        assert [(e.id, e.fate, e.tokens) for e in one.entries] == [
            (e.id, e.fate, e.tokens) for e in other.entries
        ]
