"""summarise-span: which span, what stands in its place, and that no summary is ever invented."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pytest

from contextctl import ContextAssembler, ContextBudgetError, ContextPlan, Message, SectionPlan, audit, text_of
from contextctl.loading.plan_file import load_plan
from contextctl.outcome import AssembledContext, Fate
from contextctl.recording import Transcript
from contextctl.reports import render
from contextctl.strategies.summarise_span import INSTRUCTIONS, SpanParameters, SummariseSpan
from contextctl.summarisers.planned import PlannedSummariser
from contextctl.testing import check_strategy
from tests.engine_samples import ShortSummaries, WordProvider


def chat(*sizes: int) -> list[Message]:
    return [
        Message(role="assistant" if n % 2 else "user", content=" ".join(["w"] * size))
        for n, size in enumerate(sizes)
    ]


def plan(**parameters: Any) -> ContextPlan:
    compaction = {"strategy": "summarise-span", **parameters}
    return ContextPlan(
        sections=(SectionPlan(name="recent", share=Decimal(1), match="rest", compaction=compaction),)  # type: ignore[arg-type]
    )


class Model:
    """A model of the caller's own that answers as it is told to."""

    def __init__(
        self, text: str = "gist", finish: str | None = "stop", error: Exception | None = None
    ) -> None:
        self.text, self.finish, self.error = text, finish, error
        self.asked: list[tuple[Sequence[Message], str, int]] = []

    async def complete(
        self, messages: Sequence[Message], *, model: str, max_output_tokens: int
    ) -> tuple[str, str | None]:
        self.asked.append((messages, model, max_output_tokens))
        if self.error:
            raise self.error
        return self.text, self.finish


class Slow(Model):
    async def complete(self, *_: Any, **__: Any) -> tuple[str, str | None]:
        await asyncio.sleep(60)
        raise AssertionError("never reached")


def assemble(made: ContextPlan, messages: Sequence[Message], window: int, strategy: Any) -> AssembledContext:
    assembler = ContextAssembler(made, provider=WordProvider(window), strategies={"summarise-span": strategy})
    return asyncio.run(assembler.assemble(messages))


def test_summarise_span_is_not_built_into_the_library_and_is_supplied() -> None:
    with pytest.raises(ValueError, match="unknown strategy 'summarise-span'"):
        ContextAssembler(plan(), provider=WordProvider(100))


def test_it_keeps_the_promises_of_all_strategies() -> None:
    parameters = SpanParameters(max_summary_tokens=12)
    check_strategy(SummariseSpan(summariser=ShortSummaries(), parameters=parameters))


def test_5_1_the_fewest_oldest_entries_are_replaced_by_a_summary_where_the_span_began() -> None:
    model = Model()
    strategy = SummariseSpan(provider=model, model="small")
    result = assemble(plan(max_summary_tokens=12), chat(10, 10, 10, 10, 10), 68, strategy)
    assert [message.id for message in result.messages] == ["summary:recent:m1", "m3", "m4", "m5"]
    assert text_of(result.messages[0]) == "gist"
    summary = result.messages[0]
    assert (summary.role, summary.kind, summary.stands_for) == ("user", "summary", ("m1", "m2"))
    assert [result.fates[i] for i in ("m1", "m2", "m3")] == [Fate.SUMMARISED, Fate.SUMMARISED, Fate.KEPT]
    assert result.tokens == 3 + 5 + 3 * 14 <= 68
    ((asked, name, most),) = model.asked
    assert (name, most) == ("small", 12)
    assert text_of(asked[0]) == INSTRUCTIONS
    assert text_of(asked[1]).count("w") == 20


def test_nothing_is_asked_for_a_section_that_fits() -> None:
    model = Model()
    assert assemble(plan(), chat(10, 10), 100, SummariseSpan(provider=model)).status == "fits"
    assert model.asked == []


def test_locked_entries_between_are_skipped_and_stay() -> None:
    messages = chat(10, 10, 10, 10, 10)
    messages[1] = messages[1].model_copy(update={"pinned": True})
    result = assemble(plan(max_summary_tokens=12), messages, 65, SummariseSpan(summariser=ShortSummaries()))
    assert [message.id for message in result.messages] == ["summary:recent:m1", "m2", "m4", "m5"]


def test_the_plans_instructions_and_role_are_used() -> None:
    model = Model()
    made = plan(instructions="Only names.", max_summary_tokens=12)
    section = made.sections[0].model_copy(update={"note_role": "developer"})
    made = made.model_copy(update={"sections": (section,)})
    result = assemble(made, chat(10, 10, 10, 10, 10), 68, SummariseSpan(provider=model))
    assert result.messages[0].role == "developer"
    assert text_of(model.asked[0][0][0]) == "Only names."


def test_5_4_a_summary_is_an_entry_that_is_summarised_again_with_others() -> None:
    strategy = SummariseSpan(summariser=ShortSummaries())
    first = assemble(plan(max_summary_tokens=12), chat(10, 10, 10, 10, 10), 68, strategy)
    more = [*first.messages, *chat(0, 10, 10)[1:]]
    second = assemble(plan(max_summary_tokens=12), more, 68, strategy)
    summary = second.messages[0]
    assert summary.id == "summary:recent:m1+1"
    assert {"summary:recent:m1", "m1", "m2", "m3"} <= set(summary.stands_for)


@pytest.mark.parametrize(
    ("model", "said", "cause"),
    [
        (Model(text=""), "the summary is empty", None),
        (Model(text=" \n"), "the summary is empty", None),
        (Model(finish="length"), "cut off", None),
        (Model(text="w " * 9), "13 tokens; 12 were set aside", None),
        (Model(error=ConnectionError("refused")), "failed: ConnectionError", ConnectionError),
        (Slow(), "within 0.01 seconds", TimeoutError),
    ],
)
def test_5_6_a_summary_that_cannot_be_used_is_a_budget_error_with_its_cause(
    model: Model, said: str, cause: type[Exception] | None
) -> None:
    strategy = SummariseSpan(provider=model, timeout_seconds=0.01)
    with pytest.raises(ContextBudgetError, match=said) as caught:
        assemble(plan(max_summary_tokens=12), chat(10, 10, 10, 10, 10), 68, strategy)
    assert caught.value.rule == "CTX304"
    assert caught.value.section == "recent"
    assert caught.value.__cause__ is not None
    assert cause is None or isinstance(caught.value.__cause__, cause)


def test_5_6_a_span_that_a_summary_could_not_make_smaller_is_left_alone_and_nobody_is_asked() -> None:
    model = Model()
    made = plan(max_summary_tokens=20, keep_recent=1)
    made = made.model_copy(update={"compaction_fraction": Decimal("0.5")})
    result = assemble(made, chat(8, 0, 20), 70, SummariseSpan(provider=model))
    assert (result.status, model.asked) == ("over_target", [])


def test_5_6_cancellation_while_a_summary_is_being_made_stays_cancellation() -> None:
    async def cancelled() -> None:
        assembler = ContextAssembler(
            plan(), provider=WordProvider(68), strategies={"summarise-span": SummariseSpan(provider=Slow())}
        )
        task = asyncio.create_task(assembler.assemble(chat(10, 10, 10, 10, 10)))
        await asyncio.sleep(0.01)
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(cancelled())


def test_the_history_guards_printed_example_comes_out_18_messages_to_4() -> None:
    history = [Message(role="user", content="You handle ticket T-9.")]
    for note in range(8):
        history.append(Message(role="user", content=f"Note {note}: " + "details " * 60))
        history.append(Message(role="assistant", content="Noted."))
    history.append(Message(role="user", content="What should we do next?"))
    model = Model("Customer was double-charged; refund approved.")
    made = plan(span="all", keep_first=1, keep_recent=2, max_summary_tokens=60)
    made = made.model_copy(
        update={"reserve_output_tokens": 200, "compaction_fraction": Decimal("0.3")},
    )
    result = assemble(made, history, 2_000, SummariseSpan(provider=model))
    assert (len(history), len(result.messages)) == (18, 4)
    assert len(model.asked) == 1


def test_7_2_a_planned_summary_sets_room_aside_and_makes_up_no_text() -> None:
    strategy = SummariseSpan(summariser=PlannedSummariser())
    result = assemble(plan(max_summary_tokens=12), chat(10, 10, 10, 10, 10), 68, strategy)
    assert result.hypothetical
    assert result.messages[0].content == ()
    assert result.tokens == 3 + 12 + 3 * 14
    assert result.tokens <= 68


def test_7_2_an_audit_labels_a_planned_summary_in_every_format() -> None:
    recording = Transcript("t.jsonl", "t", "openai-chat", tuple(chat(10, 10, 10, 10, 10)))
    strategies = {"summarise-span": SummariseSpan(summariser=PlannedSummariser())}
    report = audit(plan(max_summary_tokens=12), [recording], WordProvider(68), strategies=strategies)
    assert report.exit_code == 0
    row = json.loads(render(report, "json"))["transcripts"][0]["assemblies"][0]
    assert (row["hypothetical"], row["summary_calls"], row["tokens_after"]) == (True, 1, 57)
    assert row["notes"][0]["kind"] == "summary"
    assert row["notes"][0]["tokens"] == 12
    shown = render(report, "text")
    assert "hypothetical: 1 summary to be made" in shown
    assert "CTX305" in shown
    assert "2 entries, 28 tokens summarised" in shown


def test_a_plan_file_may_name_it_and_its_parameters_are_checked(tmp_path: Any) -> None:
    path = tmp_path / "plan.yaml"
    path.write_text(
        "sections:\n  - name: a\n    share: 1.0\n    compaction: {strategy: summarise-span, span: all}\n"
    )
    assert load_plan(path).sections[0].compaction.parameters == {"span": "all"}
    path.write_text(path.read_text().replace("span: all", "spam: all"))
    with pytest.raises(ValueError, match="summarise-span has no parameter 'spam'"):
        load_plan(path)
