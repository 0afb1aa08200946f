"""The size of a picture in pixels, where the recording says it or holds the picture itself."""

from __future__ import annotations

from math import ceil

from contextctl.images import size_of_data_url
from contextctl.messages import ImagePart

PATCH = 28
"""Pixels of a patch in Claude's pictures, each way."""


def size_of(part: ImagePart) -> tuple[int, int] | None:
    """Width and height in pixels: as recorded, else from the header of the picture itself."""
    if part.width and part.height:
        return part.width, part.height
    return size_of_data_url(part.url) if part.url is not None else None


def patches(width: int, height: int, most: int) -> int:
    """Patches of a picture for Claude: it is shrunk, keeping its shape, where it has more than ``most``."""
    across, down = ceil(width / PATCH), ceil(height / PATCH)
    if across * down <= most:
        return across * down
    grids = (columns * max(1, ceil(columns * height / width)) for columns in range(1, min(across, most) + 1))
    return max((grid for grid in grids if grid <= most), default=1)
