"""Output formats by name. Renderers turn a report into text and ask the engine nothing.

Importing this package loads no renderer, so that the command line can name the formats in its help.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from contextctl.report import AuditReport

REPORTS: dict[str, str] = {
    "text": "contextctl.reports.text",
    "json": "contextctl.reports.json_report",
    "jsonl": "contextctl.reports.jsonl_report",
}
"""Format -> the module whose ``render`` makes it."""


@dataclass(frozen=True, slots=True)
class RenderOptions:
    """How a human format is shown; machine formats do not depend on it.

    ``terminal``: tables may use the ``width`` (columns) and wrap. ``unicode``: block characters can be shown.
    ``verbosity``: -1 verdict and errors only, 0 usual, 1 every transcript and entry.
    """

    terminal: bool = False
    width: int = 80
    color: bool = False
    unicode: bool = True
    verbosity: int = 0


def render(report: AuditReport, format: str, options: RenderOptions | None = None) -> str:
    """The report in a format of :data:`REPORTS`; ends in a line feed."""
    text: str = import_module(REPORTS[format]).render(report, options or RenderOptions())
    return text
