"""Carried history: what is left of a recording when each call starts from the prompt of the call before."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from contextctl.entries import Entry
from contextctl.messages import Message
from contextctl.outcome import AssembledContext, Fate

IN_PROMPT = frozenset({Fate.KEPT, Fate.TRIMMED})
"""The fates of entries that a prompt holds."""


@dataclass(frozen=True, slots=True)
class Carried:
    """What the calls so far made of a recording; as it is made, nothing: the whole history is there.

    ``gone`` are the fates of recorded entries that no prompt holds any more; ``trimmed`` the messages of
    those that lost something, by their 1-based places, None where a whole message is lost; ``stand_ins`` the
    notes and summaries in the prompt, each at the place of the first entry it stands for, with the ids of
    all of them, and what an application added of its own.
    """

    gone: Mapping[str, Fate] = field(default_factory=lambda: MappingProxyType({}))
    trimmed: Mapping[str, Mapping[int, Message | None]] = field(default_factory=lambda: MappingProxyType({}))
    stand_ins: tuple[Entry, ...] = ()

    def live(self, recorded: Iterable[Entry]) -> tuple[Entry, ...]:
        """What is left of recorded entries, notes and summaries among them, in transcript order.

        A message that comes late to an entry that is gone, such as a result of its call, is gone with it.
        """
        left = [self._left(entry) for entry in recorded if entry.id not in self.gone]
        if not self.stand_ins:
            return tuple(left)
        return tuple(sorted([*left, *self.stand_ins], key=lambda entry: entry.positions[0]))

    def _left(self, entry: Entry) -> Entry:
        smaller = self.trimmed.get(entry.id)
        if smaller is None:
            return entry
        left = [
            (place, found)
            for place, message in zip(entry.positions, entry.messages, strict=True)
            if (found := smaller.get(place, message)) is not None
        ]
        places, messages = zip(*left, strict=True)
        return replace(entry, positions=places, messages=messages)

    def fates(self, fates: Mapping[str, Fate]) -> dict[str, Fate]:
        """The fate of every recorded entry, given those of the live ones, stand-ins included.

        What a stand-in stood for shares its fate where that is lost too.
        """
        whole = dict(self.gone) | dict(fates)
        for stand_in in self.stand_ins:
            fate = whole.pop(stand_in.id)
            if fate not in IN_PROMPT:
                whole |= {entry_id: fate for entry_id in stand_in.stands_for if entry_id in self.gone}
        return whole

    def after(self, assembled: AssembledContext, recorded: Iterable[Entry]) -> Carried:
        """What is left of the ``recorded`` entries once this prompt, which was made of them, was sent."""
        left = {entry.id: entry for entry in assembled.entries}
        trimmed: dict[str, Mapping[int, Message | None]] = {}
        for entry in recorded:
            if assembled.fates[entry.id] is Fate.TRIMMED:
                smaller = left[entry.id]
                found = dict(zip(smaller.positions, smaller.messages, strict=True))
                trimmed[entry.id] = {place: found.get(place) for place in entry.positions}
        return Carried(
            gone={entry_id: fate for entry_id, fate in assembled.fates.items() if fate not in IN_PROMPT},
            trimmed=trimmed,
            stand_ins=(*(self._with_all_ids(note) for note in assembled.notes), *assembled.added),
        )

    def _with_all_ids(self, note: Entry) -> Entry:
        """The stand-in with the ids that stand-ins among those it stands for stood for."""
        earlier = {stand_in.id: stand_in.stands_for for stand_in in self.stand_ins}
        ids: dict[str, None] = {}
        for entry_id in note.stands_for:
            ids |= dict.fromkeys((entry_id, *earlier.get(entry_id, ())))
        return replace(note, stands_for=tuple(ids))


NOTHING_YET = Carried()
"""What an assembly starts from that no other one came before."""


def placed(entry: Entry, originals: Mapping[str, Entry], after: int) -> Entry:
    """A new note or summary, standing where the first of the entries stood that it stands for; where none
    of them is known, ``after`` the entry before it."""
    stood: Sequence[int] = [originals[i].positions[0] for i in entry.stands_for if i in originals]
    return replace(entry, positions=(min(stood, default=after),) * len(entry.messages))
