"""Recordings without what was said in them: filler of the same token count in place of every text."""

from __future__ import annotations

from contextctl.blanking.transcript import Blanked, blanked

__all__ = ["Blanked", "blanked"]
