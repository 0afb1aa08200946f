"""The command line through real subprocesses: exit codes, streams, what is loaded, what is never printed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from contextctl import __version__

PLAN = """\
name: small
model: gpt-4o
budget_tokens: {budget}
reserve_output_tokens: 0
sections:
  - {{name: system, share: 0.3, pinned: true}}
  - {{name: recent, share: 0.7, match: rest}}
"""
CANARY = "xylophone-canary"


def chat(turns: int, text: str = "words that are said here") -> str:
    messages = [{"role": "system", "content": "Be brief."}]
    for turn in range(turns):
        messages.append({"role": "user", "content": f"{text} {turn}?"})
        messages.append({"role": "assistant", "content": f"{text} {turn}."})
    messages.append({"role": "user", "content": f"{text}, last."})
    return "".join(json.dumps(message) + "\n" for message in messages)


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A folder with a wide and a tight plan, a good chat, a torn one and a broken plan."""
    (tmp_path / "wide.yaml").write_text(PLAN.format(budget=4000))
    (tmp_path / "tight.yaml").write_text(PLAN.format(budget=60))
    (tmp_path / "tiny.yaml").write_text(PLAN.format(budget=12))
    (tmp_path / "bad.yaml").write_text("modle: x\nsections: [{name: a, share: 12:30}]\n")
    (tmp_path / "chat.jsonl").write_text(chat(6))
    (tmp_path / "torn.jsonl").write_text(chat(6)[:-10])
    (tmp_path / "empty.jsonl").write_text("")
    return tmp_path


def run(
    *arguments: str, cwd: Path, stdin: bytes = b"", **environment: str
) -> subprocess.CompletedProcess[bytes]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith("CONTEXTCTL_")}
    return subprocess.run(
        [sys.executable, "-W", "error", "-m", "contextctl", *arguments],
        cwd=cwd,
        env=kept | environment,
        input=stdin,
        capture_output=True,
        check=False,
        timeout=120,
    )


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ("audit wide.yaml chat.jsonl", 0),
        ("audit tight.yaml chat.jsonl", 0),
        ("audit tight.yaml chat.jsonl --fail-on note", 1),
        ("audit tight.yaml chat.jsonl --fail-on never", 0),
        ("audit tiny.yaml chat.jsonl", 1),
        ("audit tiny.yaml chat.jsonl --exit-zero", 0),
        ("audit tiny.yaml chat.jsonl --fail-on never", 0),
        ("audit tiny.yaml chat.jsonl torn.jsonl", 3),
        ("audit tiny.yaml chat.jsonl torn.jsonl --exit-zero", 3),
        ("audit wide.yaml torn.jsonl", 3),
        ("audit wide.yaml empty.jsonl", 3),
        ("audit wide.yaml missing.jsonl", 3),
        ("audit wide.yaml *.nothing", 3),
        ("audit bad.yaml chat.jsonl", 3),
        ("audit missing.yaml chat.jsonl", 3),
        ("audit wide.yaml chat.jsonl --model gpt-nonsense", 3),
        ("audit wide.yaml chat.jsonl --window 3000", 3),
        ("audit wide.yaml chat.jsonl --every-call", 0),
        ("audit tiny.yaml chat.jsonl --every-call", 1),
        ("audit wide.yaml chat.jsonl --at 6", 0),
        ("audit wide.yaml chat.jsonl --at last", 0),
        ("audit wide.yaml chat.jsonl --at 7", 3),
        ("audit wide.yaml chat.jsonl --at 0", 2),
        ("audit wide.yaml chat.jsonl --at first", 2),
        ("audit wide.yaml chat.jsonl --at 1 --every-call", 2),
        ("audit wide.yaml", 2),
        ("audit wide.yaml chat.jsonl --no-such-option", 2),
        ("audit wide.yaml chat.jsonl --fail-on sometimes", 2),
        ("audit wide.yaml chat.jsonl --format pdf", 2),
        ("audit wide.yaml chat.jsonl --budget 0", 2),
        ("audit wide.yaml chat.jsonl -q -v", 2),
        ("audit wide.yaml chat.jsonl -o no/such/folder/report.json", 2),
        ("no-such-command", 2),
        ("check wide.yaml tight.yaml", 0),
        ("check wide.yaml bad.yaml", 3),
        ("schema plan", 0),
        ("schema nothing", 2),
        ("models", 0),
        ("presets", 0),
    ],
)
def test_every_outcome_has_its_exit_code(work: Path, arguments: str, code: int) -> None:
    done = run(*arguments.split(), cwd=work)
    assert done.returncode == code, done.stderr.decode()
    assert b"Traceback" not in done.stdout + done.stderr


def test_a_clean_run_prints_the_report_on_stdout_and_nothing_on_stderr(work: Path) -> None:
    done = run("audit", "wide.yaml", "chat.jsonl", cwd=work)
    assert done.stderr == b""
    assert done.stdout.endswith(b"\n")
    assert b"\r" not in done.stdout


def test_one_bad_file_does_not_hide_the_others(work: Path) -> None:
    done = run("audit", "wide.yaml", "missing.jsonl", "torn.jsonl", "chat.jsonl", "-f", "json", cwd=work)
    report = json.loads(done.stdout)
    assert [item["path"] for item in report["transcripts"]] == ["torn.jsonl", "chat.jsonl"]
    assert [item["code"] for item in report["findings"]] == ["CTX009"]
    assert report["exit"] == {"code": 3, "name": "input"}
    assert b"missing.jsonl" in done.stderr


def test_json_on_stdout_is_one_document_whatever_is_wrong(work: Path) -> None:
    for plan in ("wide", "tight", "tiny"):
        done = run("audit", f"{plan}.yaml", "torn.jsonl", "chat.jsonl", "-f", "json", cwd=work)
        assert json.loads(done.stdout)["plan"]["name"] == "small"


def test_a_transcript_on_stdin_is_audited(work: Path) -> None:
    done = run("audit", "wide.yaml", "-", "-f", "json", cwd=work, stdin=chat(2).encode())
    assert done.returncode == 0
    assert json.loads(done.stdout)["transcripts"][0]["messages"] == 6


def test_without_a_plan_the_default_preset_is_used_and_said(work: Path) -> None:
    done = run("audit", "chat.jsonl", cwd=work)
    assert done.returncode == 0
    assert b"preset:default" in done.stdout.splitlines()[0]


def test_files_from_adds_names_one_a_line(work: Path) -> None:
    (work / "list.txt").write_text("chat.jsonl\r\n\nchat.jsonl\n")
    done = run("audit", "wide.yaml", "--files-from", "list.txt", "-f", "json", cwd=work)
    assert json.loads(done.stdout)["summary"]["transcripts"] == 1


def test_outputs_are_written_beside_stdout_in_the_format_of_prefix_or_suffix(work: Path) -> None:
    done = run(
        "audit", "wide.yaml", "chat.jsonl", "-o", "a.json", "-o", "jsonl=b=c.txt", "-o", "d.txt", cwd=work
    )
    assert done.returncode == 0
    assert json.loads((work / "a.json").read_bytes())["schema_version"] == 1
    assert all(json.loads(line) for line in (work / "b=c.txt").read_bytes().splitlines())
    assert (work / "d.txt").read_bytes() == done.stdout
    assert sorted(path.name for path in work.iterdir() if path.name.startswith(".")) == []


def test_an_output_that_cannot_be_written_does_not_silence_stdout_or_the_others(work: Path) -> None:
    done = run("audit", "wide.yaml", "chat.jsonl", "-o", "no/folder/a.json", "-o", "b.json", cwd=work)
    assert done.returncode == 2
    assert done.stdout.startswith(b"FITS")
    assert json.loads((work / "b.json").read_bytes())["exit"]["code"] == 0
    assert b"no/folder/a.json" in done.stderr


OWN = """\
from contextctl import CompactionOutcome

class Newest:
    async def compact(self, entries, *, budget_tokens, count):
        kept = tuple(entry for entry in entries if entry.pinned)
        return CompactionOutcome(kept, evicted=tuple(e.id for e in entries if e not in kept))

class Forgets:
    async def compact(self, entries, *, budget_tokens, count):
        return CompactionOutcome(entries[-1:])

nothing = 1
"""


@pytest.mark.parametrize(
    ("given", "code", "said"),
    [
        ("mine=own:Newest", 0, ""),
        ("mine=own:Forgets", 1, "neither kept nor reported as lost"),
        ("other=own:Newest", 3, "unknown strategy 'mine'"),
        ("mine=own:nothing", 2, "no strategy"),
        ("mine=own:Missing", 2, "has no 'Missing'"),
        ("mine=absent:X", 2, "cannot be imported"),
        ("mine", 2, "NAME=MODULE:OBJECT"),
    ],
)
def test_a_strategy_of_ones_own_is_named_on_the_command_line(
    work: Path, given: str, code: int, said: str
) -> None:
    (work / "own.py").write_text(OWN)
    plan = PLAN.format(budget=60).replace("match: rest", "match: rest, compaction: mine")
    (work / "own.yaml").write_text(plan)
    done = run("audit", "own.yaml", "chat.jsonl", "--strategy", given, cwd=work)
    assert done.returncode == code, done.stderr
    assert said in (done.stdout + done.stderr).decode()


def test_events_are_written_one_a_compaction_beside_the_report(work: Path) -> None:
    done = run("audit", "tight.yaml", "chat.jsonl", "--every-call", "--events", "events.jsonl", cwd=work)
    assert done.returncode == 0
    events = [json.loads(line) for line in (work / "events.jsonl").read_bytes().splitlines()]
    assert events
    assert all(event["tokens_after"] <= 60 < event["tokens_before"] for event in events)


def test_options_come_before_the_environment_and_that_before_the_plan(work: Path) -> None:
    def budget(*arguments: str, **environment: str) -> int:
        done = run("audit", "wide.yaml", "chat.jsonl", "-f", "json", *arguments, cwd=work, **environment)
        value: int = json.loads(done.stdout)["budget"]["budget_tokens"]
        return value

    assert budget() == 4000
    assert budget(CONTEXTCTL_BUDGET="3000") == 3000
    assert budget("--budget", "2000", "--reserve", "500", CONTEXTCTL_BUDGET="3000") == 1500


@pytest.mark.parametrize("format", ["text", "json", "jsonl"])
@pytest.mark.parametrize("plan", ["wide", "tight", "tiny"])
def test_no_message_text_is_printed_unless_asked_for(work: Path, format: str, plan: str) -> None:
    lines = chat(6, CANARY).splitlines()
    lines.insert(3, json.dumps({"role": CANARY[:4], "content": CANARY}))
    lines.insert(5, json.dumps({"role": "user", "content": CANARY, "pinned": CANARY}))
    (work / "canary.jsonl").write_text("\n".join(lines) + '\n{"role": "user", "content": "' + CANARY)
    done = run("audit", f"{plan}.yaml", "canary.jsonl", "-f", format, "-v", cwd=work)
    assert CANARY.encode() not in done.stdout + done.stderr
    assert done.returncode == 3


def test_text_is_shown_when_asked_for(work: Path) -> None:
    (work / "canary.jsonl").write_text(chat(2, CANARY))
    for format in ("text", "json", "jsonl"):
        done = run("audit", "wide.yaml", "canary.jsonl", "-f", format, "-v", "--show-text", cwd=work)
        assert CANARY.encode() in done.stdout


def test_a_bug_is_one_line_without_message_text_and_exit_70(work: Path) -> None:
    (work / "canary.jsonl").write_text(chat(2, CANARY))
    script = (
        "import contextctl.auditor as a, sys\n"
        "def boom(self, transcript, *rest): raise RuntimeError(str(transcript.messages))\n"
        "a._Run._audited = boom\n"
        "from contextctl.cli.app import main\n"
        "sys.exit(main(['audit', 'wide.yaml', 'canary.jsonl']))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=work, capture_output=True, check=False)
    assert done.returncode == 70
    assert CANARY.encode() not in done.stdout + done.stderr
    assert done.stderr.decode().count("\n") == 1
    assert "RuntimeError" in done.stderr.decode()


def test_a_reader_that_closes_the_pipe_gets_no_traceback_and_exit_141(work: Path) -> None:
    command = [sys.executable, "-m", "contextctl", "audit", "wide.yaml", "chat.jsonl", "-f", "jsonl"]
    process = subprocess.Popen(command, cwd=work, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    told = process.stderr.read()
    process.stderr.close()
    assert (process.wait(120), told) == (141, b"")


@pytest.mark.parametrize(
    "environment",
    [
        {"PYTHONIOENCODING": "cp1252"},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        {"LC_ALL": "C.UTF-8"},
        {"PYTHONIOENCODING": "ascii", "COLUMNS": "60"},
    ],
)
@pytest.mark.parametrize("format", ["text", "json", "jsonl"])
def test_locale_and_encoding_change_no_byte_of_a_report(
    work: Path, environment: dict[str, str], format: str
) -> None:
    (work / "größe.jsonl").write_text(chat(6, "Grüße aus Köln ☕ שלום"), encoding="utf-8")
    arguments = ("audit", "tight.yaml", "größe.jsonl", "-f", format, "-v", "--show-text")
    usual = run(*arguments, cwd=work, PYTHONUTF8="1")
    other = run(*arguments, cwd=work, **environment)
    assert other.stdout == usual.stdout
    assert other.returncode == usual.returncode == 0
    assert "größe.jsonl" in usual.stdout.decode("utf-8")


@pytest.mark.parametrize(
    ("environment", "arguments", "coloured"),
    [
        ({}, (), False),
        ({"FORCE_COLOR": "1"}, (), True),
        ({"FORCE_COLOR": "0"}, (), False),
        ({"FORCE_COLOR": ""}, (), False),
        ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, (), False),
        ({"NO_COLOR": "1"}, ("--color", "always"), True),
        ({"FORCE_COLOR": "1"}, ("--color", "never"), False),
        ({"FORCE_COLOR": "1"}, ("-f", "json"), False),
    ],
)
def test_colour_goes_by_flag_then_no_color_then_force_color(
    work: Path, environment: dict[str, str], arguments: tuple[str, ...], coloured: bool
) -> None:
    done = run("audit", "tight.yaml", "chat.jsonl", *arguments, cwd=work, **environment)
    assert (b"\x1b" in done.stdout) is coloured


def test_help_has_no_colour_codes_where_ci_forces_colour(work: Path) -> None:
    for arguments in (("--help",), ("audit", "--help")):
        done = run(*arguments, cwd=work, FORCE_COLOR="1", GITHUB_ACTIONS="true")
        assert done.returncode == 0
        assert b"\x1b" not in done.stdout


def test_no_arguments_show_the_help_and_end_in_usage(work: Path) -> None:
    done = run(cwd=work)
    assert done.returncode == 2
    assert b"audit" in done.stdout + done.stderr


def test_version_is_answered_before_the_command_line_library_is_loaded(work: Path) -> None:
    script = (
        "import sys; sys.argv = ['contextctl', '--version']\n"
        "from contextctl.__main__ import run; run()\n"
        "print([m for m in ('typer', 'pydantic', 'rich', 'yaml', 'tiktoken') if m in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=work, capture_output=True, check=True)
    assert done.stdout.decode().splitlines() == [f"contextctl {__version__}", "[]"]


@pytest.mark.parametrize("command", [[], ["audit"], ["check"], ["models"], ["schema"], ["presets"]])
def test_help_loads_neither_a_tokenizer_nor_a_model_class(work: Path, command: list[str]) -> None:
    script = (
        "import sys\nfrom contextctl.cli.app import main\n"
        f"code = main({[*command, '--help']!r})\n"
        "heavy = ('tiktoken', 'yaml', 'contextctl.messages', 'contextctl.plan')\n"
        "loaded = [m for m in heavy if m in sys.modules]\n"
        "print(code, loaded, file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=work, capture_output=True, check=True)
    assert done.stderr.decode().strip() == "0 []"
    assert b"Usage" in done.stdout


def test_importing_the_library_loads_no_command_line_yaml_or_tokenizer(work: Path) -> None:
    script = (
        "import sys, contextctl\n"
        "print([m for m in ('typer', 'rich', 'yaml', 'tiktoken') if m in sys.modules])\n"
        "contextctl.ContextPlan, contextctl.ContextAssembler, contextctl.Message\n"
        "print([m for m in ('typer', 'rich', 'yaml', 'tiktoken') if m in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=work, capture_output=True, check=True)
    assert done.stdout.decode().split("\n")[:2] == ["[]", "[]"]


def test_check_says_every_problem_of_every_plan_with_its_place(work: Path) -> None:
    done = run("check", "bad.yaml", "wide.yaml", cwd=work)
    lines = done.stdout.decode().splitlines()
    assert lines[0] == "bad.yaml:1:1: error CTX003: unknown key 'modle'"
    assert any(line.startswith("bad.yaml:2:29: error CTX004") for line in lines)
    assert lines[-1] == "wide.yaml: ok"


@pytest.mark.parametrize("pick", ["same_as", "window"])
def test_an_unknown_model_names_the_nearest_and_lines_that_work_when_pasted(work: Path, pick: str) -> None:
    done = run("audit", "wide.yaml", "chat.jsonl", "--model", "my-org/gpt-4oo", cwd=work)
    assert done.returncode == 3
    told = done.stderr.decode()
    assert "CTX401" in told
    assert "nearest: gpt-4o, " in told
    lines = told[told.index("models:\n") :]
    if pick == "window":
        lines = lines.replace("{same_as: gpt-4o}  # or ", "")
    (work / "pasted.yaml").write_text((work / "wide.yaml").read_text() + lines)
    done = run("audit", "pasted.yaml", "chat.jsonl", "--model", "my-org/gpt-4oo", cwd=work)
    assert done.returncode == 0, done.stderr


def test_the_plan_schema_accepts_the_shipped_plans_and_refuses_an_unknown_key(work: Path) -> None:
    import jsonschema
    import yaml

    schema = json.loads(run("schema", "plan", cwd=work).stdout)
    jsonschema.Draft7Validator.check_schema(schema)
    validator = jsonschema.Draft7Validator(schema)
    for path in sorted((Path(__file__).parent.parent / "plans").glob("*.yaml")):
        validator.validate(yaml.safe_load(path.read_text(encoding="utf-8")))
    with pytest.raises(jsonschema.ValidationError):
        validator.validate({"sections": [{"name": "a", "share": 0.5, "comapction": "refuse"}]})


def test_the_working_folder_does_not_show_in_a_report(work: Path) -> None:
    done = run("audit", "./wide.yaml", "./chat.jsonl", "-f", "json", cwd=work)
    assert str(work).encode() not in done.stdout
    assert json.loads(done.stdout)["transcripts"][0]["path"] == "chat.jsonl"
