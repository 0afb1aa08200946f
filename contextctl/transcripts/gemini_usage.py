"""Token counts as the Gemini API reports them, in camelCase or snake_case."""

from __future__ import annotations

from contextctl.messages import Usage
from contextctl.transcripts.nested_json import first_number, mapping


def gemini_usage(value: object, window: int | None = None) -> Usage | None:
    """The usage that a ``usageMetadata`` holds, thoughts counted as output; None where it holds none."""
    counts = mapping(value)
    given = first_number(counts, "promptTokenCount", "prompt_token_count")
    answered = first_number(counts, "candidatesTokenCount", "candidates_token_count")
    thought = first_number(counts, "thoughtsTokenCount", "thoughts_token_count")
    if given is None and answered is None:
        return None
    return Usage(
        input_tokens=given,
        cached_tokens=first_number(counts, "cachedContentTokenCount", "cached_content_token_count"),
        output_tokens=None if answered is None and thought is None else (answered or 0) + (thought or 0),
        window_tokens=window,
    )
