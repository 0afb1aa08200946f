"""What Langfuse reports of a call's tokens."""

from __future__ import annotations

from collections.abc import Mapping

from contextctl.messages import Usage
from contextctl.transcripts.nested_json import first_number, mapping, whole_number

Values = Mapping[str, object]

_APART = ("cache_read_input_tokens", "cache_creation_input_tokens")
_CACHED = ("cache_read_input_tokens", "input_cached_tokens", "input_cache_read", "prompt_details.cache_read")


def usage_from(observation: Values) -> Usage | None:
    """The usage of one observation, or None where nothing is reported.

    Details (``input_cache_read``, ``output_reasoning``, ...) are parts of ``input`` and ``output`` where
    these two make the total, and stand beside them where all together do. Cached tokens under the names of
    the Anthropic API are always beside.
    """
    details = mapping(observation.get("usageDetails")) or mapping(observation.get("usage_details"))
    if not details:
        return _older(observation)
    counts = {key: number for key in details if (number := whole_number(details[key])) is not None}
    given = counts.get("input"), counts.get("output")
    apart = sum(counts.get(key, 0) for key in _APART)
    into = sum(counts[key] for key in counts if key.startswith("input_"))
    out = sum(counts[key] for key in counts if key.startswith("output_"))
    is_split = _stands_beside(counts, into + out)
    return _usage(
        None if given[0] is None else given[0] + apart + (into if is_split else 0),
        first_number(counts, *_CACHED),
        None if given[1] is None else given[1] + (out if is_split else 0),
    )


def _stands_beside(counts: Mapping[str, int], details: int) -> bool:
    total = counts.get("total")
    both = counts.get("input", 0) + counts.get("output", 0)
    return total is not None and total != both and total >= both + details


def _older(observation: Values) -> Usage | None:
    """Older exports: one object ``usage``, or counts on the observation itself."""
    usage = mapping(observation.get("usage"))
    return _usage(
        first_number(usage, "input", "promptTokens", "prompt_tokens", "input_tokens")
        or first_number(observation, "promptTokens", "inputUsage", "prompt_tokens", "inputTokens"),
        None,
        first_number(usage, "output", "completionTokens", "completion_tokens", "output_tokens")
        or first_number(observation, "completionTokens", "outputUsage", "completion_tokens", "outputTokens"),
    )


def _usage(input_tokens: int | None, cached: int | None, output_tokens: int | None) -> Usage | None:
    if input_tokens is None and output_tokens is None:
        return None
    return Usage(input_tokens=input_tokens, cached_tokens=cached, output_tokens=output_tokens)
