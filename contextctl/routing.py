"""Which section a message goes to, and which messages a matcher accepts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from contextctl.entries import Entry, Remark, group, newest_user_entry, text_of
from contextctl.errors import Location, Problem, TranscriptError
from contextctl.messages import SYSTEM_ROLES, Message, part_kinds
from contextctl.plan import ContextPlan, Matcher


@dataclass(frozen=True, slots=True)
class Routed:
    """Entries of one history, each with its section, pins and protection.

    ``entries`` are in transcript order; ``accepted`` holds for each matcher of the plan, by its path in the
    plan, how many entries it accepted.
    """

    entries: tuple[Entry, ...]
    remarks: tuple[Remark, ...]
    accepted: dict[tuple[str | int, ...], int]

    def of(self, section: str) -> tuple[Entry, ...]:
        """The entries of one section, in transcript order."""
        return tuple(entry for entry in self.entries if entry.section == section)


def _names(message: Message) -> set[str | None]:
    names: set[str | None] = {message.name}
    names |= {call.name for call in message.calls}
    names |= {result.name for result in message.results}
    return names


def _has_text(matcher: Matcher, message: Message) -> bool:
    if not matcher.contains and not matcher.regex:
        return True
    text = text_of(message)
    folded = text.casefold() if matcher.ignore_case else text
    if matcher.contains:
        wanted = [item.casefold() if matcher.ignore_case else item for item in matcher.contains]
        if not any(item in folded for item in wanted):
            return False
    flags = re.IGNORECASE if matcher.ignore_case else 0
    return not matcher.regex or any(re.search(pattern, text, flags) for pattern in matcher.regex)


def _passes(matcher: Matcher, message: Message, position: int) -> bool:
    if matcher.roles and message.role not in matcher.roles:
        return False
    if matcher.ids and message.id not in matcher.ids and (message.id or f"m{position}") not in matcher.ids:
        return False
    if matcher.names and not _names(message) & set(matcher.names):
        return False
    if matcher.kinds and not part_kinds(message) & set(matcher.kinds):
        return False
    return _has_text(matcher, message)


def accepted_positions(
    matcher: Matcher, messages: Sequence[Message], transcript_id: str | None = None
) -> frozenset[int]:
    """The 1-based places of the messages that pass every test of the matcher.

    A matcher that is bound to other transcripts accepts nothing.
    """
    if matcher.transcript is not None and not fnmatchcase(transcript_id or "", matcher.transcript):
        return frozenset()
    passing = [
        position for position, message in enumerate(messages, 1) if _passes(matcher, message, position)
    ]
    if matcher.first is not None and matcher.last is not None:
        return frozenset(passing[: matcher.first]) | frozenset(passing[-matcher.last :])
    if matcher.first is not None:
        passing = passing[: matcher.first]
    if matcher.last is not None:
        passing = passing[-matcher.last :]
    return frozenset(passing)


def _no_section(code: str, message: str, location: Location | None, hint: str) -> TranscriptError:
    return TranscriptError([Problem(code, message, location or Location(), hint)])


class _Router:
    """The plan's matchers evaluated once over a history."""

    def __init__(self, plan: ContextPlan, messages: Sequence[Message], transcript_id: str | None) -> None:
        self.plan = plan
        self.names = [section.name for section in plan.sections]
        self.matches: list[tuple[int, frozenset[int]]] = []
        for index, section in enumerate(plan.sections):
            if isinstance(section.match, Matcher):
                self.matches.append((index, accepted_positions(section.match, messages, transcript_id)))
            elif section.match is None and section.name == "system":
                places = {n for n, message in enumerate(messages, 1) if message.role in SYSTEM_ROLES}
                self.matches.append((index, frozenset(places)))
        self.pins = [accepted_positions(pin, messages, transcript_id) for pin in plan.pins]
        self.rest = plan.rest_section

    def section(self, message: Message, position: int) -> int:
        if message.section is not None:
            if message.section not in self.names:
                raise _no_section(
                    "CTX012",
                    f"message {position} names section {message.section!r}, which the plan does not declare",
                    message.location,
                    f"declare it, or use one of: {', '.join(self.names)}",
                )
            return self.names.index(message.section)
        for index, places in self.matches:
            if position in places:
                return index
        if self.rest is None:
            raise _no_section(
                "CTX012",
                f"no section accepts message {position} (role {message.role!r})",
                message.location,
                "add a section with `match: rest`",
            )
        return self.rest


def route(plan: ContextPlan, messages: Sequence[Message], transcript_id: str | None = None) -> Routed:
    """Group the messages into entries and give each its section, pins and protection.

    An entry lives in the section of its first message. Raises
    :class:`~contextctl.errors.TranscriptError` for a message that no section accepts or that names a
    section which the plan does not declare.
    """
    grouped, remarks = group(messages)
    router = _Router(plan, messages, transcript_id)
    protected = _protected(grouped, protect_last_user=plan.protect_last_user)
    entries: list[Entry] = []
    for entry in grouped:
        section = plan.sections[router.section(entry.messages[0], entry.positions[0])]
        pinned = entry.pinned or section.pinned
        pinned = pinned or any(not places.isdisjoint(entry.positions) for places in router.pins)
        entries.append(replace(entry, section=section.name, pinned=pinned, protected=entry.id in protected))
    return Routed(tuple(entries), remarks, _accepted(router, entries))


def _protected(entries: Sequence[Entry], *, protect_last_user: bool) -> frozenset[str]:
    """Ids of pending calls and of the entry with the newest user turn.

    An assembled prompt stands in plan order, so its newest user turn is the one that it says is protected;
    one that came after it was assembled counts as newer.
    """
    pending = {entry.id for entry in entries if entry.pending}
    newest = newest_user_entry(entries)
    carried = {entry.id for entry in entries if any(message.protected for message in entry.messages)}
    is_new = any(entry.id == newest and entry.messages[0].protected is None for entry in entries)
    if is_new or not carried:
        return frozenset(pending | ({newest} if newest is not None and protect_last_user else set()))
    return frozenset(pending | carried)


def _accepted(router: _Router, entries: Sequence[Entry]) -> dict[tuple[str | int, ...], int]:
    counts: dict[tuple[str | int, ...], int] = {}
    for index, places in router.matches:
        if isinstance(router.plan.sections[index].match, Matcher):
            key: tuple[str | int, ...] = ("sections", index, "match")
            counts[key] = sum(not places.isdisjoint(entry.positions) for entry in entries)
    for index, places in enumerate(router.pins):
        counts["pins", index] = sum(not places.isdisjoint(entry.positions) for entry in entries)
    return counts
