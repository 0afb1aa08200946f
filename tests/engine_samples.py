"""Histories, plans and providers for the engine's tests, and a checker that shares no code with it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import pairwise

from hypothesis import strategies as st

from contextctl.messages import Message, TextPart, ToolCallPart, ToolResultPart
from contextctl.outcome import AssembledContext, Fate
from contextctl.plan import CompactionPlan, ContextPlan, Matcher, SectionPlan
from contextctl.ports import Summary, SummaryRequest
from contextctl.strategies.summarise_span import SummariseSpan


def words(message: Message) -> int:
    """Words of all text in a message; what the toy providers charge."""
    total = 0
    for part in message.content:
        if isinstance(part, TextPart):
            total += len(part.text.split())
        elif isinstance(part, ToolCallPart):
            total += 1 + len(part.arguments.split())
        elif isinstance(part, ToolResultPart):
            total += sum(len(inner.text.split()) for inner in part.content if isinstance(inner, TextPart))
    return total


@dataclass
class WordProvider:
    """Counts words plus four a message and a fixed priming; additive."""

    context_window_tokens: int | None = 1000
    priming: int = 3
    asked: list[int] = field(default_factory=list)

    def count_tokens(self, messages: Sequence[Message]) -> int:
        self.asked.append(len(messages))
        return self.priming + sum(4 + words(message) for message in messages)


@dataclass
class MergingProvider(WordProvider):
    """Not additive: every two neighbours of one role cost two tokens more than apart."""

    def count_tokens(self, messages: Sequence[Message]) -> int:
        pairs = sum(a.role == b.role for a, b in pairwise(messages))
        return super().count_tokens(messages) + 2 * pairs


class ShortSummaries:
    """A summariser whose every summary is one word."""

    async def summarise(self, request: SummaryRequest) -> Summary:
        return Summary("gist")


SUPPLIED = {"summarise-span": SummariseSpan(summariser=ShortSummaries())}
"""The strategies that a plan here may name and that are not built in."""


@dataclass(frozen=True)
class History:
    """Messages, and the indexes that must share one fate."""

    messages: tuple[Message, ...]
    units: tuple[tuple[int, ...], ...]


@st.composite
def histories(draw: st.DrawFn, *, most: int = 24, pins: bool = True) -> History:
    """Conversations with system messages, parallel calls, pins, and sometimes a call still pending."""
    messages: list[Message] = []
    units: list[tuple[int, ...]] = []

    def text() -> str:
        return " ".join(["word"] * draw(st.integers(0, 30)) + [f"n{len(messages)}"])

    def add(**fields: object) -> int:
        pinned = pins and draw(st.integers(0, 11)) == 0
        messages.append(Message(pinned=pinned, **fields))  # type: ignore[arg-type]
        return len(messages) - 1

    for turn in range(draw(st.integers(0, most))):
        kind = draw(st.sampled_from(["user", "assistant", "call", "user", "assistant", "system"]))
        if kind != "call":
            units.append((add(role=kind, content=text()),))
            continue
        calls = [
            ToolCallPart(id=f"c{turn}_{n}", name="find", arguments=text())
            for n in range(draw(st.integers(1, 3)))
        ]
        unit = [add(role="assistant", content=tuple(calls))]
        for call in calls:
            result = ToolResultPart(call_id=call.id, content=(TextPart(text=text()),))
            unit.append(add(role="tool", content=(result,)))
        units.append(tuple(unit))
    if draw(st.booleans()) and draw(st.booleans()):
        pending = ToolCallPart(id="pending", name="find", arguments="x")
        units.append((add(role="assistant", content=(pending,)),))
    return History(tuple(messages), tuple(units))


def compactions() -> st.SearchStrategy[CompactionPlan]:
    """Every built-in strategy with parameters."""
    small = st.integers(0, 3)
    return st.one_of(
        st.builds(
            lambda first, recent, step: CompactionPlan(
                strategy="drop-oldest",
                parameters={"keep_first": first, "keep_recent": recent}
                | ({"step_tokens": step} if step else {}),
            ),
            small,
            small,
            st.sampled_from([None, 10, 50]),
        ),
        st.builds(
            lambda first, recent: CompactionPlan(
                strategy="drop-middle", parameters={"keep_first": first, "keep_recent": recent}
            ),
            small,
            small,
        ),
        st.builds(
            lambda recent: CompactionPlan(strategy="pin-and-fold", parameters={"keep_recent": recent}), small
        ),
        st.builds(
            lambda keep, least, preview: CompactionPlan(
                strategy="clear-tool-results",
                parameters={"keep_results": keep, "min_tokens": least, "preview_tokens": preview},
            ),
            small,
            st.sampled_from([0, 8]),
            st.sampled_from([0, 4]),
        ),
        st.builds(
            lambda first, recent, span, most: CompactionPlan(
                strategy="summarise-span",
                parameters={
                    "keep_first": first,
                    "keep_recent": recent,
                    "span": span,
                    "max_summary_tokens": most,
                },
            ),
            small,
            small,
            st.sampled_from(["shortest", "all"]),
            st.sampled_from([None, 12]),
        ),
        st.just(CompactionPlan(strategy="refuse")),
    )


def dropping() -> st.SearchStrategy[CompactionPlan]:
    """The strategies under which a larger budget never loses more."""
    return compactions().filter(lambda plan: plan.strategy.startswith("drop-"))


@st.composite
def plans(
    draw: st.DrawFn,
    *,
    strategies: st.SearchStrategy[CompactionPlan] | None = None,
    soft: bool = True,
    trims: bool = True,
) -> ContextPlan:
    """Plans of one to three sections whose shares add up to at most 1."""
    how = compactions() if strategies is None else strategies
    number = draw(st.integers(1, 3))
    weights = [draw(st.integers(0, 10)) for _ in range(number)]
    slack = draw(st.integers(0, 3))
    whole = max(1, sum(weights) + slack)
    sections = []
    for index, weight in enumerate(weights):
        match: object = None
        if index == number - 1:
            match = "rest"
        elif index == 0:
            match = Matcher(roles=("system",))
        else:
            match = Matcher(kinds=("tool-call", "tool-result"))
        sections.append(
            SectionPlan(
                name=f"s{index}",
                share=(Decimal(weight) / whole).quantize(Decimal("0.0001"), rounding="ROUND_DOWN"),
                pinned=index == 0 and number > 1 and draw(st.booleans()),
                match=match,  # type: ignore[arg-type]
                compaction=draw(how),
                compact_to=draw(st.sampled_from([Decimal(1), Decimal("0.6"), Decimal("0.3")])),
                max_messages=draw(st.sampled_from([None, None, 2, 8])),
                max_turns=draw(st.sampled_from([None, None, 1, 4])),
                max_entry_tokens=draw(st.sampled_from([None, None, 20])) if trims else None,
                start_on=draw(st.sampled_from([None, None, "user"])),
            )
        )
    return ContextPlan(
        sections=tuple(sections),
        reserve_output_tokens=draw(st.sampled_from([0, 10])),
        compaction_fraction=draw(st.sampled_from([None, None, Decimal("0.5"), Decimal(1)])) if soft else None,
        unused=draw(st.sampled_from(["keep", "lend"])),
        protect_last_user=draw(st.booleans()),
    )


def check_conservation(history: History, assembled: AssembledContext, provider: WordProvider) -> None:
    """The laws that hold for every prompt, recounted from the messages alone."""
    assert provider.count_tokens(assembled.messages) == assembled.tokens <= assembled.budget_tokens
    fates = assembled.fates
    first_of = {unit: f"m{unit[0] + 1}" for unit in history.units}
    assert set(fates) == set(first_of.values())
    listed = Counter(
        entry_id
        for section in assembled.sections
        for group in (section.kept, section.evicted, section.summarised, section.folded, section.trimmed)
        for entry_id in group
    )
    assert listed == Counter(first_of.values())
    bodies = [message.content for message in assembled.messages if message.kind is None]
    expected = []
    for unit, entry_id in first_of.items():
        gone = fates[entry_id] in {Fate.EVICTED, Fate.FOLDED, Fate.SUMMARISED}
        assert not (gone and any(history.messages[index].pinned for index in unit))
        if fates[entry_id] is Fate.KEPT:
            expected += [history.messages[index].content for index in unit]
        elif fates[entry_id] is Fate.TRIMMED:
            expected += [()] * len(unit)
    verbatim = Counter(body for body in expected if body)
    assert len(bodies) == len(expected)
    assert not verbatim - Counter(bodies)
    assert sum((Counter(bodies) - verbatim).values()) == expected.count(())
    calls = {call.id for message in assembled.messages for call in message.calls}
    answered = {result.call_id for message in assembled.messages for result in message.results}
    assert calls - answered <= {"pending"}
    assert answered <= calls
    stood_for = {i for message in assembled.messages for i in message.stands_for}
    replaced = {Fate.FOLDED, Fate.SUMMARISED}
    assert {i for i, fate in fates.items() if fate in replaced} <= stood_for
