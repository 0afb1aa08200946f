"""The framing profiles of Claude and Gemini: numbers that models.yaml holds, in tokens."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ClaudeFraming:
    """What a Claude request is charged beside its texts.

    ``marked``: turns begin with a special token (Claude 4.8 on), not with the words of a role. ``start``:
    once. ``human`` and ``assistant``: a turn with the blank line before it. ``late``: a blank line stands
    before the system prompt, and definitions are not escaped.

    ``tools``, ``tools_any``, ``tools_named``: the preamble by ``tool_choice``; the last has the name's tokens
    beside it. ``tools_deferred``: with a deferred tool. ``single_auto``, ``single_named``: more where
    parallel calls are switched off. ``search``: the tool that finds deferred tools; ``found``: a deferred
    tool that a result names, beside its definition. ``call``: what wraps a call and its result where turns
    are marked.

    ``thinking``: where it is asked for. ``thoughts_kept``: those of earlier turns stay. ``thought``: one
    block in a tool loop. ``format``: beside the schema of structured output. ``patches``: the most of a
    picture. ``margin``, ``tools_margin``: what the whole may be too low.
    """

    name: str
    family: str
    marked: bool
    start: int
    human: int
    assistant: int
    late: bool
    tools: int
    tools_any: int
    tools_named: int
    tools_deferred: int
    single_auto: int
    single_named: int
    thinking: int
    thoughts_kept: bool
    thought: int
    format: int
    call: int
    search: int
    found: int
    patches: int
    margin: int
    tools_margin: int
