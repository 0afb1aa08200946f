"""Recordings without what was said in them: the same counts and fates, and not a word left."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from contextctl import audit, load_plan, load_transcripts, offline_provider
from contextctl.blanking import blanked
from contextctl.messages import (
    ImagePart,
    Message,
    RequestSettings,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolResultPart,
)
from contextctl.plan import CompactionPlan
from contextctl.recording import Transcript
from contextctl.strategies import STRATEGIES

FIXTURES = sorted((Path(__file__).parent.parent / "fixtures").glob("*.jsonl"))
GPT_4O = offline_provider("gpt-4o")
SECRET = "marigold"


def said(transcript: Transcript) -> str:
    return str([message.model_dump() for message in transcript.messages]) + str(transcript.settings)


def secret_recording() -> Transcript:
    arguments = json.dumps({"where": f"{SECRET} harbour", "most": 3, "kinds": [SECRET, "b"]})
    call = ToolCallPart(id="c", name="find", arguments=arguments)
    result = ToolResultPart(call_id="c", content=(TextPart(text=f'{{"found": "{SECRET} one"}}'),))
    tool = {"type": "function", "function": {"name": "find", "description": f"Find a {SECRET}."}}
    return Transcript(
        "t.jsonl",
        "t",
        "openai-chat",
        (
            Message(role="system", content=f"Be kind to the {SECRET}."),
            Message(role="user", content=(TextPart(text=f"A {SECRET}!"), ImagePart(url="https://x/y.png"))),
            Message(role="assistant", content=(ThinkingPart(text=SECRET), TextPart(text="so"), call)),
            Message(role="tool", content=(result,)),
            Message(role="assistant", content=f"Here is the {SECRET}, with thanks."),
        ),
        settings=RequestSettings(tools=(tool,)),
    )


def test_not_a_word_is_left_and_every_count_is_the_same() -> None:
    before = secret_recording()
    result = blanked(before, GPT_4O)
    after = result.transcript
    assert SECRET in said(before)
    assert SECRET not in said(after)
    assert (result.kept, result.inexact) == (0, 0)
    counts = [
        GPT_4O.with_settings(transcript.settings).count_tokens(transcript.messages)
        for transcript in (before, after)
    ]
    assert counts[0] == counts[1]
    (call,) = after.messages[2].calls
    assert call.name == "find"
    assert set(json.loads(call.arguments)) == {"where", "most", "kinds"}


@pytest.mark.parametrize("strategy", [name for name in STRATEGIES if name != "clear-tool-results"])
@pytest.mark.parametrize("fixture", FIXTURES, ids=lambda path: path.stem)
def test_a_blanked_fixture_has_the_same_ledger_under_strategies_that_keep_or_lose_whole_entries(
    fixture: Path, strategy: str
) -> None:
    before = load_transcripts(fixture)
    after = tuple(blanked(transcript, GPT_4O).transcript for transcript in before)
    plan = load_plan("preset:default")
    section = plan.sections[1].model_copy(update={"compaction": CompactionPlan(strategy=strategy)})
    plan = plan.model_copy(update={"sections": (plan.sections[0], section), "budget_tokens": 3000})
    ledgers = [
        [
            (row.status, row.tokens_before, row.tokens_after, [(e.id, e.fate, e.tokens) for e in row.entries])
            for row in audit(plan, found, GPT_4O).assemblies
        ]
        for found in (before, after)
    ]
    assert ledgers[0] == ledgers[1]


def test_blanking_twice_is_the_same_as_once() -> None:
    once = blanked(secret_recording(), GPT_4O).transcript
    assert blanked(once, GPT_4O).transcript.messages == once.messages


def test_the_command_keeps_what_the_plan_looks_for_and_says_how_many(tmp_path: Path) -> None:
    rows = [
        {"role": "user", "content": f"I am allergic to {SECRET}s"},
        {"role": "assistant", "content": "noted, with pleasure"},
        {"role": "user", "content": "tell me of the weather"},
    ]
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "plan.yaml").write_text("sections: [{name: all, share: 1}]\npins: [{contains: allergic}]\n")
    words = [sys.executable, "-m", "contextctl", "convert", "t.jsonl", "--blank", "--model", "gpt-4o"]

    def run(*more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([*words, *more], cwd=tmp_path, capture_output=True, text=True, check=False)

    whole = run()
    assert (whole.returncode, SECRET in whole.stdout, "weather" in whole.stdout) == (0, False, False)
    planned = run("--plan", "plan.yaml")
    assert (SECRET in planned.stdout, "weather" in planned.stdout) == (True, False)
    assert "3 messages, of which 1 keep their text" in planned.stderr
