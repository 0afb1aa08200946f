"""Making data harmless to a terminal and to a CI runner that obeys printed text."""

from __future__ import annotations

import re

_HIDDEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufffe\uffff\ud800-\udfff]"
)
"""C0 and C1 controls, line separators, direction controls, invisible characters, lone surrogates."""

_COMMAND_START = re.compile(r"((?:^|[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029])\s*)::")
"""``::`` at the start of what anybody may take for a line."""


def visible(text: str) -> str:
    """The text on one line with every control and invisible character as an escape such as ``\\x1b``.

    Letters of every script stay as they are; ``##[`` becomes ``##\\[``.
    """
    return _HIDDEN.sub(_escape, text).replace("##[", "##\\[")


def _escape(match: re.Match[str]) -> str:
    code = ord(match.group())
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def guard_lines(text: str) -> str:
    """The same lines, none of which a CI runner takes for a command.

    A line that would begin with ``::`` gets a backslash before it; ``##[`` becomes ``##\\[`` everywhere.
    """
    return _COMMAND_START.sub(r"\1\\::", text).replace("##[", "##\\[")
