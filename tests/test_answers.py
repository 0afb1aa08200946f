"""Files of a provider's answers, which are refused by name, and those that only look like them."""

from __future__ import annotations

import json

import pytest

from contextctl.errors import TranscriptError
from contextctl.transcripts import read_transcripts
from contextctl.transcripts.detection import detect

USER = {"role": "user", "content": "hello"}
CHAT = {"object": "chat.completion", "choices": [{"message": {"role": "assistant", "content": "hi"}}]}
ERROR = {"error": {"message": "no", "code": "unsupported_value"}}
ANTHROPIC = {"type": "message", "role": "assistant", "content": [], "stop_reason": None, "usage": {}}


def jsonl(*rows: object) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


@pytest.mark.parametrize(
    ("rows", "name"),
    [
        ([CHAT, CHAT], "openai-chat responses"),
        ([ERROR, CHAT], "openai-chat responses"),
        ([[CHAT, CHAT]], "openai-chat responses"),
        ([{"custom_id": "a", "response": {"status_code": 200, "body": CHAT}}], "openai-chat responses"),
        ([{"object": "response", "output": []}], "openai-responses responses"),
        ([ANTHROPIC], "anthropic responses"),
        ([{"custom_id": "a", "result": {"type": "succeeded", "message": ANTHROPIC}}], "anthropic responses"),
        ([{"candidates": [], "usageMetadata": {}}], "gemini responses"),
        ([ERROR], "error responses"),
    ],
)
def test_a_file_of_answers_is_refused_by_name_and_points_to_the_requests(
    rows: list[object], name: str
) -> None:
    with pytest.raises(TranscriptError) as caught:
        read_transcripts(jsonl(*rows), "x.responses.jsonl")
    (problem,) = caught.value.problems
    assert (problem.code, problem.location.line) == ("CTX014", 1)
    assert name in problem.message
    assert "the requests" in (problem.hint or "")


def test_answers_beside_a_prompt_are_no_file_of_answers() -> None:
    assert detect(jsonl({"role": "user", "content": "hi", "model": "claude-x"}, ANTHROPIC)) == "anthropic"
    assert detect(jsonl({**CHAT, "messages": [USER]})) == "openai-chat"
    assert detect(jsonl(USER, {"role": "assistant", "content": "hi"})) == "openai-chat"
