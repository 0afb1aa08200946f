"""Plans from YAML files and presets, refused with a place for everything that is wrong."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from decimal import Decimal
from difflib import get_close_matches
from importlib import resources
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from contextctl.errors import Location, PlanError, Problem, native_name, shown_name
from contextctl.loading.yaml_reader import Ambiguous, YamlDocument, read_yaml
from contextctl.plan import (
    CompactionPlan,
    ContextPlan,
    EntryMatcher,
    Expectation,
    Matcher,
    ModelOverride,
    PlanSource,
    SectionPlan,
    section_problems,
)
from contextctl.strategies import (
    STRATEGIES,
    SUPPLIED,
    StrategyParametersError,
    UnknownStrategyError,
    build_strategy,
    check_parameters,
)

PRESET_PREFIX = "preset:"
"""What a plan's name begins with where it means one that contextctl ships."""

NEEDS_REPLAY = ("max_lost_then_needed", "min_cached_fraction")
"""Expectations about several calls, which one assembly cannot answer."""

_SWITCH_KEYS = frozenset({"pinned", "required", "ignore_case", "protect_last_user", "carry"})

_PLAIN_WORDS = {
    "is_instance_of": "must be a number",
    "decimal_type": "must be a number",
    "int_type": "must be a whole number",
    "bool_type": "must be true or false",
    "string_type": "must be text",
    "tuple_type": "must be a list",
    "dict_type": "must be a mapping",
    "model_type": "must be a mapping",
    "finite_number": "must be a finite number",
}
"""What pydantic's error types are called in a plan."""

KeyPath = tuple[str | int, ...]


def preset_names() -> tuple[str, ...]:
    """The names of the shipped plans, sorted."""
    folder = resources.files("contextctl") / "presets"
    return tuple(
        sorted(item.name.removesuffix(".yaml") for item in folder.iterdir() if item.name[-5:] == ".yaml")
    )


def load_plan(source: str | os.PathLike[str], *, strategies: Iterable[str] = ()) -> ContextPlan:
    """The plan in a YAML file, or a shipped one by ``preset:NAME``.

    ``strategies`` names strategies beside the built-in ones. Raises :class:`~contextctl.errors.PlanError`
    with every problem of the file at once, each with file, line and column.
    """
    shown = shown_name(os.fspath(source)).removeprefix("./")
    data, folder = _read(shown)
    document = read_yaml(data, shown)
    own = tuple(strategies)
    value = _with_switches({key: item for key, item in document.value.items() if not key.startswith("x-")})
    problems = [*document.problems, *_semantic_problems(value, document, own)]
    if isinstance(value.get("tools"), str):
        value["tools"] = _load_tools(value["tools"], folder, document, problems)
    plan: ContextPlan | None = None
    try:
        plan = ContextPlan.model_validate(value)
    except ValidationError as error:
        problems += _schema_problems(error, value, document)
    if problems or plan is None:
        problems.sort(key=lambda problem: (problem.location.line or 0, problem.location.column or 0))
        raise PlanError(problems)
    return plan.with_source(PlanSource(shown, document.values))


def _read(shown: str) -> tuple[bytes, Path | None]:
    if shown.startswith(PRESET_PREFIX):
        name = shown.removeprefix(PRESET_PREFIX)
        if name not in preset_names():
            hint = f"presets: {', '.join(preset_names())}"
            raise PlanError([Problem("CTX009", f"there is no preset {name!r}", Location(shown), hint)])
        return (resources.files("contextctl") / "presets" / f"{name}.yaml").read_bytes(), None
    try:
        native = Path(native_name(shown))
        return native.read_bytes(), native.parent
    except OSError as error:
        reason = error.strerror or "cannot be read"
        hint = f"name a .yaml file, or {PRESET_PREFIX}{preset_names()[0]}"
        raise PlanError([Problem("CTX009", reason, Location(shown), hint)]) from None


def _with_switches(value: Any) -> Any:
    """The same value with on/off/yes/no turned into booleans where a boolean is meant."""
    if isinstance(value, dict):
        return {
            key: item.switch
            if key in _SWITCH_KEYS and isinstance(item, Ambiguous) and item.switch is not None
            else _with_switches(item)
            for key, item in value.items()
        }
    return [_with_switches(item) for item in value] if isinstance(value, list) else value


def _load_tools(name: str, folder: Path | None, document: YamlDocument, problems: list[Problem]) -> Any:
    place = document.place(("tools",))
    path = (folder or Path()) / name
    try:
        content = json.loads(path.read_bytes())
    except OSError as error:
        reason = error.strerror or "cannot be read"
        problems.append(
            Problem("CTX009", f"tools: {name}: {reason}", place, "paths are relative to the plan")
        )
        return None
    except (ValueError, RecursionError):
        problems.append(Problem("CTX010", f"tools: {name} is not JSON", place))
        return None
    if isinstance(content, list):
        content = {"tools": content}
    content = {k: v for k, v in content.items() if k != "thinking"} if isinstance(content, dict) else None
    known = {"tools", "tool_choice", "response_format"}
    tools = content.get("tools") if content is not None else None
    if content is None or not set(content) <= known or not _is_tool_list(tools):
        message = f"tools: {name} must hold a list of tool definitions"
        hint = "a list, or an object with tools, tool_choice, response_format"
        problems.append(Problem("CTX005", message, place, hint))
        return None
    return {**content, "tools": tuple(tools or ())}


def _is_tool_list(tools: object) -> bool:
    return tools is None or (isinstance(tools, list) and all(isinstance(tool, dict) for tool in tools))


def _semantic_problems(value: Mapping[str, Any], document: YamlDocument, own: Iterable[str]) -> list[Problem]:
    """What is wrong with the sections together, and with strategies; tolerant of anything else."""
    sections = value.get("sections")
    if not isinstance(sections, list):
        return []
    sections = [section if isinstance(section, dict) else {} for section in sections]
    shares = [section.get("share") for section in sections]
    found = section_problems(
        [
            name if isinstance(name := section.get("name"), str) else f"\0{i}"
            for i, section in enumerate(sections)
        ],
        [Decimal(share) if _is_share(share) else Decimal(0) for share in shares],
        [section.get("match") == "rest" for section in sections],
    )
    problems = [
        Problem(problem.code, problem.message, document.place(("sections", problem.index, problem.key)))
        for problem in found
    ]
    for index, section in enumerate(sections):
        problem = _strategy_problem(
            section.get("compaction"), ("sections", index, "compaction"), document, own
        )
        problems += [problem] if problem else []
    for index, expectation in enumerate(value.get("expect") or ()):
        for test in NEEDS_REPLAY:
            if isinstance(expectation, dict) and test in expectation:
                message = f"`{test}` needs a replay of every call, which this version cannot do"
                problems.append(
                    Problem("CTX005", message, document.place(("expect", index, test)), "remove it")
                )
    return problems


def _is_share(share: object) -> bool:
    if isinstance(share, Decimal):
        return share.is_finite() and share >= 0
    return isinstance(share, int) and not isinstance(share, bool) and share >= 0


def _strategy_problem(
    value: object, path: KeyPath, document: YamlDocument, own: Iterable[str]
) -> Problem | None:
    if isinstance(value, str):
        value = {"strategy": value}
        named = path
    else:
        named = (*path, "strategy")
    if not isinstance(value, dict) or not isinstance(value.get("strategy"), str):
        return None
    parameters = {key: item for key, item in value.items() if key != "strategy"}
    known = tuple(own)
    if value["strategy"] in known:
        return None
    try:
        if value["strategy"] in SUPPLIED:
            check_parameters(value["strategy"], parameters, SUPPLIED[value["strategy"]])
        else:
            build_strategy(CompactionPlan(strategy=value["strategy"], parameters=parameters))
    except UnknownStrategyError as error:
        hint = f"one of: {', '.join(sorted({*STRATEGIES, *SUPPLIED, *known}))}"
        return Problem("CTX007", str(error), document.place(named), hint)
    except StrategyParametersError as error:
        return Problem("CTX005", str(error), document.place((*path, error.parameter)))
    return None


def _schema_problems(error: ValidationError, value: Any, document: YamlDocument) -> list[Problem]:
    problems: list[Problem] = []
    for detail in error.errors(include_url=False):
        path, wanted = _real_path(detail["loc"], value)
        if not detail["loc"] and detail["type"] == "value_error":
            continue  # the sections together: _semantic_problems has said so with its place
        problems.append(_schema_problem(detail, path, wanted, document))
    return problems


def _real_path(loc: tuple[str | int, ...], value: Any) -> tuple[KeyPath, str | None]:
    """The part of an error's path that is in the plan, and the key that is missing from it, if any."""
    path: list[str | int] = []
    for step in loc:
        holds = isinstance(value, dict) and step in value
        if holds or (isinstance(value, list | tuple) and isinstance(step, int) and step < len(value)):
            path.append(step)
            value = value[step]
        elif step == loc[-1] and isinstance(step, str) and isinstance(value, dict):
            return tuple(path), step
    return tuple(path), None


def _schema_problem(detail: Any, path: KeyPath, wanted: str | None, document: YamlDocument) -> Problem:
    key = next((step for step in reversed(path) if isinstance(step, str)), "plan")
    kind, given = detail["type"], detail.get("input")
    if kind == "extra_forbidden":
        name = str(path[-1])
        known = [field for model in _models_at(path[:-1]) for field in model.model_fields]
        near = get_close_matches(name, known, n=1)
        hint = f"did you mean `{near[0]}`?" if near else f"known here: {', '.join(known)}"
        return Problem("CTX003", f"unknown key {name!r}", document.keys.get(path, document.place(path)), hint)
    place = document.place(path)
    if kind == "missing":
        return Problem("CTX005", f"the key `{wanted}` is missing", place)
    if isinstance(given, Ambiguous):
        return _ambiguous_problem(key, given, kind, place)
    return Problem("CTX005", f"`{key}`: {_said(detail)}", place, _number_hint(kind, given))


def _ambiguous_problem(key: str, given: Ambiguous, kind: str, place: Location) -> Problem:
    wants_number = any(word in kind for word in ("int", "decimal", "float", "number", "is_instance"))
    if wants_number and given.instead is not None:
        hint = f"write {given.instead}"
    elif wants_number:
        hint = "write a plain decimal number"
    else:
        hint = f'quote it: "{given.text}"'
    message = f"`{key}`: {given.text} is not read alike by all YAML readers"
    return Problem("CTX004", message, place, hint)


def _number_hint(kind: str, given: object) -> str | None:
    if isinstance(given, bool):
        return (
            "a number is meant here"
            if "int" in kind or "decimal" in kind or kind == "is_instance_of"
            else None
        )
    if isinstance(given, str) and kind in {"int_type", "decimal_type", "is_instance_of"}:
        return "write the number without quotes"
    if isinstance(given, int | Decimal) and kind == "string_type":
        return f'quote it: "{given}"'
    return None


def _said(detail: Any) -> str:
    message = _PLAIN_WORDS.get(detail["type"], str(detail["msg"]))
    message = message.removeprefix("Value error, ").removeprefix("Input ")
    given = detail.get("input")
    shown = f" (not {given})" if isinstance(given, int | Decimal) else ""
    return message[:1].lower() + message[1:] + shown


def _models_at(path: KeyPath) -> tuple[type[BaseModel], ...]:
    """The model whose keys may stand at this path of a plan."""
    match path:
        case ():
            return (ContextPlan,)
        case ("sections", int()):
            return (SectionPlan,)
        case ("sections", int(), "match") | ("pins", int()):
            return (Matcher,)
        case ("expect", int()):
            return (Expectation,)
        case ("expect", int(), "keeps"):
            return (EntryMatcher,)
        case ("models", str()):
            return (ModelOverride,)
    return ()
