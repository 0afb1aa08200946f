"""The tree that the records of a Claude Code session form, and which of them the model still sees."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from contextctl.errors import Location
from contextctl.transcripts.json_shapes import listed, mapping, string


@dataclass(slots=True, eq=False)
class Node:
    """A record of a tree: ``place`` counts records in file order, ``parent`` is set by :class:`Tree`."""

    place: int
    value: dict[str, object]
    location: Location
    parent: Node | None = None
    children: list[Node] = field(default_factory=list)
    reach: int = -1
    depth: int = 0

    @property
    def kind(self) -> object:
        """The type of the record."""
        return self.value.get("type")

    @property
    def uuid(self) -> str | None:
        """The record's own name."""
        return string(self.value.get("uuid"))

    @property
    def is_sidechain(self) -> bool:
        """True for a record of a sub-agent."""
        return self.value.get("isSidechain") is True

    @property
    def is_boundary(self) -> bool:
        """True where a compaction begins the context anew."""
        return self.kind == "system" and self.value.get("subtype") == "compact_boundary"

    @property
    def is_clearing(self) -> bool:
        """True where old results were taken out of the context."""
        return self.kind == "system" and self.value.get("subtype") == "microcompact_boundary"

    @property
    def parent_uuid(self) -> str | None:
        """The record before this one; across a compaction, the last one before it."""
        parent = string(self.value.get("parentUuid"))
        return parent or (string(self.value.get("logicalParentUuid")) if self.is_boundary else None)

    @property
    def is_root(self) -> bool:
        """True for a prompt that begins the conversation anew; what else has no parent goes on with it."""
        is_first = "parentUuid" in self.value and self.value["parentUuid"] is None
        return is_first and self.kind == "user" and self.value.get("isCompactSummary") is not True

    @property
    def message(self) -> dict[str, object]:
        """The API message in the record."""
        return mapping(self.value.get("message"))

    @property
    def answer(self) -> str | None:
        """The id of the model response that this is a line of."""
        return string(self.message.get("id")) if self.kind == "assistant" else None

    def block_ids(self, kind: str, key: str) -> set[str]:
        """What the message's blocks of a kind hold under a key."""
        blocks = (mapping(block) for block in listed(self.message.get("content")))
        return {name for block in blocks if block.get("type") == kind and (name := string(block.get(key)))}


def chains(nodes: Sequence[Node]) -> list[list[Node]]:
    """The session itself and each sub-agent that is recorded beside it, in order of their first record.

    A sub-agent's records share an ``agentId``, or in older files the record that they all descend from.
    """
    by_uuid = {node.uuid: node for node in nodes if node.uuid}
    names: dict[int, object] = {}
    found: dict[object, list[Node]] = {}
    for node in nodes:
        trail: list[Node] = []
        step: Node = node
        while step.place not in names:
            trail.append(step)
            names[step.place] = _own_chain(step)
            up = by_uuid.get(step.parent_uuid or "")
            if names[step.place] != step.place or up is None or not up.is_sidechain:
                break
            step = up
        for passed in trail:
            names[passed.place] = names[step.place]
        found.setdefault(names[node.place], []).append(node)
    return list(found.values())


def _own_chain(node: Node) -> object:
    """The chain's name where the record itself tells, else its own place."""
    if not node.is_sidechain:
        return "session"
    agent = string(node.value.get("agentId"))
    return ("agent", agent) if agent else node.place


class Tree:
    """The records of one chain, each with its parent.

    A parent that is not among them may have been lost, so that the record before in the file stands for it.
    """

    def __init__(self, nodes: Sequence[Node]) -> None:
        self._nodes = nodes
        by_uuid = {node.uuid: node for node in nodes if node.uuid}
        before: Node | None = None
        for node in nodes:
            named = by_uuid.get(node.parent_uuid or "")
            node.parent = None if node.is_root else (named or before)
            if node.parent is not None:
                node.parent.children.append(node)
            before = node
        self._measure()

    def _measure(self) -> None:
        """Depth of each record, and the latest place on the way to it; records in a ring get a root."""
        roots = [node for node in self._nodes if node.parent is None]
        for start in (*roots, *self._nodes):
            if start.reach >= 0:
                continue
            start.parent, start.reach = None, start.place
            waiting = [start]
            while waiting:
                node = waiting.pop()
                for child in node.children:
                    if child.reach < 0:
                        child.reach, child.depth = max(child.place, node.reach), node.depth + 1
                        waiting.append(child)

    def ordered(self) -> list[Node]:
        """All records in file order, but none before its parent, and the lines of one answer together."""
        order = sorted(self._nodes, key=lambda node: (node.reach, node.depth, node.place))
        answers: dict[str, list[Node]] = {}
        for node in order:
            if node.answer:
                answers.setdefault(node.answer, []).append(node)
        placed: list[Node] = []
        for node in order:
            if node.answer is None:
                placed.append(node)
            else:
                placed += answers.pop(node.answer, [])
        return placed

    def live(self) -> set[int]:
        """Places of the records that lead to the last message, with all results of its parallel calls.

        A result's parent is the line of its own call, so that parallel calls make side branches: whatever
        answers a call on the way belongs to it, and so does what was added to such a result.
        """
        path = self._path(self._leaf())
        answers = {node.answer for node in path if node.answer}
        lines = [node for node in self._nodes if node.answer in answers]
        calls = set[str]().union(*(line.block_ids("tool_use", "id") for line in lines))
        live = {node.place for node in (*path, *lines)}
        side = [
            node
            for node in self._nodes
            if node.place not in live
            and node.kind == "user"
            and not calls.isdisjoint(node.block_ids("tool_result", "tool_use_id"))
        ]
        return live | {node.place for node in _with_additions(side)}

    def _leaf(self) -> Node:
        """The last record that says something or compacts; what else comes late may hang anywhere."""
        telling = [
            node
            for node in self._nodes
            if node.kind in ("user", "assistant", "attachment") or node.is_boundary or node.is_clearing
        ]
        return (telling or list(self._nodes))[-1]

    def _path(self, leaf: Node) -> list[Node]:
        path: list[Node] = []
        step: Node | None = leaf
        while step is not None:
            path.append(step)
            step = step.parent
        return path


def _with_additions(results: Iterable[Node]) -> list[Node]:
    found = list(results)
    for node in found:
        for child in node.children:
            if child.kind == "attachment" or child.value.get("isMeta") is True:
                found.append(child)
    return found
