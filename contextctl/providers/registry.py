"""The reviewed model registry, and how a name finds its row: by fixed rules, nothing fuzzy."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from difflib import get_close_matches
from fractions import Fraction
from functools import cache
from importlib import resources
from typing import Any

import yaml

from contextctl.errors import CapabilityError
from contextctl.plan import ModelOverride
from contextctl.providers.profiles import ClaudeFraming

VENDOR_PREFIXES = frozenset(
    {
        "openai",
        "azure",
        "publishers",
        "models",
        "anthropic",
        "google",
        "gemini",
        "vertex_ai",
        "bedrock",
        "openrouter",
        "mistralai",
        "mistral",
        "deepseek",
        "x-ai",
        "xai",
        "qwen",
        "meta-llama",
    }
)
"""What routers and SDKs put before a model's name, each ended by a slash."""

LONGEST_NAME = 80
"""Characters of an unknown name that an error repeats."""

_BEDROCK = re.compile(r"(?:[a-z-]{2,7}\.)?(?:anthropic|meta|mistral|amazon)\.(.+?)(?:-v[0-9]+)?(?::[0-9]+)?")
_FINE_TUNED = re.compile(r"ft:([^:]+):.*")
_CLAUDE_DOTS = re.compile(r"(claude-[a-z0-9-]*[0-9])\.([0-9].*)")
_DATED = re.compile(r"(.+?)[-@]([0-9]{4})-?([0-9]{2})-?([0-9]{2})")
_SHORT_DATED = re.compile(r"(gpt-(?:3\.5-turbo|4|4-32k|4-turbo))-([0-9]{2})([0-9]{2})")


@dataclass(frozen=True, slots=True)
class Framing:
    """What a request is charged beside its texts, in tokens; see models.yaml for what each was fitted on.

    ``family`` names the framer that knows what the numbers are for.

    ``request``: once. ``message``: each message, role included; ``assistant``: more for an assistant's.
    ``participant``: beside the text of a participant's name. ``call``: one tool call with its result beside
    name, arguments and result; ``parallel_calls``: several at once. ``text_beside_calls``: text in the
    message of the calls. ``tools``, ``tools_upper``: once where tools are defined, best and with a margin.
    ``json_share``, ``json_share_upper``: of the tokens of the JSON text of what is sent as JSON.
    ``image_low``, ``image_most``: an image of detail low, and the largest; ``image_tile``: each tile of one
    whose size is known, beside ``image_low`` (0 for models of patches); ``image_patch``: each patch,
    ``image_more`` beside them.
    ``reasoning``: a model that reasons. ``tools_rendered``: definitions are counted as they are shown to the
    model; ``tools_chat``, ``tools_responses``: beside their text, ``tools_described``: where the first has a
    description; ``tools_behind_system``: they merge with the system prompt's end. ``call_responses``:
    ``call`` where the Responses interface was used, ``call_stored`` more for a single call that was sent back
    as the item that it was stored as; ``calls_responses`` once where there are several, and
    ``calls_responses_each`` for each of them.
    """

    name: str
    family: str
    request: int
    message: int
    assistant: int
    participant: int
    call: int
    parallel_calls: int
    text_beside_calls: int
    tools: int
    tools_upper: int
    json_share: Fraction
    json_share_upper: Fraction
    image_low: int
    image_most: int
    reasoning: bool
    tools_rendered: bool
    tools_behind_system: bool
    tools_chat: int
    tools_responses: int
    tools_described: int
    call_responses: int
    call_stored: int
    calls_responses: int
    calls_responses_each: int
    image_tile: int
    image_patch: Fraction
    image_more: int


Profile = Framing | ClaudeFraming
"""A framing profile of any family."""

_FAMILIES: dict[str, type[Profile]] = {"claude": ClaudeFraming}
"""Families whose profiles are of another kind than :class:`Framing`."""


@dataclass(frozen=True, slots=True)
class ModelRecord:
    """One model of the registry. Tokens; None is unknown, or for the input cap: the window."""

    id: str
    provider: str
    context_window: int | None
    max_output_tokens: int | None
    tokenizer: str
    framing: str
    max_input_tokens: int | None = None
    aliases: tuple[str, ...] = ()
    retires: str | None = None
    moving: bool = False
    source: str = ""
    notes: str = ""


@dataclass(frozen=True, slots=True)
class Registry:
    """Every known model by id, framing profiles by name, and the day all of it was read."""

    verified: str
    models: Mapping[str, ModelRecord]
    framings: Mapping[str, Profile]

    def warnings(self, record: ModelRecord) -> tuple[tuple[str, str], ...]:
        """(rule code, sentence) pairs about a model: retired by the registry's own date, or moving."""
        found = []
        if record.retires is not None and record.retires <= self.verified:
            found.append(("CTX404", f"{record.id} is retired since {record.retires}"))
        if record.moving:
            found.append(("CTX405", f"{record.id} is an alias whose model changes over time"))
        return tuple(found)


@cache
def registry() -> Registry:
    """The registry that contextctl ships, read once."""
    file = resources.files("contextctl.providers") / "models.yaml"
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    data = yaml.load(file.read_bytes(), Loader=loader)  # a safe loader, in C where there is one
    models = {}
    for row in data["models"]:
        record = ModelRecord(**{**row, "aliases": tuple(row.get("aliases", ()))})
        models[record.id] = record
    return Registry(data["verified"], models, _framings(data["framings"]))


FRACTIONS = frozenset({"json_share", "json_share_upper", "image_patch"})
"""Numbers of a framing profile that are no whole ones."""


def _framings(rows: Mapping[str, dict[str, Any]]) -> dict[str, Profile]:
    framings: dict[str, Profile] = {}
    for name, row in rows.items():
        base = framings[row["like"]] if "like" in row else None
        family = base.family if base else row["family"]
        own = {key: item for key, item in row.items() if key != "like"}
        own = _openai_values(own) if family == "openai" else own
        if base is None:
            framings[name] = _FAMILIES.get(family, Framing)(name=name, **own)
        else:
            framings[name] = replace(base, name=name, **own)
    return framings


def _openai_values(row: Mapping[str, Any]) -> dict[str, Any]:
    own = {("participant" if key == "name" else key): item for key, item in row.items()}
    own |= {key: Fraction(item) for key, item in own.items() if key in FRACTIONS}
    if "tools" in own:
        own.setdefault("tools_upper", own["tools"])
    return own


def find_model(name: str, overrides: Mapping[str, ModelOverride] | None = None) -> ModelRecord:
    """The record of a model name, as the plan's ``overrides`` change it.

    Found are: an override; an exact id or listed alias; the same behind a vendor's prefix, in Bedrock's,
    Vertex's or OpenRouter's spelling or as a fine-tuned model's base; and each of these with a real date
    behind it. Names are case-sensitive. Raises :class:`~contextctl.errors.CapabilityError` (CTX401).
    """
    overrides = overrides or {}
    if name in overrides:
        return _overridden(name, overrides, ())
    for candidate in _spellings(name):
        if candidate in overrides:
            return _overridden(candidate, overrides, ())
        record = _listed(candidate)
        if record is not None:
            return record
    raise _unknown(name, overrides)


def _listed(name: str) -> ModelRecord | None:
    models = registry().models
    if name in models:
        return models[name]
    record = next((record for record in models.values() if name in record.aliases), None)
    return replace(record, moving=True) if record and name.endswith("-latest") else record


def _spellings(name: str) -> list[str]:
    """The name and what it may stand for, nearest first."""
    found = [name]

    def add(candidate: str) -> None:
        if candidate not in found:
            found.append(candidate)

    for known in found:
        prefix, slash, rest = known.partition("/")
        if slash and prefix in VENDOR_PREFIXES:
            add(rest)
        for expression in (_BEDROCK, _FINE_TUNED):
            match = expression.fullmatch(known)
            if match:
                add(match.group(1))
        match = _CLAUDE_DOTS.fullmatch(known)
        if match:
            add(f"{match.group(1)}-{match.group(2)}")
        match = _DATED.fullmatch(known)
        if match and _is_date(*match.group(2, 3, 4)):
            add(match.group(1))
        match = _SHORT_DATED.fullmatch(known)
        if match and _is_date("2024", *match.group(2, 3)):
            add(match.group(1))
    return found


def _is_date(year: str, month: str, day: str) -> bool:
    try:
        return 2020 <= date(int(year), int(month), int(day)).year <= 2035
    except ValueError:
        return False


def _overridden(name: str, overrides: Mapping[str, ModelOverride], seen: tuple[str, ...]) -> ModelRecord:
    override = overrides[name]
    if name in seen:
        chain = " -> ".join((*seen, name))
        raise CapabilityError(f"models: `same_as` goes in a circle: {chain}", rule="CTX401")
    if override.same_as is not None:
        if override.same_as in overrides and override.same_as != name:
            base = _overridden(override.same_as, overrides, (*seen, name))
        else:
            rest = {key: item for key, item in overrides.items() if key != name}
            base = find_model(override.same_as, rest)
    else:
        base = _base(name)
    record = replace(base, id=name, aliases=(), notes="changed by the plan")
    for key in ("context_window", "max_input_tokens", "max_output_tokens", "tokenizer", "framing"):
        value = getattr(override, key)
        if value is not None:
            record = replace(record, **{key: value})
    return capped(record)


def capped(record: ModelRecord) -> ModelRecord:
    """The same model without an input cap that its window makes moot."""
    cap, window = record.max_input_tokens, record.context_window
    return replace(record, max_input_tokens=None) if cap and window and cap >= window else record


def _base(name: str) -> ModelRecord:
    """What an override starts from that names no model: the registry's row, else an open model."""
    for candidate in _spellings(name):
        record = _listed(candidate)
        if record is not None:
            return record
    return ModelRecord(name, "plan", None, None, "open-model-estimate", "plain", source="plan")


def _unknown(name: str, overrides: Mapping[str, ModelOverride]) -> CapabilityError:
    known = [*overrides, *registry().models]
    name = name if len(name) <= LONGEST_NAME else name[:LONGEST_NAME] + "..."
    near = get_close_matches(name.strip().lower(), known, n=3, cutoff=0.0)
    why = ""
    if name != name.strip() or (name.lower() in known and name not in known):
        why = "; names are case-sensitive and have no blanks around them"
    hint = (
        f"nearest: {', '.join(near)}{why}; or put these lines into the plan\n"
        f"models:\n"
        f"  {json.dumps(name.strip())}: {{same_as: {near[0]}}}"
        f"  # or {{context_window: 131072, tokenizer: o200k_base}}"
    )
    return CapabilityError(f"unknown model {name!r}", hint=hint, rule="CTX401")
