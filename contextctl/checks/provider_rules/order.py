"""Rules of order: what comes first and last, what follows what."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from contextctl.checks.provider_rules.profiles import BLOCKS, RESULTS_FOLLOW, SYSTEM_APART
from contextctl.checks.provider_rules.sent import Fault, Pairing, Sent
from contextctl.messages import Message, ThinkingPart, ToolResultPart


def order_faults(profile: str, view: Sequence[Sent], pairing: Pairing) -> list[Fault]:
    """Every breach of a profile's rules of order, but for what a request may end on."""
    found: list[Fault] = []
    if profile in RESULTS_FOLLOW:
        found += _Results(profile, pairing).faults(view)
    if profile in SYSTEM_APART:
        found += _system_faults(view) + _first_faults(view)
    if profile == "gemini":
        found += _neighbour_faults(view)
    if profile == "openai-responses":
        found += _follower_faults(view)
    return found


class _Results:
    """One pass that keeps the answers whose results are due, and whether something else came between."""

    def __init__(self, profile: str, pairing: Pairing) -> None:
        self.merges = profile in BLOCKS
        self.system_apart = profile in SYSTEM_APART
        self.pairing = pairing
        self.due: set[int] = set()
        self.answering = False
        self.interrupted = False

    def faults(self, view: Sequence[Sent]) -> list[Fault]:
        found: list[Fault] = []
        for sent in view:
            if sent.is_system:
                self.interrupted = self.interrupted or not self.system_apart
            elif sent.is_assistant:
                self._answer(sent)
            else:
                found += self._take(sent)
        return found

    def _answer(self, sent: Sent) -> None:
        goes_on = sent.answer in self.due or (self.merges and self.answering)
        self.due = (self.due if goes_on else set()) | {sent.answer}
        self.answering, self.interrupted = True, False

    def _take(self, sent: Sent) -> list[Fault]:
        """The faults of one message: its results by the answer they belong to, those after text apart."""
        self.answering = False
        displaced: dict[int, list[int]] = {}
        after_text: list[int] = []
        said = False
        for place, part in enumerate(sent.message.content):
            if not isinstance(part, ToolResultPart):
                said = True
                continue
            call = self.pairing.answered.get((sent.position, place))
            if call is None or not call.sent.is_assistant:
                continue
            if self.interrupted or call.sent.answer not in self.due:
                displaced.setdefault(call.sent.answer, []).append(place)
            elif said and self.merges:
                after_text.append(place)
        self.interrupted = self.interrupted or said or not sent.message.content
        found = [
            Fault("CTX216", sent, "a result does not directly follow its call", tuple(places), answer)
            for answer, places in displaced.items()
        ]
        if after_text:
            said_so = "a result stands after other content of its message"
            found.append(Fault("CTX217", sent, said_so, tuple(after_text)))
        return found


def _system_faults(view: Sequence[Sent]) -> list[Fault]:
    first = next((place for place, sent in enumerate(view) if not sent.is_system), len(view))
    said = "a {role} message stands in mid-prompt"
    return [
        Fault("CTX221", sent, said.format(role=sent.message.role)) for sent in view[first:] if sent.is_system
    ]


def _first_faults(view: Sequence[Sent]) -> list[Fault]:
    first = next((sent for sent in view if not sent.is_system), None)
    if first is None or not first.is_assistant:
        return []
    return [Fault("CTX218", first, "the first message is the assistant's and not the user's")]


def _neighbour_faults(view: Sequence[Sent]) -> list[Fault]:
    """Two answers, or two messages of the user, in a row; results join what follows them."""
    found = []
    spoken = [sent for sent in view if not sent.is_system]
    for before, sent in pairwise(spoken):
        if before.message.role != sent.message.role or before.answer == sent.answer:
            continue
        if sent.is_assistant or not (before.message.results or sent.message.results):
            said = f"two messages of role {sent.message.role} stand in a row"
            found.append(Fault("CTX222", sent, said))
    return found


def _follower_faults(view: Sequence[Sent]) -> list[Fault]:
    """Reasoning that is last in what the model said, before something else; the end is not asked."""
    found = []
    for sent, after in pairwise(view):
        if not sent.is_assistant or after.is_assistant or sent.message.recap or not sent.message.content:
            continue
        if isinstance(sent.message.content[-1], ThinkingPart):
            place = len(sent.message.content) - 1
            said = "a reasoning item stands without the item that it came with"
            found.append(Fault("CTX224", sent, said, (place,)))
    return found


def end_faults(
    profile: str, messages: Sequence[Message], view: Sequence[Sent], calls: Sequence[int]
) -> list[Fault]:
    """Calls whose request ended on the model's own words, where a profile does not take that as a rule.

    ``calls`` are numbers of messages before an answer. An answer that was superseded is not asked, nor one
    that stands beside its neighbour, which is told of as such.
    """
    if profile not in SYSTEM_APART:
        return []
    place_of = {sent.position: sent for sent in view}
    found = []
    for before in calls:
        is_told = profile == "gemini" and before < len(messages)
        if is_told or (before < len(messages) and before + 1 not in place_of):
            continue
        spoken = (place_of.get(place) for place in range(before, 0, -1))
        last = next((sent for sent in spoken if sent is not None and not sent.is_system), None)
        if last is not None and last.is_assistant:
            found.append(Fault("CTX225", last, "a request ends on a message of the assistant"))
    return found
