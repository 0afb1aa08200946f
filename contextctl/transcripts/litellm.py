"""Completion logs of LiteLLM: one call a record, with its messages, tools and response.

Where tools are written into the prompt, ``messages`` is what was sent and ``raw_messages`` the same with
native calls: what was sent is read, and ``raw_response`` is what came back. Definitions among the arguments
of the call were sent all the same.
"""

from __future__ import annotations

from collections.abc import Mapping

from contextctl.errors import Location
from contextctl.findings import Finding, Severity, finding
from contextctl.messages import Usage
from contextctl.recording import Transcript
from contextctl.transcripts.call_threads import ModelCall
from contextctl.transcripts.chat_messages import json_kind
from contextctl.transcripts.conversations import Draft, transcripts_from
from contextctl.transcripts.inner_requests import call_from
from contextctl.transcripts.model_calls import drafts_from_calls
from contextctl.transcripts.nested_json import first_number, first_present, first_text, mapping
from contextctl.transcripts.records import Records, split_records

NAME = "litellm"

Values = Mapping[str, object]


def read_litellm(data: bytes, path: str, records: Records | None = None) -> tuple[Transcript, ...]:
    """Every conversation whose calls are logged; otherwise as :class:`~contextctl.ports.Reader`."""
    records = records or split_records(data, path)
    calls: list[ModelCall] = []
    strays: list[tuple[str, Location]] = []
    for record in records.records:
        values = record.value if isinstance(record.value, list) else [record.value]
        for index, value in enumerate(values, 1):
            at = Location(path, record.line, index=index if len(values) > 1 else record.index)
            if isinstance(value, dict) and isinstance(value.get("messages"), list):
                calls.append(_call(value, at))
            else:
                strays.append((_stray(value), at))
    drafts = drafts_from_calls(calls, None)
    if strays and not drafts:
        drafts.append(Draft(strays[0][1].line or 1))
    for text, at in strays:
        drafts[0].report(text, at, skipped=1)
    for draft in drafts:
        if len(draft.requests) == 1:
            draft.id = draft.messages[-1].response_id if draft.messages else None
    return transcripts_from(drafts, records, path, NAME)


def _stray(value: object) -> str:
    if isinstance(value, dict):
        return "a logged call has a list 'messages'; it was not read"
    return f"a logged call is an object, not {json_kind(value)}; it was not read"


def _call(value: Values, at: Location) -> ModelCall:
    is_prompted = isinstance(value.get("raw_messages"), list)
    response = mapping(value.get("response"))
    arguments = mapping(value.get("kwargs"))
    sent = {**arguments, "messages": value["messages"]}
    if not is_prompted:
        sent["tools"] = first_present({**value, **arguments}, "tools")
    time = first_present(value, "timestamp")
    call = call_from(
        sent,
        (mapping(value.get("raw_response")) if is_prompted else {}) or response or None,
        at,
        model=first_text(response, "model") or first_text(value, "model"),
        usage=_usage(mapping(response.get("usage")), value),
        time=None if time is None else str(time),
    )
    call.response_id = first_text(response, "id") or call.response_id
    if is_prompted:
        call.findings.append(_prompted(at))
    return call


def _usage(usage: Values, value: Values) -> Usage | None:
    given = first_number(usage, "prompt_tokens", "input_tokens")
    answered = first_number(usage, "completion_tokens", "output_tokens")
    if given is None and answered is None:
        return None
    details = mapping(usage.get("prompt_tokens_details"))
    cached = first_number(details, "cached_tokens")
    if cached is None:
        cached = first_number(usage, "cache_read_input_tokens", "prompt_cache_hit_tokens")
    return Usage(
        input_tokens=given,
        cached_tokens=cached,
        output_tokens=answered,
        window_tokens=first_number(value, "context_window"),
    )


def _prompted(at: Location) -> Finding:
    return finding(
        "CTX014",
        "the tools were written into the prompt, so that calls and results are plain text and have no pairs",
        location=at,
        severity=Severity.NOTE,
    )
