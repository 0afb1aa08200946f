"""Events of OpenHands before 1.0 -> messages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from contextctl.errors import Location
from contextctl.messages import RequestSettings
from contextctl.transcripts.conversations import Draft
from contextctl.transcripts.json_shapes import (
    chat_call,
    chat_message,
    count,
    image_url,
    listed,
    mapping,
    note_model,
    openai_usage,
    recorded_time,
    string,
)
from contextctl.transcripts.nested_json import first_text
from contextctl.transcripts.openhands_view import EventView

_SCREEN_ACTIONS = frozenset(
    {"recall", "change_agent_state", "null", "condensation_request", "pause", "resume"}
)
_SCREEN_OBSERVATIONS = frozenset({"agent_state_changed", "null", "loop_detection"})
_RECALLED = ("repo_instructions", "additional_agent_instructions", "conversation_instructions")
_NOT_ARGUMENTS = frozenset({"thought", "confirmation_state", "security_risk", "hidden", "blocking"})


class ClassicEvents:
    """Reads the events of one conversation, in order, into a view."""

    def __init__(self, draft: Draft, view: EventView, events: Iterable[dict[str, object]]) -> None:
        self._draft = draft
        self._view = view
        self._acted = {
            metadata.get("tool_call_id")
            for event in events
            if "action" in event and isinstance((metadata := _metadata(event)).get("tool_call_id"), str)
        }
        self._replies: set[str] = set()
        self._called: set[object] = set()

    def read(self, event: dict[str, object], location: Location) -> None:
        """Take in one event. An event with neither an action nor an observation is malformed."""
        action, observation = event.get("action"), event.get("observation")
        if isinstance(action, str):
            self._action(event, action, location)
        elif isinstance(observation, str):
            self._observation(event, observation, location)
        else:
            wrong = "the event has neither an action nor an observation; it was not read"
            self._draft.report(wrong, location, skipped=1)

    def _action(self, event: dict[str, object], action: str, location: Location) -> None:
        arguments = mapping(event.get("args"))
        if action == "condensation":
            offset = count(arguments.get("summary_offset"))
            self._view.condense(_forgets(arguments), string(arguments.get("summary")), offset, location)
        elif action in _SCREEN_ACTIONS:
            if action == "recall":
                self._view.add(_event_id(event))
        elif action == "system":
            tools = [tool for tool in listed(arguments.get("tools")) if isinstance(tool, dict)]
            if tools:
                self._draft.settings = RequestSettings(tools=tuple(tools))
            self._add(event, {"role": "system", "content": arguments.get("content")}, location)
        elif _metadata(event):
            self._call(event, arguments, location)
        elif event.get("source") == "agent" and action != "message":
            self._called.add(_event_id(event))
            given = {key: value for key, value in arguments.items() if key not in _NOT_ARGUMENTS}
            call = chat_call(f"event-{_event_id(event)}", action, given)
            said = string(arguments.get("thought"))
            self._add(event, {"role": "assistant", "content": said, "tool_calls": [call]}, location)
        else:
            role = "assistant" if event.get("source") == "agent" else "user"
            self._add(event, {"role": role, "content": _said(arguments)}, location)

    def _call(self, event: dict[str, object], arguments: dict[str, object], location: Location) -> None:
        """One action of a reply: its own call; on the first one also what the reply says beside its calls."""
        metadata = _metadata(event)
        response = mapping(metadata.get("model_response"))
        reply = mapping(mapping(next(iter(listed(response.get("choices"))), None)).get("message"))
        response_id = string(response.get("id"))
        is_first = response_id is None or response_id not in self._replies
        own = metadata.get("tool_call_id")
        recorded = [call for call in listed(reply.get("tool_calls")) if isinstance(call, dict)]
        calls = [call for call in recorded if call.get("id") == own]
        if not calls:
            given = {key: value for key, value in arguments.items() if key not in _NOT_ARGUMENTS}
            calls = [chat_call(own, metadata.get("function_name"), given)]
        if not is_first:
            alone: dict[str, object] = {"role": "assistant", "tool_calls": calls[:1]}
            self._add(event, alone, location, response_id=response_id)
            return
        if response_id is not None:
            self._replies.add(response_id)
        others = [call for call in recorded if call is not calls[0]]
        without_action = [call for call in others if string(call.get("id")) not in self._acted]
        value = {
            "role": "assistant",
            "content": reply.get("content") if reply else string(arguments.get("thought")),
            "reasoning_content": reply.get("reasoning_content"),
            "tool_calls": [*calls[:1], *without_action],
        }
        model = note_model(self._draft, response.get("model"))
        usage = openai_usage(response.get("usage"))
        self._add(event, value, location, response_id=response_id, usage=usage, model=model)

    def _observation(self, event: dict[str, object], observation: str, location: Location) -> None:
        if observation in _SCREEN_OBSERVATIONS:
            return
        if observation == "recall":
            texts = list(_recalled(mapping(event.get("extras"))))
            if texts:
                self._add(event, {"role": "user", "content": "\n\n".join(texts)}, location)
            else:
                self._view.add(_event_id(event))
            return
        metadata, cause = _metadata(event), event.get("cause")
        call_id: object = metadata.get("tool_call_id")
        if not metadata and isinstance(cause, int | str) and cause in self._called:
            call_id = f"event-{cause}"
        if call_id is None:
            self._add(event, {"role": "user", "content": _observed(event)}, location)
        else:
            value = {"role": "tool", "tool_call_id": call_id, "name": metadata.get("function_name")}
            self._add(event, {**value, "content": _observed(event)}, location)

    def _add(
        self, event: dict[str, object], value: dict[str, object], location: Location, **more: object
    ) -> None:
        reading = chat_message(value, location, time=recorded_time(event.get("timestamp")), **more)
        self._view.add(_event_id(event), reading)


def _event_id(event: dict[str, object]) -> object:
    identity = event.get("id")
    return identity if isinstance(identity, int | str) else None


def _metadata(event: dict[str, object]) -> dict[str, object]:
    return mapping(event.get("tool_call_metadata"))


def _forgets(arguments: dict[str, object]) -> Callable[[object], bool]:
    """Whether an event id is among those named, or in the span named, both ends included."""
    ids = {identity for identity in listed(arguments.get("forgotten_event_ids")) if isinstance(identity, int)}
    if ids:
        return lambda event: event in ids
    first = count(arguments.get("forgotten_events_start_id"))
    last = count(arguments.get("forgotten_events_end_id"))
    if first is None or last is None:
        return lambda event: False
    return lambda event: isinstance(event, int) and first <= event <= last


def _said(arguments: dict[str, object]) -> object:
    """What a message says, or what a user did in its stead."""
    content = arguments.get("content")
    if content is None:
        content = first_text(arguments, "command", "code", "final_thought", "thought")
    urls = [url for url in listed(arguments.get("image_urls")) if isinstance(url, str)]
    if not urls or not isinstance(content, str):
        return content
    return [{"type": "text", "text": content}, *map(image_url, urls)]


def _observed(event: dict[str, object]) -> object:
    """What a model reads of an observation: an editor's answer rather than its diff, a command's frame."""
    extras, content = mapping(event.get("extras")), event.get("content")
    answer = string(extras.get("formatted_output_and_error"))
    if answer is not None:
        return answer
    frame = mapping(extras.get("metadata"))
    if not isinstance(content, str):
        return content
    return f"{string(frame.get('prefix')) or ''}{content}{string(frame.get('suffix')) or ''}"


def _recalled(extras: dict[str, object]) -> Iterator[str]:
    for key in _RECALLED:
        if text := string(extras.get(key)):
            yield text
    for known in listed(extras.get("microagent_knowledge")):
        if text := string(mapping(known).get("content")):
            yield text
