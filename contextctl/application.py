"""The application in place of the engine: its own code, or the requests that a recording says it sent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Literal

from contextctl.assembler import ContextAssembler
from contextctl.carried import NOTHING_YET, Carried
from contextctl.errors import AssemblerError, ContextctlError, Location
from contextctl.judgement import with_settings
from contextctl.messages import Message, RequestSettings, visible_content
from contextctl.outcome import AssembledContext
from contextctl.plan import ContextPlan
from contextctl.ports import ModelProvider, OwnAssembler
from contextctl.preparation import Prepared
from contextctl.recording import RecordedRequest, Transcript
from contextctl.replay import Calls, Moment, moments_of
from contextctl.sent import HistoryPlace, held_against, places_of
from contextctl.transcripts.chat_encoding import message_to_json
from contextctl.transcripts.contextctl_jsonl import own_message_from_json


@dataclass
class Application:
    """Makes the prompts of one recording with the application's own code.

    It gets the history before each call in the recording's own shape and the budget B in tokens, overhead
    included, and returns messages. What comes back is matched to entries by id, then by content and order:
    an entry that does not come back is ``dropped``, one of which only a part does is ``trimmed``, a message
    without an entry is ``added``.
    """

    engine: ContextAssembler
    assemble: OwnAssembler
    transcript: Transcript
    _as_json: dict[str, object] = field(default_factory=dict)

    def prepare(
        self,
        messages: Sequence[Message],
        *,
        transcript_id: str | None = None,
        carried: Carried = NOTHING_YET,
    ) -> Prepared:
        """See :meth:`~contextctl.assembler.ContextAssembler.prepare`."""
        return self.engine.prepare(messages, transcript_id=transcript_id, carried=carried)

    async def complete(self, prepared: Prepared) -> AssembledContext:
        """What the application sends, matched to the history.

        Raises :class:`~contextctl.errors.AssemblerError` where it fails or returns no messages,
        :class:`~contextctl.errors.ContextBudgetError` where what it sends is over the budget.
        """
        places = places_of(prepared)
        history = [self._recorded(place) for place in places]
        try:
            returned = await self.assemble(deepcopy(history), budget_tokens=prepared.limits.budget_tokens)
        except ContextctlError as error:
            raise _failed(prepared, error.message) from error
        except Exception as error:
            raise _failed(prepared, f"raised {type(error).__name__}") from error
        return held_against(prepared, self._read(prepared, returned))

    def _recorded(self, place: HistoryPlace) -> object:
        """A message in the recording's own shape; one that the application made as it made it."""
        position = place.entry.positions[place.number]
        records, messages = self.transcript.records, self.transcript.messages
        if len(records) == len(messages) and messages[position - 1] is place.message:
            return records[position - 1]
        known = self._as_json.get(visible_content(place.message))
        return message_to_json(place.message) if known is None else known

    def _read(self, prepared: Prepared, returned: object) -> list[Message]:
        if not isinstance(returned, list):
            raise _failed(prepared, f"returned {type(returned).__name__} and no list of messages")
        messages: list[Message] = []
        for number, value in enumerate(returned, 1):
            reading = own_message_from_json(value, Location())
            if reading.message is None:
                raise _failed(prepared, f"returned as number {number} what is no message of OpenAI chat")
            messages.append(reading.message)
            self._as_json[visible_content(reading.message)] = deepcopy(value)
        return messages


def _failed(prepared: Prepared, told: str) -> Exception:
    return prepared.situation().error(
        f"the application's assembler {told}",
        missing=1,
        rule="CTX112",
        kind=AssemblerError,
        hint="it gets the messages before the call and budget_tokens, and returns a list of messages",
    )


REQUEST_FORMATS = frozenset({"anthropic", "gemini", "litellm", "openai-chat", "openai-responses"})
"""Formats of which each conversation is one request as it was sent."""


def recorded_requests(transcript: Transcript) -> tuple[RecordedRequest, ...]:
    """What the recording says was sent at each call; of a request log, the request itself."""
    if transcript.requests or transcript.format not in REQUEST_FORMATS:
        return transcript.requests
    place = transcript.messages[0].location if transcript.messages else None
    whole = RecordedRequest(
        transcript.messages, place or Location(transcript.path), transcript.settings, transcript.model
    )
    return (whole,)


class RecordedRequests:
    """Holds what was really sent at each recorded call against the plan; nothing is made.

    ``engine`` gives the engine for a request with these settings (tools grow and change on the way).
    """

    def __init__(
        self, engine: Callable[[RequestSettings], ContextAssembler], transcript: Transcript, calls: Calls
    ) -> None:
        requests = recorded_requests(transcript)
        moments = [Moment(call, before) for call, before in enumerate(_histories(transcript, requests), 1)]
        pairs = list(zip(moments, requests, strict=True))
        if calls in ("end", "last"):
            pairs = pairs[-1:]
        elif isinstance(calls, int):
            pairs = pairs[calls - 1 : calls]
        self.moments = tuple(moment for moment, _ in pairs)
        self._waiting = [request for _, request in pairs]
        self._engine = engine
        self._sent: tuple[Message, ...] = ()

    def prepare(
        self,
        messages: Sequence[Message],
        *,
        transcript_id: str | None = None,
        carried: Carried = NOTHING_YET,
    ) -> Prepared:
        """The history before the next request; the requests are taken in the order of ``moments``."""
        request = self._waiting.pop(0)
        self._sent = request.messages
        return self._engine(request.settings).prepare(messages, transcript_id=transcript_id, carried=carried)

    async def complete(self, prepared: Prepared) -> AssembledContext:
        """What was sent; raises as :func:`~contextctl.sent.held_against`."""
        return held_against(prepared, self._sent)


def _histories(transcript: Transcript, requests: Sequence[RecordedRequest]) -> list[int]:
    """For each request, how many messages of the conversation stand before its answer: all of a request log,
    else up to the recorded call where there is one for each, else up to the last message that was sent, and
    at least as many as were sent."""
    if not transcript.requests:
        return [len(transcript.messages)] * len(requests)
    places = transcript.call_places
    if len(places) == len(requests) and all(
        len(request.messages) <= place for request, place in zip(requests, places, strict=True)
    ):
        return list(places)
    last: dict[str, int] = {}
    for position, message in enumerate(transcript.messages, 1):
        last[visible_content(message)] = position
    found, before = [], 1
    for request in requests:
        known = [last.get(visible_content(message), 0) for message in request.messages]
        at_least = min(len(request.messages), len(transcript.messages))
        before = max(before, at_least, *known)
        found.append(before)
    return found


def maker_for(
    plan: ContextPlan,
    engine: Callable[..., ContextAssembler],
    provider: ModelProvider,
    transcript: Transcript,
    calls: Calls,
    *,
    assembler: OwnAssembler | Literal["recorded"] | None,
) -> tuple[ContextAssembler | Application | RecordedRequests, tuple[Moment, ...]]:
    """What makes the prompts of a recording, and which: the engine, the application's code, or nobody where
    what was sent is recorded. ``engine`` gives the engine for a provider; none of the moments there are is
    no moment."""

    def engine_with(settings: RequestSettings) -> ContextAssembler:
        return engine(provider=with_settings(provider, plan, settings))

    if assembler == "recorded":
        recorded = RecordedRequests(engine_with, transcript, calls)
        return recorded, recorded.moments
    moments = moments_of(transcript, calls, carry=plan.carry)
    whole = engine_with(transcript.settings)
    return (whole if assembler is None else Application(whole, assembler, transcript)), moments
