"""Response bodies of providers, which are answers without a prompt, and so nothing that can be audited."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence


def provider_of_answers(values: Sequence[object]) -> str | None:
    """What a file's records are where all of them are response bodies, else None.

    A record may wrap its response as batch results do. An error is a response body of any provider.
    """
    bodies = [_body(item) for value in values for item in (value if isinstance(value, list) else [value])]
    if not bodies or None in bodies:
        return None
    names = [_name(body) for body in bodies if body is not None]
    if None in names:
        return None
    return next((name for name in names if name != _ERRORS), _ERRORS)


_ERRORS = "error responses of a provider"


def _body(value: object) -> Mapping[str, object] | None:
    """The response body in a record: itself, or under ``response`` or ``result`` of a batch result."""
    if not isinstance(value, dict):
        return None
    if not isinstance(value.get("custom_id") or value.get("key"), str):
        return value
    outer = value.get("response") or value.get("result")
    if not isinstance(outer, dict):
        return value
    inner = outer.get("body") or outer.get("message")
    return inner if isinstance(inner, dict) else outer


def _name(body: Mapping[str, object]) -> str | None:
    return next((name for name, matches in _ANSWERS if matches(body)), None)


def _is_chat(body: Mapping[str, object]) -> bool:
    return isinstance(body.get("choices"), list) and "messages" not in body


def _is_responses(body: Mapping[str, object]) -> bool:
    named = str(body.get("object")) in ("response", "response.compaction")
    return named and isinstance(body.get("output"), list) and "input" not in body


def _is_anthropic(body: Mapping[str, object]) -> bool:
    named = body.get("type") == "message" and body.get("role") == "assistant"
    return named and "stop_reason" in body and isinstance(body.get("usage"), dict)


def _is_gemini(body: Mapping[str, object]) -> bool:
    blocked = body.get("promptFeedback", body.get("prompt_feedback"))
    answered = isinstance(body.get("candidates"), list) or isinstance(blocked, dict)
    return answered and "contents" not in body


def _is_error(body: Mapping[str, object]) -> bool:
    return isinstance(body.get("error"), dict) and body.keys() <= {"error", "type", "request_id"}


_ANSWERS: tuple[tuple[str, Callable[[Mapping[str, object]], bool]], ...] = (
    ("openai-chat responses", _is_chat),
    ("openai-responses responses", _is_responses),
    ("anthropic responses", _is_anthropic),
    ("gemini responses", _is_gemini),
    (_ERRORS, _is_error),
)
