"""What must hold between a history and a prompt made of it, checked without a line of the engine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from contextctl.messages import Message


def said(message: Message) -> tuple[str, str]:
    """What a message says, as something to compare."""
    return message.role, str([part.model_dump() for part in message.content])


def unpaired(messages: Sequence[Message]) -> Counter[tuple[str, str | None]]:
    """Calls without a result and results without a call, by id."""
    calls = Counter(part.id for message in messages for part in message.calls)
    results = Counter(part.call_id for message in messages for part in message.results)
    found: Counter[tuple[str, str | None]] = Counter()
    found.update({("call", name): count for name, count in (calls - results).items()})
    found.update({("result", name): count for name, count in (results - calls).items()})
    return found


def check(history: Sequence[Message], prompt: Sequence[Message]) -> None:
    """Verbatim or cleared, pairs whole, the newest user message there, few notes; by content alone."""
    originals = Counter(said(message) for message in history)
    made = [message for message in prompt if message.kind is not None and not message.recap]
    kept = Counter(said(message) for message in prompt if message not in made)
    for _, content in kept - originals:
        assert "cleared" in content or "trimmed" in content, "only a tool's result is ever shortened here"
    assert not unpaired(prompt) - unpaired(history)
    assert len(made) <= 2
    newest = max((n for n, message in enumerate(history) if message.is_user_turn), default=None)
    assert newest is None or said(history[newest]) in kept
