"""Recorded values with something in them put wrong, for readers that must not raise on any of it."""

from __future__ import annotations

import copy
import json

from hypothesis import strategies as st

from contextctl.errors import TranscriptError
from contextctl.recording import Transcript
from contextctl.transcripts import READERS

JUNK: st.SearchStrategy[object] = st.sampled_from(
    [
        None,
        True,
        0,
        -1,
        1.5,
        float("nan"),
        10**30,
        "",
        "x",
        '"{',
        "[[]]",
        '{"a":1}',
        [],
        {},
        [[]],
        [None],
        {"": 0},
    ]
)


@st.composite
def mutated(draw: st.DrawFn, *samples: object) -> object:
    """One of the samples with up to three of its values replaced, removed or repeated."""
    holder = [copy.deepcopy(draw(st.sampled_from(samples)))]
    for _ in range(draw(st.integers(1, 3))):
        spots = list(_spots(holder))
        parent, key = spots[draw(st.integers(0, len(spots) - 1))]
        action = draw(st.sampled_from(["replace", "remove", "repeat"]))
        if action == "remove" and parent is not holder:
            del parent[key]  # type: ignore[attr-defined]
        elif action == "repeat" and isinstance(parent, list) and isinstance(key, int):
            parent.insert(key, copy.deepcopy(parent[key]))
        else:
            parent[key] = copy.deepcopy(draw(JUNK))  # type: ignore[index]
    return holder[0]


def _spots(value: object) -> list[tuple[object, object]]:
    items = list(value.items()) if isinstance(value, dict) else []
    items += list(enumerate(value)) if isinstance(value, list) else []
    return [spot for key, inner in items for spot in [(value, key), *_spots(inner)]]


def read_or_refused(format: str, value: object) -> tuple[Transcript, ...]:
    """The transcripts of a value, or none where the reader refuses it; what was left out has a finding."""
    lines = value if isinstance(value, list) else [value]
    data = "".join(json.dumps(line) + "\n" for line in lines).encode()
    try:
        transcripts = READERS[format](data, "m.jsonl")
    except TranscriptError as error:
        assert error.problems
        return ()
    assert all(item.findings for item in transcripts if item.skipped)
    return transcripts
