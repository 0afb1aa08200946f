"""Claude prompts as Anthropic bills them: the prompt is one text, and what it is wrapped in is counted by rule.

The rules were found on 622 recorded requests with Anthropic's own counts; every constant is in the framing
profiles of the registry. The text is tokenised in pieces that end in a blank line: no token of Claude's
vocabularies reaches from a line feed into what follows it.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import Any

from contextctl.messages import (
    AudioPart,
    FilePart,
    ImagePart,
    Message,
    OpaquePart,
    Part,
    RequestSettings,
)
from contextctl.ports import Exactness, Measure, Tokenizer
from contextctl.providers.claude_text import BLANK, definition_line, schema_text
from contextctl.providers.claude_turns import CUT, FIRST_USER, Turn, leading_system, said, turns_of
from contextctl.providers.profiles import ClaudeFraming

PATCH = 28
"""Pixels of a picture's patch, each way."""

IMAGE, IMAGE_IN_RESULT, TEXT_BESIDE = 3, 11, 6
"""Beside a picture's patches: always, in a result, and for each text beside it there."""

FOUND_AMONG_OTHERS, ADDED = 3, 41
"""Beside the definition of a deferred tool: that one of several results names, that a message names."""

MEDIA_TOKENS = 3_000
"""What a document or a recording is charged at least: its pages are not in the message."""

OWN_TOOLS = frozenset({"custom", "function", None})
"""Types of tools that the request defines; of any other the provider has the definition."""

SEARCH = "tool_search_tool_"
"""What the types of the tools begin with that find deferred tools."""

HOSTED_TOKENS = 2_500
"""What a tool of the provider's own is charged, as its definition is not in the request."""

DROPPED = "x-anthropic-billing-header:"
"""What a block of the system prompt begins with that the server takes out."""

FRAMED = "the framing of Claude's prompts is known by measurement only"


class ClaudeFramer:
    """See :class:`~contextctl.providers.framers.Framer`. Not additive: blank lines merge and turns are joined."""

    additive = False

    def __init__(self, framing: ClaudeFraming, tokenizer: Tokenizer, settings: RequestSettings) -> None:
        self._framing = framing
        self._tokenizer = tokenizer
        self._settings = settings
        self._estimated = tokenizer.exactness is Exactness.ESTIMATE
        self._choice, self._forced, self._single = _choice(settings.tool_choice)
        self._thinks = isinstance(settings.thinking, dict) and settings.thinking.get("type") == "enabled"
        self._tools = tuple(tool for tool in settings.tools or () if not tool.get("defer_loading"))
        self._hosted = tuple(tool for tool in self._tools if tool.get("type", "custom") not in OWN_TOOLS)
        self._definitions = self._measured_definitions()
        self._overhead = self.prompt(())

    def overhead(self) -> Measure:
        """The request without messages: start, tool definitions, thinking, format, the answer's first words."""
        return self._overhead

    def entry(self, messages: Sequence[Message]) -> Measure:
        """The turns that the messages of one entry make, without what stands before and after them."""
        first = leading_system(messages)
        measure = self._text(self._system(messages[:first]))
        return measure + self._turns(self._turned(messages[first:]), closed=True)

    def prompt(self, messages: Sequence[Message]) -> Measure:
        """The whole prompt as one text."""
        framing = self._framing
        first = leading_system(messages)
        system, turns = self._system(messages[:first]), self._turned(messages[first:])
        margin = framing.margin + (framing.tools_margin if self._tools else 0)
        measure = Measure(framing.start, framing.start + margin, Exactness.RECONSTRUCTED, (FRAMED,))
        measure += self._head(system) + self._definitions
        if turns and turns[0].role == "assistant":
            measure += Measure.exact(FIRST_USER + framing.human)
        return measure + self._turns(turns, closed=False) + self._end(turns)

    def _system(self, messages: Sequence[Message]) -> str:
        texts = (part.text for message in messages for part in message.content if hasattr(part, "text"))
        return "".join(text for text in texts if not text.startswith(DROPPED))

    def _turned(self, messages: Sequence[Message]) -> list[Turn]:
        framing = self._framing
        return turns_of(messages, marked=framing.marked, thoughts_kept=framing.thoughts_kept)

    def _text(self, text: str) -> Measure:
        return Measure.total(self._tokenizer.measure(piece) for piece in text.split(CUT) if piece)

    def _head(self, system: str) -> Measure:
        """The system prompt and the blank line after it, thinking and the answer's format."""
        framing, tools = self._framing, bool(self._tools)
        before = BLANK if system and (tools or framing.late) else ""
        measure = self._text(before + system + ("" if self._thinks else BLANK))
        if self._estimated:
            measure = self._text(system) + Measure.exact(1 if before else 0)
        if self._thinks:
            more = 1 if tools and not system and not framing.late else 0
            measure += Measure.exact(framing.thinking + more + (0 if self._estimated else 1))
        schema = schema_text(self._settings.response_format)
        if schema is not None:
            more = 1 if system or tools or self._thinks or framing.late else 0
            more -= 1 if framing.late and tools and not system else 0
            measure += self._text(schema) + Measure.exact(framing.format + more)
        return measure

    def _measured_definitions(self) -> Measure:
        framing = self._framing
        if not self._tools:
            return Measure.exact(0)
        own = [tool for tool in self._tools if tool not in self._hosted]
        lines = "\n".join(definition_line(tool, escaped=not framing.late) for tool in own)
        measure = self._text(lines) + Measure.exact(1 if framing.late else 0)
        measure += Measure.total(self._hosted_tool(tool) for tool in self._hosted)
        match self._choice:
            case "any":
                return measure + Measure.exact(framing.tools_any)
            case "tool":
                fixed = framing.tools_named + (framing.single_named if self._single else 0)
                return measure + self._text(self._forced) + Measure.exact(fixed)
        deferred = len(self._tools) < len(self._settings.tools or ())
        fixed = framing.tools_deferred if deferred else framing.tools
        return measure + Measure.exact(fixed + (framing.single_auto if self._single else 0))

    def _hosted_tool(self, tool: dict[str, Any]) -> Measure:
        if str(tool.get("type")).startswith(SEARCH):
            return Measure.exact(self._framing.search)
        reason = "tools of the provider's own are estimated"
        return Measure(HOSTED_TOKENS, HOSTED_TOKENS, Exactness.ESTIMATE, (reason,))

    def _turns(self, turns: Sequence[Turn], *, closed: bool) -> Measure:
        """The turns, each with the blank line after it; the last without one where it is not ``closed`` and is
        the assistant's."""
        last = None if closed or not turns or turns[-1].role != "assistant" else turns[-1]
        return Measure.total(self._turn(turn, followed=turn is not last) for turn in turns)

    def _turn(self, turn: Turn, *, followed: bool) -> Measure:
        framing = self._framing
        answer = turn.role == "assistant"
        charged = framing.assistant if answer else framing.human
        end = BLANK if followed else ""
        if self._estimated:
            measure = self._text(turn.text) + Measure.exact(charged)
        elif framing.marked:
            measure = self._text(turn.text.removeprefix(" ") + end) + Measure.exact(1)
        else:
            measure = self._text(("Assistant:" if answer else "Human:") + turn.text + end)
        measure += Measure.total(self._text(piece) for piece in turn.pieces)
        measure += Measure.exact(framing.call * turn.wrapped + turn.introduced)
        measure += Measure.total(self._text(text) + Measure.exact(framing.thought) for text in turn.thoughts)
        measure += Measure.exact(TEXT_BESIDE * turn.beside)
        for name, several in turn.found:
            measure += self._found(name, FOUND_AMONG_OTHERS if several else framing.found)
        for name in turn.added:
            measure += self._found(name, ADDED)
        return measure + Measure.total(self._medium(part, in_result) for part, in_result in turn.media)

    def _found(self, name: str, beside: int) -> Measure:
        """A deferred tool that a result or a message makes known: its definition, and what is beside it."""
        escaped = not self._framing.late
        tools = (tool for tool in self._settings.tools or () if tool.get("name") == name)
        lines = (self._text(definition_line(tool, escaped=escaped)) for tool in tools)
        return Measure.exact(beside) + Measure.total(lines)

    def _end(self, turns: Sequence[Turn]) -> Measure:
        """What makes the model answer."""
        framing = self._framing
        if turns and turns[-1].role == "assistant":
            blank = turns[-1].ends_in_results and self._choice not in ("any", "tool")
            return Measure.exact(1 if blank else 0)
        return Measure.exact(framing.assistant - (0 if self._estimated else 1))

    def _medium(self, part: Part, in_result: bool) -> Measure:
        match part:
            case ImagePart(width=width, height=height):
                known = width is not None and height is not None
                tokens = self._patches(width or 1, height or 1) if known else self._framing.patches
                tokens += IMAGE + self._framing.marked + (IMAGE_IN_RESULT if in_result else 0)
                if known:
                    return Measure(tokens, tokens, Exactness.RECONSTRUCTED, (FRAMED,))
                reason = "images of unknown size count as the largest"
            case AudioPart(data=data) | FilePart(data=data):
                tokens = max(MEDIA_TOKENS, len(data) // 4)
                reason = f"{part.type} parts are estimated"
            case OpaquePart(kind=kind, data=data):
                tokens = self._text(data).upper_tokens
                reason = f"parts of kind {kind!r} are counted as their JSON"
            case _:
                return Measure.exact(0)
        return Measure(tokens, tokens, Exactness.ESTIMATE, (reason,))

    def _patches(self, width: int, height: int) -> int:
        """Patches of a picture, shrunk in its shape where it has too many."""
        across, down = ceil(width / PATCH), ceil(height / PATCH)
        most = self._framing.patches
        if across * down <= most:
            return across * down
        best = 1
        for columns in range(1, min(across, most) + 1):
            rows = max(1, min(ceil(columns * height / width), most))
            if columns * rows <= most:
                best = max(best, columns * rows)
        return best


def _choice(choice: object) -> tuple[str, str, bool]:
    """The kind of a tool choice as Anthropic has it, the forced name, and whether calls come one at a time."""
    if isinstance(choice, str):
        return {"required": "any"}.get(choice, choice), "", False
    if not isinstance(choice, dict):
        return "auto", "", False
    inner = choice.get("function")
    named = inner if isinstance(inner, dict) else choice
    kind = str(choice.get("type", "auto"))
    single = choice.get("disable_parallel_tool_use") is True
    return {"function": "tool", "required": "any"}.get(kind, kind), str(named.get("name") or ""), single
