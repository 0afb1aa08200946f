"""Live summaries (rule 7.3): an OpenAI-compatible endpoint, asked only for what is not recorded."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

PLAN = """\
model: gpt-4o
budget_tokens: 150
sections:
  - name: recent
    share: 1.0
    match: rest
    compaction: {strategy: summarise-span, max_summary_tokens: 40, keep_recent: 1}
"""


class Endpoint(ThreadingHTTPServer):
    """A server on the loopback address that answers every request as it is told to, and counts them."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.bodies: list[dict[str, Any]] = []
        self.statuses: list[int] = []
        self.delay_seconds = 0.0
        self.text = "They spoke of the harbour."
        self.finish = "stop"

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


class _Handler(BaseHTTPRequestHandler):
    server: Endpoint

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.bodies.append(body)
        time.sleep(self.server.delay_seconds)
        status = self.server.statuses.pop(0) if self.server.statuses else 200
        message = {"role": "assistant", "content": self.server.text}
        answer = {
            "id": "a",
            "object": "chat.completion",
            "created": 0,
            "model": body["model"],
            "choices": [{"index": 0, "message": message, "finish_reason": self.server.finish}],
        }
        data = json.dumps(answer if status == 200 else {"error": {"message": "busy"}}).encode()
        try:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.send_header("retry-after-ms", "1")
            self.end_headers()
            self.wfile.write(data)
        except OSError:  # the client was killed
            pass

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    server = Endpoint()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (tmp_path / "plan.yaml").write_text(PLAN)
    (tmp_path / "chat.jsonl").write_text(conversation("anna"))
    return tmp_path


def conversation(name: str) -> str:
    rows = [
        {
            "role": "assistant" if n % 2 else "user",
            "content": f"{name} asks {n} about the harbour and a ferry",
        }
        for n in range(17)
    ]
    return json.dumps({"id": name, "messages": rows}) + "\n"


WORDS = [sys.executable, "-m", "contextctl", "audit", "plan.yaml", "chat.jsonl", "--journal", "j.jsonl"]
LIVE = [*WORDS, "--summariser", "live:small-model"]


def environment(endpoint: Endpoint, key: str | None = "k") -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    kept.pop("OPENAI_API_KEY", None)
    return kept | {"OPENAI_BASE_URL": endpoint.url} | ({"OPENAI_API_KEY": key} if key else {})


def run(
    work: Path, endpoint: Endpoint, *more: str, words: list[str] = LIVE, key: str | None = "k"
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*words, *more],
        cwd=work,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env=environment(endpoint, key),
    )


def test_7_3_a_model_is_asked_once_told_what_to_do_and_its_answer_is_replayed(
    work: Path, endpoint: Endpoint
) -> None:
    first = run(work, endpoint, "-f", "json")
    assert first.returncode == 0, first.stderr
    (body,) = endpoint.bodies
    assert (body["model"], body["max_completion_tokens"]) == ("small-model", 40)
    assert [message["role"] for message in body["messages"]] == ["system", "user"]
    (row,) = [json.loads(line) for line in (work / "j.jsonl").read_text().splitlines()]
    assert row["summariser"] == "live:small-model"
    replayed = run(work, endpoint, "-f", "json", words=WORDS)
    assert (replayed.stdout, replayed.returncode) == (first.stdout, 0)
    assert len(endpoint.bodies) == 1


def test_7_3_progress_is_on_stderr_without_a_word_of_what_was_said(work: Path, endpoint: Endpoint) -> None:
    done = run(work, endpoint)
    assert "asking for a summary of recent: m1 to" in done.stderr
    assert "harbour" not in done.stdout + done.stderr
    (work / "j.jsonl").unlink()
    assert run(work, endpoint, "-q").stderr == ""


def test_7_3_a_busy_server_is_asked_again_as_often_as_is_said(work: Path, endpoint: Endpoint) -> None:
    endpoint.statuses = [503, 503]
    assert run(work, endpoint, "--summariser-retries", "2").returncode == 0
    assert len(endpoint.bodies) == 3
    (work / "j.jsonl").unlink()
    endpoint.statuses = [503]
    done = run(work, endpoint, "--summariser-retries", "0")
    assert done.returncode == 1
    assert "InternalServerError 503" in done.stdout


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ({"finish": "length"}, "cut off by its length limit"),
        ({"text": "  "}, "the summary is empty"),
        ({"text": "word " * 60}, "were set aside"),
        ({"delay_seconds": 2.0}, "APITimeoutError"),
    ],
)
def test_5_6_a_live_summary_that_cannot_be_used_fails_and_is_not_recorded(
    work: Path, endpoint: Endpoint, fault: dict[str, Any], said: str
) -> None:
    for name, value in fault.items():
        setattr(endpoint, name, value)
    done = run(work, endpoint, "--summariser-timeout", "0.5", "--summariser-retries", "0", "-f", "json")
    assert done.returncode == 1
    assert "CTX304" in done.stdout
    assert said in done.stdout
    assert not (work / "j.jsonl").exists()


def test_a_live_summariser_without_a_key_ends_the_run_before_anything_is_read(
    work: Path, endpoint: Endpoint
) -> None:
    done = run(work, endpoint, key=None)
    assert (done.returncode, done.stdout) == (3, "")
    assert "OPENAI_API_KEY" in done.stderr


def test_without_the_extra_the_way_to_install_it_is_named(work: Path, endpoint: Endpoint) -> None:
    (work / "openai.py").write_text("raise ImportError('not here')\n")
    words = [
        sys.executable,
        "-c",
        "import sys; sys.path.insert(0, '.'); from contextctl.__main__ import run; run()",
    ]
    done = run(work, endpoint, words=[*words, *LIVE[3:]])
    assert done.returncode == 3
    assert "contextctl[live]" in done.stderr


def test_7_3_a_run_killed_amid_50_summaries_and_started_again_asks_for_none_that_was_recorded(
    work: Path, endpoint: Endpoint
) -> None:
    distinct = 50
    (work / "chat.jsonl").write_text("".join(conversation(f"c{n}") for n in range(distinct)))
    journal = work / "j.jsonl"
    process = subprocess.Popen(LIVE, cwd=work, stdout=subprocess.DEVNULL, env=environment(endpoint))
    deadline = time.monotonic() + 100
    while time.monotonic() < deadline:
        if journal.exists() and journal.read_bytes().count(b"\n") >= distinct // 3:
            break
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    process.wait()
    recorded = journal.read_bytes().count(b"\n")
    assert distinct // 3 <= recorded < distinct
    in_flight = len(endpoint.bodies) - recorded
    assert in_flight in {0, 1}
    done = run(work, endpoint)
    assert done.returncode == 0, done.stderr
    assert len(endpoint.bodies) <= distinct + in_flight
    assert journal.read_bytes().count(b"\n") == distinct
