"""OpenAI Responses: requests one a line or in a document, batch lines, or items that stand alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from contextctl.errors import Location
from contextctl.findings import finding
from contextctl.messages import (
    KNOWN_ROLES,
    AudioPart,
    ContentPart,
    FilePart,
    ImagePart,
    Message,
    OpaquePart,
    Part,
    RefusalPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolResultPart,
    canonical_json,
)
from contextctl.recording import RecordedCompaction, Transcript
from contextctl.transcripts.chat_messages import (
    Malformed,
    json_kind,
    json_text,
    needed_object,
    needed_text,
    opaque_part,
    optional_text,
    read_message,
)
from contextctl.transcripts.conversations import Draft, read_envelope, transcripts_from
from contextctl.transcripts.json_shapes import (
    UnknownKinds,
    data_url,
    json_schema_format,
    listed,
    mapping,
    string,
)
from contextctl.transcripts.records import Records, split_records
from contextctl.transcripts.requests import Item, RequestShape, missing_parts, request_drafts

NAME = "openai-responses"

ITEM_HINT = "an item of the Responses API has a type, or a role and content"
_TEXTS = ("input_text", "output_text", "text", "summary_text", "reasoning_text")
TOOL_LISTS = ("tool_search_output", "additional_tools", "mcp_list_tools")
COMPACTIONS = ("compaction", "compaction_summary")
_OPAQUE = ("mcp_approval_request", "mcp_approval_response")
_ITEMS = ("message", "reasoning", "item_reference", *TOOL_LISTS, *COMPACTIONS, *_OPAQUE)
_PAYLOADS = ("arguments", "input", "action", "operation")


def read_openai_responses(data: bytes, path: str, records: Records | None = None) -> tuple[Transcript, ...]:
    """See :class:`~contextctl.ports.Reader`; every request is a transcript of its own.

    What is stored at the provider and only named in a request is not in the transcript, which then lacks
    ``history``.
    """
    records = records or split_records(data, path)
    return transcripts_from(request_drafts(records.records, path, response_shape()), records, path, NAME)


def response_shape() -> RequestShape:
    """A request for one file, of which each kind of item that is not known is told of once."""
    unknown = UnknownKinds("an item", done="each was kept as an opaque part", hint="its count is an estimate")

    def fill(draft: Draft, request: Mapping[str, object], items: Sequence[Item], location: Location) -> None:
        _fill(_Conversation(draft, unknown), request, items, location)

    return RequestShape("input", is_response_item, fill)


def is_response_item(value: Mapping[str, object]) -> bool:
    """True for an object that is an item, and not a request that holds items."""
    kind = value.get("type")
    if isinstance(kind, str):
        return kind in _ITEMS or kind.endswith(("_call", "_call_output"))
    return "role" in value and "input" not in value


@dataclass(slots=True)
class _Conversation:
    """Items on their way into a draft. Items of the model that follow one another are one response."""

    draft: Draft
    unknown: UnknownKinds
    responses: int = 0
    answering: bool = False
    references: list[Location] = field(default_factory=list)

    def read(self, value: object, location: Location) -> None:
        """Take in one item."""
        kind = _kind(value)
        if kind == "item_reference":
            self.references.append(location)
        elif kind in TOOL_LISTS and isinstance(value, dict):
            self._more_tools(value, location)
        else:
            self._message(value, kind, location)

    def _message(self, value: object, kind: object, location: Location) -> None:
        reading = read_message(message_from_item, value, location, roles=KNOWN_ROLES, hint=ITEM_HINT)
        message = reading.message
        if message is None or message.role != "assistant":
            self.answering = self.answering and message is None
            self.draft.add(reading)
            return
        if isinstance(kind, str) and not is_known_item(kind):
            self.unknown.tell(self.draft, kind, location)
        self.draft.findings += reading.findings
        if kind in COMPACTIONS:
            self.draft.compactions.append(RecordedCompaction(location, "summary", readable=False))
        self._answer(message)

    def _answer(self, message: Message) -> None:
        """Add to the response at hand: to its last message, or as another one where that has its text."""
        last = self.draft.messages[-1] if self.answering else None
        self.responses += not self.answering
        self.answering = True
        if last is None or message.recap or last.recap or (_says(message) and (_says(last) or last.calls)):
            name = f"response-{self.responses}"
            self.draft.messages.append(message.model_copy(update={"response_id": name}))
        else:
            content = (*last.content, *message.content)
            self.draft.messages[-1] = last.model_copy(update={"content": content})

    def _more_tools(self, value: Mapping[str, object], location: Location) -> None:
        """Tools that an item makes known join the tools of the request, each once."""
        tools = value.get("tools")
        if not isinstance(tools, list) or not all(isinstance(tool, dict) for tool in tools):
            wrong = "the tools of an item are a list of objects; they were not read"
            self.draft.report(wrong, location, skipped=1)
            return
        add_tools(self.draft, tools)
        self.answering = self.answering and value.get("type") != "additional_tools"
        call_id = value.get("call_id")
        if isinstance(call_id, str):
            self.answering = False
            result = ToolResultPart(call_id=call_id)
            self.draft.messages.append(Message(role="tool", content=(result,), location=location))


def _fill(
    conversation: _Conversation, request: Mapping[str, object], items: Sequence[Item], location: Location
) -> None:
    draft = conversation.draft
    read_envelope(draft, request, location)
    wanted = mapping(mapping(request.get("text")).get("format"))
    response_format = json_schema_format(wanted) if wanted.get("type") == "json_schema" else None
    parallel = request.get("parallel_tool_calls")
    draft.settings = draft.settings.model_copy(
        update={
            "response_format": response_format,
            "api": "responses",
            "continues": bool(request.get("previous_response_id") or request.get("conversation")),
            "thinking": request.get("reasoning"),
            "parallel_tool_calls": parallel if isinstance(parallel, bool) else None,
        }
    )
    instructions = request.get("instructions")
    if instructions not in (None, ""):
        system = {"role": "system", "content": instructions}
        draft.add(read_message(message_from_item, system, location, roles=KNOWN_ROLES, hint=ITEM_HINT))
    for value, at in items:
        conversation.read(value, at)
    stored = request.get("previous_response_id") or request.get("conversation")
    _tell_absent(draft, bool(stored), conversation.references, location)
    is_template = isinstance(request.get("prompt"), dict)
    absent = bool(stored or conversation.references)
    draft.lacks = missing_parts(draft, system=is_template, history=absent)


def _tell_absent(draft: Draft, stored: bool, references: Sequence[Location], location: Location) -> None:
    hint = "audit a recording of the whole input"
    if stored:
        told = "the request continues a conversation that is stored at the provider and not in the recording"
        draft.findings.append(finding("CTX407", told, location=location, hint=hint))
    if references:
        number = "one item is" if len(references) == 1 else f"{len(references)} items are"
        told = f"{number} stored at the provider and only named in the recording"
        draft.findings.append(finding("CTX407", told, location=references[0], hint=hint))


def _kind(value: object) -> object:
    if not isinstance(value, dict):
        return None
    return value.get("type") if value.get("type") is not None else "message"


def is_known_item(kind: str) -> bool:
    """True for a type of item whose meaning is known."""
    return kind in _ITEMS or kind.endswith("_call")


def add_tools(draft: Draft, tools: Iterable[dict[str, object]]) -> None:
    """Tools that became known on the way join those of the request, each once."""
    merged = {_tool_key(tool): tool for tool in draft.settings.tools or ()}
    for tool in tools:
        merged.setdefault(_tool_key(tool), tool)
    draft.settings = draft.settings.model_copy(update={"tools": tuple(merged.values())})


def _tool_key(tool: Mapping[str, object]) -> str:
    name = tool.get("name")
    return name if isinstance(name, str) else canonical_json(tool)


def _says(message: Message) -> bool:
    return any(isinstance(part, TextPart | RefusalPart) for part in message.content)


def message_from_item(value: object, location: Location) -> Message:
    """One item as a message of its own, what the model made in the role of the assistant.

    Raises :class:`Malformed`.
    """
    if isinstance(value, str):
        return Message(role="user", content=value, location=location)
    value = needed_object(value, "an item")
    kind = _kind(value)
    if not isinstance(kind, str):
        raise Malformed(f"the type of an item is a string, not {json_kind(kind)}")
    if kind == "message":
        role = needed_text(value, "role", "a message")
        content = response_parts(value.get("content"), "a message's content")
        return Message(role=role, content=content, id=string(value.get("id")), location=location)
    if kind in COMPACTIONS:
        sealed = ThinkingPart(signature=needed_text(value, "encrypted_content", "a compaction"))
        return Message(role="assistant", content=(sealed,), recap=True, location=location)
    call_id = optional_text(value, "call_id", "'call_id'")
    if kind.endswith("_call_output") and call_id is not None:
        content = response_parts(value.get("output"), "the output of a call")
        result = ToolResultPart(call_id=call_id, content=content)
        return Message(role="tool", content=(result,), location=location)
    role = "user" if kind == "mcp_approval_response" else "assistant"
    return Message(role=role, content=(_model_part(value, kind, call_id),), location=location)


def _model_part(value: Mapping[str, object], kind: str, call_id: str | None) -> Part:
    if kind == "reasoning":
        texts = [*_reasoning(value.get("summary")), *_reasoning(value.get("content"))]
        return ThinkingPart(text="\n".join(texts), signature=string(value.get("encrypted_content")))
    if kind.endswith("_call") and call_id is not None:
        is_named = kind in ("function_call", "custom_tool_call")
        name = needed_text(value, "name", "a call") if is_named else kind.removesuffix("_call")
        stored = isinstance(value.get("id"), str) and isinstance(value.get("status"), str)
        return ToolCallPart(id=call_id, name=name, arguments=_arguments(value), stored=stored)
    image = value.get("result")
    if kind == "image_generation_call" and isinstance(image, str):
        return ImagePart(url=data_url(f"image/{string(value.get('output_format')) or 'png'}", image))
    return OpaquePart(kind=kind, data=json_text(value, "an item", canonical=True))


def _arguments(value: Mapping[str, object]) -> str:
    payload = next((value[key] for key in _PAYLOADS if value.get(key) is not None), "")
    return payload if isinstance(payload, str) else json_text(payload, "the arguments of a call")


def _reasoning(parts: object) -> list[str]:
    return [text for part in listed(parts) if (text := string(mapping(part).get("text")))]


def response_parts(content: object, what: str) -> tuple[ContentPart, ...]:
    """The parts of a message's content or of an output: text, a list of parts, one part, null."""
    if content is None:
        return ()
    if isinstance(content, str):
        return (TextPart(text=content),)
    if isinstance(content, dict):
        content = [content]
    if not isinstance(content, list):
        raise Malformed(f"{what} is text or a list of parts, not {json_kind(content)}")
    return tuple(_part(part, f"part {number} of {what}") for number, part in enumerate(content, 1))


def _part(part: object, what: str) -> ContentPart:
    if isinstance(part, str):
        return TextPart(text=part)
    part = needed_object(part, what)
    kind = part.get("type")
    if isinstance(kind, str) and kind in _PARTS:
        return _PARTS[kind](part, what)
    return opaque_part(part, what)


def _image(part: Mapping[str, object], what: str) -> ImagePart:
    del what
    address = part.get("image_url")
    url = string(mapping(address).get("url") or address) or string(part.get("file_id"))
    return ImagePart(url=url, detail=string(part.get("detail")))


def _file(part: Mapping[str, object], what: str) -> FilePart:
    return FilePart(name=string(part.get("filename")), data=json_text(part, what, canonical=True))


_PARTS: dict[str, Callable[[Mapping[str, object], str], ContentPart]] = {
    **dict.fromkeys(_TEXTS, lambda part, what: TextPart(text=needed_text(part, "text", what))),
    "refusal": lambda part, what: RefusalPart(text=needed_text(part, "refusal", what)),
    "input_image": _image,
    "computer_screenshot": _image,
    "input_file": _file,
    "input_audio": lambda part, what: AudioPart(data=json_text(part, what, canonical=True)),
}
