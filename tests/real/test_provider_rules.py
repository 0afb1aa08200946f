"""Real recordings were accepted by their providers: each finding here was looked at and is a fact."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path

import pytest

from contextctl import ContextAssembler, load_plan, offline_provider
from contextctl.checks.pairing import pairing_findings
from contextctl.checks.provider_rules import PROFILES, newly_broken, profile_of, provider_findings
from contextctl.entries import group
from contextctl.errors import CapabilityError, TranscriptError
from contextctl.findings import Severity
from contextctl.messages import Message
from contextctl.providers.registry import find_model
from contextctl.recording import Transcript
from contextctl.repair import COVERED, repair
from contextctl.transcripts import read_transcripts

OF_FORMAT = {
    "anthropic": "anthropic",
    "claude-code": "anthropic",
    "gemini": "gemini",
    "gemini-cli": "gemini",
}

FIRED = {
    # The prompt of the user is an empty text, which the provider answered.
    ("gemini-tools.requests.jsonl", "CTX215", "note"): 5,
    # A notice of the client stood between two answers; it is no content, so they are neighbours.
    ("session-short.json", "CTX222", "warning"): 1,
    ("session-tools.json", "CTX222", "warning"): 1,
    # Replies that were aborted before they said anything, and one reply that went on after another.
    ("large-session.jsonl", "CTX215", "warning"): 14,
    ("large-session.jsonl", "CTX225", "warning"): 1,
}
"""File, rule and severity -> how many findings; no other recording has any under the profile of its model."""

REPAIRED = {
    "large-session.jsonl": {"empty-removed": 14, "result-put": 18},
    "sdk-v1-events.jsonl": {"result-removed": 1},
    "glaive-toolcall-zh.json": {"result-removed": 2},
}
"""File -> the steps of its repair; no other recording needs one."""


def profile_for(transcript: Transcript) -> str:
    """The profile of the model that was recorded, else that of the format."""
    if transcript.format in OF_FORMAT:
        return OF_FORMAT[transcript.format]
    try:
        record = find_model((transcript.model or "").removeprefix("litellm_proxy/"))
    except CapabilityError:
        return profile_of(None, None, transcript.format)
    return profile_of(record.provider, record.framing, transcript.format)


@pytest.fixture(scope="module")
def recordings(shared: Path) -> list[tuple[str, Transcript]]:
    found = []
    for file in sorted((shared / "transcripts").rglob("*")):
        if not file.is_file() or file.suffix == ".md":
            continue
        try:
            found += [(file.name, one) for one in read_transcripts(file.read_bytes(), file.name)]
        except TranscriptError:
            assert file.name.endswith(".responses.jsonl")
    assert len(found) > 400
    return found


def live(transcript: Transcript) -> tuple[Message, ...]:
    return tuple(message for message in transcript.messages if message.superseded is None)


def test_the_rules_that_fire_on_real_recordings(recordings: list[tuple[str, Transcript]]) -> None:
    fired: Counter[tuple[str, str, str]] = Counter()
    for name, transcript in recordings:
        profile = profile_for(transcript)
        told = provider_findings(
            profile, transcript.messages, where="recording", calls=transcript.call_places
        )
        fired.update((name, item.code, item.severity.value) for item in told)
    assert dict(fired) == FIRED


def test_the_steps_of_repairing_real_recordings(recordings: list[tuple[str, Transcript]]) -> None:
    steps: dict[str, Counter[str]] = {}
    for name, transcript in recordings:
        done = repair(transcript.messages, profile_for(transcript)).done
        if done:
            steps.setdefault(name, Counter()).update(step.kind for step in done)
    assert {name: dict(counts) for name, counts in steps.items()} == REPAIRED


@pytest.mark.parametrize("profile", PROFILES)
def test_every_recording_can_be_repaired_for_every_provider_once_and_for_all(
    recordings: list[tuple[str, Transcript]], profile: str
) -> None:
    for _, transcript in recordings:
        done = repair(transcript.messages, profile)
        told = provider_findings(profile, done.messages, where="prompt")
        assert not [f for f in told if f.code in COVERED and f.severity is not Severity.NOTE]
        touched = {step.location for step in done.done}
        kept = set(map(id, done.messages))
        assert all(m.location in touched or id(m) in kept for m in transcript.messages)
        assert repair(done.messages, profile).done == ()


@pytest.mark.parametrize("strategy", ["drop-oldest", "drop-middle", "pin-and-fold"])
def test_no_strategy_breaks_a_pair_of_a_real_recording(
    recordings: list[tuple[str, Transcript]], strategy: str
) -> None:
    plan = load_plan("preset:default")
    compaction = plan.sections[1].compaction.model_copy(update={"strategy": strategy})
    recent = plan.sections[1].model_copy(update={"compaction": compaction})
    plan = plan.model_copy(update={"sections": (plan.sections[0], recent)})
    models = {"anthropic": "claude-sonnet-4-5", "gemini": "gemini-2.5-flash"}
    pairs = {"CTX212", "CTX213", "CTX214", "CTX215", "CTX216", "CTX217", "CTX221", "CTX223", "CTX224"}
    wanted = {"glued-line.jsonl", "v2.1.119-attachments.jsonl", "session-tools.json", "turn-aborted.jsonl"}
    made = 0
    for name, transcript in recordings:
        if name not in wanted:
            continue
        history, profile = live(transcript), profile_for(transcript)
        model = models.get(profile, "gpt-4o")
        provider = offline_provider(model, window_tokens=10_000_000)
        whole = ContextAssembler(plan, provider=provider).prepare(history).before.tokens
        provider = offline_provider(model, window_tokens=whole * 3 // 4)
        made_of = asyncio.run(ContextAssembler(plan, provider=provider).assemble(history))
        recorded = provider_findings(profile, history, where="recording")
        recorded += pairing_findings(group(history)[1], history)
        prompt = provider_findings(profile, made_of.messages, where="prompt", recorded=history)
        new = newly_broken(recorded, prompt)
        assert not [item for item in new if item.code in pairs]
        assert all(item.section == "recent" for item in new)
        made += 1
    assert made == 4
