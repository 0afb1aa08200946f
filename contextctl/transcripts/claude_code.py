"""Claude Code sessions: a record a line, in a tree, with sub-agents, rewinds and compactions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from contextctl.errors import Location
from contextctl.messages import Message, OpaquePart, Part, TextPart, ThinkingPart, ToolResultPart, Usage
from contextctl.recording import RecordedCompaction, Transcript
from contextctl.transcripts.anthropic import anthropic_parts
from contextctl.transcripts.chat_messages import Malformed, MessageReading, json_kind, json_text, read_message
from contextctl.transcripts.claude_code_tree import Node, Tree, chains
from contextctl.transcripts.conversations import Draft, nearest_draft, place, transcripts_from
from contextctl.transcripts.json_shapes import (
    UnknownKinds,
    count,
    listed,
    mapping,
    note_model,
    string,
    superseded,
)
from contextctl.transcripts.records import Record, Records, split_records

NAME = "claude-code"
CLEARED = "[Old tool result content cleared]"
"""What a request holds in place of a result that a microcompaction took out."""

_HINT = "a record of type user or assistant has a message with its content"
_TREE = frozenset({"user", "assistant", "system", "attachment", "progress"})
_NO_CONTEXT = frozenset(
    {"summary", "queue-operation", "file-history-snapshot", "last-prompt", "ai-title", "custom-title"}
    | {"agent-name", "permission-mode", "mode", "pr-link", "bridge-session"}
)
_ON_SCREEN = frozenset(
    {"hook_system_message", "hook_cancelled", "hook_non_blocking_error", "command_permissions"}
)
"""Attachments that are shown to the user or steer the client."""

_ATTACHED_TEXTS = ("prompt", "content", "addedBlocks", "addedLines", "snippet")
_SYNTHETIC = "<synthetic>"


def read_claude_code(data: bytes, path: str, records: Records | None = None) -> tuple[Transcript, ...]:
    """The session, and each sub-agent that is recorded in the same file as a transcript of its own.

    What was rewound, compacted or cleared on the way is superseded. The system prompt and the tools are not
    recorded, and of most attachments not the exact text.
    """
    records = records or split_records(data, path)
    nodes = _nodes(records.records, path)
    drafts = [_Chain(chain, number).read() for number, chain in enumerate(chains(nodes))]
    unknown = UnknownKinds("a record")
    for record in records.records:
        value = record.value
        if not isinstance(value, dict):
            wrong = f"a record is an object, not {json_kind(value)}; it was not read"
            nearest_draft(drafts, record.line).report(wrong, place(record, path), skipped=1)
        elif string(value.get("type")) not in _TREE | _NO_CONTEXT:
            unknown.tell(nearest_draft(drafts, record.line), value.get("type"), place(record, path))
    return transcripts_from(drafts, records, path, NAME)


def _nodes(records: Iterable[Record], path: str) -> list[Node]:
    """The records that stand in the tree; one that was written again stands there once."""
    nodes: list[Node] = []
    by_uuid: dict[str, Node] = {}
    for record in records:
        value = record.value
        if not isinstance(value, dict) or string(value.get("type")) not in _TREE:
            continue
        node = Node(len(nodes), value, place(record, path))
        if node.uuid in by_uuid and _is_copy(node, by_uuid[node.uuid]):
            continue
        nodes.append(node)
        if node.uuid:
            by_uuid[node.uuid] = node
    return nodes


def _is_copy(node: Node, earlier: Node) -> bool:
    same_content = node.message.get("content") == earlier.message.get("content")
    return node.kind == earlier.kind and same_content


class _Chain:
    """The session or one sub-agent on its way into a draft; each record makes one message or none."""

    def __init__(self, nodes: Sequence[Node], number: int) -> None:
        self._tree = Tree(nodes)
        self._live = self._tree.live()
        self._nodes = nodes
        self._draft = Draft(nodes[0].location.line or 1, id=_id(nodes, number))
        self._said: list[tuple[Node, Message]] = []
        self._order = self._tree.ordered()
        self._usage = _usage_by_answer(nodes)
        self._compacting = False
        self._summary_at: int | None = None

    def read(self) -> Draft:
        draft = self._draft
        for node in self._order:
            if node.kind == "system":
                self._boundary(node)
            elif node.kind != "progress" and not _is_left_out(node):
                self._message(node)
        draft.messages = [message for _, message in self._said]
        parts = [part for message in draft.messages for part in message.content]
        is_sealed = any(isinstance(part, ThinkingPart) and not part.text for part in parts)
        draft.lacks = ("system", "tools", *(("reasoning",) if is_sealed else ()))
        return draft

    def _message(self, node: Node) -> None:
        reading = _reading(node)
        self._draft.findings += reading.findings
        if reading.message is None:
            self._draft.skipped += 1
            return
        message = reading.message
        if node.kind == "assistant":
            message = self._answer(message, node)
        if node.place not in self._live:
            message = superseded(message, "rewind")
        elif message.recap:
            self._summary(node, message)
            return
        elif node.kind != "attachment":
            self._compacting, self._summary_at = False, None
        self._said.append((node, message))

    def _answer(self, message: Message, node: Node) -> Message:
        model = string(node.message.get("model"))
        usage = None if model == _SYNTHETIC else self._usage.pop(node.answer or "", None)
        changed = None if model == _SYNTHETIC else note_model(self._draft, model)
        return message.model_copy(update={"response_id": node.answer, "usage": usage, "model": changed})

    def _boundary(self, node: Node) -> None:
        """Take in a compaction; one that was rewound is told of and supersedes nothing."""
        if node.is_clearing:
            # What it says of tokens is not of the whole context.
            self._draft.compactions.append(RecordedCompaction(node.location, "cleared"))
            if node.place in self._live:
                self._clear(mapping(node.value.get("microcompactMetadata")))
        elif node.is_boundary:
            metadata = mapping(node.value.get("compactMetadata"))
            tokens = count(metadata.get("preTokens"))
            self._draft.compactions.append(RecordedCompaction(node.location, "summary", tokens_before=tokens))
            if node.place in self._live:
                self._compact(mapping(metadata.get("preservedSegment")))

    def _compact(self, segment: dict[str, object]) -> None:
        """Take what came before out of sight, but for the stretch that the compaction kept."""
        kept = self._stretch(segment)
        self._compacting, self._summary_at = True, None
        for index, (earlier, message) in enumerate(self._said):
            if earlier.place not in kept:
                self._said[index] = (earlier, superseded(message, "compaction"))
            elif self._summary_at is None and message.superseded is None:
                self._summary_at = index

    def _stretch(self, segment: dict[str, object]) -> set[int]:
        uuids = [node.uuid for node in self._order]
        head, tail = string(segment.get("headUuid")), string(segment.get("tailUuid"))
        if head not in uuids or tail not in uuids or head is None:
            return set()
        return {node.place for node in self._order[uuids.index(head) : uuids.index(tail) + 1]}

    def _summary(self, node: Node, message: Message) -> None:
        """Put the summary of a compaction in place; in older files it is all that tells of one."""
        if not self._compacting:
            self._draft.compactions.append(RecordedCompaction(node.location, "summary"))
            self._said = [(earlier, superseded(said, "compaction")) for earlier, said in self._said]
        at = len(self._said) if self._summary_at is None else self._summary_at
        self._said.insert(at, (node, message))
        self._compacting, self._summary_at = True, None

    def _clear(self, metadata: dict[str, object]) -> None:
        """Replace the results that a microcompaction names; those that are not in the file went before."""
        calls = {name for name in listed(metadata.get("compactedToolIds")) if isinstance(name, str)}
        files = {name for name in listed(metadata.get("clearedAttachmentUUIDs")) if isinstance(name, str)}
        done: list[tuple[Node, Message]] = []
        for node, message in self._said:
            is_cleared = any(result.call_id in calls for result in message.results)
            if message.superseded or message.recap or not (is_cleared or node.uuid in files):
                done.append((node, message))
                continue
            done.append((node, superseded(message, "compaction")))
            if is_cleared:
                parts = tuple(_emptied(part, calls) for part in message.content)
                done.append((node, message.model_copy(update={"content": parts, "recap": True})))
        self._said = done


def _emptied(part: Part, calls: set[str]) -> Part:
    if isinstance(part, ToolResultPart) and part.call_id in calls:
        return part.model_copy(update={"content": (TextPart(text=CLEARED),)})
    return part


def _id(nodes: Sequence[Node], number: int) -> str | None:
    sessions = [name for node in nodes if (name := string(node.value.get("sessionId")))]
    session = sessions[-1] if sessions else None
    if not nodes[0].is_sidechain:
        return session
    agent = string(nodes[0].value.get("agentId")) or f"sidechain-{number}"
    return f"{session}/{agent}" if session else agent


def _is_left_out(node: Node) -> bool:
    """True for what the model never sees: the client's own error replies, and what is for the screen."""
    if node.kind == "attachment":
        attachment = mapping(node.value.get("attachment"))
        is_silent = attachment.get("type") == "hook_success" and not attachment.get("content")
        return is_silent or string(attachment.get("type")) in _ON_SCREEN
    return node.kind == "assistant" and node.value.get("isApiErrorMessage") is True


def _reading(node: Node) -> MessageReading:
    def build(value: object, location: Location) -> Message:
        del value
        is_attachment = node.kind == "attachment"
        parts = _attached(node.value.get("attachment")) if is_attachment else _message_parts(node)
        return Message(
            role="assistant" if node.kind == "assistant" else "user",
            content=tuple(parts),
            location=location,
            time=string(node.value.get("timestamp")),
            recap=node.value.get("isCompactSummary") is True,
        )

    return read_message(build, node.value, node.location, roles=frozenset({"user", "assistant"}), hint=_HINT)


def _message_parts(node: Node) -> Iterable[Part]:
    message = node.value.get("message")
    if not isinstance(message, dict):
        raise Malformed(f"the message of a record is an object, not {json_kind(message)}")
    return anthropic_parts(message.get("content"), "a message's content")


def _attached(value: object) -> Iterable[Part]:
    """The texts of an attachment; one of another shape is kept as its JSON."""
    attachment = mapping(value)
    for key in _ATTACHED_TEXTS:
        texts = attachment.get(key)
        if isinstance(texts, str) and texts:
            return [TextPart(text=texts)]
        if isinstance(texts, list) and texts and all(isinstance(text, str) for text in texts):
            return [TextPart(text=text) for text in texts]
        if key == "prompt" and isinstance(texts, list):
            return anthropic_parts(texts, "an attached prompt")
    kind = string(attachment.get("type")) or "attachment"
    return [OpaquePart(kind=kind, data=json_text(value, "an attachment", canonical=True))]


def _usage_by_answer(nodes: Iterable[Node]) -> dict[str, Usage]:
    """What was reported for each response, by its last line.

    The output is a placeholder until the line that says why the response stopped.
    """
    found: dict[str, Usage] = {}
    for node in nodes:
        usage = mapping(node.message.get("usage"))
        cached = count(usage.get("cache_read_input_tokens"))
        fresh = (count(usage.get("input_tokens")), count(usage.get("cache_creation_input_tokens")))
        told = [tokens for tokens in (*fresh, cached) if tokens is not None]
        if node.answer is None or not sum(told):
            continue
        output = count(usage.get("output_tokens")) if node.message.get("stop_reason") else None
        found[node.answer] = Usage(input_tokens=sum(told), cached_tokens=cached, output_tokens=output)
    return found
