"""Our counts against the prompt tokens that OpenAI itself reported for recorded requests.

Run with ``-s`` to see the table of exact shares and mean errors.
"""

from __future__ import annotations

import base64
import json
import struct
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any

import pytest

from contextctl.ports import Exactness, Measure
from contextctl.providers.offline import offline_provider
from contextctl.transcripts import read_transcripts

NAMES_OF_OTHERS = ("openllmetry-testing", "computer-use-preview")
"""Deployments whose model the request does not tell."""

SHAPES = ("plain", "image", "schema", "tools", "history")
"""What a request holds beside texts; a row's shape is the last of these that it has, and its interface."""

UNCOUNTABLE = ("hosted:", "item:", "audio", "file")
"""Beginnings of what a request holds whose tokens do not follow from it: hosted tools and their items, sound,
documents."""


MAY_2025 = 1_746_057_600
"""Until about then Responses added 18 tokens or more to every request; seconds since 1970."""


def is_hidden(row: dict[str, Any]) -> bool:
    """Whether the provider added tokens that do not follow from the request."""
    if (row["request"].get("reasoning") or {}).get("mode") == "pro":
        return True
    stamp = row["created"] or row["recorded"]
    made = stamp if isinstance(stamp, int | float) else parsed_date(stamp)
    return row["endpoint"] == "responses" and made is not None and made < MAY_2025


def parsed_date(text: str | None) -> float | None:
    try:
        return parsedate_to_datetime(text or "").timestamp()
    except ValueError:
        return float(text) if text and text.isdigit() else None


@dataclass(frozen=True)
class Row:
    model: str
    shape: str
    reported: int
    measure: Measure

    @property
    def off(self) -> int:
        return self.measure.tokens - self.reported

    @property
    def family(self) -> str:
        return "-".join(self.model.removeprefix("azure/").split("-")[:2])


def shape_of(row: dict[str, Any]) -> str:
    holds = set(row["shape"])
    signs = {
        "image": "image" in holds,
        "schema": "rf:json_schema" in holds,
        "tools": bool({"tools", "functions"} & holds),
        "history": "tool_calls" in holds,
    }
    name = next((name for name in reversed(SHAPES) if signs.get(name)), "plain")
    return f"{row['endpoint']} {name}"


def is_countable(row: dict[str, Any]) -> bool:
    """Whether the reported tokens can follow from the request: nothing sealed (reasoning that no call follows
    is free), hosted or continued in it, no second recording that says otherwise, a model that it names, every
    picture of known size."""
    model = row["model_returned"] or row["model_requested"]
    return (
        row["endpoint"] in ("chat", "responses")
        and not {"opaque", "conflict"} & row.keys()
        and not is_hidden(row)
        and bool(model)
        and not model.startswith(NAMES_OF_OTHERS)
        and not any(held.startswith(UNCOUNTABLE) for held in row["shape"] if held != "item:reasoning")
        and all(size is not None for size in picture_sizes(row["request"]))
    )


def picture_sizes(value: Any) -> Iterator[tuple[int, int] | None]:
    """The size of every picture in a request; None for one that the collection does not know."""
    if isinstance(value, dict):
        if "_blob" in value:
            blob = value["_blob"]
            yield (blob["width"], blob["height"]) if blob.get("width") and blob.get("height") else None
        elif value.get("type") in ("image_url", "input_image"):
            inner = value.get("image_url")
            inner = inner.get("url") if isinstance(inner, dict) and "_blob" not in inner else inner
            if not isinstance(inner, dict):
                yield None
            else:
                yield from picture_sizes(inner)
        else:
            for item in value.values():
                yield from picture_sizes(item)
    elif isinstance(value, list):
        for item in value:
            yield from picture_sizes(item)


def with_pictures(value: Any) -> Any:
    """The request with a picture of the right size for each that was taken out of the collection."""
    if isinstance(value, dict) and "_blob" in value:
        blob = value["_blob"]
        head = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", blob["width"], blob["height"])
        return "data:image/png;base64," + base64.b64encode(head).decode()
    if isinstance(value, dict):
        return {key: with_pictures(item) for key, item in value.items()}
    return [with_pictures(item) for item in value] if isinstance(value, list) else value


def rows(path: Path) -> Iterator[Row]:
    for line in path.read_bytes().splitlines():
        row = json.loads(line)
        if not is_countable(row):
            continue
        model = row["model_returned"] or row["model_requested"]
        format = {"chat": "openai-chat", "responses": "openai-responses"}[row["endpoint"]]
        data = json.dumps(with_pictures(row["request"])).encode()
        (transcript,) = read_transcripts(data, "request.jsonl", format)
        provider = offline_provider(model, settings=transcript.settings)
        measure = provider.measure_prompt(transcript.messages)
        yield Row(model, shape_of(row), row["prompt_tokens"], measure)


@pytest.fixture(scope="module")
def counted(shared: Path) -> list[Row]:
    return list(rows(shared / "token-truth" / "openai.jsonl"))


def exact_share(found: list[Row]) -> float:
    return sum(row.off == 0 for row in found) / len(found)


def mean_error(found: list[Row]) -> float:
    return sum(abs(row.off) for row in found) / len(found)


def test_the_table_of_exact_shares_and_mean_errors_per_family_and_shape(
    counted: list[Row], capsys: pytest.CaptureFixture[str]
) -> None:
    groups: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in counted:
        groups[row.shape, row.family].append(row)
        groups[row.shape, "all"].append(row)
    with capsys.disabled():
        print(f"\n{'shape':<20}{'family':<12}{'rows':>6}{'exact':>8}{'mean error':>12}")
        for (shape, family), found in sorted(groups.items()):
            share = f"{exact_share(found):.1%}"
            print(f"{shape:<20}{family:<12}{len(found):>6}{share:>8}{mean_error(found):>12.2f}")
    assert {name.split()[-1] for name, _ in groups} >= set(SHAPES)


def test_96_percent_of_countable_rows_are_exact_and_98_of_plain_ones(counted: list[Row]) -> None:
    plain = [row for row in counted if row.shape.endswith("plain")]
    assert len(counted) > 1_400
    assert exact_share(counted) >= LEAST_EXACT
    assert exact_share(plain) >= 0.98


def test_no_family_of_30_rows_or_more_is_exact_on_less_than_85_percent(counted: list[Row]) -> None:
    families: dict[str, list[Row]] = defaultdict(list)
    for row in counted:
        families[row.family].append(row)
    assert {family for family, found in families.items() if len(found) >= 30} >= {"gpt-4o", "gpt-4.1"}
    for family, found in families.items():
        assert len(found) < 30 or exact_share(found) >= 0.85, family


def test_what_is_labelled_exact_is_and_what_is_an_estimate_is_within_its_margin(counted: list[Row]) -> None:
    exact = [row for row in counted if row.measure.exactness is Exactness.EXACT]
    assert exact_share(exact) >= LEAST_EXACT
    estimated = [row for row in counted if row.measure.exactness is Exactness.ESTIMATE]
    low = [row for row in estimated if row.measure.upper_tokens < row.reported]
    assert len(low) <= max(1, len(estimated) // 100)


LEAST_EXACT = 0.965
"""The share of countable rows that the counts must hit to the token."""
