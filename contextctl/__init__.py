"""contextctl: audit what a context plan keeps, evicts and overflows in recorded conversations, offline.

The names of the library are loaded when they are first used, so that the command line can answer
``--help`` without loading any of it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from contextctl.assembler import ContextAssembler
    from contextctl.auditor import audit, audit_async
    from contextctl.entries import Entry, text_of
    from contextctl.errors import CapabilityError, ContextBudgetError, ContextctlError, PlanError
    from contextctl.loading.journal_file import open_journal
    from contextctl.loading.plan_file import load_plan
    from contextctl.loading.transcript_files import load_transcripts
    from contextctl.messages import Message, TextPart, pinned
    from contextctl.outcome import AssembledContext, CompactionOutcome, SectionOutcome
    from contextctl.plan import ContextPlan, SectionPlan
    from contextctl.ports import Summary
    from contextctl.providers.offline import offline_provider
    from contextctl.strategies.summarise_span import SummariseSpan

_HOMES = {
    "AssembledContext": "outcome",
    "CapabilityError": "errors",
    "CompactionOutcome": "outcome",
    "ContextAssembler": "assembler",
    "ContextBudgetError": "errors",
    "ContextPlan": "plan",
    "ContextctlError": "errors",
    "Entry": "entries",
    "Message": "messages",
    "PlanError": "errors",
    "SectionOutcome": "outcome",
    "SectionPlan": "plan",
    "SummariseSpan": "strategies.summarise_span",
    "Summary": "ports",
    "TextPart": "messages",
    "audit": "auditor",
    "audit_async": "auditor",
    "load_plan": "loading.plan_file",
    "load_transcripts": "loading.transcript_files",
    "offline_provider": "providers.offline",
    "open_journal": "loading.journal_file",
    "pinned": "messages",
    "text_of": "entries",
}

__all__ = [
    "AssembledContext",
    "CapabilityError",
    "CompactionOutcome",
    "ContextAssembler",
    "ContextBudgetError",
    "ContextPlan",
    "ContextctlError",
    "Entry",
    "Message",
    "PlanError",
    "SectionOutcome",
    "SectionPlan",
    "SummariseSpan",
    "Summary",
    "TextPart",
    "__version__",
    "audit",
    "audit_async",
    "load_plan",
    "load_transcripts",
    "offline_provider",
    "open_journal",
    "pinned",
    "text_of",
]


def __getattr__(name: str) -> object:
    """A library name, loaded from its module; an ``AttributeError`` for any other."""
    if name not in _HOMES:
        raise AttributeError(f"module 'contextctl' has no attribute {name!r}")
    return getattr(import_module(f"contextctl.{_HOMES[name]}"), name)
