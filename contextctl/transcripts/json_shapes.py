"""Fields of recorded JSON, and what readers of other shapes than chat have in common."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

from contextctl.errors import Location
from contextctl.findings import Severity, finding
from contextctl.messages import Message
from contextctl.transcripts.conversations import Draft

_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.:/-]{0,59}")


def mapping(value: object) -> dict[str, object]:
    """The object itself, or an empty one where it is none."""
    return value if isinstance(value, dict) else {}


def listed(value: object) -> list[object]:
    """The list itself, or an empty one where it is none."""
    return value if isinstance(value, list) else []


def string(value: object) -> str | None:
    """The text, or None where it is none or empty."""
    return value if isinstance(value, str) and value else None


def count(value: object) -> int | None:
    """A number of something, or None where it is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def data_url(media_type: object, data: object) -> str:
    """The address of data that stands in the recording itself, as base64."""
    return f"data:{string(media_type) or 'application/octet-stream'};base64,{string(data) or ''}"


def json_schema_format(schema: object) -> dict[str, object] | None:
    """A response format as OpenAI chat has it, for a schema that another field asks the answer to follow."""
    return {"type": "json_schema", "json_schema": schema} if isinstance(schema, dict) else None


def note_model(draft: Draft, name: object) -> str | None:
    """Make this the model of the recording; its name where it is not the one before."""
    model = string(name)
    if model is None or model == draft.model:
        return None
    changed = draft.model is not None
    draft.model = model
    return model if changed else None


def superseded(message: Message, by: Literal["compaction", "rewind", "fork"]) -> Message:
    """The same message, taken out of the model's sight; what took it out first stays named."""
    return message if message.superseded else message.model_copy(update={"superseded": by})


@dataclass(slots=True)
class UnknownKinds:
    """Tells once a file of each kind of record that is not known; ``done`` is what became of them."""

    what: str
    done: str = "no record of this kind was read"
    hint: str = "where it holds something that the model saw, the counts are too low"
    told: set[str] = field(default_factory=set)

    def tell(self, draft: Draft, kind: object, location: Location) -> None:
        """Note that there is a record of this kind."""
        plain = isinstance(kind, str) and _PLAIN_NAME.fullmatch(kind)
        name = f"'{kind}'" if plain else "that cannot be named"
        if name in self.told:
            return
        self.told.add(name)
        draft.findings.append(
            finding(
                "CTX014",
                f"{self.what} of a kind {name} is not known; {self.done}",
                location=location,
                severity=Severity.WARNING,
                hint=self.hint,
            )
        )
