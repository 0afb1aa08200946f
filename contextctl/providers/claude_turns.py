"""A conversation as the turns of a Claude prompt: roles merged, results in the turn of their calls."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby

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
class Turn:
    """One turn: its text, what has no text, and how it ends.

    ``pieces`` are texts that are tokenised apart, ``wrapped`` how many calls there are and ``introduced`` how
    many of them behind a text, both where turns are marked. ``media`` are parts that are no text, each with
    whether it stands in a result. ``beside`` counts the texts beside a picture in a result. ``found`` are the
    deferred tools that results name, each with whether other results stand beside it; ``added`` those that a
    message names.
    """

    role: str
    text: str = ""
    ends_in_results: bool = False
    calls: list[ToolCallPart] = field(default_factory=list)
    pieces: list[str] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)
    media: list[tuple[Part, bool]] = field(default_factory=list)
    wrapped: int = 0
    introduced: int = 0
    beside: int = 0
    found: list[tuple[str, bool]] = field(default_factory=list)
    added: list[str] = field(default_factory=list)

    def add(self, text: str) -> None:
        """More of what is said: behind the role's words, or after a blank line."""
        self.text += (BLANK if self.text or self.pieces else " ") + text


def leading_system(messages: Sequence[Message]) -> int:
    """How many messages at the start are the system prompt."""
    for place, message in enumerate(messages):
        if message.role not in SYSTEM_ROLES:
            return place
    return len(messages)


def turns_of(messages: Iterable[Message], *, marked: bool, thoughts_kept: bool) -> list[Turn]:
    """The turns of messages without the system prompt at their start."""
    listed = list(messages)
    last_said = max((place for place, message in enumerate(listed) if message.is_user_turn), default=-1)
    turns: list[Turn] = []
    place = 0
    for is_answer, run in groupby(listed, key=lambda message: message.role == "assistant"):
        together = list(run)
        place += len(together)
        if is_answer:
            _answer(turns, together, marked=marked, thoughts=thoughts_kept or place > last_said)
            continue
        _results(turns, [result for message in together for result in message.results], marked=marked)
        for message in together:
            _said(turns, message)
    return turns


def _assistant(turns: list[Turn]) -> Turn:
    """The assistant's turn at the end, a new one where there is none."""
    if not turns or turns[-1].role != "assistant":
        turns.append(Turn("assistant"))
    return turns[-1]


def _answer(turns: list[Turn], messages: Sequence[Message], *, marked: bool, thoughts: bool) -> None:
    """Neighbouring messages of the assistant are one: texts first, then all calls in one block."""
    turn = _assistant(turns)
    parts = [part for message in messages for part in message.content]
    texts = [text for message in messages if (text := said(message.content))]
    calls = [part for part in parts if isinstance(part, ToolCallPart)]
    turn.ends_in_results = turn.ends_in_results and not texts and not calls
    for text in texts:
        turn.add(text)
    if thoughts:
        turn.thoughts += [part.text for part in parts if isinstance(part, ThinkingPart) and part.text]
    turn.calls = calls
    if calls and marked:
        turn.wrapped += len(calls)
        turn.introduced += 1 if texts else 0
        turn.pieces += [invocation(call) for call in calls]
    elif calls:
        turn.text += BLANK + calls_block(calls)
    _media(turn, parts)


def _results(turns: list[Turn], results: Sequence[ToolResultPart], *, marked: bool) -> None:
    if not results:
        return
    turn = _assistant(turns)
    names = {call.id: call.name for call in turn.calls}
    named = [(result.name or names.get(result.call_id) or "", said(result.content)) for result in results]
    if marked:
        turn.pieces += [text for _, text in named]
    else:
        turn.text += BLANK + results_block(named)
    turn.ends_in_results = True
    for result in results:
        turn.found += [(name, len(named) > 1) for name in references(result.content)]
        if any(isinstance(part, ImagePart) for part in result.content):
            turn.beside += sum(isinstance(part, TextPart) for part in result.content)
        media = (part for part in result.content if not isinstance(part, TextPart | RefusalPart))
        turn.media += [(part, True) for part in media if not references([part])]


def _said(turns: list[Turn], message: Message) -> None:
    parts = [part for part in message.content if not isinstance(part, ToolResultPart)]
    if message.results and not parts:
        return
    added = references(parts, "tool_addition")
    role = "system" if message.role in SYSTEM_ROLES else "human"
    if turns and turns[-1].role == role:
        turns[-1].text += BLANK + said(parts)
    else:
        text = said(parts)
        turns.append(Turn(role, text if text.strip(CUT) == "" else " " + text))
    turns[-1].added += added
    _media(turns[-1], parts)


def references(parts: Iterable[Part | ContentPart], kind: str = "tool_reference") -> list[str]:
    """The names of deferred tools that a result, or a message, makes known."""
    data = [parsed(part.data) for part in parts if isinstance(part, OpaquePart) and part.kind == kind]
    tools = (value.get("tool", value) for value in data if isinstance(value, dict))
    return [str(tool.get("tool_name") or tool.get("name")) for tool in tools if isinstance(tool, dict)]


def _media(turn: Turn, parts: Iterable[Part]) -> None:
    texts = TextPart | RefusalPart | ThinkingPart | ToolCallPart | ToolResultPart
    media = (part for part in parts if not isinstance(part, texts))
    turn.media += [(part, False) for part in media if not references([part], "tool_addition")]


def said(parts: Iterable[Part | ContentPart]) -> str:
    """Texts of a message, with nothing between them but :data:`CUT` for a picture."""
    texts = (
        part.text if isinstance(part, TextPart | RefusalPart) else CUT
        for part in parts
        if isinstance(part, TextPart | RefusalPart | ImagePart)
    )
    return "".join(texts)
