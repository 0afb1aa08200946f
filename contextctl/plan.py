"""A context plan: named sections with shares of the budget, pins, compaction, expectations.

A plan that cannot work whatever the model is refused when it is built (a ``ValueError``).
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    PrivateAttr,
    Tag,
    WithJsonSchema,
    field_validator,
    model_validator,
)

from contextctl.errors import Location
from contextctl.messages import RequestSettings, canonical_json

DEFAULT_STRATEGY = "drop-oldest"
"""What compacts a section that names no strategy."""

PART_KINDS = ("text", "image", "audio", "file", "tool-call", "tool-result", "thinking", "refusal", "opaque")
"""What ``kinds`` in a matcher may name."""


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, hide_input_in_errors=True)


def _as_decimal(value: object) -> object:
    if isinstance(value, float):
        return Decimal(repr(value))
    if isinstance(value, int) and not isinstance(value, bool):
        return Decimal(value)
    if isinstance(value, Decimal) and value.is_zero():
        return abs(value)
    return value


def _as_tuple(value: object) -> object:
    if isinstance(value, str):
        return (value,)
    return tuple(value) if isinstance(value, list) else value


Fraction01 = Annotated[
    Decimal,
    BeforeValidator(_as_decimal),
    Field(ge=0, le=1, allow_inf_nan=False),
    WithJsonSchema({"type": "number", "minimum": 0, "maximum": 1}),
]
"""A decimal from 0 to 1, taken from its text; a float through its repr."""

Names = Annotated[
    tuple[Annotated[str, Field(min_length=1)], ...],
    BeforeValidator(_as_tuple),
    Field(min_length=1),
    WithJsonSchema(
        {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}, "minItems": 1}]}
    ),
]
"""One text or a list of them, any of which will do."""

PositiveTokens = Annotated[int, Field(gt=0)]
Tokens = Annotated[int, Field(ge=0)]


class Matcher(_Strict):
    """Tests on a message, all of which must pass; a list is any-of.

    ``contains`` and ``regex`` look at the text of all parts, tool arguments and results included;
    ``names`` at the message's name and at tool names; ``first`` and ``last`` count among the messages that
    pass the other tests; ``transcript`` is a glob that binds the matcher to transcript ids.
    """

    roles: Names | None = Field(None, description="Roles to accept.")
    ids: Names | None = Field(None, description="Message ids, or m<n> for the n-th message.")
    names: Names | None = Field(None, description="Names of participants or tools.")
    contains: Names | None = Field(None, description="Text that must occur, case-sensitive.")
    regex: Names | None = Field(None, description="Regular expressions, searched anywhere.")
    ignore_case: bool = Field(False, description="Ignore case in `contains` and `regex`.")
    kinds: Names | None = Field(None, description="Kinds of part: " + ", ".join(PART_KINDS) + ".")
    first: PositiveTokens | None = Field(None, description="Only the first n of what passes.")
    last: PositiveTokens | None = Field(None, description="Only the last n of what passes.")
    transcript: str | None = Field(None, description="Glob over transcript ids.")
    required: bool = Field(False, description="Accepting nothing in a whole run is an error.")

    @field_validator("regex")
    @classmethod
    def _compiles(cls, patterns: tuple[str, ...] | None) -> tuple[str, ...] | None:
        for pattern in patterns or ():
            try:
                re.compile(pattern)
            except re.error as error:
                raise ValueError(f"not a regular expression: {error.msg} at position {error.pos}") from None
        return patterns

    @field_validator("kinds", mode="after")
    @classmethod
    def _known_kinds(cls, kinds: tuple[str, ...] | None) -> tuple[str, ...] | None:
        if kinds is None:
            return None
        spelled = tuple(kind.replace("_", "-") for kind in kinds)
        unknown = sorted(set(spelled) - set(PART_KINDS))
        if unknown:
            raise ValueError(f"unknown kind {unknown[0]!r}; known: {', '.join(PART_KINDS)}")
        return spelled

    @model_validator(mode="after")
    def _tests_something(self) -> Self:
        if not self.model_fields_set - {"required", "ignore_case", "transcript"}:
            raise ValueError("a matcher needs at least one test, such as `roles` or `contains`")
        return self


class EntryMatcher(Matcher):
    """A matcher that can also name sections, for expectations."""

    section: Names | None = Field(None, description="Sections whose entries are meant.")


def _match_kind(value: object) -> str:
    return "word" if isinstance(value, str) else "tests"


MatchPlan = Annotated[
    Annotated[Matcher, Tag("tests")] | Annotated[Literal["rest"], Tag("word")], Discriminator(_match_kind)
]
"""Tests, or the word ``rest``."""


class CompactionPlan(_Strict):
    """A strategy by name, and its parameters."""

    strategy: str = Field(DEFAULT_STRATEGY, min_length=1)
    parameters: dict[str, Any] = Field(default_factory=dict)


def _as_compaction(value: object) -> object:
    if isinstance(value, str):
        return CompactionPlan(strategy=value)
    if isinstance(value, Mapping):
        if "strategy" not in value:
            raise ValueError("needs the key `strategy`")
        if not isinstance(value["strategy"], str):
            raise ValueError("`strategy` must be text")
        parameters = {key: item for key, item in value.items() if key != "strategy"}
        return CompactionPlan(strategy=value["strategy"], parameters=parameters)
    return value


class SectionPlan(_Strict):
    """A named part of the prompt and how it is kept within its share."""

    name: Annotated[str, Field(min_length=1, description="Its name, unique in the plan.")]
    share: Fraction01 = Field(description="Its share of what messages may use, from 0 to 1.")
    pinned: bool = Field(False, description="No entry of it is ever lost.")
    match: MatchPlan | None = Field(
        None, description="Which messages go here; `rest` takes what no other section accepts."
    )
    compaction: Annotated[CompactionPlan, BeforeValidator(_as_compaction)] = Field(
        default_factory=CompactionPlan, description="What makes it fit: a strategy, or one with parameters."
    )
    compact_to: Annotated[Fraction01, Field(gt=0)] = Field(
        Decimal(1), description="Once over its room, work down to this fraction of it."
    )
    max_messages: PositiveTokens | None = Field(None, description="More messages count as over its room.")
    max_turns: PositiveTokens | None = Field(None, description="More user turns count as over its room.")
    max_entry_tokens: PositiveTokens | None = Field(
        None, description="A larger entry that is not locked is trimmed in its middle."
    )
    start_on: Literal["user", "any"] | None = Field(
        None,
        description="`user`: a cut goes on to the next user entry; by default only an Anthropic or "
        "Gemini prompt's first does; `any`: none.",
    )
    note_role: Literal["user", "system", "developer", "assistant"] = Field(
        "user", description="The role of a note or summary."
    )


class Expectation(_Strict):
    """One thing that must hold for every assembly; exactly one test beside ``name`` and ``severity``."""

    keeps: EntryMatcher | None = Field(None, description="Entries that must be verbatim in the prompt.")
    max_evicted_fraction: Fraction01 | None = Field(None, description="Evicted tokens over tokens before.")
    min_kept_turns: Tokens | None = Field(None, description="Kept entries that hold a user message.")
    max_summaries: Tokens | None = Field(None, description="Summaries in one assembly.")
    min_headroom_tokens: Tokens | None = Field(None, description="Tokens left under the budget.")
    max_prompt_tokens: Tokens | None = Field(None, description="Tokens of the whole prompt.")
    max_lost_then_needed: Tokens | None = Field(None, description="Lost entries that a later call needed.")
    min_cached_fraction: Fraction01 | None = Field(None, description="Tokens of an unchanged prefix.")
    name: str | None = Field(None, description="What to call it in a finding.")
    severity: Literal["error", "warning", "note"] = Field("error", description="How much a failure weighs.")

    @model_validator(mode="after")
    def _one_test(self) -> Self:
        tests = self.model_fields_set - {"name", "severity"}
        if len(tests) != 1:
            raise ValueError("an expectation has exactly one test, such as `keeps` or `min_headroom_tokens`")
        return self

    @property
    def test(self) -> str:
        """The key of its one test."""
        return next(iter(self.model_fields_set - {"name", "severity"}))


class ModelOverride(_Strict):
    """What a plan says of a model: an addition to the registry, or a correction of it."""

    same_as: str | None = Field(None, description="Take everything from this known model.")
    context_window: PositiveTokens | None = Field(None, description="Input plus output tokens.")
    max_input_tokens: PositiveTokens | None = Field(None, description="Where it is below the window.")
    max_output_tokens: PositiveTokens | None = Field(None, description="The most it can answer with.")
    tokenizer: str | None = Field(None, description="A tokenizer's name, such as o200k_base.")
    framing: str | None = Field(None, description="A framing profile's name, such as openai-chat.")

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if not self.model_fields_set:
            raise ValueError("say `same_as`, or `context_window` and `tokenizer`")
        return self


@dataclass(frozen=True, slots=True)
class PlanSource:
    """Where a plan was read: the path as shown, and the place of each key by its path in the plan."""

    path: str
    places: Mapping[tuple[str | int, ...], Location] = field(default_factory=dict)

    def place(self, *keys: str | int) -> Location:
        """The place of a key, or of the nearest thing around it."""
        for length in range(len(keys), -1, -1):
            if keys[:length] in self.places:
                return self.places[keys[:length]]
        return Location(self.path)


class ContextPlan(_Strict):
    """The whole plan. Shares are of what messages may use, not of the budget before overhead."""

    name: str | None = Field(None, description="The plan's name in reports.")
    model: str | None = Field(None, description="The model to audit against.")
    budget_tokens: PositiveTokens | None = Field(None, description="Instead of the model's window.")
    reserve_output_tokens: Tokens = Field(0, description="Room kept free for the answer.")
    compaction_fraction: Annotated[Fraction01, Field(gt=0)] | None = Field(
        None, description="A soft line at this fraction of the budget."
    )
    carry: bool = Field(False, description="Each call starts from the prompt of the call before.")
    unused: Literal["keep", "lend"] = Field("keep", description="`lend`: unused room goes to short sections.")
    protect_last_user: bool = Field(True, description="The newest user message is never lost.")
    tools: Annotated[RequestSettings | None, WithJsonSchema({"type": "string"})] = Field(
        None, description="A JSON file of tool definitions; replaces recorded ones."
    )
    sections: Annotated[tuple[SectionPlan, ...], BeforeValidator(_as_tuple), Field(min_length=1)] = Field(
        description="The parts of the prompt, in their order."
    )
    pins: Annotated[tuple[Matcher, ...], BeforeValidator(_as_tuple)] = Field(
        (), description="Messages that are pinned where they stand."
    )
    models: dict[str, ModelOverride] = Field(default_factory=dict, description="Models of your own.")
    expect: Annotated[tuple[Expectation, ...], BeforeValidator(_as_tuple)] = Field(
        (), description="What must hold for every assembly."
    )

    _source: PlanSource = PrivateAttr(default_factory=lambda: PlanSource("-"))

    @model_validator(mode="after")
    def _sections_agree(self) -> Self:
        problems = section_problems(
            [section.name for section in self.sections],
            [section.share for section in self.sections],
            [section.match == "rest" for section in self.sections],
        )
        if problems:
            raise ValueError("; ".join(problem.message for problem in problems))
        return self

    @property
    def source(self) -> PlanSource:
        """Where it was read; a plan built in Python has the path ``-``."""
        return self._source

    def with_source(self, source: PlanSource) -> Self:
        """The same plan, knowing where it was read."""
        plan = self.model_copy()
        plan._source = source
        return plan

    @property
    def digest(self) -> str:
        """SHA-256 of the plan's content; comments and spelling of the file do not matter."""
        content = canonical_json(self.model_dump(mode="json"))
        return "sha256:" + hashlib.sha256(content.encode()).hexdigest()

    @property
    def rest_section(self) -> int | None:
        """Index of the section that takes what no other accepts, or None where there is none."""
        for index, section in enumerate(self.sections):
            if section.match == "rest":
                return index
        for index in reversed(range(len(self.sections))):
            section = self.sections[index]
            if section.match is None and section.name != "system":
                return index
        return None


@dataclass(frozen=True, slots=True)
class SectionProblem:
    """What is wrong with the sections together: rule code, sentence, and the section's index and key."""

    code: str
    message: str
    index: int
    key: str


def section_problems(
    names: Sequence[str], shares: Sequence[Decimal], rests: Sequence[bool]
) -> list[SectionProblem]:
    """Names that repeat or differ only invisibly, shares above 1 in sum, ``rest`` more than once."""
    problems: list[SectionProblem] = []
    seen: dict[str, str] = {}
    for index, name in enumerate(names):
        looks = "".join(letter for letter in name if unicodedata.category(letter) not in {"Cc", "Cf"})
        if seen.get(looks) == name:
            problems.append(SectionProblem("CTX005", f"section name {name!r} repeats", index, "name"))
        elif looks in seen:
            message = f"section name {name!r} differs from another only by invisible characters"
            problems.append(SectionProblem("CTX005", message, index, "name"))
        seen.setdefault(looks, name)
    total = Decimal(0)
    for index, share in enumerate(shares):
        if total <= 1 < total + share:
            full = sum(shares, Decimal(0))
            problems.append(
                SectionProblem("CTX006", f"the shares add up to {full}, which is above 1", index, "share")
            )
        total += share
    rest = [index for index, is_rest in enumerate(rests) if is_rest]
    problems += [
        SectionProblem("CTX005", "`match: rest` may stand once", index, "match") for index in rest[1:]
    ]
    return problems
