"""The application's own assembler in place of the engine: what it sends is held against the same plan."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from itertools import count

from contextctl.assembler import ContextAssembler
from contextctl.carried import NOTHING_YET, Carried
from contextctl.entries import Entry
from contextctl.errors import AssemblerError, ContextctlError, Location
from contextctl.messages import Message, visible_content
from contextctl.outcome import AssembledContext, Fate, SectionOutcome, SentOverBudgetError
from contextctl.ports import OwnAssembler
from contextctl.preparation import Prepared
from contextctl.prompt import fingerprint
from contextctl.recording import Transcript
from contextctl.transcripts.chat_encoding import message_to_json
from contextctl.transcripts.contextctl_jsonl import own_message_from_json


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a message of the history stands: its entry, its number in it, itself."""

    entry: Entry
    number: int
    message: Message


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
        places = _places(prepared)
        history = [self._recorded(place) for place in places]
        budget = prepared.limits.budget_tokens
        try:
            returned = await self.assemble(deepcopy(history), budget_tokens=budget)
        except ContextctlError as error:
            raise _failed(prepared, error.message) from error
        except Exception as error:
            raise _failed(prepared, f"raised {type(error).__name__}") from error
        messages = self._read(prepared, returned)
        matched = _matched(places, messages)
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
            sections=tuple(
                _section(prepared, index, fates, entries) for index in range(len(prepared.sections))
            ),
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

    def _recorded(self, place: _Place) -> object:
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


def _places(prepared: Prepared) -> list[_Place]:
    """The messages of the history as it is carried, in transcript order."""
    live = [entry for section in prepared.sections for entry in section.originals.values()]
    places = [
        (position, _Place(entry, number, message))
        for entry in sorted(live, key=lambda entry: entry.positions[0])
        for number, (position, message) in enumerate(zip(entry.positions, entry.messages, strict=True))
    ]
    return [place for _, place in sorted(places, key=lambda pair: pair[0])]


def _matched(places: Sequence[_Place], messages: Sequence[Message]) -> list[_Place | None]:
    """For each returned message its place in the history: by its id, else by content, so that the order
    is kept where it can be and the newest of several equal ones is taken."""
    by_id = {place.message.id: index for index, place in enumerate(places) if place.message.id is not None}
    by_content: dict[str, list[int]] = {}
    for index, place in enumerate(places):
        by_content.setdefault(visible_content(place.message), []).append(index)
    taken: set[int] = set()
    found: list[int | None] = [None] * len(messages)
    for number, message in enumerate(messages):
        named = by_id.get(message.id) if message.id is not None else None
        if named is not None and named not in taken:
            found[number] = named
            taken.add(named)
    before = len(places)
    for number in reversed(range(len(messages))):
        at = found[number]
        if at is None:
            alike = [i for i in by_content.get(visible_content(messages[number]), ()) if i not in taken]
            in_order = [i for i in alike if i < before]
            at = found[number] = next(reversed(in_order or alike), None)
        if at is not None:
            taken.add(at)
            before = at
    return [None if index is None else places[index] for index in found]


def _fates(
    prepared: Prepared, matched: Iterable[_Place | None], messages: Iterable[Message]
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
    prepared: Prepared, matched: Sequence[_Place | None], messages: Sequence[Message]
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
