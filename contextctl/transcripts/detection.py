"""Which format a file has, by its content and never by its name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from io import BytesIO
from operator import or_
from zipfile import BadZipFile, ZipFile

from contextctl.errors import Location, TranscriptError
from contextctl.findings import Finding, finding
from contextctl.transcripts.answers import provider_of_answers
from contextctl.transcripts.compression import GZIP, ZSTD, unpacked
from contextctl.transcripts.conversations import transcript_error
from contextctl.transcripts.field_map import suggested_map, told_keys
from contextctl.transcripts.records import Record, Records, split_records
from contextctl.transcripts.request_signs import BATCH_KEYS, Signs, is_response_item, objects_in, signs_of

SNIFFED_RECORDS = 60
"""How many of a file's first records tell what it is; a session's signature may come late."""

_CODEX_TYPES = ("session_meta", "response_item", "event_msg", "turn_context", "compacted", "world_state")
_RESPONSES_BESIDE = ("model", "instructions", "previous_response_id", "conversation", "prompt")
_LANGCHAIN_TYPES = ("human", "ai", "system", "developer", "tool", "function", "chat", "AIMessageChunk")
_MEDIA_LISTS = ("images", "videos", "audios")
_OBSERVATION_TYPES = ("GENERATION", "SPAN", "EVENT", "AGENT", "TOOL", "CHAIN")
_TRACE_KEYS = frozenset({"sessionId", "session_id", "bookmarked", "projectId", "project_id"})
_OTLP_KEYS = ("resourceSpans", "resourceLogs", "resource_spans", "resource_logs", "batches")

_PACKED: tuple[tuple[bytes, str, str], ...] = (
    (GZIP, "gzip-compressed twice", "decompress it first, with gzip -d"),
    (ZSTD, "zstd-compressed twice", "decompress it first, with zstd -d"),
    (b"PK\x03\x04", "a zip archive", "unpack it first"),
    (b"BZh", "bzip2-compressed", "decompress it first, with bzip2 -d"),
    (b"\xfd7zXZ\x00", "xz-compressed", "decompress it first, with xz -d"),
    (b"\xff\xfe", "UTF-16 text", "save it as UTF-8"),
    (b"\xfe\xff", "UTF-16 text", "save it as UTF-8"),
)


@dataclass(frozen=True, slots=True)
class Sniff:
    """What a signature may look at: the first records' objects, and the signs in all of the records."""

    objects: Sequence[dict[str, object]]
    signs: Signs

    @classmethod
    def of(cls, records: Sequence[Record]) -> Sniff:
        """What these records show."""
        values = [record.value for record in records]
        return cls(list(objects_in(values[:SNIFFED_RECORDS])), reduce(or_, map(signs_of, values), Signs.NONE))

    @property
    def format(self) -> str | None:
        """The name of the first format whose signature matches."""
        return next((name for name, matches in FORMATS if matches(self)), None)


def _any_has(sniff: Sniff, *keys: str) -> bool:
    return any(all(key in value for key in keys) for value in sniff.objects)


def _is_own(sniff: Sniff) -> bool:
    if any("contextctl" in value for value in sniff.objects):
        return True
    return Signs.OWN in sniff.signs


def _is_tau_bench(sniff: Sniff) -> bool:
    return any(isinstance(value.get("traj"), list) for value in sniff.objects)


def _is_chat(sniff: Sniff) -> bool:
    return any(isinstance(value.get("role"), str) for value in sniff.objects) or Signs.REQUEST in sniff.signs


def _is_anthropic(sniff: Sniff) -> bool:
    """Signs of one provider's shape against the other's; a plain exchange goes by the model's name."""
    return Signs.ANTHROPIC in sniff.signs and Signs.CHAT not in sniff.signs


def _is_gemini_cli(sniff: Sniff) -> bool:
    return any(_any_has(sniff, key) for key in ("projectHash", "$rewindTo", "$set"))


def _is_gemini(sniff: Sniff) -> bool:
    requests = objects_in(value.get(key) for value in sniff.objects for key in BATCH_KEYS)
    return any("contents" in value for value in (*sniff.objects, *requests)) or _any_has(
        sniff, "role", "parts"
    )


def _is_responses(sniff: Sniff) -> bool:
    """A request with ``input``, or items that stand alone."""
    inner = objects_in(value.get(key) for value in sniff.objects for key in BATCH_KEYS)
    for value in (*sniff.objects, *inner):
        if "input" in value and "messages" not in value and any(key in value for key in _RESPONSES_BESIDE):
            return True
        if is_response_item(value):
            return True
    return False


def _is_codex(sniff: Sniff) -> bool:
    """Also the oldest layout, in which items stand bare between records of the state."""
    if any(value.get("record_type") == "state" for value in sniff.objects):
        return True
    return any(value.get("type") in _CODEX_TYPES and "payload" in value for value in sniff.objects)


def _paged(sniff: Sniff) -> list[dict[str, object]]:
    """The first records that are objects, and those inside a page of results."""
    pages = [value[key] for value in sniff.objects for key in ("data", "traces", "runs") if key in value]
    return [*sniff.objects, *objects_in(pages)]


def _is_langfuse(sniff: Sniff) -> bool:
    """A trace with its observations, rows of observations, or rows of traces."""
    for value in _paged(sniff):
        if isinstance(value.get("observations"), list) and ("trace" in value or "input" in value):
            return True
        if "parentObservationId" in value or "parent_observation_id" in value:
            return True
        if ("traceId" in value or "trace_id" in value) and value.get("type") in _OBSERVATION_TYPES:
            return True
        if "timestamp" in value and {"input", "output"} <= set(value) and not _TRACE_KEYS.isdisjoint(value):
            return True
    return False


def _is_google_adk(sniff: Sniff) -> bool:
    return any("author" in event for value in sniff.objects for event in objects_in([value.get("events")]))


def _is_qwen_code(sniff: Sniff) -> bool:
    """The tree of another agent's sessions, with the contents of another provider."""
    records = [value for value in sniff.objects if "parentUuid" in value]
    return any("systemPayload" in value for value in records) or any(
        "parts" in message for message in objects_in(value.get("message") for value in records)
    )


def _is_langsmith(sniff: Sniff) -> bool:
    keys = ("dotted_order", "trace_id", "inputs", "child_runs")
    return any("run_type" in value and any(key in value for key in keys) for value in _paged(sniff))


def _is_otel(sniff: Sniff) -> bool:
    """OTLP JSON, or spans or log records as exporters write them, one a line."""
    for value in sniff.objects:
        trace = value.get("trace")
        if any(key in value or (isinstance(trace, dict) and key in trace) for key in _OTLP_KEYS):
            return True
        context = value.get("context")
        ids = context if isinstance(context, dict) else value
        if ("spanId" in ids or "span_id" in ids) and isinstance(value.get("attributes"), dict | list):
            return True
    return False


def _is_litellm(sniff: Sniff) -> bool:
    return any(_any_has(sniff, "messages", "response", key) for key in ("latency_sec", "cost"))


def _is_sharegpt(sniff: Sniff) -> bool:
    """Also where the turns are called messages, and media are listed beside them."""
    return _any_has(sniff, "conversations") or any(_any_has(sniff, "messages", key) for key in _MEDIA_LISTS)


def _is_openhands(sniff: Sniff) -> bool:
    """An event, or a run with its events; SDK events say their kind last."""
    return _any_has(sniff, "history", "instance_id") or any(map(_is_openhands_event, sniff.objects))


def _is_openhands_event(value: dict[str, object]) -> bool:
    kind = value.get("kind")
    if isinstance(kind, str) and "source" in value:
        return kind.endswith("Event") or kind == "Condensation"
    return (
        isinstance(value.get("id"), int)
        and "source" in value
        and ("action" in value or "observation" in value)
    )


def _is_pi(sniff: Sniff) -> bool:
    return any(value.get("type") == "session" and "cwd" in value for value in sniff.objects)


def _is_inspect(sniff: Sniff) -> bool:
    """A log, or a sample that was taken out of one."""
    return _any_has(sniff, "eval", "samples") or _any_has(sniff, "epoch", "target", "messages")


def _is_langchain(sniff: Sniff) -> bool:
    """A message in one of the three forms, alone or in a list; flat ones only with words of their own."""
    held = [
        item
        for value in sniff.objects
        for holder in (value, value.get("kwargs"), value.get("values"))
        if isinstance(holder, dict)
        for item in objects_in([value, holder.get("messages")])
    ]
    return any(map(_is_langchain_message, held))


def _is_langchain_message(value: dict[str, object]) -> bool:
    if value.get("lc") == 1 and isinstance(value.get("id"), list):
        return True
    kind = value.get("type")
    if not isinstance(kind, str) or "role" in value:
        return False
    if set(value) == {"type", "data"} and isinstance(value["data"], dict):
        return kind in _LANGCHAIN_TYPES and "content" in value["data"]
    return kind in ("human", "ai", "AIMessageChunk", "HumanMessageChunk") and "content" in value


def _held(sniff: Sniff) -> Iterator[dict[str, object]]:
    """The first objects and those in their lists of messages."""
    for value in sniff.objects:
        yield from objects_in([value, value.get("messages"), value.get("all_messages")])


def _is_pydantic_ai(sniff: Sniff) -> bool:
    return any(
        value.get("kind") in ("request", "response") and isinstance(value.get("parts"), list)
        for value in _held(sniff)
    )


def _is_vercel_ai(sniff: Sniff) -> bool:
    return any(map(_is_ui_message, _held(sniff)))


def _is_ui_message(value: dict[str, object]) -> bool:
    """A message of the screen; messages of a trace have parts too, and no id."""
    if "role" not in value:
        return False
    parts, types = value.get("parts"), [part.get("type") for part in objects_in([value.get("parts")])]
    if not isinstance(parts, list) or not all(isinstance(kind, str) for kind in types):
        return isinstance(value.get("toolInvocations"), list)
    return ("id" in value and bool(types)) or any(str(kind).startswith(("tool-", "step-")) for kind in types)


FORMATS: tuple[tuple[str, Callable[[Sniff], bool]], ...] = (
    ("contextctl", _is_own),
    ("tau-bench", _is_tau_bench),
    ("swe-agent", lambda sniff: _any_has(sniff, "trajectory", "history")),
    ("gemini-cli", _is_gemini_cli),
    ("openhands", _is_openhands),
    ("pi", _is_pi),
    ("google-adk", _is_google_adk),
    ("qwen-code", _is_qwen_code),
    ("claude-code", lambda sniff: _any_has(sniff, "parentUuid")),
    ("codex", _is_codex),
    ("inspect", _is_inspect),
    ("langsmith", _is_langsmith),
    ("otel", _is_otel),
    ("langfuse", _is_langfuse),
    ("litellm", _is_litellm),
    ("langchain", _is_langchain),
    ("pydantic-ai", _is_pydantic_ai),
    ("vercel-ai", _is_vercel_ai),
    ("sharegpt", _is_sharegpt),
    ("gemini", _is_gemini),
    ("openai-responses", _is_responses),
    ("anthropic", _is_anthropic),
    ("openai-chat", _is_chat),
)
"""Signatures in the order in which they are tried; the first that matches names the format. A format that
no reader stands behind is named, so that it is refused and not misread."""


INNER_FORMATS = (
    "contextctl",
    "langchain",
    "pydantic-ai",
    "vercel-ai",
    "gemini",
    "openai-responses",
    "anthropic",
    "openai-chat",
)
"""The formats that a request inside a wrapper may have."""


def detect_requests(records: Records) -> str:
    """The format of records that are requests, each with its list of messages."""
    sniff = Sniff.of(records.records)
    found = (name for name, matches in FORMATS if name in INNER_FORMATS and matches(sniff))
    return next(found, "openai-chat")


def check_bytes(data: bytes, path: str) -> None:
    """Refuse unpacked bytes that are no text of ours: UTF-16, an archive that is of no format.

    Raises :class:`~contextctl.errors.TranscriptError`.
    """
    if archive_format(data) is not None:
        return
    for start, what, hint in _PACKED:
        if data.startswith(start):
            message = f"the file is {what}, which is not read"
            raise transcript_error([finding("CTX014", message, location=Location(path, 1), hint=hint)])


def archive_format(data: bytes) -> str | None:
    """The format of a zip archive, which holds no records until it is unpacked; None for anything else."""
    if not data.startswith(b"PK\x03\x04"):
        return None
    try:
        with ZipFile(BytesIO(data)) as archive:
            return "inspect" if "header.json" in archive.namelist() else None
    except (BadZipFile, NotImplementedError, OSError, ValueError):
        # What zipfile raises for a damaged or unusual archive; it is then refused by name as any other zip.
        return None


def detect(data: bytes, path: str = "-", *, known: Iterable[str] = ()) -> str:
    """The name of the format of these bytes, whether there is a reader for it or not.

    Raises :class:`~contextctl.errors.TranscriptError` where no signature matches, or no record can be read;
    the error names the keys that were seen and the ``known`` formats.
    """
    data, _ = unpacked(data, path)
    check_bytes(data, path)
    packed = archive_format(data)
    if packed is not None:
        return packed
    return detect_records(split_records(data, path), path, known=known)


def detect_records(records: Records, path: str, *, known: Iterable[str] = ()) -> str:
    """The same from records that were already read."""
    check_not_empty(records, path)
    answers = provider_of_answers([record.value for record in records.records])
    if answers is not None:
        raise transcript_error([_only_answers(answers, Location(path, records.records[0].line))])
    sniff = Sniff.of(records.records)
    name = sniff.format
    if name is None:
        raise _not_understood(sniff, records, path, known)
    return name


def check_not_empty(records: Records, path: str) -> None:
    """Refuse a file that holds nothing. Raises :class:`~contextctl.errors.TranscriptError`."""
    if not records.records and records.findings:
        raise transcript_error(records.findings)
    if not records.records or all(record.value == [] for record in records.records):
        empty = "the file is empty, so there is nothing to audit"
        raise transcript_error(
            [finding("CTX013", empty, location=Location(path, 1), hint="record a message")]
        )


def _only_answers(provider: str, location: Location) -> Finding:
    return finding(
        "CTX014",
        f"the file holds {provider}, answers without the prompts that they answer",
        location=location,
        hint="it holds responses; the file of the requests that were sent is the one to audit",
    )


def _not_understood(sniff: Sniff, records: Records, path: str, known: Iterable[str]) -> TranscriptError:
    keys = {key for value in sniff.objects for key in value}
    seen = f"its records have {told_keys(keys)}" if keys else "it holds no JSON object"
    option = suggested_map(sniff.objects)
    ways = [f"where its records wrap requests, say where the messages are: {option}"] if option else []
    names = ", ".join(known)
    ways += [f"the formats that are read are {names}"] if names else []
    wrong = finding(
        "CTX014",
        f"the format is not understood: {seen}",
        location=Location(path, records.records[0].line),
        hint="; ".join(ways) or None,
    )
    return transcript_error([wrong, *records.findings])
