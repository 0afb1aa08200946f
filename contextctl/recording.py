"""A recorded conversation as it was read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from contextctl.errors import Location
from contextctl.findings import Finding
from contextctl.messages import Message, RequestSettings, Usage


@dataclass(frozen=True, slots=True)
class RecordedCompaction:
    """A compaction that the recording itself tells of: where, of what kind, tokens before and after (None
    where not recorded). ``readable`` is False where what it put in place of the history cannot be read."""

    location: Location
    kind: Literal["summary", "cleared", "trimmed", "replaced"]
    tokens_before: int | None = None
    tokens_after: int | None = None
    readable: bool = True


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """One call as it was really sent: its messages and settings, and what the provider reported."""

    messages: tuple[Message, ...]
    location: Location
    settings: RequestSettings = field(default_factory=RequestSettings)
    model: str | None = None
    usage: Usage | None = None


@dataclass(frozen=True, slots=True)
class Transcript:
    """One recorded conversation.

    ``path`` is as shown in reports (forward slashes), ``id`` the recording's own name or the path's stem,
    ``format`` a name from the reader registry, ``model`` the recorded one or None. ``lacks`` names what the
    recording does not hold although the request did (``system``, ``tools``, ``reasoning``). ``skipped``
    counts records that could not be read; each of them has a finding. ``messages`` hold everything in order,
    what was superseded on the way included. ``requests`` are the calls as sent, where the format records
    them, one a call; ``records`` the JSON value of each message, where every message has one of its own.
    ``set_aside`` are messages that are not of the history which was chosen.
    """

    path: str
    id: str
    format: str
    messages: tuple[Message, ...]
    model: str | None = None
    settings: RequestSettings = field(default_factory=RequestSettings)
    lacks: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    skipped: int = 0
    compactions: tuple[RecordedCompaction, ...] = ()
    requests: tuple[RecordedRequest, ...] = ()
    records: tuple[object, ...] = field(default=(), repr=False, compare=False)
    set_aside: tuple[Message, ...] = ()

    @property
    def window_tokens(self) -> int | None:
        """The smallest context window that the recording names, or None where it names none."""
        usages = [message.usage for message in self.messages if message.usage is not None]
        usages += [request.usage for request in self.requests if request.usage is not None]
        return min((u.window_tokens for u in usages if u.window_tokens is not None), default=None)

    @property
    def call_places(self) -> tuple[int, ...]:
        """For each recorded model call, how many messages stand before its answer.

        A call is one response id, else one assistant message; assistant messages before the first user turn
        are examples and not calls.
        """
        seen: set[str] = set()
        places: list[int] = []
        started = False
        for index, message in enumerate(self.messages):
            started = started or message.is_user_turn
            is_answer = message.role == "assistant" and started and message.kind is None and not message.recap
            if not is_answer or message.response_id in seen:
                continue
            if message.response_id is not None:
                seen.add(message.response_id)
            places.append(index)
        return tuple(places)

    @property
    def calls(self) -> int:
        """How many model calls were recorded."""
        return len(self.call_places)
