"""clear-tool-results: old tool results give way to a placeholder before anything is dropped."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from pydantic import BaseModel, ConfigDict, Field

from contextctl.entries import Entry
from contextctl.messages import Message, TextPart, ToolResultPart, part_texts
from contextctl.outcome import CompactionOutcome
from contextctl.ports import Count, Fits
from contextctl.strategies.cuts import fewest_dropped

PLACEHOLDER = "[tool result cleared to save room]"
"""What stands in the place of a cleared result."""

Slot = tuple[str, int, int]
"""One result: its entry's id, the message in the entry, the part in the message."""


class ClearToolResults(BaseModel):
    """Clears one tool result at a time, oldest first, until the rest fits; then drops the oldest entries.

    The newest ``keep_results`` results, those of tools in ``exclude`` and those of fewer than ``min_tokens``
    stay. Of a cleared result the first ``preview_tokens`` tokens stay before the placeholder. A result that
    would not get shorter is never cleared. Calls and their arguments are never touched.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    keep_results: int = Field(3, ge=0, description="Newest results that are never cleared.")
    exclude: list[str] = Field(default_factory=list, description="Tools whose results are never cleared.")
    min_tokens: int = Field(0, ge=0, description="Results of fewer tokens are never cleared.")
    preview_tokens: int = Field(0, ge=0, description="Tokens of a cleared result that stay.")

    async def compact(
        self,
        entries: tuple[Entry, ...],
        *,
        budget_tokens: int,
        count: Count,
        fits: Fits | None = None,
    ) -> CompactionOutcome:
        """Clear until it fits, else drop from the front what is left."""
        current = {entry.id: entry for entry in entries}
        total = count(entries)
        cleared: set[str] = set()
        for entry_id, message, part in self._clearable(entries, count):
            if total <= budget_tokens:
                break
            entry = current[entry_id]
            smaller = self._cleared(entry, message, part, count)
            saved = count((entry,)) - count((smaller,))
            if saved > 0:
                current[entry_id] = smaller
                cleared.add(entry_id)
                total -= saved
        kept, evicted = fewest_dropped(
            tuple(current[entry.id] for entry in entries),
            budget_tokens=budget_tokens,
            count=count,
            fits=fits,
        )
        left = tuple(entry.id for entry in kept if entry.id in cleared)
        return CompactionOutcome(entries=kept, evicted=evicted, trimmed=left)

    def _clearable(self, entries: tuple[Entry, ...], count: Count) -> Iterator[Slot]:
        """Results that may be cleared, oldest first."""
        results = [
            (entry, message, part)
            for entry in entries
            for message, said in enumerate(entry.messages)
            for part, inner in enumerate(said.content)
            if isinstance(inner, ToolResultPart)
        ]
        for entry, message, part in results[: max(0, len(results) - self.keep_results)]:
            result = entry.messages[message].content[part]
            assert isinstance(result, ToolResultPart)
            if entry.pinned or _tool_of(entry, result) in self.exclude:
                continue
            if _text_tokens("".join(part_texts([result])), count) >= self.min_tokens:
                yield entry.id, message, part

    def _cleared(self, entry: Entry, message: int, part: int, count: Count) -> Entry:
        said = entry.messages[message]
        result = said.content[part]
        assert isinstance(result, ToolResultPart)
        text = _preview("".join(part_texts([result])), self.preview_tokens, count) + PLACEHOLDER
        empty = result.model_copy(update={"content": (TextPart(text=text),)})
        content = (*said.content[:part], empty, *said.content[part + 1 :])
        changed = said.model_copy(update={"content": content})
        messages = (*entry.messages[:message], changed, *entry.messages[message + 1 :])
        return replace(entry, messages=messages)


def _tool_of(entry: Entry, result: ToolResultPart) -> str | None:
    """The name of the tool that a result came from."""
    calls = [call for message in entry.messages for call in message.calls]
    return result.name or next((call.name for call in calls if call.id == result.call_id), None)


def _text_tokens(text: str, count: Count) -> int:
    """Tokens of a text by itself: what a message is charged more for it than for none."""
    said = Message(role="user", content=(TextPart(text=text),))
    return count((said,)) - count((Message(role="user", content=(TextPart(text=""),)),))


def _preview(text: str, most: int, count: Count) -> str:
    """The longest beginning of a text that has at most so many tokens, and a line feed; empty for 0."""
    low, high = 0, len(text) if most else 0
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if _text_tokens(text[:middle], count) <= most else (low, middle - 1)
    return f"{text[:low].rstrip()}\n" if low else ""
