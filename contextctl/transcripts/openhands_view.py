"""The events of an OpenHands run that make messages, and what its condensations did to them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from contextctl.errors import Location
from contextctl.messages import Message, TextPart
from contextctl.recording import RecordedCompaction
from contextctl.transcripts.chat_messages import MessageReading
from contextctl.transcripts.conversations import Draft
from contextctl.transcripts.json_shapes import superseded


@dataclass(slots=True)
class _Seen:
    """One event as the model sees it; a summary is no event and is not counted as one."""

    event: object
    messages: list[Message] = field(default_factory=list)
    forgotten: bool = False
    is_event: bool = True


class EventView:
    """Events in the order in which the model sees them."""

    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self._seen: list[_Seen] = []

    def add(self, event: object, reading: MessageReading | None = None) -> None:
        """Take in an event, by its id, with the message that it makes, if any."""
        seen = _Seen(event)
        self._seen.append(seen)
        if reading is None:
            return
        self._draft.findings += reading.findings
        if reading.message is None:
            self._draft.skipped += 1
        else:
            seen.messages.append(reading.message)

    def condense(
        self,
        forgets: Callable[[object], bool],
        summary: str | None,
        offset: int | None,
        at: Location,
    ) -> None:
        """Forget events by their ids; a summary goes behind as many of the events left as its offset says.

        Without an offset it goes where the first of the forgotten events was. A later summary takes the
        place of an earlier one.
        """
        first = len(self._seen)
        for number, seen in enumerate(self._seen):
            if not seen.forgotten and (forgets(seen.event) or (summary is not None and not seen.is_event)):
                seen.forgotten = True
                seen.messages = [superseded(message, "compaction") for message in seen.messages]
                first = min(first, number)
        if summary is None:
            self._draft.compactions.append(RecordedCompaction(at, "trimmed"))
            return
        self._draft.compactions.append(RecordedCompaction(at, "summary"))
        recap = Message(role="user", content=(TextPart(text=summary),), location=at, recap=True)
        spot = first if offset is None else self._after(offset)
        self._seen.insert(spot, _Seen(None, [recap], is_event=False))

    def _after(self, offset: int) -> int:
        """The place behind so many events that are not forgotten."""
        if offset <= 0:
            return 0
        left = 0
        for number, seen in enumerate(self._seen):
            left += seen.is_event and not seen.forgotten
            if left == offset:
                return number + 1
        return len(self._seen)

    def messages(self) -> list[Message]:
        """All messages, those of forgotten events in their places."""
        return [message for seen in self._seen for message in seen.messages]
