"""The conversation of an inspect_ai sample, put together from its messages and its model calls."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from contextctl.errors import Location
from contextctl.messages import Message
from contextctl.recording import RecordedCompaction, RecordedRequest
from contextctl.transcripts.conversations import Draft
from contextctl.transcripts.inspect_events import Step
from contextctl.transcripts.inspect_messages import SampleMessages, reported_usage
from contextctl.transcripts.json_shapes import count, note_model, recorded_time, superseded

_KINDS: dict[object, Literal["summary", "cleared", "trimmed"]] = {
    "summary": "summary",
    "edit": "cleared",
    "trim": "trimmed",
}


class SampleView:
    """The messages that a conversation ended with; calls are taken in in order."""

    def __init__(self, draft: Draft, values: list[object], source: SampleMessages, at: Location) -> None:
        self._draft = draft
        self._source = source
        self._at = at
        self._keys: dict[str, int] = {}
        for index, value in enumerate(values, 1):
            reading = source.read(value, replace(at, index=index))
            if reading.message is not None:
                self._keys.setdefault(source.key(value), len(draft.messages))
            draft.add(reading)
        self._last: tuple[list[object], int] | None = None
        self._reached = at

    def answered(self, step: Step) -> int | None:
        """The place of a call's answer among the messages, or None where it is not among them."""
        return None if step.answer is None else self._keys.get(self._source.key(step.answer))

    def take(self, step: Step) -> None:
        """A model call becomes a request, and its usage goes to its answer; a compaction is noted."""
        if step.event.get("event") == "compaction":
            self._note(step.event)
            return
        inputs = self._source.inputs(step.event)
        usage = reported_usage(step.event)
        settings = self._source.settings(step.event)
        answer = self.answered(step)
        if answer is not None or not self._draft.requests:
            self._draft.settings = settings
            changed = note_model(self._draft, step.model)
        if answer is not None:
            message = self._draft.messages[answer]
            time = recorded_time(step.event.get("timestamp"))
            self._draft.messages[answer] = message.model_copy(
                update={"usage": usage, "time": time, "model": changed}
            )
            self._reached = message.location or self._at
            self._last = inputs, answer
        sent = [reading.message for reading in map(self._source.sent, inputs) if reading.message is not None]
        self._draft.requests.append(
            RecordedRequest(
                messages=tuple(sent),
                location=self._at if answer is None else self._reached,
                settings=settings,
                model=step.model,
                usage=usage,
            )
        )

    def _note(self, event: dict[str, object]) -> None:
        kind = event.get("type")
        before, after = count(event.get("tokens_before")), count(event.get("tokens_after"))
        known = _KINDS.get(kind) if isinstance(kind, str) else None
        self._draft.compactions.append(RecordedCompaction(self._reached, known or "replaced", before, after))

    def finish(self) -> None:
        """Supersede what the last call did not see, where something was compacted on the way."""
        if not self._draft.compactions or self._last is None:
            return
        inputs, answer = self._last
        head, tail = self._draft.messages[:answer], self._draft.messages[answer:]
        self._draft.messages = [*self._aligned(head, inputs), *tail]

    def _aligned(self, head: list[Message], inputs: list[object]) -> list[Message]:
        """The messages before the last answer, with what its call saw in place of some of them."""
        aligned: list[Message] = []
        recaps: list[Message] = []
        reached = 0
        place = self._draft.compactions[-1].location
        for value in inputs:
            seen = self._source.sent(value).message
            spot = self._keys.get(self._source.key(value))
            if seen is None:
                continue
            recap = seen.model_copy(update={"recap": True, "location": place})
            if spot is None or not reached <= spot < len(head):
                recaps.append(recap)
                continue
            aligned += [superseded(message, "compaction") for message in head[reached:spot]]
            aligned += recaps
            is_same = head[spot].content == seen.content
            aligned += [head[spot]] if is_same else [superseded(head[spot], "compaction"), recap]
            recaps, reached = [], spot + 1
        aligned += [superseded(message, "compaction") for message in head[reached:]]
        return aligned + recaps
