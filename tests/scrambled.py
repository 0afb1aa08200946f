"""Recorded JSON put out of shape, for readers that must never crash on it."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

_SCALARS = (
    st.none() | st.booleans() | st.integers(-1, 3) | st.floats() | st.sampled_from(["", "text", "user"])
)
_KEYS = st.sampled_from(
    ["type", "role", "content", "id", "text", "parts", "name", "data", "source", "output"]
)
_ODD = st.recursive(
    _SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=4),
    max_leaves=8,
)


def mutated(value: object, draw: Any) -> Any:
    """The value with some of what it holds replaced by something else, or left out."""
    chance = draw(st.integers(0, 19))
    if chance == 0:
        return draw(_ODD)
    if isinstance(value, dict):
        kept = [key for key in value if chance != 1 or draw(st.booleans())]
        return {key: mutated(value[key], draw) for key in kept}
    return [mutated(inner, draw) for inner in value] if isinstance(value, list) else value
