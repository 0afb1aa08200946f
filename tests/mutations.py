"""Recordings with something wrong in them: a value anywhere in the JSON put in place of another."""

from __future__ import annotations

import copy
import json
import math
import os
from collections.abc import Callable, Iterator
from typing import Any

from hypothesis import strategies as st

from contextctl.errors import TranscriptError
from contextctl.messages import KNOWN_ROLES
from contextctl.recording import Transcript
from contextctl.transcripts import READERS

EXAMPLES = int(os.environ.get("CONTEXTCTL_FUZZ_EXAMPLES", "60"))
"""Recordings that each reader is tried with; 3,000 take about a minute a reader."""

STRANGE: st.SearchStrategy[Any] = st.sampled_from(
    [
        *(None, True, 0, -1, 7, 1.5, math.inf, math.nan, 10**30),
        *("", "x", "user", "\ud83d", '"{', "[[]]", '{"a":1}'),
        *([], {}, [None], [[]], ["x"], [{}], {"x": []}, {"": 0}, {"type": "text"}, {"role": "user"}),
    ]
)


def _spots(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        yield from _spots(item, (*path, key))


@st.composite
def mutated(draw: st.DrawFn, *documents: Any) -> Any:
    """One of the documents with one to three values replaced, taken out or doubled."""
    changed = json.loads(json.dumps(draw(st.sampled_from(documents))))
    for _ in range(draw(st.integers(1, 3))):
        path = draw(st.sampled_from(list(_spots(changed))))
        if not path:
            return copy.deepcopy(draw(STRANGE))
        holder = changed
        for key in path[:-1]:
            holder = holder[key]
        match draw(st.sampled_from(["replace", "remove", "double"])):
            case "remove":
                del holder[path[-1]]
            case "double" if isinstance(holder, list):
                holder.insert(path[-1], copy.deepcopy(holder[path[-1]]))
            case _:
                holder[path[-1]] = copy.deepcopy(draw(STRANGE))
    return changed


def as_lines(*rows: Any) -> bytes:
    """A record a line."""
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def check_reading(read: Callable[[bytes, str], tuple[Transcript, ...]], data: bytes) -> None:
    """Reads, or refuses as it should; whatever is kept has a place and a role that is known or told, and
    whatever was left out a finding."""
    try:
        transcripts = read(data, "logs/x.jsonl")
    except TranscriptError as error:
        assert error.problems
        return
    told = {item.code for transcript in transcripts for item in transcript.findings}
    for transcript in transcripts:
        assert transcript.findings or not transcript.skipped
        for message in transcript.messages:
            assert message.location is not None and message.location.line
            assert message.role in KNOWN_ROLES or "CTX015" in told


def check_lines(format: str, value: Any) -> None:
    """The same for the reader of a format and a value, of which each item is a record where it is a list."""
    check_reading(READERS[format], as_lines(*value) if isinstance(value, list) else as_lines(value))
