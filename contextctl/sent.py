"""What an application sends, matched to the history that it was made of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count

from contextctl.entries import Entry
from contextctl.messages import Message, visible_content
from contextctl.outcome import AssembledContext, Fate, SectionOutcome, SentOverBudgetError
from contextctl.preparation import Prepared
from contextctl.prompt import fingerprint


@dataclass(frozen=True, slots=True)
class HistoryPlace:
    """Where a message of the history stands: its entry, its number in it, itself."""

    entry: Entry
    number: int
    message: Message


def held_against(prepared: Prepared, messages: Sequence[Message]) -> AssembledContext:
    """The prompt of these messages, matched to entries by id, then by content and order.

    An entry that does not come back is ``dropped``, one of which only a part does is ``trimmed``, a message
    without an entry is ``added``. Raises :class:`~contextctl.outcome.SentOverBudgetError` where the messages
    are over the budget.
    """
    matched = _matched(places_of(prepared), messages)
    budget = prepared.limits.budget_tokens
    earlier = {entry.id for entry in prepared.carried.stand_ins}
    fates = _fates(prepared, matched, messages)
    stamped, entries, added = _told_apart(prepared, matched, messages)
    measure = prepared.ruler.prompt(messages)
    excess = measure.upper_tokens - budget
    fits = set(fates.values()) <= {Fate.KEPT} and not added
    sent = AssembledContext(
        messages=tuple(stamped),
        tokens=measure.tokens,
        tokens_upper=measure.upper_tokens,
        budget_tokens=budget,
        status="over_budget" if excess > 0 else "fits" if fits else "compacted",
        sections=tuple(_section(prepared, index, fates, entries) for index in range(len(prepared.sections))),
        fates=prepared.carried.fates(fates),
        entries=tuple(entries),
        added=(*(entry for entry in entries if entry.id in earlier), *added),
        maker="application",
        joint_tokens=prepared.joint_tokens,
        history_fingerprint=prepared.history_fingerprint,
        prompt_fingerprint=fingerprint(messages),
    )
    if excess > 0:
        raise prepared.situation().error(
            f"the application sends {measure.upper_tokens:,} tokens; the budget is {budget:,}",
            missing=excess,
            rule=prepared.situation().overflow_rule or "CTX101",
            kind=SentOverBudgetError,
            assembled=sent,
            hint="mend the application's assembler, raise budget_tokens, or choose a larger window",
        )
    return sent


def places_of(prepared: Prepared) -> list[HistoryPlace]:
    """The messages of the history as it is carried, in transcript order."""
    live = [entry for section in prepared.sections for entry in section.originals.values()]
    places = [
        (position, HistoryPlace(entry, number, message))
        for entry in sorted(live, key=lambda entry: entry.positions[0])
        for number, (position, message) in enumerate(zip(entry.positions, entry.messages, strict=True))
    ]
    return [place for _, place in sorted(places, key=lambda pair: pair[0])]


def _matched(places: Sequence[HistoryPlace], messages: Sequence[Message]) -> list[HistoryPlace | None]:
    """For each message sent its place in the history: by its id, else by content, so that the order is kept
    where it can be and the newest of several equal ones is taken, else by the calls that it answers."""
    by_id = {place.message.id: index for index, place in enumerate(places) if place.message.id is not None}
    by_content: dict[str, list[int]] = {}
    by_answers: dict[tuple[str | None, ...], list[int]] = {}
    for index, place in enumerate(places):
        by_content.setdefault(visible_content(place.message), []).append(index)
        by_answers.setdefault(_answers(place.message), []).append(index)
    taken: set[int] = set()
    found: list[int | None] = [None] * len(messages)
    for number, message in enumerate(messages):
        named = by_id.get(message.id) if message.id is not None else None
        if named is not None and named not in taken:
            found[number] = named
            taken.add(named)

    def newest(alike: Sequence[int], before: int) -> int | None:
        free = [index for index in alike if index not in taken]
        return next(reversed([index for index in free if index < before] or free), None)

    def match_backwards(alike: Callable[[Message], Sequence[int]]) -> None:
        before = len(places)
        for number in reversed(range(len(messages))):
            at = found[number]
            if at is None:
                at = found[number] = newest(alike(messages[number]), before)
            if at is not None:
                taken.add(at)
                before = at

    match_backwards(lambda message: by_content.get(visible_content(message), ()))
    match_backwards(lambda message: by_answers.get(_answers(message), ()) if _answers(message) else ())
    return [None if index is None else places[index] for index in found]


def _answers(message: Message) -> tuple[str | None, ...]:
    """The ids of the calls that a message answers; none where an answer has no id."""
    ids = tuple(result.call_id for result in message.results)
    return ids if None not in ids else ()


def _fates(
    prepared: Prepared, matched: Iterable[HistoryPlace | None], messages: Iterable[Message]
) -> dict[str, Fate]:
    """The fate of every entry of the history as it is carried, by what came back of it."""
    back: set[str] = set()
    verbatim: Counter[str] = Counter()
    for place, message in zip(matched, messages, strict=True):
        if place is not None:
            back.add(place.entry.id)
            verbatim[place.entry.id] += visible_content(message) == visible_content(place.message)
    fates: dict[str, Fate] = {}
    for section in prepared.sections:
        for entry in section.originals.values():
            whole = verbatim[entry.id] == len(entry.messages) and entry.id not in section.trimmed
            fates[entry.id] = Fate.KEPT if whole else Fate.TRIMMED if entry.id in back else Fate.DROPPED
    return fates


def _told_apart(
    prepared: Prepared, matched: Sequence[HistoryPlace | None], messages: Sequence[Message]
) -> tuple[list[Message], list[Entry], list[Entry]]:
    """The messages with their entries' ids and sections, the entries that came back, those that are new."""
    stamped: list[Message] = []
    back: dict[str, tuple[Entry, list[int], list[Message]]] = {}
    added: list[Entry] = []
    known = {i for section in prepared.sections for i in section.originals}
    section, position = prepared.sections[0].plan.name, 0
    for place, message in zip(matched, messages, strict=True):
        if place is None:
            name = _free_name(f"added:{position}", known)
            known.add(name)
            new = message.model_copy(update={"id": name, "section": section})
            added.append(Entry(name, (new,), section=section, positions=(position,)))
            stamped.append(new)
            continue
        entry = place.entry
        section, position = entry.section, entry.positions[place.number]
        first = entry.id not in back
        _, positions, parts = back.setdefault(entry.id, (entry, [], []))
        positions.append(position)
        parts.append(message)
        stamped.append(
            message.model_copy(update={"id": entry.id if first else message.id, "section": section})
        )
    entries = [
        replace(entry, positions=tuple(positions), messages=tuple(parts))
        for entry, positions, parts in back.values()
    ]
    return stamped, entries, added


def _free_name(wanted: str, taken: Container[str]) -> str:
    number = next(n for n in count(1) if f"{wanted}:{n}" not in taken)
    return f"{wanted}:{number}"


def _section(
    prepared: Prepared, index: int, fates: Mapping[str, Fate], entries: Sequence[Entry]
) -> SectionOutcome:
    section, rooms = prepared.sections[index], prepared.rooms()
    whole = prepared.carried.fates(fates)
    recorded = {entry.id: whole[entry.id] for entry in prepared.routed.of(section.plan.name)}
    ids = {fate: tuple(i for i, found in recorded.items() if found is fate) for fate in Fate}
    left = [entry for entry in entries if entry.section == section.plan.name]
    return SectionOutcome(
        name=section.plan.name,
        share=str(section.plan.share),
        strategy="application",
        allotted_tokens=rooms.allotted_tokens[index],
        room_tokens=rooms.room_tokens[index],
        tokens_before=prepared.charges.tokens(section.originals.values()),
        tokens_after=prepared.charges.tokens(left),
        entries=tuple(recorded),
        kept=ids[Fate.KEPT],
        trimmed=ids[Fate.TRIMMED],
        dropped=ids[Fate.DROPPED],
        compacted=any(fates[i] is not Fate.KEPT for i in section.originals),
    )
