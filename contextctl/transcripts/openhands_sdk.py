"""Events of the OpenHands SDK (V1) -> messages."""

from __future__ import annotations

from contextctl.errors import Location
from contextctl.messages import RequestSettings, Usage
from contextctl.transcripts.conversations import Draft
from contextctl.transcripts.json_shapes import (
    UnknownKinds,
    chat_call,
    chat_message,
    count,
    image_url,
    listed,
    mapping,
    note_model,
    recorded_time,
    string,
    usage_of,
    with_thinking,
)
from contextctl.transcripts.openhands_view import EventView

_SCREEN_KINDS = frozenset(
    {"PauseEvent", "ConversationErrorEvent", "CondensationRequest", "LLMCompletionLogEvent", "TokenEvent"}
)


class SdkEvents:
    """Reads the events of one conversation, in order, into a view."""

    def __init__(self, draft: Draft, view: EventView) -> None:
        self._draft = draft
        self._view = view
        self._unknown = UnknownKinds("an event")
        self._replies: set[str] = set()
        self._sums: dict[str, int] = {}
        self._usage: Usage | None = None

    def read(self, event: dict[str, object], location: Location) -> None:
        """Take in one event; one of a kind that is not known is told once a conversation."""
        match event.get("kind"):
            case "SystemPromptEvent":
                self._system(event, location)
            case "MessageEvent":
                self._message(event, location)
            case "ActionEvent":
                self._action(event, location)
            case "ObservationEvent" | "AgentErrorEvent" | "UserRejectObservation":
                self._result(event, location)
            case "Condensation":
                ids = {one for one in listed(event.get("forgotten_event_ids")) if isinstance(one, str)}
                offset = count(event.get("summary_offset"))
                self._view.condense(ids.__contains__, string(event.get("summary")), offset, location)
            case "ConversationStateUpdateEvent":
                self._state(event)
            case kind if kind not in _SCREEN_KINDS:
                self._unknown.tell(self._draft, kind, location)

    def _system(self, event: dict[str, object], location: Location) -> None:
        tools = [tool for tool in listed(event.get("tools")) if isinstance(tool, dict)]
        if tools:
            self._draft.settings = RequestSettings(tools=tuple(tools))
        blocks = [block for block in (event.get("system_prompt"), event.get("dynamic_context")) if block]
        self._add(event, {"role": "system", "content": _content(blocks)}, location)

    def _message(self, event: dict[str, object], location: Location) -> None:
        message = mapping(event.get("llm_message"))
        content = message.get("content")
        blocks = [content] if isinstance(content, str) else listed(content)
        value: dict[str, object] = {
            "role": message.get("role"),
            "content": _content([*blocks, *listed(event.get("extended_content"))]),
            "reasoning_content": message.get("reasoning_content"),
            "tool_calls": [_call(call) for call in listed(message.get("tool_calls"))],
            "tool_call_id": message.get("tool_call_id"),
            "name": message.get("name"),
        }
        answers = message.get("role") == "assistant"
        reply = string(event.get("llm_response_id")) if answers else None
        usage = self._usage_of(reply) if answers else None
        self._add(event, value, location, message, response_id=reply, usage=usage)

    def _action(self, event: dict[str, object], location: Location) -> None:
        reply = string(event.get("llm_response_id"))
        call = mapping(event.get("tool_call"))
        value: dict[str, object] = {
            "role": "assistant",
            "content": _content(listed(event.get("thought"))),
            "reasoning_content": event.get("reasoning_content"),
            "tool_calls": [_call(call) if call else _bare_call(event)],
        }
        self._add(event, value, location, event, response_id=reply, usage=self._usage_of(reply))

    def _result(self, event: dict[str, object], location: Location) -> None:
        observation = mapping(event.get("observation"))
        content: object = observation.get("content", observation.get("output"))
        if event.get("kind") != "ObservationEvent":
            content = event.get("error", event.get("rejection_reason"))
        value: dict[str, object] = {
            "role": "tool",
            "tool_call_id": event.get("tool_call_id"),
            "name": event.get("tool_name"),
            "content": _framed(content, mapping(observation.get("metadata"))),
        }
        self._add(event, value, location)

    def _add(
        self,
        event: dict[str, object],
        value: dict[str, object],
        location: Location,
        thoughts: dict[str, object] | None = None,
        **more: object,
    ) -> None:
        reading = chat_message(value, location, time=recorded_time(event.get("timestamp")), **more)
        self._view.add(
            string(event.get("id")), with_thinking(reading, mapping(thoughts).get("thinking_blocks"))
        )

    def _state(self, event: dict[str, object]) -> None:
        """Usage is only recorded as sums; where they grew by exactly one turn, that is the next reply's."""
        if event.get("key") != "stats":
            return
        metrics = mapping(mapping(event.get("value")).get("usage_to_metrics"))
        agent = mapping(metrics.get("agent", metrics.get("default")))
        note_model(self._draft, agent.get("model_name"))
        sums = mapping(agent.get("accumulated_token_usage"))
        names = ("prompt_tokens", "completion_tokens", "cache_read_tokens")
        now = {name: count(sums.get(name)) or 0 for name in names}
        grown = {name: now[name] - self._sums.get(name, 0) for name in names}
        self._sums = now
        prompt, answer, cached = (grown[name] for name in names)
        turn = count(sums.get("per_turn_token"))
        is_one_turn = min(prompt, answer, cached) >= 0 and prompt + answer == turn
        window = count(sums.get("context_window")) or None
        usage = usage_of(prompt, cached, answer) if is_one_turn and prompt else None
        self._usage = usage.model_copy(update={"window_tokens": window}) if usage else None

    def _usage_of(self, reply: str | None) -> Usage | None:
        if reply is not None and reply in self._replies:
            return None
        if reply is not None:
            self._replies.add(reply)
        usage, self._usage = self._usage, None
        return usage


def _content(blocks: list[object]) -> list[object]:
    """Blocks of the SDK as parts of OpenAI chat."""
    parts: list[object] = []
    for block in blocks:
        value = mapping(block)
        if value.get("type") == "image":
            parts += [image_url(url) for url in listed(value.get("image_urls"))]
        else:
            parts.append(block)
    return parts


def _framed(content: object, frame: dict[str, object]) -> object:
    """What a command printed, between what the terminal put before and after it."""
    parts = _content([content] if isinstance(content, str) else listed(content))
    before, after = string(frame.get("prefix")), string(frame.get("suffix"))
    return [*([before] if before else []), *parts, *([after] if after else [])]


def _call(call: object) -> object:
    """A call with its name beside its id, or already in the shape of OpenAI chat."""
    value = mapping(call)
    if "function" in value or not value:
        return call
    return chat_call(value.get("id"), value.get("name"), value.get("arguments"))


def _bare_call(event: dict[str, object]) -> object:
    arguments = {key: value for key, value in mapping(event.get("action")).items() if key != "kind"}
    return chat_call(event.get("tool_call_id"), event.get("tool_name"), arguments)
