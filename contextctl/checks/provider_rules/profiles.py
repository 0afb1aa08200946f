"""The profiles of providers whose rules are known, and which of them a model has."""

from __future__ import annotations

PROFILES = ("openai-chat", "openai-responses", "anthropic", "gemini", "bedrock")
"""Every profile; ``bedrock`` has the rules of ``anthropic``."""

BLOCKS = frozenset({"anthropic", "bedrock"})
"""Profiles whose answers and results are blocks of messages that alternate, neighbours of one role merged."""

SYSTEM_APART = frozenset({"anthropic", "bedrock", "gemini"})
"""Profiles whose system prompt is a field of the request, and whose first message is the user's."""

RESULTS_FOLLOW = frozenset({"openai-chat", "anthropic", "bedrock", "gemini"})
"""Profiles that want a result directly after its call; the Responses API pairs by id alone."""

RESPONSES_FORMATS = frozenset({"openai-responses", "codex"})
"""Formats of recordings whose requests go to the Responses API."""

_OF_PROVIDER = {"anthropic": "anthropic", "google": "gemini", "bedrock": "bedrock", "amazon": "bedrock"}


def profile_of(model_provider: str | None, framing: str | None, format: str | None = None) -> str:
    """The profile of a model, from the provider and the framing that the registry has for it.

    A framing that is named after a provider tells more than ``plan``, which is the provider of a model that
    only a plan knows. ``format`` is that of a recording: it tells apart the two APIs of OpenAI. Any other
    model is taken to be served by an API like OpenAI's chat.
    """
    family = (framing or "").partition("-")[0]
    if model_provider in _OF_PROVIDER:
        return _OF_PROVIDER[model_provider]
    if family in ("anthropic", "gemini"):
        return family
    return "openai-responses" if format in RESPONSES_FORMATS else "openai-chat"
