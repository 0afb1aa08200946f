"""contextctl: audit what a context plan keeps, evicts and overflows in recorded conversations, offline."""

from __future__ import annotations

__version__ = "0.1.0"
