"""One recording with filler in place of what was said, of the same counts and fates."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from contextctl.blanking.filler import WORDS, Filler
from contextctl.blanking.json_leaves import SCHEMA_WORDS, JsonLeaves, fit
from contextctl.blanking.slots import BlankMessage, Slot, media_blanked
from contextctl.entries import group
from contextctl.errors import CapabilityError
from contextctl.messages import SYSTEM_ROLES, Message, RequestSettings, TextPart, part_texts
from contextctl.plan import ContextPlan, Matcher
from contextctl.ports import Measure
from contextctl.providers.offline import OfflineProvider
from contextctl.recording import RecordedRequest, Transcript
from contextctl.routing import accepted_positions
from contextctl.tokenizers import tokenizer


@dataclass(frozen=True, slots=True)
class Blanked:
    """A recording without its texts; ``kept`` messages have theirs, because a plan looks for something in
    them. ``inexact`` entries could not be given the same count."""

    transcript: Transcript
    kept: int = 0
    inexact: int = 0


def blanked(transcript: Transcript, provider: OfflineProvider, plan: ContextPlan | None = None) -> Blanked:
    """The recording with filler of the same token count, by the provider's tokenizer, for every text.

    What stays: roles, ids, names of tools, keys and structure of arguments and definitions, numbers, times,
    and the text of messages in which a matcher of the plan (``contains``, ``regex``) finds what it looks for.
    Entries count as they did, whole. One result of several parallel ones may be charged otherwise once a
    strategy clears or trims the others, because parallel results are charged as one list.
    Raises :class:`~contextctl.errors.CapabilityError` where no filler can be made with the tokenizer.
    """
    matchers = _text_matchers(plan) if plan is not None else []
    kept = _found(matchers, transcript.messages, transcript.id)
    everyone = frozenset[int]().union(*kept)
    result = None
    for filler in _fillers(provider):
        run = _Run(provider, filler, matchers, _names(plan), transcript.id)
        result = run.transcript(transcript, everyone)
        if _found(matchers, result.transcript.messages, transcript.id) == kept:
            return result
    if result is None:
        wanted = f"no filler can be made with the tokenizer of {provider.record.id}"
        raise CapabilityError(wanted, hint="blank with --model and another model", rule="CTX401")
    raise CapabilityError(
        f"{transcript.path}: the plan's matchers accept every filler that there is",
        hint="make their `contains` or `regex` narrower",
        rule="CTX401",
    )


def _fillers(provider: OfflineProvider) -> list[Filler]:
    used = tokenizer(provider.record.tokenizer)
    base = getattr(used, "base", used)

    def count(text: str) -> int:
        return base.measure(text).tokens if text else 0

    return [filler for filler in (Filler(word, count) for word in WORDS) if filler.usable]


def _text_matchers(plan: ContextPlan) -> list[Matcher]:
    """The matchers that look for text, without what bounds them to the first or last of what they find."""
    named = [section.match for section in plan.sections if isinstance(section.match, Matcher)]
    named += [*plan.pins, *(expected.keeps for expected in plan.expect if expected.keeps is not None)]
    return [
        matcher.model_copy(update={"first": None, "last": None})
        for matcher in named
        if matcher.contains or matcher.regex
    ]


def _found(
    matchers: Sequence[Matcher], messages: Sequence[Message], transcript_id: str
) -> list[frozenset[int]]:
    return [accepted_positions(matcher, messages, transcript_id) for matcher in matchers]


def _names(plan: ContextPlan | None) -> frozenset[str]:
    """Names that a matcher of the plan asks for."""
    if plan is None:
        return frozenset()
    named = [section.match for section in plan.sections if isinstance(section.match, Matcher)]
    named += [*plan.pins, *(expected.keeps for expected in plan.expect if expected.keeps is not None)]
    return frozenset(name for matcher in named for name in matcher.names or ())


class _Run:
    """One recording and one word of filler."""

    def __init__(
        self,
        provider: OfflineProvider,
        filler: Filler,
        matchers: Sequence[Matcher],
        names: frozenset[str],
        transcript_id: str,
    ) -> None:
        self._provider = provider
        self._filler = filler
        self._matchers = matchers
        self._names = names
        self._id = transcript_id
        self._inexact = 0

    def transcript(self, transcript: Transcript, kept: frozenset[int]) -> Blanked:
        messages = list(transcript.messages)
        for entry in group(transcript.messages)[0]:
            done = self._entry(entry.messages, [position in kept for position in entry.positions])
            for position, message in zip(entry.positions, done, strict=True):
                messages[position - 1] = message
        for place, old in enumerate(transcript.messages):
            if old.role in SYSTEM_ROLES:
                messages[place] = self._ended_alike(old, messages[place])
                break
        known = {_bare(old): new for old, new in zip(transcript.messages, messages, strict=True)}
        changed = replace(
            transcript,
            messages=tuple(messages),
            settings=self._settings(transcript.settings, transcript.messages, messages),
            requests=tuple(self._request(request, known) for request in transcript.requests),
            records=(),
        )
        return Blanked(changed, len(kept), self._inexact)

    def _ended_alike(self, old: Message, new: Message) -> Message:
        """The system message with the marks that it ended on, of the same charge: definitions are written
        behind it, and text merges there."""
        ending = re.search(r"[^\w]{1,4}$", part_texts(old.content)[-1] if part_texts(old.content) else "")
        last = new.content[-1] if new.content else None
        if ending is None or not isinstance(last, TextPart) or new == old:
            return new
        words = last.text.split(" ")
        target = self._provider.measure_entry([new]).tokens
        for fewer in range(min(4, len(words))):
            text = " ".join(words[: len(words) - fewer]) + ending.group()
            changed = new.model_copy(update={"content": (*new.content[:-1], TextPart(text=text))})
            if self._provider.measure_entry([changed]).tokens == target:
                return changed
        return new

    def _entry(self, messages: Sequence[Message], kept: Sequence[bool]) -> list[Message]:
        """Each message so that what stands up to it is charged as it was."""
        done: list[Message] = []
        for number, (message, stays) in enumerate(zip(messages, kept, strict=True), 1):
            if stays:
                done.append(media_blanked(message))
                continue
            target = self._provider.measure_entry(messages[:number])
            done.append(self._fitted(BlankMessage(message, self._filler, self._names), done, target))
        if self._provider.measure_entry(done).tokens != self._provider.measure_entry(messages).tokens:
            self._inexact += 1
        return done

    def _fitted(self, blank: BlankMessage, before: Sequence[Message], target: Measure) -> Message:
        """The message whose slots make the whole come nearest to the target; the last one gives way first.

        Texts that are charged joined, or within a list, do not add up, so that one by one is not enough."""

        def charged(slot: Slot, change: int) -> int:
            slot.change = change
            return self._provider.measure_entry([*before, blank.message()]).tokens

        for slot in [*reversed(blank.slots)] * 2:
            change = fit(partial(charged, slot), target.tokens, slot.least, slot.change)
            if charged(slot, change) == target.tokens:
                break
        return blank.message()

    def _settings(
        self, settings: RequestSettings, before: Sequence[Message], after: Sequence[Message]
    ) -> RequestSettings:
        """The same definitions with filler for what is described in them, and the same charge, also behind
        the end of the system prompt, where texts merge."""
        old, new = _system(before), _system(after)
        changed = settings
        for name in ("tools", "response_format"):
            if getattr(settings, name):
                changed = self._definitions(settings, changed, name, old, new)
        return changed

    def _definitions(
        self,
        settings: RequestSettings,
        changed: RequestSettings,
        name: str,
        old: Sequence[Message],
        new: Sequence[Message],
    ) -> RequestSettings:
        """One field of the settings with filler, of the charge that it has in the settings as they were."""
        value = getattr(settings, name)
        leaves = JsonLeaves(list(value) if isinstance(value, tuple) else value, self._filler, SCHEMA_WORDS)

        def with_change(change: int) -> RequestSettings:
            made = leaves.blanked(change)
            return changed.model_copy(update={name: tuple(made) if isinstance(value, tuple) else made})

        def charged(chosen: RequestSettings, system: Sequence[Message]) -> int:
            return self._provider.with_settings(chosen).measure_prompt(system).upper_tokens

        target = charged(changed.model_copy(update={name: value}), old)
        best = fit(lambda change: charged(with_change(change), new), target, -leaves.spare)
        if charged(with_change(best), new) != target:
            self._inexact += 1
        return with_change(best)

    def _request(self, request: RecordedRequest, known: dict[Message, Message]) -> RecordedRequest:
        kept = frozenset[int]().union(*_found(self._matchers, request.messages, self._id))
        messages = [
            known.get(_bare(message)) or self._blank(message, stays=position in kept)
            for position, message in enumerate(request.messages, 1)
        ]
        settings = self._settings(request.settings, request.messages, messages)
        return replace(request, messages=tuple(messages), settings=settings)

    def _blank(self, message: Message, *, stays: bool) -> Message:
        if stays:
            return media_blanked(message)
        return BlankMessage(message, self._filler, self._names).message()


def _system(messages: Sequence[Message]) -> list[Message]:
    """The first system message, behind which definitions are written; none where there is none."""
    return [message for message in messages if message.role in SYSTEM_ROLES][:1]


def _bare(message: Message) -> Message:
    return message.model_copy(update={"location": None})
