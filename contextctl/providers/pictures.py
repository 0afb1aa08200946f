"""The size of a picture in pixels, where the recording says it or holds the picture itself."""

from __future__ import annotations

import base64
import binascii
import struct
from math import ceil

from contextctl.messages import ImagePart

PATCH = 28
"""Pixels of a patch in Claude's pictures, each way."""

HEADER = 400_000
"""Characters of base64 that are searched for a size; a camera's JPEG may begin with a small picture."""


def size_of(part: ImagePart) -> tuple[int, int] | None:
    """Width and height in pixels: as recorded, else from the header of PNG, GIF, JPEG or WebP data."""
    if part.width and part.height:
        return part.width, part.height
    if part.url is None or not part.url.startswith("data:"):
        return None
    _, _, text = part.url.partition(";base64,")
    text = text[:HEADER]
    try:
        data = base64.b64decode(text[: len(text) // 4 * 4])
        return _png(data) or _gif(data) or _webp(data) or _jpeg(data)
    except (binascii.Error, struct.error, IndexError):
        return None


def _known(width: int, height: int) -> tuple[int, int] | None:
    return (width, height) if width and height else None


def _png(data: bytes) -> tuple[int, int] | None:
    return _known(*struct.unpack(">II", data[16:24])) if data.startswith(b"\x89PNG\r\n\x1a\n") else None


def _gif(data: bytes) -> tuple[int, int] | None:
    return _known(*struct.unpack("<HH", data[6:10])) if data[:6] in (b"GIF87a", b"GIF89a") else None


def _webp(data: bytes) -> tuple[int, int] | None:
    if data[:4] != b"RIFF" or data[8:12] != b"WEBP":
        return None
    match data[12:16]:
        case b"VP8X":
            across, down = (int.from_bytes(data[place : place + 3], "little") + 1 for place in (24, 27))
            return _known(across, down)
        case b"VP8L":
            bits = int.from_bytes(data[21:25], "little")
            return _known((bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1)
        case b"VP8 ":
            across, down = struct.unpack("<HH", data[26:30])
            return _known(across & 0x3FFF, down & 0x3FFF)
    return None


def _jpeg(data: bytes) -> tuple[int, int] | None:
    """The size in the first frame's header."""
    if not data.startswith(b"\xff\xd8"):
        return None
    place = 2
    while place + 9 <= len(data):
        if data[place] != 0xFF:
            return None
        kind = data[place + 1]
        if 0xC0 <= kind <= 0xCF and kind not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", data[place + 5 : place + 9])
            return _known(width, height)
        place += 2 + int(struct.unpack(">H", data[place + 2 : place + 4])[0])
    return None


def patches(width: int, height: int, most: int) -> int:
    """Patches of a picture for Claude: it is shrunk, keeping its shape, where it has more than ``most``."""
    across, down = ceil(width / PATCH), ceil(height / PATCH)
    if across * down <= most:
        return across * down
    grids = (columns * max(1, ceil(columns * height / width)) for columns in range(1, min(across, most) + 1))
    return max((grid for grid in grids if grid <= most), default=1)
