"""Our counts against the prompt tokens that Anthropic itself reported for recorded requests.

Run with ``-s`` to see the tables.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from contextctl.ports import Exactness
from contextctl.providers.offline import offline_provider
from contextctl.providers.registry import find_model
from contextctl.tokenizers.claude import ctok_installed
from contextctl.transcripts.anthropic import read_anthropic
from tests.real.token_rows import Row, exact_share, found_in, read_rows, restored, sized, table

KNOWN_PARTS = {"part:tool_reference", "part:tool_addition"}
"""Parts of other kinds are hosted tools' results."""


def is_countable(row: dict[str, Any]) -> bool:
    """Whether the count follows from the request: no hosted tool but the search for deferred ones, no
    document, no picture by address, no thinking that is hidden."""
    shape = row["shape"]
    hosted = [item for item in shape if item.startswith("hosted:") and "tool_search" not in item]
    parts = {item for item in shape if item.startswith("part:")} - KNOWN_PARTS
    if "opaque" in row or "conflict" in row or "file" in shape or hosted or parts:
        return False
    request = row["request"]
    pictures = found_in(request, "type").count("image")
    sizes = [blob for blob in found_in(request, "_blob") if blob.get("width")]
    hidden = "" in found_in(request, "thinking") or "redacted_thinking" in found_in(request, "type")
    return pictures == len(sizes) and not hidden and not request.get("mcp_servers")


def shape_of(row: dict[str, Any]) -> str:
    shape = set(row["shape"])
    if "defer_loading" in json.dumps(row["request"]) or any("hosted" in item for item in shape):
        return "deferred tools"
    for name in ("image", "rf:json_schema"):
        if name in shape:
            return name
    has = {
        "thinking": shape & {"thinking", "thinking_on"},
        "tools": "tools" in shape,
        "history": shape & {"tool_calls", "tool_result"},
        "tool_choice": any(item.startswith("tc:") for item in shape),
    }
    return " + ".join(name for name, there in has.items() if there) or (
        "system" if "system" in shape else "plain"
    )


def counted_rows(shared: Path, *, estimated: bool) -> Iterator[Row]:
    for row in read_rows(shared / "token-truth" / "anthropic.jsonl"):
        if not is_countable(row):
            continue
        (transcript,) = read_anthropic(json.dumps(restored(row["request"])).encode(), "row.json")
        model = row["model_returned"] or row["model_requested"]
        record = find_model(model)
        name = f"{record.tokenizer}-estimate" if estimated else None
        provider = offline_provider(model, settings=transcript.settings, tokenizer=name)
        messages = sized(transcript.messages, found_in(row["request"], "_blob"))
        yield Row(
            row["id"], record.id, shape_of(row), row["prompt_tokens"], provider.measure_prompt(messages)
        )


@pytest.fixture(scope="module")
def rebuilt(shared: Path) -> list[Row]:
    if not ctok_installed():
        pytest.skip("ctok is not installed: pip install 'contextctl[claude]' on Python 3.12 or newer")
    return list(counted_rows(shared, estimated=False))


@pytest.fixture(scope="module")
def estimated(shared: Path) -> list[Row]:
    return list(counted_rows(shared, estimated=True))


def test_the_tables_with_the_rebuilt_vocabulary(
    rebuilt: list[Row], capsys: pytest.CaptureFixture[str]
) -> None:
    with capsys.disabled():
        print(table("Claude, ctok: shape", rebuilt, lambda row: row.shape))
        print(table("model", rebuilt, lambda row: row.model))
    assert len(rebuilt) > 600


def test_with_the_rebuilt_vocabulary_93_percent_are_exact(rebuilt: list[Row]) -> None:
    assert exact_share(rebuilt) >= 0.93


def test_with_the_rebuilt_vocabulary_98_percent_of_texts_are_exact(
    rebuilt: list[Row],
) -> None:
    simple = [row for row in rebuilt if row.shape in ("plain", "system")]
    assert len(simple) > 150
    assert exact_share(simple) >= 0.98


def test_a_count_with_the_rebuilt_vocabulary_is_called_reconstructed(rebuilt: list[Row]) -> None:
    assert {row.measure.exactness for row in rebuilt} == {Exactness.RECONSTRUCTED}


def test_with_the_rebuilt_vocabulary_the_margin_is_too_small_on_at_most_1_percent(rebuilt: list[Row]) -> None:
    assert sum(row.is_low for row in rebuilt) <= len(rebuilt) / 100


def test_an_estimate_with_its_margin_is_too_low_on_at_most_1_percent(
    estimated: list[Row], capsys: pytest.CaptureFixture[str]
) -> None:
    over = median(row.measure.upper_tokens / row.reported - 1 for row in estimated)
    with capsys.disabled():
        print(table("Claude, estimate: shape", estimated, lambda row: row.shape))
        print(f"the median over-count with the margin is {over:.1%}")
    assert {row.measure.exactness for row in estimated} == {Exactness.ESTIMATE}
    assert sum(row.is_low for row in estimated) <= len(estimated) / 100
