"""What a provider adds to the texts of a request: messages, names, tool calls and their results.

The rules are those found on recorded requests with OpenAI's own counts; every constant is in the framing
profiles of the registry.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import repeat
from math import ceil

from contextctl.entries import group
from contextctl.images import patches, size_of_data_url, tiles
from contextctl.messages import (
    SYSTEM_ROLES,
    AudioPart,
    FilePart,
    ImagePart,
    Message,
    OpaquePart,
    RequestSettings,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolResultPart,
    part_texts,
)
from contextctl.ports import Exactness, Measure, Tokenizer
from contextctl.providers.openai_request import RequestRules
from contextctl.providers.registry import Framing

MEDIA_TOKENS = 1_500
"""What an audio or file part is charged at least: seconds and pages are not in the message. A one-page
document was billed with up to 1,100 in the recorded requests."""

PATCHES_OFF = 3
"""Tokens by which an image of a model of patches was billed higher than its patches, at most."""

BYTES_PER_TOKEN = 3
"""Bytes of an audio or file part for a token, where that is more than the least."""


class OpenAIFramer:
    """See :class:`~contextctl.providers.framers.Framer`. Additive: entries never share tokens."""

    def __init__(self, framing: Framing, tokenizer: Tokenizer, settings: RequestSettings) -> None:
        self._framing = framing
        self._tokenizer = tokenizer
        self._settings = settings
        self._responses = settings.api == "responses"
        self._rules = RequestRules(framing, settings, self._text) if framing.tools_rendered else None
        self._overhead = self._measured_overhead()

    @property
    def additive(self) -> bool:
        """False where tools or a response format merge with the end of the system prompt."""
        return self._rules is None or not self._rules.merges

    def overhead(self) -> Measure:
        """The request without messages; what the rules do not cover is an estimate of its JSON."""
        return self._overhead

    def joint(self, messages: Sequence[Message]) -> Measure:
        """What the prompt costs more, or less, than the overhead and its entries."""
        first = next((message for message in messages if message.role in SYSTEM_ROLES), None)
        if self._rules is None or first is None:
            return Measure.exact(0)
        tokens = self._rules.merged("".join(part_texts(first.content)))
        return Measure(tokens, tokens)

    def prompt(self, messages: Sequence[Message]) -> Measure:
        """The overhead, each of the entries, paired afresh, and what they share."""
        entries, _ = group(messages)
        charges = [self.entry(entry.messages) for entry in entries]
        return Measure.total([self._overhead, *charges, self.joint(messages)])

    def _measured_overhead(self) -> Measure:
        framing, settings = self._framing, self._settings
        measure = Measure.exact(framing.request)
        if settings.continues:
            reason = "an earlier response is continued, which is not in the request"
            measure += Measure(0, 0, Exactness.ESTIMATE, (reason,))
        if self._rules is not None:
            return measure + self._rules.alone()
        if settings.tools:
            measure += Measure(framing.tools, framing.tools_upper)
            measure += self._json_estimate(list(settings.tools), "tool definitions are estimated")
        if isinstance(settings.tool_choice, dict):
            measure += self._json_estimate(settings.tool_choice, "the tool choice is estimated")
        if isinstance(settings.response_format, dict) and "json_schema" in settings.response_format:
            measure += self._json_estimate(settings.response_format, "the response format is estimated")
        return measure

    def _json_estimate(self, value: object, reason: str) -> Measure:
        framing, tokens = self._framing, self._tokenizer.measure(_compact(value))
        best, most = (
            ceil(tokens.tokens * framing.json_share),
            ceil(tokens.upper_tokens * framing.json_share_upper),
        )
        return Measure(best, most, Exactness.ESTIMATE, (reason,))

    def entry(self, messages: Sequence[Message]) -> Measure:
        """What the messages of one entry are charged, calls together with their results."""
        results = [result for message in messages for result in message.results]
        charged: list[Measure] = []
        for message in messages:
            if message.calls:
                charged.append(self._with_calls(message, results))
            elif not message.results or len(message.content) > len(message.results):
                charged.append(self._plain(message))
        charged += [self._orphan(result) for result in results]
        return Measure.total(charged)

    def _text(self, text: str) -> Measure:
        return self._tokenizer.measure(text) if text else Measure.exact(0)

    def _plain(self, message: Message) -> Measure:
        framing = self._framing
        measure = Measure.exact(framing.message + (framing.assistant if message.role == "assistant" else 0))
        if message.role == "assistant" and self._rules is not None:
            measure += self._rules.answered()
        measure += self._content([p for p in message.content if not isinstance(p, ToolResultPart)])
        return measure + self._participant(message)

    def _participant(self, message: Message) -> Measure:
        if not message.name:
            return Measure.exact(0)
        extra = 0 if message.name == message.role else self._framing.participant
        return Measure.exact(extra) + self._text(message.name)

    def _content(self, parts: Sequence[object]) -> Measure:
        """Texts are joined without a separator and counted once; other parts each by their rule."""
        texts = [text for part in parts if not isinstance(part, OpaquePart) for text in part_texts([part])]
        return Measure.total([self._text("".join(texts)), *(self._medium(part) for part in parts)])

    def _medium(self, part: object) -> Measure:
        match part:
            case ImagePart():
                return self._image(part)
            case AudioPart(data=data) | FilePart(data=data):
                tokens = max(MEDIA_TOKENS, ceil(len(data) * 3 / 4 / BYTES_PER_TOKEN))
                return Measure(tokens, tokens, Exactness.ESTIMATE, (f"{part.type} parts are estimated",))
            case OpaquePart(kind=kind, data=data):
                tokens = self._text(data).upper_tokens
                reason = f"parts of kind {kind!r} are counted as their JSON"
                return Measure(tokens, tokens, Exactness.ESTIMATE, (reason,))
        return Measure.exact(0)

    def _image(self, image: ImagePart) -> Measure:
        """By tiles exactly, by patches nearly; one of unknown size counts as the largest."""
        framing = self._framing
        if image.detail == "low":
            return Measure(
                framing.image_low, framing.image_low, Exactness.ESTIMATE, ("images are estimated",)
            )
        size = (image.width, image.height) if image.width and image.height else None
        size = size or (size_of_data_url(image.url) if image.url else None)
        if size is not None and framing.image_tile:
            return Measure.exact(framing.image_low + framing.image_tile * tiles(*size))
        if size is not None and framing.image_patch:
            tokens = ceil(patches(*size) * framing.image_patch) + framing.image_more
            reason = "images of this model are counted to within a few tokens"
            return Measure(tokens, tokens + PATCHES_OFF, Exactness.ESTIMATE, (reason,))
        most = framing.image_most
        reason = "images of unknown size count as the largest"
        return Measure(most, most, Exactness.ESTIMATE, (reason,))

    def _with_calls(self, message: Message, results: list[ToolResultPart]) -> Measure:
        """A message with its calls and their results, which are taken off the list."""
        calls = message.calls
        answers = [_take(call, results) for call in calls]
        if len(calls) == 1 or self._responses:
            measure = Measure.total(map(self._one_call, calls, answers, repeat(len(calls))))
            measure += Measure.exact(self._framing.calls_responses if len(calls) > 1 else 0)
        else:
            measure = self._parallel(calls, answers)
        measure += self._participant(message)
        if None in answers:
            reason = "a call without its result is charged as with an empty one"
            measure += Measure(0, 0, Exactness.ESTIMATE, (reason,))
        beside = [part for part in message.content if not isinstance(part, ToolCallPart | ToolResultPart)]
        said = [part for part in beside if not isinstance(part, ThinkingPart)]
        if self._responses and said:
            measure += Measure.exact(self._framing.message + self._framing.assistant) + self._content(beside)
        elif any(part_texts(beside)) or any(not isinstance(part, TextPart) for part in beside):
            measure += Measure.exact(self._framing.text_beside_calls) + self._content(beside)
        return measure

    def _one_call(self, call: ToolCallPart, answer: ToolResultPart | None, among: int) -> Measure:
        """A call of ``among`` that an answer makes, with its result."""
        arguments = call.arguments if self._responses else _compact_arguments(call.arguments)
        texts = ["." + call.name, call.name, arguments]
        measure = Measure.exact(self._call_tokens(call, among)) + Measure.total(map(self._text, texts))
        return measure + self._content(answer.content if answer else ())

    def _call_tokens(self, call: ToolCallPart, among: int) -> int:
        framing = self._framing
        if not self._responses:
            return framing.call
        if among == 1:
            return framing.call_responses + (framing.call_stored if call.stored else 0)
        return framing.calls_responses_each

    def _parallel(self, calls: Sequence[ToolCallPart], answers: Sequence[ToolResultPart | None]) -> Measure:
        """Several calls are one call of ``multi_tool_use.parallel`` with one list of results."""
        uses = ",".join(
            f'{{"recipient_name":{json.dumps("functions." + call.name, ensure_ascii=False)},'
            f'"parameters":{_compact_arguments(call.arguments) or "{}"}}}'
            for call in calls
        )
        texts = ["".join(part_texts(answer.content)) for answer in answers if answer]
        listed = "[" + ", ".join(_listed_result(text) for text in texts) + "]"
        measure = Measure.exact(self._framing.parallel_calls)
        measure += self._text(f'{{"tool_uses":[{uses}]}}') + self._text(listed)
        media = [part for answer in answers if answer for part in answer.content]
        return measure + Measure.total(self._medium(part) for part in media)

    def _orphan(self, result: ToolResultPart) -> Measure:
        reason = "a result without its call is charged as a message"
        measure = Measure(self._framing.message, self._framing.message, Exactness.ESTIMATE, (reason,))
        return measure + self._text(result.name or "") + self._content(result.content)


def _take(call: ToolCallPart, results: list[ToolResultPart]) -> ToolResultPart | None:
    for result in results:
        if result.call_id == call.id and (call.id is not None or result.name in {None, call.name}):
            results.remove(result)
            return result
    return None


def _compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _parsed(text: str) -> tuple[bool, object]:
    try:
        return True, json.loads(text)
    except (ValueError, RecursionError):
        return False, None


def _compact_arguments(text: str) -> str:
    """Arguments as chat serialises them again: compact JSON; as they are where they are not JSON."""
    is_json, value = _parsed(text)
    return _compact(value) if is_json else text


def _listed_result(text: str) -> str:
    """One result in the list of parallel results: JSON as Python dumps it, other text as a JSON string."""
    is_json, value = _parsed(text)
    if is_json and isinstance(value, dict | list):
        return json.dumps(value)
    return text if is_json else json.dumps(text, ensure_ascii=False)
