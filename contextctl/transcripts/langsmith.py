"""LangSmith runs: one a line, a list or a page of them, children inside their parents or beside them.

Runs are grouped by the thread that their metadata names, else by their trace. A model call is a run of type
``llm`` that contains no other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from contextctl.errors import Location
from contextctl.messages import Usage
from contextctl.recording import Transcript
from contextctl.transcripts.call_threads import ModelCall
from contextctl.transcripts.chat_messages import json_kind
from contextctl.transcripts.conversations import Draft, transcripts_from
from contextctl.transcripts.inner_requests import call_from
from contextctl.transcripts.model_calls import drafts_from_calls
from contextctl.transcripts.nested_json import (
    decoded,
    first_number,
    first_present,
    first_text,
    mapping,
    objects,
)
from contextctl.transcripts.records import Record, Records, split_records

NAME = "langsmith"

Values = Mapping[str, object]

_THREADS = ("session_id", "thread_id", "conversation_id")
_MESSAGE_KEYS = ("messages", "prompts", "input", "prompt", "contents")


@dataclass(slots=True)
class _Run:
    """One run and where it stands."""

    value: Values
    location: Location
    id: str
    trace: str
    parent: str | None
    order: str

    @property
    def kind(self) -> str | None:
        return first_text(self.value, "run_type")


def read_langsmith(data: bytes, path: str, records: Records | None = None) -> tuple[Transcript, ...]:
    """Every conversation of every thread or trace; otherwise as :class:`~contextctl.ports.Reader`."""
    records = records or split_records(data, path)
    strays: list[tuple[str, Location]] = []
    runs: dict[str, _Run] = {}
    for record in records.records:
        for value, location in _values(record, path):
            for run in _runs(value, location, strays, None):
                runs.setdefault(run.id, run)
    drafts: list[Draft] = []
    for thread, members in _threads(list(runs.values())).items():
        calls = sorted(_innermost_calls(members, runs), key=lambda run: run.order)
        drafts += drafts_from_calls([_call(run, runs) for run in calls], thread or None)
    if strays and not drafts:
        drafts.append(Draft(strays[0][1].line or 1))
    for text, at in strays:
        drafts[0].report(text, at, skipped=1)
    return transcripts_from(drafts, records, path, NAME)


def _values(record: Record, path: str) -> list[tuple[object, Location]]:
    """The runs that a record holds, each with its place."""
    value = record.value
    page = value
    if isinstance(value, dict) and "run_type" not in value:
        page = first_present(value, "runs", "data")
    if not isinstance(page, list):
        return [(value, Location(path, record.line, index=record.index))]
    return [(item, Location(path, record.line, index=index)) for index, item in enumerate(page, 1)]


def _runs(
    value: object, location: Location, strays: list[tuple[str, Location]], parent: _Run | None
) -> Iterator[_Run]:
    """A run and the runs inside it."""
    if not isinstance(value, dict) or not isinstance(value.get("run_type"), str):
        wrong = "has a 'run_type'" if isinstance(value, dict) else f"is an object, not {json_kind(value)}"
        strays.append((f"a run {wrong}; it was not read", location))
        return
    run = _run(value, location, parent)
    yield run
    children = decoded(value.get("child_runs"))
    for child in children if isinstance(children, list) else []:
        yield from _runs(child, location, strays, run)


def _run(value: Values, location: Location, parent: _Run | None) -> _Run:
    identity = first_text(value, "id", "run_id") or f"{location.line}:{location.index}"
    if parent is not None and "id" not in value:
        identity = f"{parent.id}/{identity}/{first_text(value, 'start_time', 'name') or ''}"
    order = first_text(value, "dotted_order") or ""
    above = first_text(value, "parent_run_id") or (parent.id if parent is not None else None)
    if above is None and "." in order:
        above = order.split(".")[-2].partition("Z")[2] or None
    return _Run(
        value,
        location,
        identity,
        first_text(value, "trace_id") or (parent.trace if parent is not None else identity),
        above,
        order or first_text(value, "start_time") or "",
    )


def _threads(runs: list[_Run]) -> dict[str, list[_Run]]:
    """Runs by the thread that one of their trace names, else by trace."""
    key_of: dict[str, str] = {}
    for run in runs:
        metadata = mapping(mapping(run.value.get("extra")).get("metadata"))
        thread = first_text(metadata, *_THREADS)
        if thread:
            key_of.setdefault(run.trace, thread)
    found: dict[str, list[_Run]] = {}
    for run in runs:
        found.setdefault(key_of.get(run.trace, run.trace), []).append(run)
    return found


def _innermost_calls(members: list[_Run], runs: Mapping[str, _Run]) -> list[_Run]:
    """The calls that are not told again by a call inside them; what a tool inside called is another one."""
    calls = [run for run in members if run.kind == "llm"]
    around: set[str] = set()
    for call in calls:
        for above in _above(call, runs):
            if above.kind == "tool":
                break
            around.add(above.id)
    return [call for call in calls if call.id not in around]


def _above(run: _Run, runs: Mapping[str, _Run]) -> Iterator[_Run]:
    """The runs that a run is in, the nearest first."""
    seen = {run.id}
    above = runs.get(run.parent or "")
    while above is not None and above.id not in seen:
        seen.add(above.id)
        yield above
        above = runs.get(above.parent or "")


def _call(run: _Run, runs: Mapping[str, _Run]) -> ModelCall:
    value = run.value
    extra, outputs = mapping(value.get("extra")), mapping(value.get("outputs"))
    parameters = mapping(extra.get("invocation_params"))
    call = call_from(
        _asked(value.get("inputs")),
        _answered(outputs),
        run.location,
        tools=first_present(parameters, "tools", "functions"),
        model=first_text(parameters, "model", "model_name")
        or first_text(mapping(extra.get("metadata")), "ls_model_name")
        or first_text(mapping(outputs.get("llm_output")), "model_name", "model"),
        usage=_usage(value, outputs),
        time=first_text(value, "end_time", "start_time"),
        response_id=run.id,
    )
    above = list(_above(run, runs))
    inside = next((item for item in above if item.kind == "tool"), above[0] if above else run)
    call.group = first_text(inside.value, "name")
    return call


def _asked(value: object) -> object:
    """The input, or what is under its only key where that is no name that a request has."""
    inputs = decoded(value)
    if isinstance(inputs, dict) and len(inputs) == 1 and not any(key in inputs for key in _MESSAGE_KEYS):
        (inner,) = inputs.values()
        return inner if isinstance(decoded(inner), list | dict) else inputs
    return inputs


def _answered(outputs: Values) -> object:
    """The output, or the message that is under one of its keys."""
    if not outputs or any(key in outputs for key in ("generations", "choices", "role", "type")):
        return outputs or None
    return first_present(outputs, "output", "message", "messages") or outputs


def _usage(value: Values, outputs: Values) -> Usage | None:
    """What the run's answer reports, else the run's own counts."""
    for told in _reports(value, outputs):
        given = first_number(told, "input_tokens", "prompt_tokens", "promptTokens")
        answered = first_number(told, "output_tokens", "completion_tokens", "completionTokens")
        if given is None and answered is None:
            continue
        cached = first_number(mapping(told.get("input_token_details")), "cache_read")
        if cached is None:
            cached = first_number(mapping(told.get("prompt_tokens_details")), "cached_tokens")
        if "cache_read_input_tokens" in told and given is not None:
            cached = first_number(told, "cache_read_input_tokens")
            given += (cached or 0) + (first_number(told, "cache_creation_input_tokens") or 0)
        return Usage(input_tokens=given, cached_tokens=cached, output_tokens=answered)
    return None


def _reports(value: Values, outputs: Values) -> Iterator[Values]:
    generations = decoded(outputs.get("generations"))
    while isinstance(generations, list) and generations and isinstance(generations[0], list):
        generations = generations[0]
    for generation in objects(generations)[:1]:
        message = mapping(generation.get("message"))
        yield mapping(mapping(message.get("kwargs") or message.get("data") or message).get("usage_metadata"))
    yield mapping(outputs.get("usage_metadata"))
    yield mapping(outputs.get("usage"))
    llm_output = mapping(outputs.get("llm_output"))
    yield mapping(first_present(llm_output, "token_usage", "tokenUsage", "usage"))
    yield value
