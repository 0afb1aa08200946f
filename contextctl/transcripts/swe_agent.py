"""SWE-agent trajectories: the stored messages in ``history``, what was really sent in the steps."""

from __future__ import annotations

from contextctl.errors import Location
from contextctl.messages import Message
from contextctl.recording import RecordedCompaction, RecordedRequest, Transcript
from contextctl.transcripts.chat_messages import MessageReading
from contextctl.transcripts.conversations import Draft, place, transcripts_from
from contextctl.transcripts.json_shapes import (
    chat_message,
    listed,
    mapping,
    string,
    superseded,
    with_thinking,
)
from contextctl.transcripts.nested_json import first_text
from contextctl.transcripts.records import Record, Records, split_records

NAME = "swe-agent"
_NO_MODELS = frozenset({"replay", "human", "human_thought", "instant_empty_submit"})


def read_swe_agent(data: bytes, path: str, records: Records | None = None) -> tuple[Transcript, ...]:
    """A trajectory a record; where several agents took part, a conversation for each of them.

    Steps that record what was sent become requests; an observation that the last of them shows shortened is
    superseded, and what stood for it follows it as a recap.
    """
    records = records or split_records(data, path)
    drafts = [draft for record in records.records for draft in _drafts(record, path)]
    return transcripts_from(drafts, records, path, NAME)


def _drafts(record: Record, path: str) -> list[Draft]:
    value, at = mapping(record.value), place(record, path)
    history = value.get("history")
    if not isinstance(history, list):
        draft = Draft(record.line)
        draft.report("a trajectory has a list 'history'; it was not read", at, skipped=1)
        return [draft]
    drafts: dict[str, Draft] = {}
    for index, item in enumerate(history, 1):
        agent = first_text(mapping(item), "agent") or next(iter(drafts), "")
        draft = drafts.setdefault(agent, Draft(record.line, model=_model(value)))
        draft.add(_message(item, Location(path, record.line, index=index)))
    if len(drafts) > 1:
        for agent, draft in drafts.items():
            draft.id = agent
    elif drafts:
        _read_steps(next(iter(drafts.values())), listed(value.get("trajectory")), at)
    return list(drafts.values()) or [Draft(record.line)]


def _model(value: dict[str, object]) -> str | None:
    agent = mapping(mapping(value.get("replay_config")).get("agent"))
    name = string(mapping(agent.get("model")).get("name"))
    return None if name in _NO_MODELS else name


def _message(item: object, location: Location) -> MessageReading:
    """A stored message; a result names its call in a list of one."""
    if not isinstance(item, dict):
        return chat_message(item, location)
    calls = listed(item.get("tool_call_ids"))
    value = {
        "role": item.get("role"),
        "content": item.get("content"),
        "reasoning_content": item.get("reasoning_content"),
        "tool_calls": item.get("tool_calls"),
        "tool_call_id": calls[0] if calls else item.get("tool_call_id"),
        "name": item.get("name"),
    }
    return with_thinking(chat_message(value, location), item.get("thinking_blocks"))


def _read_steps(draft: Draft, steps: list[object], at: Location) -> None:
    """The requests of the steps, and what they show of observations that were shortened on the way."""
    before: list[object] | None = None
    shown: list[Message] = []
    for step in steps:
        value = mapping(step)
        query, after = value.get("query"), value.get("messages")
        if isinstance(query, list):
            shown = _request(draft, query, at)
        elif isinstance(after, list):
            answer = _own_answer(after, value.get("response"))
            if answer is None:
                shown = _request(draft, after, at)
            else:
                _request(draft, after[:answer] if before is None else before, at)
                before, shown = after, _as_sent(draft, after, at)
        _note_shortened(draft, shown)
    _supersede(draft, shown)


def _own_answer(messages: list[object], response: object) -> int | None:
    """Where the answer of a step stands in its messages, which are then those after it; None before it."""
    for index in range(len(messages) - 1, -1, -1):
        message = mapping(messages[index])
        if message.get("role") == "assistant":
            return index if response is not None and message.get("content") == response else None
    return None


def _request(draft: Draft, messages: list[object], at: Location) -> list[Message]:
    sent = _as_sent(draft, messages, at)
    if sent:
        answer = Location(at.path, at.line, index=len(messages) + 1)
        draft.requests.append(RecordedRequest(tuple(sent), answer, model=draft.model))
    return sent


def _as_sent(draft: Draft, messages: list[object], at: Location) -> list[Message]:
    """Each at the place of the stored message that it is or stands for."""
    readings = [
        _message(item, Location(at.path, at.line, index=number)) for number, item in enumerate(messages, 1)
    ]
    for reading in readings:
        if reading.message is None:
            draft.findings += reading.findings
    return [reading.message for reading in readings if reading.message is not None]


def _shortened(draft: Draft, shown: list[Message]) -> list[Message]:
    """The messages that were shown otherwise than they are stored, where the two lists run in step."""
    stored = {message.location: message for message in draft.messages}
    pairs = [(message, stored.get(message.location)) for message in shown]
    if not pairs or any(kept is None or kept.role != message.role for message, kept in pairs):
        return []
    differing = [message for message, kept in pairs if kept and kept.content != message.content]
    return [] if shown[-1] in differing else differing


def _note_shortened(draft: Draft, shown: list[Message]) -> None:
    """A compaction wherever a step shortens what no step before it had."""
    known = {compaction.location for compaction in draft.compactions}
    draft.compactions += [
        RecordedCompaction(message.location, "cleared")
        for message in _shortened(draft, shown)
        if message.location is not None and message.location not in known
    ]


def _supersede(draft: Draft, shown: list[Message]) -> None:
    recaps = {message.location: message for message in _shortened(draft, shown)}
    messages: list[Message] = []
    for message in draft.messages:
        recap = recaps.get(message.location)
        if recap is None:
            messages.append(message)
        else:
            recap = recap.model_copy(update={"recap": True})
            messages += [superseded(message, "compaction"), recap]
    draft.messages = messages
