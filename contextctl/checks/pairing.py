"""What was irregular in the calls, results and ids of a recording."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from contextctl.entries import Irregularity, Remark
from contextctl.findings import Finding, finding
from contextctl.messages import Message

_SAID = {
    Irregularity.REUSED_CALL_ID: (
        "CTX019",
        "call id {name!r} was used before; each result goes to the nearest unanswered call of its id",
    ),
    Irregularity.ORPHAN_RESULT: ("CTX020", "a tool result has no call before it (id or name {name!r})"),
    Irregularity.DUPLICATE_RESULT: ("CTX021", "a second result for call {name!r}"),
    Irregularity.LATE_RESULT: (
        "CTX022",
        "the result of call {name!r} does not directly follow it; they are kept or lost together",
    ),
    Irregularity.UNANSWERED_CALL: ("CTX023", "call {name!r} never got a result"),
    Irregularity.REPEATED_ENTRY_ID: ("CTX024", "id {name!r} was used before; this one is told apart by #n"),
}


def pairing_findings(remarks: Iterable[Remark], messages: Sequence[Message]) -> list[Finding]:
    """One finding a remark, at the message where it shows."""
    found = []
    for remark in remarks:
        code, sentence = _SAID[remark.irregularity]
        location = messages[remark.position - 1].location
        found.append(finding(code, sentence.format(name=remark.name), location=location))
    return found
