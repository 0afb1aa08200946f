"""YAML as plain values with a place for each: strict where YAML 1.1 and 1.2 disagree.

A number or a boolean is taken only in the spellings that both versions of YAML read alike; any other
spelling is carried as :class:`Ambiguous`, so that whoever wanted a number or a text can say what to write.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import yaml

from contextctl.errors import Location, PlanError, Problem

MAX_NODES = 100_000
"""Values in one document with every alias expanded; an honest plan has some hundred."""

Path = tuple[str | int, ...]

_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]*)")
_DECIMAL = re.compile(r"[-+]?(0|[1-9][0-9]*)?\.[0-9]+|[-+]?(0|[1-9][0-9]*)\.")
_EXPONENT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)[eE][-+]?[0-9]+")
_GROUPED = re.compile(r"[-+]?[0-9][0-9_,]*(\.[0-9_]*)?")
_ODD_NUMBER = re.compile(r"[-+]?0[0-7]+|[-+]?0o[0-7]+|[-+]?0[xX][0-9a-fA-F_]+|[-+]?0b[01_]+")
_SEXAGESIMAL = re.compile(r"[-+]?[0-9]+(:[0-5]?[0-9])+(\.[0-9]*)?")
_DATE = re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt ].*)?")
_PERCENT = re.compile(r"[-+]?[0-9.]+\s*%")
_NOT_FINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_SWITCHES = {"on": True, "yes": True, "y": True, "off": False, "no": False, "n": False}


@dataclass(frozen=True, slots=True)
class Ambiguous:
    """A plain scalar that YAML versions or readers take for different things.

    ``text`` is as written; ``instead`` is the number to write where one was probably meant, ``switch`` the
    boolean that the word stands for.
    """

    text: str
    instead: str | None = None
    switch: bool | None = None


@dataclass(frozen=True, slots=True)
class YamlDocument:
    """Plain values, the place of each value and of each key by its path, and what is wrong so far."""

    value: Any
    values: dict[Path, Location] = field(default_factory=dict)
    keys: dict[Path, Location] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def place(self, path: Path) -> Location:
        """The place of a value, or of the nearest one around it."""
        for length in range(len(path), -1, -1):
            if path[:length] in self.values:
                return self.values[path[:length]]
        return Location()


def read_yaml(data: bytes, path: str, *, what: str = "plan") -> YamlDocument:
    """One YAML document that is a mapping.

    Raises :class:`~contextctl.errors.PlanError` where it cannot be read at all; duplicate keys are among
    the document's problems.
    """
    root = _compose(data, path, what)
    reader = _Converter(path)
    reader.require_finite(root)
    if not isinstance(root, yaml.MappingNode):
        raise PlanError(
            [
                Problem(
                    "CTX005", f"a {what} must be a mapping of keys", reader.location(root), "see the README"
                )
            ]
        )
    value = reader.convert(root, ())
    return YamlDocument(value, reader.values, reader.keys, reader.problems)


def _compose(data: bytes, path: str, what: str) -> yaml.Node:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise PlanError(
            [Problem("CTX017", "not UTF-8", Location(path, line, 1), "save it as UTF-8")]
        ) from None
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        nodes = [node for node in yaml.compose_all(text, Loader=loader) if node is not None]
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = Location(path, mark.line + 1, mark.column + 1) if mark else Location(path)
        raise PlanError([Problem("CTX001", error.problem or "not YAML", place)]) from None
    except (yaml.YAMLError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else "holds a forbidden character"
        raise PlanError([Problem("CTX001", reason, Location(path))]) from None
    if not nodes or (isinstance(nodes[0], yaml.ScalarNode) and nodes[0].value in {"", "~", "null"}):
        hint = "write at least a `sections:` list; `preset:default` works without a file"
        raise PlanError([Problem("CTX005", f"the {what} is empty", Location(path, 1, 1), hint)])
    if len(nodes) > 1:
        mark = nodes[1].start_mark
        place = Location(path, mark.line + 1, mark.column + 1)
        hint = "put each document in a file of its own"
        raise PlanError([Problem("CTX001", "holds several YAML documents", place, hint)])
    root: yaml.Node = nodes[0]
    return root


class _Converter:
    """One pass over the nodes of a document."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.values: dict[Path, Location] = {}
        self.keys: dict[Path, Location] = {}
        self.problems: list[Problem] = []

    def location(self, node: yaml.Node) -> Location:
        return Location(self.path, node.start_mark.line + 1, node.start_mark.column + 1)

    def require_finite(self, root: yaml.Node) -> None:
        """Refuse a document that contains itself or whose aliases expand beyond reason."""
        sizes: dict[int, int] = {}
        open_nodes: set[int] = set()
        stack: list[tuple[yaml.Node, bool]] = [(root, False)]
        while stack:
            node, done = stack.pop()
            if done:
                open_nodes.discard(id(node))
                sizes[id(node)] = 1 + sum(sizes[id(child)] for child in _children(node))
                if sizes[id(node)] > MAX_NODES:
                    self._refuse(node, f"its aliases expand to more than {MAX_NODES:,} values")
            elif id(node) in open_nodes:
                self._refuse(node, "an alias contains itself")
            elif id(node) not in sizes:
                open_nodes.add(id(node))
                stack.append((node, True))
                stack += [(child, False) for child in _children(node)]

    def _refuse(self, node: yaml.Node, reason: str) -> None:
        raise PlanError([Problem("CTX001", reason, self.location(node), "write the values out")])

    def convert(self, node: yaml.Node, path: Path) -> Any:
        self.values.setdefault(path, self.location(node))
        if isinstance(node, yaml.SequenceNode):
            return [self.convert(child, (*path, index)) for index, child in enumerate(node.value)]
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, path)
        assert isinstance(node, yaml.ScalarNode)
        return scalar_value(node.value, plain=not node.style, tag=node.tag)

    def _mapping(self, node: yaml.MappingNode, path: Path) -> dict[str, Any]:
        result: dict[str, Any] = {}
        merged: list[yaml.MappingNode] = []
        for key_node, value_node in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                self.problems.append(Problem("CTX005", "a key must be text", self.location(key_node)))
                continue
            if key_node.tag == "tag:yaml.org,2002:merge" or (
                key_node.value == "<<" and key_node.style is None
            ):
                merged += self._merges(value_node)
                continue
            key = str(key_node.value)
            if key in result:
                first = self.keys[(*path, key)]
                message = f"key {key!r} stands twice, first in line {first.line}"
                self.problems.append(Problem("CTX002", message, self.location(key_node), "keep one"))
                continue
            self.keys[(*path, key)] = self.location(key_node)
            result[key] = self.convert(value_node, (*path, key))
        for other in merged:
            for key, value in self._mapping(other, (*path, "<<")).items():
                if key not in result:
                    result[key] = value
                    self.keys.setdefault((*path, key), self.location(other))
                    self.values.setdefault((*path, key), self.location(other))
        return result

    def _merges(self, node: yaml.Node) -> list[yaml.MappingNode]:
        nodes = node.value if isinstance(node, yaml.SequenceNode) else [node]
        if all(isinstance(other, yaml.MappingNode) for other in nodes):
            return list(nodes)
        self.problems.append(Problem("CTX005", "`<<` merges mappings only", self.location(node)))
        return []


def _children(node: yaml.Node) -> list[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        return [child for pair in node.value for child in pair]
    return list(node.value) if isinstance(node, yaml.SequenceNode) else []


def scalar_value(text: str, *, plain: bool, tag: str) -> Any:
    """The value of one scalar: text, integer, :class:`~decimal.Decimal`, boolean, None or Ambiguous."""
    if not plain or tag == "!":
        return text
    if tag.startswith("!") or tag == "tag:yaml.org,2002:binary":
        return Ambiguous(text)
    if text in {"", "~", "null", "Null", "NULL"}:
        return None
    if text in {"true", "True", "TRUE", "false", "False", "FALSE"}:
        return text.lower() == "true"
    if _INTEGER.fullmatch(text) and len(text) < 100:
        return int(text)
    if _DECIMAL.fullmatch(text) and len(text) < 100:
        return Decimal(text)
    if _NOT_FINITE.fullmatch(text):
        return Decimal("NaN" if text.lower().endswith("nan") else "Infinity")
    return _odd_scalar(text)


def _odd_scalar(text: str) -> Any:
    """Plain text, or Ambiguous with what to write instead."""
    if text.lower() in _SWITCHES:
        return Ambiguous(text, switch=_SWITCHES[text.lower()])
    if _EXPONENT.fullmatch(text) and len(text) < 100:
        number = Decimal(text)
        plain = format(number, "f") if abs(number.adjusted()) < 30 else None
        return Ambiguous(text, instead=_without_point(plain))
    if _ODD_NUMBER.fullmatch(text):
        return Ambiguous(text)
    if _GROUPED.fullmatch(text):
        return Ambiguous(text, instead=re.sub("[_,]", "", text))
    if _PERCENT.fullmatch(text):
        share = text.rstrip("% ")
        return Ambiguous(text, instead=str(Decimal(share) / 100) if _is_number(share) else None)
    if _SEXAGESIMAL.fullmatch(text) or _DATE.fullmatch(text):
        return Ambiguous(text)
    return text


def _is_number(text: str) -> bool:
    return _INTEGER.fullmatch(text) is not None or _DECIMAL.fullmatch(text) is not None


def _without_point(text: str | None) -> str | None:
    if text is None or "." not in text:
        return text
    return text.rstrip("0").rstrip(".")
