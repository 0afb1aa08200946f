"""A conversation as the turns of a Claude prompt: roles merged, results in the turn of their calls."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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
from contextctl.providers.claude_text import BLANK, calls_block, invocation, results_block

FIRST_USER = 9
"""Tokens of the user turn that is put before an assistant's first message."""


@dataclass(slots=True)
class Turn:
    """One turn: its text, what has no text, and how it ends.

    ``thoughts`` are texts of thinking blocks, ``media`` parts with the result they stand in (None: the message),
    ``wraps`` the calls with or without text in front.
    """

    role: str
    text: str = ""
    ends_in_results: bool = False
    calls: list[ToolCallPart] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)
    media: list[tuple[Part, bool]] = field(default_factory=list)
    alone: int = 0
    beside: int = 0
    wraps: list[bool] = field(default_factory=list)
    tools: list[str] = field(default_factory=list)

    def add(self, text: str) -> None:
        """More text, after a blank line where there is some already."""
        self.text += (BLANK if self.text else "") + text


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
    for place, message in enumerate(listed):
        if message.role == "assistant":
            keep = thoughts_kept or place > last_said
            _answer(turns, message, marked=marked, thoughts=keep)
        else:
            _results(turns, message, marked=marked)
            _said(turns, message)
    return turns


def _answer(turns: list[Turn], message: Message, *, marked: bool, thoughts: bool) -> None:
    turn = turns[-1] if turns and turns[-1].role == "assistant" else Turn("assistant")
    if not turns or turns[-1] is not turn:
        turns.append(turn)
    text = said(message.content)
    if text:
        turn.add(text)
        turn.ends_in_results = False
    if thoughts:
        turn.thoughts += [
            part.text for part in message.content if isinstance(part, ThinkingPart) and part.text
        ]
    if message.calls:
        turn.calls = list(message.calls)
        turn.ends_in_results = False
        if marked:
            turn.wraps += [bool(text)] * len(turn.calls)
            turn.add("\n".join(invocation(call) for call in turn.calls))
        else:
            turn.text += BLANK + calls_block(turn.calls)
    _media(turn, message.content)


def _results(turns: list[Turn], message: Message, *, marked: bool) -> None:
    if not message.results:
        return
    turn = turns[-1] if turns and turns[-1].role == "assistant" else Turn("assistant")
    if not turns or turns[-1] is not turn:
        turns.append(turn)
    names = {call.id: call.name for call in turn.calls}
    named = [
        (result.name or names.get(result.call_id) or "", said(result.content)) for result in message.results
    ]
    turn.text += BLANK + ("".join(text for _, text in named) if marked else results_block(named))
    turn.ends_in_results = True
    for result in message.results:
        pictures = [part for part in result.content if isinstance(part, ImagePart)]
        if pictures:
            turn.beside += sum(isinstance(part, TextPart) for part in result.content)
        turn.media += [(part, True) for part in result.content if not isinstance(part, TextPart | RefusalPart)]
        turn.tools += [part.data for part in result.content if isinstance(part, OpaquePart)]


def _said(turns: list[Turn], message: Message) -> None:
    parts = [part for part in message.content if not isinstance(part, ToolResultPart)]
    if message.results and not parts:
        return
    role = "system" if message.role in SYSTEM_ROLES else "human"
    if turns and turns[-1].role == role:
        turns[-1].text += BLANK + said(parts)
    else:
        turns.append(Turn(role, said(parts)))
    if not said(parts):
        turns[-1].alone += 1
    _media(turns[-1], parts)


def _media(turn: Turn, parts: Iterable[Part]) -> None:
    texts = TextPart | RefusalPart | ThinkingPart | ToolCallPart | ToolResultPart
    turn.media += [(part, False) for part in parts if not isinstance(part, texts)]


def said(parts: Iterable[Part | ContentPart]) -> str:
    """Texts of a message, with nothing between them."""
    return "".join(part.text for part in parts if isinstance(part, TextPart | RefusalPart))
