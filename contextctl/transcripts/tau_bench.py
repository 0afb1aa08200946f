"""tau-bench results: a list of runs, each with its messages in ``traj`` and without its tools."""

from __future__ import annotations

from collections.abc import Mapping

from contextctl.errors import Location
from contextctl.recording import Transcript
from contextctl.transcripts.chat_messages import json_kind, message_from_json
from contextctl.transcripts.conversations import Draft, place, read_messages, transcripts_from
from contextctl.transcripts.records import Record, Records, split_records

NAME = "tau-bench"


def read_tau_bench(data: bytes, path: str, records: Records | None = None) -> tuple[Transcript, ...]:
    """A list of runs, or a run a line; otherwise as :class:`~contextctl.ports.Reader`."""
    records = records or split_records(data, path)
    drafts = [draft for record in records.records for draft in _drafts(record, path)]
    return transcripts_from(drafts, records, path, NAME, lacks=("tools",))


def _drafts(record: Record, path: str) -> list[Draft]:
    if not isinstance(record.value, list):
        return [_run(record.value, record, path, place(record, path))]
    return [
        _run(value, record, path, Location(path, record.line, index=number))
        for number, value in enumerate(record.value, 1)
    ]


def _run(value: object, record: Record, path: str, location: Location) -> Draft:
    draft = Draft(record.line)
    if not isinstance(value, dict) or not isinstance(value.get("traj"), list):
        kind = json_kind(value)
        wrong = "a run has a list 'traj'" if isinstance(value, dict) else f"a run is an object, not {kind}"
        draft.report(f"{wrong}; it was not read", location, skipped=1)
        return draft
    draft.id = _run_id(value)
    read_messages(draft, value["traj"], record, path, message_from_json)
    return draft


def _run_id(value: Mapping[str, object]) -> str | None:
    task, trial = value.get("task_id"), value.get("trial")
    if not isinstance(task, int | str):
        return None
    return f"task-{task}-trial-{trial}" if isinstance(trial, int | str) else f"task-{task}"
