"""What each transcript format tells of the requests it comes from, and what it cannot tell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Known = Literal["yes", "no", "sometimes"]
"""``yes``: of every recording, where the request had it; ``sometimes``: of some versions or exports."""


@dataclass(frozen=True, slots=True)
class FormatFacts:
    """What the reader of a format finds in a recording.

    ``what`` it is; whether it knows the ``system`` prompt, the definitions of ``tools``, the provider's
    ``usage`` of a call, the ``times`` of messages, the ``compactions`` that happened on the way, and the
    ``requests`` as they were sent, one a call. ``cannot`` says what no recording of the format tells.
    """

    what: str
    system: Known
    tools: Known
    usage: Known
    times: Known
    compactions: Known
    requests: Known
    cannot: str


_REQUESTS = "usage, times; how requests after one another belong together"

FORMATS_TABLE: dict[str, FormatFacts] = {
    "anthropic": FormatFacts(
        "Anthropic Messages requests, batch lines or bare messages",
        system="sometimes",
        tools="sometimes",
        usage="no",
        times="no",
        compactions="sometimes",
        requests="no",
        cannot=f"{_REQUESTS}; redacted thinking",
    ),
    "claude-code": FormatFacts(
        "Claude Code sessions with sub-agents, rewinds and compactions",
        system="no",
        tools="no",
        usage="yes",
        times="yes",
        compactions="yes",
        requests="no",
        cannot="system prompt, tool definitions, the text that attachments were sent as",
    ),
    "codex": FormatFacts(
        "Codex rollouts",
        system="sometimes",
        tools="sometimes",
        usage="yes",
        times="yes",
        compactions="yes",
        requests="no",
        cannot="tools other than dynamic ones, sealed reasoning, a sealed compaction",
    ),
    "contextctl": FormatFacts(
        "contextctl's own JSON Lines: chat with ids, sections and pins",
        system="yes",
        tools="yes",
        usage="sometimes",
        times="sometimes",
        compactions="sometimes",
        requests="sometimes",
        cannot="what the recording that it was written from did not say",
    ),
    "gemini": FormatFacts(
        "Gemini contents requests or bare contents",
        system="sometimes",
        tools="sometimes",
        usage="no",
        times="no",
        compactions="no",
        requests="no",
        cannot=f"{_REQUESTS}; what is in a cached content",
    ),
    "gemini-cli": FormatFacts(
        "Gemini CLI recordings",
        system="no",
        tools="no",
        usage="yes",
        times="yes",
        compactions="sometimes",
        requests="no",
        cannot="system prompt, tool definitions",
    ),
    "google-adk": FormatFacts(
        "sessions of Google's Agent Development Kit",
        system="no",
        tools="no",
        usage="sometimes",
        times="yes",
        compactions="yes",
        requests="no",
        cannot="instructions, tool definitions, which agent saw which events",
    ),
    "inspect": FormatFacts(
        "inspect_ai logs, .json or .eval",
        system="yes",
        tools="yes",
        usage="yes",
        times="yes",
        compactions="yes",
        requests="yes",
        cannot="calls whose events were left out of the log",
    ),
    "langchain": FormatFacts(
        "LangChain messages, dumped or as objects",
        system="sometimes",
        tools="no",
        usage="sometimes",
        times="no",
        compactions="sometimes",
        requests="no",
        cannot="tool definitions, times, a prompt template around the messages",
    ),
    "langfuse": FormatFacts(
        "Langfuse traces and exported rows",
        system="sometimes",
        tools="sometimes",
        usage="sometimes",
        times="sometimes",
        compactions="sometimes",
        requests="sometimes",
        cannot="what the traced integration left out; calls of a trace without observations",
    ),
    "langsmith": FormatFacts(
        "LangSmith runs",
        system="sometimes",
        tools="sometimes",
        usage="sometimes",
        times="yes",
        compactions="sometimes",
        requests="yes",
        cannot="what the traced integration left out",
    ),
    "litellm": FormatFacts(
        "completion logs of LiteLLM",
        system="yes",
        tools="yes",
        usage="yes",
        times="sometimes",
        compactions="sometimes",
        requests="yes",
        cannot="why a call's input is not the last one's continued",
    ),
    "openai-chat": FormatFacts(
        "OpenAI chat: messages, conversations, requests or batch lines",
        system="yes",
        tools="sometimes",
        usage="no",
        times="no",
        compactions="no",
        requests="no",
        cannot=f"{_REQUESTS}; tools of bare messages",
    ),
    "openai-responses": FormatFacts(
        "OpenAI Responses requests, batch lines or bare items",
        system="sometimes",
        tools="sometimes",
        usage="no",
        times="no",
        compactions="yes",
        requests="no",
        cannot=f"{_REQUESTS}; sealed reasoning and compactions, what is stored at the provider",
    ),
    "openhands": FormatFacts(
        "OpenHands events before 1.0, evaluation output, SDK events",
        system="sometimes",
        tools="sometimes",
        usage="sometimes",
        times="yes",
        compactions="yes",
        requests="no",
        cannot="how events were worded in the prompt (before 1.0)",
    ),
    "otel": FormatFacts(
        "OpenTelemetry traces of model calls (OTLP JSON)",
        system="sometimes",
        tools="sometimes",
        usage="sometimes",
        times="yes",
        compactions="sometimes",
        requests="yes",
        cannot="message text where the instrumentation was told to leave it out",
    ),
    "pi": FormatFacts(
        "pi coding agent sessions",
        system="no",
        tools="no",
        usage="yes",
        times="yes",
        compactions="yes",
        requests="no",
        cannot="system prompt, tool definitions",
    ),
    "pydantic-ai": FormatFacts(
        "Pydantic AI message histories",
        system="sometimes",
        tools="no",
        usage="sometimes",
        times="sometimes",
        compactions="yes",
        requests="no",
        cannot="tool definitions, what history processors changed before sending",
    ),
    "qwen-code": FormatFacts(
        "Qwen Code sessions with sub-agents",
        system="no",
        tools="no",
        usage="sometimes",
        times="yes",
        compactions="yes",
        requests="no",
        cannot="system prompt, tool definitions",
    ),
    "sharegpt": FormatFacts(
        "ShareGPT conversations",
        system="sometimes",
        tools="sometimes",
        usage="no",
        times="no",
        compactions="no",
        requests="no",
        cannot="usage, times, the model, ids of calls",
    ),
    "swe-agent": FormatFacts(
        "SWE-agent trajectories",
        system="yes",
        tools="no",
        usage="no",
        times="no",
        compactions="sometimes",
        requests="sometimes",
        cannot="tool definitions, usage, times",
    ),
    "tau-bench": FormatFacts(
        "tau-bench results",
        system="yes",
        tools="no",
        usage="no",
        times="no",
        compactions="no",
        requests="no",
        cannot="tool definitions, usage, times, the model",
    ),
    "vercel-ai": FormatFacts(
        "Vercel AI SDK UIMessage lists of versions 4 and 5",
        system="sometimes",
        tools="no",
        usage="no",
        times="sometimes",
        compactions="no",
        requests="no",
        cannot="tool definitions, usage, the model",
    ),
}
"""Format name -> facts; a row for each reader."""
