"""Gemini CLI recordings: one JSON document, or a line for each message, update and rewind."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from contextctl.errors import Location
from contextctl.findings import finding
from contextctl.messages import Message, Part, TextPart, ThinkingPart, ToolCallPart, ToolResultPart, Usage
from contextctl.recording import RecordedCompaction, Transcript
from contextctl.transcripts.chat_messages import Malformed, json_kind, json_text, needed_text, optional_text
from contextctl.transcripts.conversations import Draft, place, transcripts_from
from contextctl.transcripts.gemini import either, function_result, gemini_parts
from contextctl.transcripts.json_shapes import UnknownKinds, count, listed, mapping, note_model, string
from contextctl.transcripts.records import Record, Records, split_records

NAME = "gemini-cli"

_HINT = "a record has an id, a type and content; a gemini record may have tool calls"
_SCREEN = ("info", "error", "warning")


def read_gemini_cli(data: bytes, path: str, records: Records | None = None) -> tuple[Transcript, ...]:
    """Both layouts; otherwise as :class:`~contextctl.ports.Reader`.

    Messages for the screen and the summaries of thoughts, which are not sent back to the model, are left
    out. The recording never holds the system prompt and the tools.
    """
    records = records or split_records(data, path)
    unknown = UnknownKinds("a record")
    sessions: list[_Session] = []
    for record in records.records:
        if not sessions or _begins_another(record, sessions[-1]):
            sessions.append(_Session(Draft(record.line, lacks=("system", "tools")), unknown))
        sessions[-1].read(record, path)
    for session in sessions:
        session.finish()
    return transcripts_from([session.draft for session in sessions], records, path, NAME)


@dataclass(frozen=True, slots=True)
class _Turn:
    """One record and what it says to the model: nothing, a message, or an answer and its tools' results."""

    id: str
    messages: tuple[Message, ...]
    superseded: Literal["compaction", "rewind"] | None = None
    recap: bool = False

    @property
    def spoken(self) -> list[tuple[str, str, Sequence[Part]]]:
        """What the model reads of it, however its text is cut into parts."""
        told: list[tuple[str, str, Sequence[Part]]] = []
        for message in self.messages:
            text = "".join(part.text for part in message.content if isinstance(part, TextPart))
            others = [part for part in message.content if not isinstance(part, TextPart | ThinkingPart)]
            told.append((message.role, text, others))
        return told


@dataclass(slots=True)
class _Session:
    """One recording as its lines go by.

    ``turns`` hold everything in order, what was taken back included; ``live`` says where the turns stand
    that the model still sees, by id.
    """

    draft: Draft
    unknown: UnknownKinds
    turns: list[_Turn] = field(default_factory=list)
    live: dict[str, int] = field(default_factory=dict)

    def read(self, record: Record, path: str) -> None:
        """Take in one line, or the one document."""
        value, location = record.value, place(record, path)
        if not isinstance(value, dict):
            self._refuse(f"a record is an object, not {json_kind(value)}", location)
        elif isinstance(value.get("$rewindTo"), str):
            self._rewind(value["$rewindTo"])
        elif isinstance(value.get("$set"), dict):
            self._update(value["$set"], location)
        elif isinstance(value.get("id"), str):
            self._put(self._turn(value, location))
        elif "sessionId" in value or "projectHash" in value:
            self._open(value, location)
        else:
            self._refuse("the record is neither a message nor an update", location)

    def finish(self) -> None:
        """Hand the messages to the draft, with the model where it changes."""
        for turn in self.turns:
            for message in turn.messages:
                fields = {"superseded": turn.superseded, "recap": turn.recap}
                model = note_model(self.draft, message.model)
                self.draft.messages.append(message.model_copy(update={**fields, "model": model}))

    def _open(self, value: Mapping[str, object], location: Location) -> None:
        self.draft.id = string(value.get("sessionId")) or self.draft.id
        messages = value.get("messages")
        if messages is not None and not isinstance(messages, list):
            self._refuse(f"'messages' is a list, not {json_kind(messages)}", location)
        for turn in self._listed(messages, location):
            self._put(turn)

    def _refuse(self, wrong: str, location: Location) -> None:
        told = finding("CTX011", f"{wrong}; it was not read", location=location, hint=_HINT)
        self.draft.findings.append(told)
        self.draft.skipped += 1

    def _listed(self, messages: object, location: Location) -> list[_Turn]:
        """The turns of a list of records. A result that a call's own record holds is not told again."""
        values = listed(messages)
        answered = {
            string(call.get("id"))
            for value in values
            for call in map(mapping, listed(mapping(value).get("toolCalls")))
            if call.get("result") is not None
        }
        places = (replace(location, index=number) for number in range(1, len(values) + 1))
        return [self._turn(value, at, answered) for value, at in zip(values, places, strict=True)]

    def _turn(self, value: object, location: Location, answered: Iterable[str | None] = ()) -> _Turn:
        """The turn of one record; one that says nothing to the model keeps its id, for rewinds."""
        record = mapping(value)
        identity, kind = string(record.get("id")) or "", record.get("type")
        try:
            if not isinstance(value, dict):
                raise Malformed(f"a record is an object, not {json_kind(value)}")
            if kind == "user":
                return _Turn(identity, _user(record, location, set(answered)))
            if kind == "gemini":
                return _Turn(identity, _answer(record, location))
            if not isinstance(kind, str):
                raise Malformed(f"the type of a record is a string, not {json_kind(kind)}")
        except Malformed as error:
            self._refuse(str(error), location)
            return _Turn(identity, ())
        if kind not in _SCREEN:
            self.unknown.tell(self.draft, kind, location)
        return _Turn(identity, ())

    def _put(self, turn: _Turn) -> None:
        """A turn goes to the end, or in place of the one with its id."""
        at = self.live.get(turn.id)
        if at is not None:
            self.turns[at] = replace(turn, recap=self.turns[at].recap)
            return
        if turn.id:
            self.live[turn.id] = len(self.turns)
        self.turns.append(turn)

    def _arrange(self, turns: Iterable[_Turn]) -> None:
        self.turns = list(turns)
        self.live = {turn.id: at for at, turn in enumerate(self.turns) if turn.id and not turn.superseded}

    def _rewind(self, identity: str) -> None:
        """Take back a turn and all after it; everything where no turn has the id."""
        start = self.live.get(identity, 0)
        taken = [
            turn if turn.superseded else replace(turn, superseded="rewind") for turn in self.turns[start:]
        ]
        self._arrange([*self.turns[:start], *taken])

    def _update(self, fields: Mapping[str, object], location: Location) -> None:
        self.draft.id = string(fields.get("sessionId")) or self.draft.id
        messages = fields.get("messages")
        if isinstance(messages, list) and messages:
            self._rewrite(self._listed(messages, location), location)

    def _rewrite(self, wanted: Sequence[_Turn], location: Location) -> None:
        """Make the conversation these turns. What is new stands before the next turn that stays."""
        staying: dict[str, tuple[list[_Turn], _Turn]] = {}
        ahead: list[_Turn] = []
        for turn in wanted:
            if turn.id in self.live:
                staying[turn.id] = (ahead, turn)
                ahead = []
            else:
                ahead.append(turn)
        seen = [turn for turn in self.turns if not turn.superseded and turn.messages]
        is_shorter = any(turn.id not in staying for turn in seen)
        changed, arranged = False, list[_Turn]()
        for old in self.turns:
            if old.superseded or old.id not in staying:
                arranged.append(old if old.superseded else replace(old, superseded="compaction"))
                continue
            new_ones, now = staying[old.id]
            arranged += [replace(turn, recap=is_shorter) for turn in new_ones]
            if now.spoken == old.spoken:
                arranged.append(old)
            else:
                changed = True
                arranged += [replace(old, superseded="compaction"), replace(now, recap=True)]
        self._arrange([*arranged, *(replace(turn, recap=is_shorter) for turn in ahead)])
        is_told = any(turn.messages and turn.id not in staying for turn in wanted)
        kind: Literal["summary", "trimmed", "cleared"] = "summary" if is_told else "trimmed"
        if is_shorter or changed:
            self.draft.compactions.append(RecordedCompaction(location, kind if is_shorter else "cleared"))


def _begins_another(record: Record, session: _Session) -> bool:
    """True for the head of a session that is not the one at hand."""
    head = mapping(record.value)
    named = isinstance(head.get("sessionId"), str) and "projectHash" in head and "id" not in head
    return named and session.draft.id not in (None, head["sessionId"])


def _user(record: Mapping[str, object], location: Location, answered: set[str | None]) -> tuple[Message, ...]:
    parts = gemini_parts(record.get("content"), "a record")
    fresh = [part for part in parts if not isinstance(part, ToolResultPart) or part.call_id not in answered]
    if parts and not fresh:
        return ()
    return (_message("user", record, location, fresh),)


def _answer(record: Mapping[str, object], location: Location) -> tuple[Message, ...]:
    """What the model said with its calls, and the results of these calls as the user's message after it."""
    calls = [_call(call, f"tool call {number}") for number, call in enumerate(_tool_calls(record), 1)]
    ids = {call.id for call, _ in calls if call.id is not None}
    parts = gemini_parts(record.get("content"), "a record")
    said = [part for part in parts if part != TextPart(text="")]
    said = [part for part in said if not isinstance(part, ToolCallPart) or part.id not in ids]
    answer = _message("assistant", record, location, [*said, *(call for call, _ in calls)])
    answer = answer.model_copy(update={"usage": _usage(record), "model": string(record.get("model"))})
    results = [result for _, result in calls if result is not None]
    if not results:
        return (answer,)
    return (answer, Message(role="user", content=tuple(results), location=location, time=answer.time))


def _message(role: str, record: Mapping[str, object], location: Location, parts: Sequence[Part]) -> Message:
    return Message(
        role=role,
        content=tuple(parts),
        id=string(record.get("id")),
        time=string(record.get("timestamp")),
        location=location,
    )


def _tool_calls(record: Mapping[str, object]) -> list[object]:
    calls = record.get("toolCalls")
    if calls is None or isinstance(calls, list):
        return calls or []
    raise Malformed(f"'toolCalls' is a list, not {json_kind(calls)}")


def _call(value: object, what: str) -> tuple[ToolCallPart, ToolResultPart | None]:
    """A call and what was answered, None where it was not."""
    if not isinstance(value, dict):
        raise Malformed(f"{what} is an object, not {json_kind(value)}")
    arguments = value.get("args")
    call = ToolCallPart(
        id=optional_text(value, "id", f"the id of {what}"),
        name=needed_text(value, "name", what),
        arguments=json_text({} if arguments is None else arguments, f"the arguments of {what}"),
    )
    result = value.get("result")
    return call, None if result is None else _result(result, call, f"the result of {what}")


def _result(result: object, call: ToolCallPart, what: str) -> ToolResultPart:
    """The call's own response and what came with it; of several responses only the first has company."""
    parts = [result] if isinstance(result, str | dict) else result
    if not isinstance(parts, list):
        raise Malformed(f"{what} is text or a list of parts, not {json_kind(result)}")
    responses = [either(mapping(part), "functionResponse") for part in parts]
    given = [function_result(response, what) for response in responses if response is not None]
    beside = [part for part, response in zip(parts, responses, strict=True) if response is None]
    own = [answer for answer in given if answer.call_id in (None, call.id)]
    content = [part for answer in own for part in answer.content]
    if not given or own[:1] == given[:1]:
        content += [part for part in gemini_parts(beside, what) if not isinstance(part, _NOT_CONTENT)]
    return ToolResultPart(call_id=call.id, name=call.name, content=tuple(content))


_NOT_CONTENT = (ToolCallPart, ToolResultPart, ThinkingPart)


def _usage(record: Mapping[str, object]) -> Usage | None:
    """What was reported for the call; zeros throughout mean that nothing was."""
    tokens = mapping(record.get("tokens"))
    given = count(tokens.get("input"))
    if not given:
        return None
    made = [count(tokens.get(name)) for name in ("output", "thoughts")]
    output = sum(number or 0 for number in made) if any(number is not None for number in made) else None
    return Usage(input_tokens=given, cached_tokens=count(tokens.get("cached")), output_tokens=output)
