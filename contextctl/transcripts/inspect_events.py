"""The events of an inspect_ai sample: which model call belongs to which conversation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from contextctl.transcripts.json_shapes import listed, mapping, string

_SCORING = ("scorer", "scorers")


@dataclass(frozen=True, slots=True)
class Agent:
    """What was called as a tool and called models itself; the key tells one call of it from another."""

    key: str
    name: str


@dataclass(frozen=True, slots=True)
class Step:
    """A model call or a compaction; ``agent`` is None on the sample's own conversation."""

    event: dict[str, object]
    agent: Agent | None = None

    @property
    def answer(self) -> object:
        """The message that a model call answered with, or None."""
        choices = listed(mapping(self.event.get("output")).get("choices"))
        return mapping(choices[0]).get("message") if choices else None

    @property
    def model(self) -> str | None:
        """The name of the model that answered, else of the one that was asked."""
        return string(mapping(self.event.get("output")).get("model")) or string(self.event.get("model"))


@dataclass(frozen=True, slots=True)
class _Span:
    parent: str | None
    type: str | None
    name: str | None


def steps_of(sample: dict[str, object]) -> Iterator[Step]:
    """The model calls and compactions of a sample in order, those of its scorers left out."""
    events = sample.get("events")
    if events is None:
        events = mapping(sample.get("transcript")).get("events")
    spans: dict[str, _Span] = {}
    for event in map(mapping, listed(events)):
        identity = string(event.get("id"))
        if event.get("event") == "span_begin" and identity is not None:
            parent, type_, name = (string(event.get(key)) for key in ("parent_id", "type", "name"))
            spans[identity] = _Span(parent, type_, name)
    yield from _walk(listed(events), spans, None)


def _walk(events: list[object], spans: dict[str, _Span], agent: Agent | None) -> Iterator[Step]:
    """In the older layout scoring is a step that begins and ends, and a tool's event holds its own."""
    scoring = 0
    for number, event in enumerate(map(mapping, events)):
        match event.get("event"):
            case "step" if event.get("type") in _SCORING:
                scoring += 1 if event.get("action") == "begin" else -1
            case "tool" | "subtask" if event.get("events"):
                name = string(event.get("function")) or string(event.get("name")) or "tool"
                inner = Agent(f"{agent.key if agent else ''}/{number}", name)
                yield from _walk(listed(event["events"]), spans, inner)
            case "model" | "compaction" if scoring <= 0:
                is_scoring, own = _owner(string(event.get("span_id")), spans)
                if not is_scoring:
                    yield Step(event, own or agent)


def _owner(identity: str | None, spans: dict[str, _Span]) -> tuple[bool, Agent | None]:
    """Whether a span is part of scoring, and the call of a tool that it is part of."""
    agent: Agent | None = None
    name: str | None = None
    passed: set[str] = set()
    while identity in spans and identity not in passed:
        passed.add(identity)
        span = spans[identity]
        if span.type in _SCORING:
            return True, None
        if span.type == "agent":
            name = span.name or name
        if span.type == "tool" and agent is None:
            agent = Agent(identity, name or span.name or "tool")
        identity = span.parent
    return False, agent
