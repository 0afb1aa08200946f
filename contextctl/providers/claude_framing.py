"""Claude prompts as Anthropic bills them: one text, and what it is wrapped in by rule.

The rules were found on 622 recorded requests with Anthropic's own counts; every constant is in the framing
profiles of the registry. The text is tokenised in pieces that end in a blank line: no token of Claude's
vocabularies reaches from a line feed into what follows it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import groupby
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
from contextctl.providers.claude_text import BLANK, definition_line, schema_text, tool_choice_of
from contextctl.providers.claude_turns import (
    CUT,
    FIRST_USER,
    Chunk,
    answer_chunk,
    leading_system,
    result_chunk,
    said,
    said_chunks,
)
from contextctl.providers.pictures import patches, size_of
from contextctl.providers.profiles import ClaudeFraming

IMAGE, IMAGE_IN_RESULT, TEXT_BESIDE = 3, 11, 6
"""Beside a picture's patches: always, in a result, and for each text beside it there."""

IMAGE_MARGIN = Fraction(105, 100)
"""How much more some pictures were billed with, by the older models."""

SUMMED_THOUGHT = 40
"""How much more a thought is billed with where what is sent is a summary of it and earlier ones stay."""

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

MOST_RUNS = 50_000
"""Runs of messages whose charges are remembered."""

CALLS = "<"
"""What a block of calls begins with."""

DROPPED = "x-anthropic-billing-header:"
"""What a block of the system prompt begins with that the server takes out."""

FRAMED = "the framing of Claude's prompts is known by measurement only"


class ClaudeFramer:
    """See :class:`~contextctl.providers.framers.Framer`. Not additive: turns are joined."""

    additive = False

    def __init__(self, framing: ClaudeFraming, tokenizer: Tokenizer, settings: RequestSettings) -> None:
        self._framing = framing
        self._tokenizer = tokenizer
        self._settings = settings
        self._estimated = tokenizer.exactness is Exactness.ESTIMATE
        self._choice, self._forced, self._single = tool_choice_of(settings.tool_choice)
        self._thinks = isinstance(settings.thinking, dict) and settings.thinking.get("type") == "enabled"
        self._tools = tuple(tool for tool in settings.tools or () if not tool.get("defer_loading"))
        self._hosted = tuple(tool for tool in self._tools if tool.get("type", "custom") not in OWN_TOOLS)
        self._definitions = self._measured_definitions()
        self._known: dict[object, tuple[Measure, str, _Run, _Run]] = {}
        self._overhead = self.prompt(())

    def overhead(self) -> Measure:
        """The request without messages: start, definitions, thinking, format, the answer's first words."""
        return self._overhead

    def entry(self, messages: Sequence[Message]) -> Measure:
        """The turns that the messages of one entry make, without what stands before and after them."""
        first = leading_system(messages)
        measure = self._text(self._system(messages[:first]))
        runs = self._runs(messages[first:], last=False)
        return measure + Measure.total(measured for measured, _ in runs)

    def prompt(self, messages: Sequence[Message]) -> Measure:
        """The whole prompt as one text."""
        framing = self._framing
        first = leading_system(messages)
        system, rest = self._system(messages[:first]), messages[first:]
        margin = framing.margin + (framing.tools_margin if self._tools else 0)
        measure = Measure(framing.start, framing.start + margin, Exactness.RECONSTRUCTED, (FRAMED,))
        measure += self._head(system) + self._definitions
        if rest and rest[0].role == "assistant":
            measure += Measure.exact(FIRST_USER + framing.human)
        runs = list(self._runs(rest, last=True))
        measure += Measure.total(measured for measured, _ in runs)
        return measure + self._end(runs[-1][1] if runs else "system")

    def _system(self, messages: Sequence[Message]) -> str:
        texts = (part.text for message in messages for part in message.content if hasattr(part, "text"))
        return "".join(text for text in texts if not text.startswith(DROPPED))

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

    def _runs(self, messages: Sequence[Message], *, last: bool) -> Iterator[tuple[Measure, str]]:
        """What each run of messages of one side is charged, and how the turn stands after it: ``human``,
        ``assistant`` or ``results``. ``last`` is true where the prompt ends with these messages."""
        keep = 0 if self._framing.thoughts_kept else _after_last_said(messages)
        state, place, before = "", 0, _Run(())
        for is_answer, group in groupby(messages, key=lambda message: message.role == "assistant"):
            run = _Run(tuple(group))
            place += len(run.messages)
            ends = last and place == len(messages)
            key = (run.key, before.key if run.pairs else (), is_answer, state, place > keep, ends)
            known = self._known.get(key)
            if known is None:
                if len(self._known) >= MOST_RUNS:
                    self._known.clear()
                chunks = self._chunks(run, before, state, place > keep)
                known = self._known[key] = self._run(chunks, ends), _state(run, is_answer, state), run, before
            yield known[:2]
            state, before = known[1], run

    def _chunks(self, run: _Run, before: _Run, state: str, thoughts: bool) -> list[Chunk]:
        marked, opens = self._framing.marked, state not in ("assistant", "results")
        if run.messages[0].role == "assistant":
            return [answer_chunk(run.messages, opens=opens, marked=marked, thoughts=thoughts)]
        results = [result for message in run.messages for result in message.results]
        chunks = said_chunks(run.messages)
        if results:
            names = {call.id: call.name for message in before.messages for call in message.calls}
            chunks.insert(0, result_chunk(results, names, opens=opens, marked=marked))
        return chunks

    def _run(self, chunks: Sequence[Chunk], ends: bool) -> Measure:
        """The chunks, each with the blank line after it but the last of a prompt that ends in an answer."""
        bare = chunks[-1] if ends and chunks and chunks[-1].role == "assistant" else None
        return Measure.total(self._chunk(chunk, followed=chunk is not bare) for chunk in chunks)

    def _chunk(self, chunk: Chunk, *, followed: bool) -> Measure:
        measure = self._said(chunk, BLANK if followed else "")
        measure += Measure.total(self._text(piece) for piece in chunk.pieces)
        return measure + self._beside(chunk)

    def _said(self, chunk: Chunk, end: str) -> Measure:
        """The text of a chunk with the role before it and the blank line after it."""
        framing, answer = self._framing, chunk.role == "assistant"
        if self._estimated:
            opening = framing.assistant if answer else framing.human
            return self._text(chunk.text) + Measure.exact(opening if chunk.opens else 1)
        if framing.marked:
            return self._text(chunk.text + end) + Measure.exact(1 if chunk.opens else 0)
        role = ("Assistant:" if answer else "Human:") if chunk.opens else ""
        text = chunk.text.strip(CUT)
        space = " " if role and text and not chunk.text.startswith(BLANK + CALLS) else ""
        return self._text(role + space + chunk.text + end)

    def _beside(self, chunk: Chunk) -> Measure:
        """What a chunk holds that is no text, and what wraps its texts."""
        framing = self._framing
        wrapped = framing.call * chunk.wrapped + chunk.introduced + TEXT_BESIDE * chunk.beside
        measure = Measure.exact(wrapped)
        more = SUMMED_THOUGHT if framing.thoughts_kept else 0
        thought = Measure(framing.thought, framing.thought + more)
        measure += Measure.total(self._text(text) + thought for text in chunk.thoughts)
        for name, several in chunk.found:
            measure += self._found(name, FOUND_AMONG_OTHERS if several else framing.found)
        for name in chunk.added:
            measure += self._found(name, ADDED)
        return measure + Measure.total(self._medium(part, in_result) for part, in_result in chunk.media)

    def _found(self, name: str, beside: int) -> Measure:
        """A deferred tool that a result or a message makes known: its definition, and what is beside it."""
        escaped = not self._framing.late
        tools = (tool for tool in self._settings.tools or () if tool.get("name") == name)
        lines = (self._text(definition_line(tool, escaped=escaped)) for tool in tools)
        return Measure.exact(beside) + Measure.total(lines)

    def _end(self, state: str) -> Measure:
        """What makes the model answer: nothing more where it goes on with an answer."""
        if state == "assistant":
            return Measure.exact(0)
        if state == "results":
            return Measure.exact(0 if self._choice in ("any", "tool") else 1)
        return Measure.exact(self._framing.assistant - (0 if self._estimated else 1))

    def _medium(self, part: Part, in_result: bool) -> Measure:
        match part:
            case ImagePart():
                size, most = size_of(part), self._framing.patches
                tokens = (patches(*size, most) if size else most) + IMAGE
                tokens += IMAGE_IN_RESULT if in_result else 0
                if size:
                    return Measure(tokens, ceil(tokens * IMAGE_MARGIN), Exactness.RECONSTRUCTED, (FRAMED,))
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


class _Run:
    """Messages of one side that stand together, known by what they are in memory."""

    __slots__ = ("key", "messages")

    def __init__(self, messages: tuple[Message, ...]) -> None:
        self.messages = messages
        self.key = tuple(map(id, messages))

    @property
    def pairs(self) -> bool:
        """Whether it may hold results, whose calls stand in the run before."""
        return bool(self.messages) and self.messages[0].role != "assistant"


def _after_last_said(messages: Sequence[Message]) -> int:
    """The place behind the newest message in which a user says something, from 1; 0 for none."""
    for place in range(len(messages), 0, -1):
        if messages[place - 1].is_user_turn:
            return place
    return 0


def _state(run: _Run, is_answer: bool, before: str) -> str:
    """How the turn stands after a run."""
    if is_answer:
        spoke = any(message.calls or said(message.content) for message in run.messages)
        return "assistant" if spoke or before != "results" else before
    last = run.messages[-1]
    only_results = all(not said_chunks([message]) for message in run.messages)
    return "results" if only_results and last.results else "human"
