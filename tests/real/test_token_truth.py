"""Our counts against the prompt tokens that OpenAI itself reported for recorded requests.

Run with ``-s`` to see the table of exact shares and mean errors.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any

import pytest

from contextctl.errors import Location
from contextctl.messages import Message, RequestSettings
from contextctl.ports import Exactness, Measure
from contextctl.providers.offline import offline_provider
from contextctl.transcripts.chat_messages import message_from_json

NAMES_OF_OTHERS = ("openllmetry-testing", "computer-use-preview")
"""Deployments whose model the request does not tell."""

SHAPES = {
    "plain": {"name", "developer", "instructions", "rf:json_object"},
    "tool history": {"name", "developer", "rf:json_object", "tool_calls", "tool_result", "parallel"},
    "tools": {
        "name",
        "developer",
        "rf:json_object",
        "tool_calls",
        "tool_result",
        "parallel",
        "tools",
        "functions",
    },
    "schema": {"name", "developer", "rf:json_schema", "tool_calls", "tool_result", "parallel", "tools"},
}
"""Shape -> what a request of it may hold; rules 1 and 4 cover the first two, the others are estimates."""

ESTIMATED = ("tools", "schema")


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


def shape_of(holds: set[str]) -> str | None:
    for name, allowed in SHAPES.items():
        if holds <= allowed:
            return name
    return None


def responses_messages(request: dict[str, Any]) -> list[dict[str, Any]]:
    """A Responses request of messages only, in chat's shape: rule 1 is the same for both."""
    given = request["input"]
    items = [{"role": "user", "content": given}] if isinstance(given, str) else given
    system = [{"role": "system", "content": request["instructions"]}] if request.get("instructions") else []
    messages = []
    for item in items:
        content = item["content"]
        if not isinstance(content, str):
            content = [{"type": "text", "text": part["text"]} for part in content]
        messages.append({"role": item["role"], "content": content})
    return system + messages


def request_messages(request: dict[str, Any]) -> tuple[Message, ...]:
    given = request["messages"] if "messages" in request else responses_messages(request)
    readings = [message_from_json(message, Location()) for message in given]
    assert all(reading.message is not None for reading in readings)
    return tuple(reading.message for reading in readings if reading.message is not None)


def rows(path: Path) -> Iterator[Row]:
    for line in path.read_bytes().splitlines():
        row = json.loads(line)
        holds = {item for item in row["shape"] if not item.startswith("tc:")}
        shape = shape_of(holds)
        model = row["model_returned"] or row["model_requested"]
        chat = row["endpoint"] == "chat" or shape == "plain"
        countable = chat and shape is not None and "opaque" not in row
        if (
            not countable
            or "conflict" in row
            or is_hidden(row)
            or not model
            or model.startswith(NAMES_OF_OTHERS)
        ):
            continue
        request = row["request"]
        settings = RequestSettings(
            tools=tuple(request.get("tools") or request.get("functions") or ()) or None,
            tool_choice=request.get("tool_choice"),
            response_format=request.get("response_format"),
        )
        provider = offline_provider(model, settings=settings)
        yield Row(model, shape, row["prompt_tokens"], provider.measure_prompt(request_messages(request)))


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
        print(f"\n{'shape':<14}{'family':<16}{'rows':>5}{'exact':>8}{'mean error':>12}")
        for (shape, family), found in sorted(groups.items()):
            share = f"{exact_share(found):.1%}"
            print(f"{shape:<14}{family:<16}{len(found):>5}{share:>8}{mean_error(found):>12.2f}")
    assert set(SHAPES) == {shape for shape, _ in groups}


def test_plain_rows_are_exact_on_97_percent_or_more(counted: list[Row]) -> None:
    plain = [row for row in counted if row.shape == "plain"]
    assert len(plain) > 300
    assert exact_share(plain) >= 0.97


def test_tool_history_without_definitions_is_exact_on_most_rows(counted: list[Row]) -> None:
    history = [row for row in counted if row.shape == "tool history"]
    assert len(history) >= 8
    assert exact_share(history) >= 0.9


def test_rows_with_tool_definitions_are_labelled_estimates_and_others_are_not(counted: list[Row]) -> None:
    for row in counted:
        assert (row.measure.exactness is Exactness.ESTIMATE) is (row.shape in ESTIMATED)


def test_an_estimate_with_its_margin_is_too_low_on_at_most_1_percent_of_rows(counted: list[Row]) -> None:
    estimated = [row for row in counted if row.shape in ESTIMATED]
    low = [row for row in estimated if row.measure.upper_tokens < row.reported]
    assert len(estimated) > 400
    assert len(low) <= len(estimated) / 100
