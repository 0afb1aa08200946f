"""A recorded conversation as it was read."""

from __future__ import annotations

from dataclasses import dataclass, field

from contextctl.findings import Finding
from contextctl.messages import Message, RequestSettings


@dataclass(frozen=True, slots=True)
class Transcript:
    """One recorded conversation.

    ``path`` is as shown in reports (forward slashes), ``id`` the recording's own name or the path's stem,
    ``format`` a name from the reader registry, ``model`` the recorded one or None. ``lacks`` names what the
    recording does not hold although the request did (``system``, ``tools``). ``skipped`` counts records
    that could not be read; each of them has a finding.
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

    @property
    def calls(self) -> int:
        """How many model calls were recorded: one per response id, else per assistant message.

        Assistant messages before the first user turn are examples, not calls.
        """
        seen: set[str] = set()
        count = 0
        started = False
        for message in self.messages:
            started = started or message.is_user_turn
            if message.role != "assistant" or not started or message.kind is not None:
                continue
            if message.response_id is None:
                count += 1
            elif message.response_id not in seen:
                seen.add(message.response_id)
                count += 1
        return count
