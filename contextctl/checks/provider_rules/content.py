"""Rules of content: what is empty, and calls and results that have no counterpart."""

from __future__ import annotations

from collections.abc import Sequence

from contextctl.checks.provider_rules.profiles import BLOCKS
from contextctl.checks.provider_rules.sent import Fault, Pairing, Sent
from contextctl.findings import Severity
from contextctl.messages import Message, TextPart, ToolResultPart


def pair_faults(pairing: Pairing) -> list[Fault]:
    """Results without a call, second results, and calls before the end that have none."""
    found = [
        Fault("CTX212", sent, f"the result of call {_name(sent, part)!r} has no call before it", (part,))
        for sent, part in pairing.orphans
    ]
    found += [
        Fault("CTX213", sent, f"call {_name(sent, part)!r} has a second result", (part,))
        for sent, part in pairing.duplicates
    ]
    for call in pairing.open:
        name = call.call.id or call.call.name
        found.append(Fault("CTX214", call.sent, f"call {name!r} has no result", (call.part,)))
    return found


def _name(sent: Sent, place: int) -> str:
    part = sent.message.content[place]
    return (part.call_id or part.name or "") if isinstance(part, ToolResultPart) else ""


def empty_faults(profile: str, view: Sequence[Sent]) -> list[Fault]:
    """Messages and texts with nothing in them.

    No provider takes a message without content. Anthropic takes no blank text either, of which an empty one
    beside a call is excepted: it is how a chat recording writes that there is none. Elsewhere a message
    of blank text is taken, and is worth a note.
    """
    found = []
    for sent in view:
        content = sent.message.content
        blank = blank_parts(sent.message)
        if not content:
            found.append(Fault("CTX215", sent, "the message has no content"))
        elif profile in BLOCKS:
            refused = tuple(place for place in blank if not _is_placeholder(sent.message, place))
            if refused:
                found.append(Fault("CTX215", sent, "the message has a text that is blank", refused))
        elif len(blank) == len(content):
            said = "the message has no text but blanks"
            found.append(Fault("CTX215", sent, said, blank, severity=Severity.NOTE))
    return found


def blank_parts(message: Message) -> tuple[int, ...]:
    """The places (0-based) of texts with nothing in them but blanks; results are not looked into."""
    parts = enumerate(message.content)
    return tuple(place for place, part in parts if isinstance(part, TextPart) and not part.text.strip())


def _is_placeholder(message: Message, place: int) -> bool:
    part = message.content[place]
    return isinstance(part, TextPart) and part.text == "" and bool(message.calls)
