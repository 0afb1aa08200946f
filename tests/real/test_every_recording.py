"""Every recording at hand: read right, audited at two budgets, compacted under every strategy."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path

import pytest

from contextctl import ContextAssembler, audit, load_plan, load_transcripts, offline_provider
from contextctl.errors import ContextBudgetError, TranscriptError
from contextctl.history import chosen_history
from contextctl.outcome import Fate
from contextctl.plan import CompactionPlan, ContextPlan
from contextctl.ports import Summary, SummaryRequest
from contextctl.recording import Transcript
from contextctl.strategies import STRATEGIES, SUPPLIED
from contextctl.strategies.summarise_span import SummariseSpan
from tests.real.laws import check

Facts = tuple[str, int, int, int, int, int, int, int | None]

RECORDINGS: dict[str, Facts] = {
    "api-requests/anthropic-image-base64.requests.jsonl": ("anthropic", 1, 1, 0, 0, 0, 0, None),
    "api-requests/anthropic-parallel-tools.requests.jsonl": ("anthropic", 2, 6, 4, 4, 0, 0, None),
    "api-requests/anthropic-redacted-thinking.requests.jsonl": ("anthropic", 2, 4, 0, 0, 0, 0, None),
    "api-requests/anthropic-thinking.requests.jsonl": ("anthropic", 2, 4, 1, 1, 0, 0, None),
    "api-requests/anthropic-tools.requests.jsonl": ("anthropic", 11, 33, 11, 11, 0, 0, None),
    "api-requests/gemini-tools.requests.jsonl": ("gemini", 5, 30, 18, 18, 0, 0, None),
    "api-requests/openai-chat-developer-role.requests.jsonl": ("openai-chat", 1, 2, 0, 0, 0, 0, None),
    "api-requests/openai-chat-image-url.requests.jsonl": ("openai-chat", 2, 5, 1, 1, 0, 0, None),
    "api-requests/openai-chat-legacy-functions.requests.jsonl": ("openai-chat", 4, 4, 0, 0, 0, 0, None),
    "api-requests/openai-chat-parallel-tools.requests.jsonl": ("openai-chat", 2, 7, 2, 2, 0, 0, None),
    "api-requests/openai-chat-tools.requests.jsonl": ("openai-chat", 8, 20, 6, 6, 0, 0, None),
    "api-requests/openai-responses-compact.requests.jsonl": ("openai-responses", 4, 14, 0, 0, 0, 1, None),
    "api-requests/openai-responses-reasoning-tools.requests.jsonl": (
        "openai-responses",
        4,
        20,
        6,
        6,
        0,
        0,
        None,
    ),
    "claude-code/compact-and-microcompact.jsonl": ("claude-code", 1, 197, 60, 60, 0, 2, 60206),
    "claude-code/glued-line.jsonl": ("claude-code", 1, 150, 41, 41, 0, 0, 90454),
    "claude-code/pasted-image.jsonl": ("claude-code", 1, 247, 74, 74, 0, 0, 148007),
    "claude-code/v2.1.119-attachments.jsonl": ("claude-code", 1, 127, 33, 32, 1, 0, 103092),
    "codex/turn-aborted.jsonl": ("codex", 1, 70, 20, 20, 0, 0, 22859),
    "codex/v0.118-compacted.jsonl": ("codex", 1, 610, 194, 194, 0, 1, 63039),
    "codex/v0.118-forked-subagent-compacted.jsonl": ("codex", 1, 710, 237, 237, 0, 1, 45832),
    "codex/v0.146-record-shapes.jsonl": ("codex", 1, 157, 6, 6, 0, 6, 16341),
    "fine-tuning/drone-training.first-5.jsonl": ("openai-chat", 5, 15, 5, 0, 5, 0, None),
    "fine-tuning/toy-chat.first-4.jsonl": ("openai-chat", 4, 16, 0, 0, 0, 0, None),
    "gemini-cli/jsonl-v0.40-shapes.jsonl": ("gemini-cli", 1, 4, 1, 1, 0, 0, 12069),
    "gemini-cli/session-short.json": ("gemini-cli", 1, 11, 4, 4, 0, 0, 12990),
    "gemini-cli/session-tools.json": ("gemini-cli", 1, 21, 9, 9, 0, 0, 14200),
    "inspect/browser-tools.json": ("inspect", 1, 10, 4, 4, 0, 0, 5915),
    "inspect/image-input.json": ("inspect", 1, 3, 0, 0, 0, 0, 323),
    "inspect/message-pool.eval": ("inspect", 1, 12, 5, 5, 0, 0, None),
    "langfuse/google-adk-2025-08-28.trace.json": ("langfuse", 1, 5, 1, 1, 0, 0, 39),
    "langfuse/langgraph-js-2025-10-30.trace.json": ("langfuse", 1, 4, 1, 1, 0, 0, 179),
    "langfuse/microsoft-agent-2025-12-17.trace.json": ("langfuse", 1, 4, 1, 1, 0, 0, 216),
    "langfuse/openai-agents-2025-09-30.trace.json": ("langfuse", 1, 5, 1, 1, 0, 0, 85),
    "langfuse/pydantic-ai-tools-2025-12-04.trace.json": ("langfuse", 2, 10, 4, 3, 1, 0, 131),
    "langfuse/vercel-aisdk-2025-11-17.trace.json": ("langfuse", 1, 2, 1, 0, 1, 0, 62),
    "openhands/classic-eval-output.line-3.jsonl": ("openhands", 1, 101, 49, 49, 0, 0, 27127),
    "openhands/classic-trajectory-basic.json": ("openhands", 1, 4, 2, 1, 1, 0, 4646),
    "openhands/sdk-completion-log-prompted-tools.json": ("litellm", 1, 9, 0, 0, 0, 0, 9204),
    "openhands/sdk-completion-log-tools.json": ("litellm", 1, 13, 6, 5, 1, 0, 6729),
    "openhands/sdk-v1-events.jsonl": ("openhands", 1, 5, 2, 3, 0, 0, 35984),
    "pi/large-session.jsonl": ("pi", 1, 914, 391, 373, 18, 0, 177604),
    "sharegpt/glaive-toolcall-zh.json": ("sharegpt", 300, 1880, 216, 218, 0, 0, None),
    "sharegpt/mllm-image-placeholders.json": ("sharegpt", 6, 24, 0, 0, 0, 0, None),
    "swe-agent/function-calling-marshmallow-1867.traj": ("swe-agent", 1, 36, 13, 21, 0, 8, None),
    "swe-agent/thought-action-pydicom-1458.traj": ("swe-agent", 1, 26, 0, 0, 0, 0, None),
    "tau-bench/gpt-4o-airline.first-40.json": ("tau-bench", 40, 1222, 254, 254, 0, 0, None),
}
"""File -> format, conversations, messages, calls, results, calls without a result, recorded compactions,
input tokens of the last recorded call (None where the file does not say). Messages that were superseded, and
what stood in for them, count too."""


class Short:
    """Summaries of one sentence."""

    async def summarise(self, request: SummaryRequest) -> Summary:
        return Summary(f"{len(request.entries)} earlier entries, in short.")


def plan_with(strategy: str, budget: int) -> ContextPlan:
    plan = load_plan("preset:default")
    section = plan.sections[1].model_copy(update={"compaction": CompactionPlan(strategy=strategy)})
    return plan.model_copy(update={"sections": (plan.sections[0], section), "budget_tokens": budget})


def unanswered(transcript: Transcript) -> int:
    """Calls that never got a result, by id where there are ids."""
    calls = [call.id for message in transcript.messages for call in message.calls]
    results = [result.call_id for message in transcript.messages for result in message.results]
    if None in calls:
        return max(0, len(calls) - len(results))
    return sum((Counter(calls) - Counter(results)).values())


def last_input_tokens(transcripts: tuple[Transcript, ...]) -> int | None:
    found = None
    for transcript in transcripts:
        usages = [message.usage for message in transcript.messages if message.usage is not None]
        usages = usages or [r.usage for r in transcript.requests if r.usage is not None]
        found = next((u.input_tokens for u in reversed(usages) if u.input_tokens), found)
    return found


def test_the_table_has_every_recording_of_requests_or_sessions(shared: Path) -> None:
    files = {path.relative_to(shared / "transcripts").as_posix() for path in shared.glob("transcripts/*/*")}
    answers = {name for name in files if name.endswith(".responses.jsonl")}
    assert files - answers == set(RECORDINGS)
    assert (len(RECORDINGS), len(answers)) == (46, 13)
    for name in answers:
        with pytest.raises(TranscriptError, match=r"answers|responses"):
            load_transcripts(shared / "transcripts" / name)


@pytest.mark.parametrize("name", RECORDINGS)
def test_a_recording_is_detected_and_read_as_it_is(shared: Path, name: str) -> None:
    transcripts = load_transcripts(shared / "transcripts" / name)
    messages = [message for transcript in transcripts for message in transcript.messages]
    assert {transcript.format for transcript in transcripts} == {RECORDINGS[name][0]}
    assert (
        RECORDINGS[name][0],
        len(transcripts),
        len(messages),
        sum(len(message.calls) for message in messages),
        sum(len(message.results) for message in messages),
        sum(map(unanswered, transcripts)),
        sum(len(transcript.compactions) for transcript in transcripts),
        last_input_tokens(transcripts),
    ) == RECORDINGS[name]


@pytest.mark.parametrize("budget", [32_000, 8_000])
@pytest.mark.parametrize("name", RECORDINGS)
def test_an_audit_accounts_for_every_message_and_parts_no_call_from_its_result(
    shared: Path, name: str, budget: int
) -> None:
    transcripts = load_transcripts(shared / "transcripts" / name)
    plan = plan_with("drop-oldest", budget)
    provider = offline_provider("gpt-4o")
    report = audit(plan, transcripts, provider)
    assert report.exit_code in {0, 1}
    assembler = ContextAssembler(plan, provider=provider)
    for transcript, told in zip(transcripts, report.transcripts, strict=True):
        (row,) = told.assemblies
        lines = Counter(line for entry in row.entries for line in entry.lines)
        places = Counter(m.location.record for m in transcript.messages if m.location is not None)
        assert lines == places
        assert all(entry.fate is not None for entry in row.entries) == row.has_prompt
        assert row.tokens_upper <= budget or not row.has_prompt
        history = chosen_history(transcript, "effective").messages
        result = asyncio.run(assembler.assemble(history, transcript_id=transcript.id))
        check(history, result.messages)


AGENTS = [name for name in RECORDINGS if name.startswith(("claude-code/", "codex/", "pi/"))]


@pytest.mark.parametrize("strategy", [*STRATEGIES, *SUPPLIED])
@pytest.mark.parametrize("name", AGENTS)
def test_agents_sessions_keep_the_laws_under_every_strategy_in_either_history(
    shared: Path, name: str, strategy: str
) -> None:
    (transcript,) = load_transcripts(shared / "transcripts" / name)
    span = {"summarise-span": SummariseSpan(summariser=Short())}
    made = 0
    for budget in (32_000, 12_000):
        assembler = ContextAssembler(
            plan_with(strategy, budget), provider=offline_provider("gpt-4o"), strategies=span
        )
        for history in (chosen_history(transcript, "effective"), chosen_history(transcript, "full")):
            try:
                result = asyncio.run(assembler.assemble(history.messages))
            except ContextBudgetError:
                continue
            made += 1
            assert result.tokens_upper <= budget
            check(history.messages, result.messages)
            stood_for = {i for note in result.notes for i in note.stands_for}
            replaced = {i for i, fate in result.fates.items() if fate in {Fate.SUMMARISED, Fate.FOLDED}}
            assert replaced <= stood_for
    assert made or strategy in {"refuse", "drop-middle", "clear-tool-results"}
