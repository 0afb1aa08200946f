"""What the turns of a Claude prompt hold: roles merged, results in the turn of their calls."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from contextctl.messages import (
    SYSTEM_ROLES,
    ContentPart,
    ImagePart,
    Message,
    OpaquePart,
    Part,
    RefusalPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolResultPart,
)
from contextctl.providers.claude_text import BLANK, calls_block, invocation, parsed, results_block

CUT = "\udbff"
"""Stands in a turn's text for a picture, which texts before and after it share no token across: half of a
surrogate pair, so that no whole character is taken for it."""

FIRST_USER = 9
"""Tokens of the user turn that is put before an assistant's first message."""


@dataclass(slots=True)
class Chunk:
    """A stretch of one turn that ends in a blank line, or in the prompt's end.

    ``opens`` is true where the turn begins with it. ``pieces`` are texts that are tokenised apart,
    ``wrapped`` how many calls there are, ``introduced`` how many of them behind a text, both where turns are
    marked. ``thoughts`` are texts of thinking blocks. ``media`` are parts that are no text, each with whether
    it stands in a result; ``beside`` counts the texts beside a picture there. ``found`` are the deferred
    tools that results name, each with whether other results stand beside it; ``added`` those that a message
    names.
    """

    role: str
    opens: bool
    text: str = ""
    pieces: list[str] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)
    media: list[tuple[Part, bool]] = field(default_factory=list)
    wrapped: int = 0
    introduced: int = 0
    beside: int = 0
    found: list[tuple[str, bool]] = field(default_factory=list)
    added: list[str] = field(default_factory=list)


def leading_system(messages: Sequence[Message]) -> int:
    """How many messages at the start are the system prompt."""
    for place, message in enumerate(messages):
        if message.role not in SYSTEM_ROLES:
            return place
    return len(messages)


def answer_chunk(messages: Iterable[Message], *, opens: bool, marked: bool, thoughts: bool) -> Chunk:
    """Neighbouring messages of the assistant: texts first, then all calls in one block."""
    parts = [part for message in messages for part in message.content]
    texts = [text for message in messages if (text := said(message.content))]
    calls = [part for part in parts if isinstance(part, ToolCallPart)]
    chunk = Chunk("assistant", opens, BLANK.join(texts))
    if thoughts:
        chunk.thoughts = [part.text for part in parts if isinstance(part, ThinkingPart) and part.text]
    if calls and marked:
        chunk.wrapped = len(calls)
        chunk.introduced = 1 if texts else 0
        chunk.pieces = [invocation(call) for call in calls]
    elif calls:
        chunk.text += (BLANK if texts or opens else "") + calls_block(calls)
    _media(chunk, parts)
    return chunk


def result_chunk(
    results: Sequence[ToolResultPart], names: Mapping[str | None, str], *, opens: bool, marked: bool
) -> Chunk:
    """Results of one or several calls, whose ``names`` are by call id; they stand in the assistant's turn."""
    chunk = Chunk("assistant", opens)
    named = [(result.name or names.get(result.call_id) or "", said(result.content)) for result in results]
    if marked:
        chunk.pieces = [text for _, text in named]
    else:
        chunk.text = results_block(named)
    for result in results:
        chunk.found += [(name, len(named) > 1) for name in references(result.content)]
        if any(isinstance(part, ImagePart) for part in result.content):
            chunk.beside += sum(isinstance(part, TextPart) for part in result.content)
        media = (part for part in result.content if not isinstance(part, TextPart | RefusalPart))
        chunk.media += [(part, True) for part in media if not references([part])]
    return chunk


def said_chunks(messages: Iterable[Message]) -> list[Chunk]:
    """What neighbouring messages say beside their results; those of one role are one turn."""
    chunks: list[Chunk] = []
    for message in messages:
        parts = [part for part in message.content if not isinstance(part, ToolResultPart)]
        if message.results and not parts:
            continue
        role = "system" if message.role in SYSTEM_ROLES else "human"
        chunk = Chunk(role, not chunks or chunks[-1].role != role, said(parts))
        chunk.added = references(parts, "tool_addition")
        _media(chunk, parts)
        chunks.append(chunk)
    return chunks


def references(parts: Iterable[Part | ContentPart], kind: str = "tool_reference") -> list[str]:
    """The names of deferred tools that a result, or a message, makes known."""
    data = [parsed(part.data) for part in parts if isinstance(part, OpaquePart) and part.kind == kind]
    tools = (value.get("tool", value) for value in data if isinstance(value, dict))
    return [str(tool.get("tool_name") or tool.get("name")) for tool in tools if isinstance(tool, dict)]


def _media(chunk: Chunk, parts: Iterable[Part]) -> None:
    texts = TextPart | RefusalPart | ThinkingPart | ToolCallPart | ToolResultPart
    media = (part for part in parts if not isinstance(part, texts))
    chunk.media += [(part, False) for part in media if not references([part], "tool_addition")]


def said(parts: Iterable[Part | ContentPart]) -> str:
    """Texts of a message, with nothing between them but :data:`CUT` for a picture."""
    texts = (
        part.text if isinstance(part, TextPart | RefusalPart) else CUT
        for part in parts
        if isinstance(part, TextPart | RefusalPart | ImagePart)
    )
    return "".join(texts)
