"""What a provider would refuse of a recording as it is, and what an assembly newly broke."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from contextctl.checks.pairing import pairing_findings
from contextctl.checks.provider_rules import newly_broken, profile_of, provider_findings
from contextctl.entries import group
from contextctl.findings import Finding, finding
from contextctl.messages import Message
from contextctl.outcome import AssembledContext
from contextctl.ports import ModelProvider
from contextctl.recording import Transcript
from contextctl.repair import repair

PAIR_RULES = frozenset({"CTX212", "CTX213", "CTX214"})
"""Rules that CTX202 tells of a prompt."""


def profile_for(provider: ModelProvider, transcript: Transcript, named: str | None) -> str | None:
    """The provider profile whose rules hold: the one that is named, else the model's; None for a provider of
    the caller's own, which says nothing of its rules."""
    record = getattr(provider, "record", None)
    if named is not None or record is None:
        return named
    return profile_of(record.provider, record.framing, transcript.format)


@dataclass(frozen=True, slots=True)
class Lint:
    """The rules of one profile over one recording; without a profile there is nothing to say.

    ``recorded`` is what is wrong with the recording itself.
    """

    profile: str | None
    recorded: tuple[Finding, ...] = ()
    known: tuple[Finding, ...] = ()

    def of_prompt(
        self, assembled: AssembledContext, history: Sequence[Message], call: int | None
    ) -> list[Finding]:
        """What the assembly broke that the recording had whole, each with the section that broke it. What a
        prompt ends on is asked of recorded calls only."""
        if self.profile is None or assembled.prompt_fingerprint == assembled.history_fingerprint:
            return []
        ends = (len(assembled.messages),) if call is not None else ()
        prompt = provider_findings(
            self.profile, assembled.messages, where="prompt", calls=ends, recorded=history
        )
        return [
            replace(item, message=f"in the prompt, {item.message}")
            for item in newly_broken(self.known, prompt)
            if item.code not in PAIR_RULES
        ]


NO_LINT = Lint(None)
"""Nothing to say of any prompt."""


def lint_of(transcript: Transcript, profile: str | None) -> Lint:
    """The lint of a recording; raises :class:`~contextctl.errors.UsageError` for an unknown profile."""
    if profile is None:
        return Lint(None)
    messages = transcript.messages
    found = provider_findings(profile, messages, where="recording", calls=transcript.call_places)
    pairs = pairing_findings(group(messages)[1], messages)
    return Lint(profile, tuple(found), (*found, *pairs))


def repaired(transcript: Transcript, profile: str | None) -> Transcript:
    """The recording without what its provider would refuse; every step is among its findings. Ids stay those
    of the messages as they were read."""
    named = tuple(
        message if message.id is not None else message.model_copy(update={"id": f"m{place}"})
        for place, message in enumerate(transcript.messages, 1)
    )
    made = repair(named, profile or "openai-chat")
    if not made.done:
        return transcript
    told = tuple(
        finding("CTX035", f"repaired: {step.sentence}", location=step.location, entry=step.id)
        for step in made.done
    )
    return replace(transcript, messages=made.messages, records=(), findings=(*transcript.findings, *told))


def linted(
    transcript: Transcript, profile: str | None, found: list[Finding], *, mend: bool
) -> tuple[Transcript, Lint]:
    """The recording, mended first where that is asked for, and its lint; what there is to say of either is
    added to ``found``."""
    if mend:
        known, transcript = len(transcript.findings), repaired(transcript, profile)
        found += transcript.findings[known:]
    lint = lint_of(transcript, profile)
    found += lint.recorded
    return transcript, lint
