"""A summariser behind an OpenAI-compatible endpoint, through the official client (extra ``live``)."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

from contextctl.errors import CapabilityError, SummaryUnusableError
from contextctl.ports import Summary, SummaryRequest

INSTALL_HINT = "install it: pip install 'contextctl[live]'"


@dataclass(frozen=True)
class OpenAICompatibleSummariser:
    """Asks ``model`` for each summary.

    The client takes base URL and key from the environment (``OPENAI_BASE_URL``, ``OPENAI_API_KEY``), gives
    each try ``timeout_seconds`` and tries again ``retries`` times where the server is busy or gone. The
    length limit sent is that of the summary; a model that reasons spends it on that too. Made with the
    client missing, or without a key, it raises :class:`~contextctl.errors.CapabilityError`.
    """

    model: str
    timeout_seconds: float = 60
    retries: int = 2

    def __post_init__(self) -> None:
        self._client()

    def _client(self) -> Any:
        library = _library()
        try:
            return library.AsyncOpenAI(timeout=self.timeout_seconds, max_retries=self.retries)
        except library.OpenAIError:
            raise CapabilityError(
                f"live:{self.model} needs a key",
                hint="set OPENAI_API_KEY; for another server OPENAI_BASE_URL too, and whatever key it takes",
            ) from None

    async def summarise(self, request: SummaryRequest) -> Summary:
        """The model's answer.

        Raises :class:`~contextctl.errors.SummaryUnusableError` where there is none, or where its length limit
        cut it off; cancellation passes.
        """
        library = _library()
        messages = [{"role": m.role, "content": m.text} for m in request.messages()]
        try:
            async with self._client() as client:
                answer = await client.chat.completions.create(
                    model=self.model, messages=messages, max_completion_tokens=request.max_summary_tokens
                )
        except library.OpenAIError as error:
            status = getattr(error, "status_code", None)
            told = type(error).__name__ + (f" {status}" if status is not None else "")
            raise SummaryUnusableError(f"live:{self.model} made no summary: {told}", rule="CTX304") from error
        choice = answer.choices[0] if answer.choices else None
        if choice is None:
            raise SummaryUnusableError(f"live:{self.model} gave no answer", rule="CTX304")
        if choice.finish_reason == "length":
            raise SummaryUnusableError("the summary was cut off by its length limit", rule="CTX304")
        return Summary((choice.message.content or "").strip())


def _library() -> Any:
    try:
        return import_module("openai")
    except ImportError:
        raise CapabilityError("a live summariser needs the package 'openai'", hint=INSTALL_HINT) from None
