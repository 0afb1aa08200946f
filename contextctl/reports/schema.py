"""The JSON Schema of the JSON report."""

from __future__ import annotations

from typing import Any

from contextctl.findings import Severity
from contextctl.outcome import Fate
from contextctl.report import EXIT_NAMES

TEXT: dict[str, Any] = {"type": "string"}
COUNT: dict[str, Any] = {"type": "integer", "minimum": 0}
NUMBER: dict[str, Any] = {"type": "integer"}
FLAG: dict[str, Any] = {"type": "boolean"}
PLACE: dict[str, Any] = {"type": ["integer", "string", "null"]}


def _or_null(schema: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": [schema, {"type": "null"}]}


def _list(schema: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": schema}


def _object(**properties: dict[str, Any]) -> dict[str, Any]:
    """An object with these keys and no others; all but ``text`` are required."""
    return {
        "type": "object",
        "properties": properties,
        "required": [name for name in properties if name != "text"],
        "additionalProperties": False,
    }


def report_schema() -> dict[str, Any]:
    """Draft 2020-12. Every key is always there; what does not apply is null."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "contextctl report",
        **_object(
            schema_version={"const": 1},
            tool=_object(name=TEXT, version=TEXT),
            plan=_object(name=_or_null(TEXT), path=TEXT, digest=TEXT, set=_list(TEXT), carry=FLAG),
            assembler=TEXT,
            model=_or_null(_model()),
            budget=_or_null(_budget()),
            matchers=_list(
                _object(
                    place=TEXT, kind={"enum": ["section", "pin", "expect"]}, entries=COUNT, transcripts=COUNT
                )
            ),
            findings=_list(_finding()),
            transcripts=_list(_transcript()),
            summary=_summary(),
            exit=_object(
                code={"enum": sorted(EXIT_NAMES)}, name={"enum": [EXIT_NAMES[code] for code in EXIT_NAMES]}
            ),
        ),
    }


def _model() -> dict[str, Any]:
    exactness = {"enum": ["exact", "reconstructed", "estimate", "floor"]}
    return _object(
        name=TEXT,
        window_tokens=_or_null(COUNT),
        max_input_tokens=_or_null(COUNT),
        max_output_tokens=_or_null(COUNT),
        tokenizer=_object(name=TEXT, exactness=exactness, margin=TEXT),
    )


def _budget() -> dict[str, Any]:
    return _object(
        limit_tokens=COUNT,
        reserve_output_tokens=COUNT,
        budget_tokens=COUNT,
        soft_tokens=_or_null(COUNT),
        overhead_tokens=COUNT,
        message_budget_tokens=COUNT,
    )


def _finding() -> dict[str, Any]:
    return _object(
        code={"type": "string", "pattern": "^CTX[0-9]{3}$"},
        name=TEXT,
        severity={"enum": [severity.value for severity in Severity]},
        message=TEXT,
        hint=_or_null(TEXT),
        path=_or_null(TEXT),
        line=PLACE,
        column=_or_null(COUNT),
        section=_or_null(TEXT),
        entry=_or_null(TEXT),
        call=_or_null(COUNT),
        fingerprint=TEXT,
    )


def _transcript() -> dict[str, Any]:
    return _object(
        path=TEXT,
        id=TEXT,
        format=TEXT,
        messages=COUNT,
        calls=COUNT,
        lacks=_list(TEXT),
        skipped=COUNT,
        model=_or_null(_model()),
        budget=_or_null(_budget()),
        assemblies=_list(_assembly()),
        findings=_list(_finding()),
    )


def _assembly() -> dict[str, Any]:
    return _object(
        call=_or_null(COUNT),
        status={"enum": ["fits", "compacted", "over_target", "over_budget", "refused"]},
        tokens_before=COUNT,
        tokens_after=_or_null(COUNT),
        tokens_upper=COUNT,
        headroom_tokens=_or_null(COUNT),
        missing_tokens=_or_null(COUNT),
        joint_tokens=NUMBER,
        pinned_tokens=COUNT,
        overcommitted_tokens=COUNT,
        exactness={"enum": ["exact", "reconstructed", "estimate", "floor"]},
        reasons=_list(TEXT),
        history_fingerprint=TEXT,
        prompt_fingerprint=_or_null(TEXT),
        cached_prefix_tokens=_or_null(COUNT),
        prefix_broken_by=_or_null(_object(section=TEXT, rule=TEXT)),
        hypothetical=FLAG,
        summary_calls=COUNT,
        next_to_go=_or_null(
            _object(entry=TEXT, section=TEXT, line=PLACE, role=TEXT, tokens=COUNT, after_tokens=COUNT)
        ),
        lossless_budget_tokens=_or_null(COUNT),
        sections=_list(_section()),
        entries=_list(_entry()),
        notes=_list(_object(section=TEXT, kind=TEXT, position=COUNT, tokens=COUNT, stands_for=_list(TEXT))),
        added=_list(_object(position=COUNT, role=TEXT, tokens=COUNT)),
    )


def _section() -> dict[str, Any]:
    fates = {fate.value: _or_null(COUNT) for fate in Fate}
    return _object(
        name=TEXT,
        share=TEXT,
        strategy=TEXT,
        allotted_tokens=_or_null(COUNT),
        room_tokens=_or_null(COUNT),
        tokens_before=COUNT,
        tokens_after=_or_null(COUNT),
        entries=COUNT,
        **fates,
        empty=FLAG,
    )


def _entry() -> dict[str, Any]:
    return _object(
        id=TEXT,
        section=TEXT,
        messages=_list({"type": ["integer", "string"]}),
        role=TEXT,
        tokens=COUNT,
        pinned=FLAG,
        protected=FLAG,
        fate={"enum": [*(fate.value for fate in Fate), None]},
        rule=_or_null(TEXT),
        position=_or_null(COUNT),
        first_call=_or_null(COUNT),
        last_call=_or_null(COUNT),
        kind=_or_null(TEXT),
        carried_tokens=_or_null(COUNT),
        text=TEXT,
    )


def _summary() -> dict[str, Any]:
    ranks = _object(**{name: _or_null(NUMBER) for name in ("p50", "p90", "p99", "max")})
    return _object(
        transcripts=COUNT,
        assemblies=COUNT,
        over_budget=COUNT,
        evicted_entries=COUNT,
        evicted_tokens=COUNT,
        summarised_entries=COUNT,
        lost_then_needed=_or_null(COUNT),
        quantiles=_object(tokens_before=ranks, headroom_tokens=ranks, evicted_tokens=ranks),
        groups=_list({}),
        cache=_object(prefix_tokens=_or_null(COUNT), uncached_tokens=_or_null(COUNT), breaks=_or_null(COUNT)),
        worst=_or_null(_object(path=TEXT, id=TEXT, call=_or_null(COUNT), missing_tokens=COUNT)),
        findings=_object(error=COUNT, warning=COUNT, note=COUNT),
    )
