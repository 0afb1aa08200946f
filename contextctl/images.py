"""The size of a picture from its first bytes, without decoding it."""

from __future__ import annotations

import base64
import binascii
import struct
from math import ceil

HEAD_CHARACTERS = 400_000
"""Characters of base64 that are looked at; a camera's JPEG may begin with a small picture."""

_JPEG_SIZES = frozenset({*range(0xC0, 0xC4), *range(0xC5, 0xC8), *range(0xC9, 0xCC), *range(0xCD, 0xD0)})
"""Markers of a JPEG's frame header, which holds its size."""


def size_of_data_url(url: str) -> tuple[int, int] | None:
    """Width and height in pixels of the picture in a data URL; None where it has none, or of another kind
    than PNG, JPEG, GIF and WebP."""
    head, comma, data = url.partition(",")
    if not comma or not head.startswith("data:") or not head.endswith(";base64"):
        return None
    try:
        start = base64.b64decode(data[: min(len(data), HEAD_CHARACTERS) // 4 * 4])
    except (binascii.Error, ValueError):
        return None
    return size_of(start)


def size_of(data: bytes) -> tuple[int, int] | None:
    """Width and height in pixels, or None where they cannot be told."""
    try:
        if data.startswith(b"\x89PNG\r\n\x1a\n"):
            return _positive(*struct.unpack(">II", data[16:24]))
        if data[:6] in (b"GIF87a", b"GIF89a"):
            return _positive(*struct.unpack("<HH", data[6:10]))
        if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
            return _webp(data)
        if data.startswith(b"\xff\xd8"):
            return _jpeg(data)
    except (struct.error, IndexError):
        return None
    return None


def _positive(width: int, height: int) -> tuple[int, int] | None:
    return (width, height) if width > 0 and height > 0 else None


def _webp(data: bytes) -> tuple[int, int] | None:
    kind = data[12:16]
    if kind == b"VP8 ":
        width, height = struct.unpack("<HH", data[26:30])
        return _positive(width & 0x3FFF, height & 0x3FFF)
    if kind == b"VP8L":
        bits = struct.unpack("<I", data[21:25])[0]
        return (bits & 0x3FFF) + 1, ((bits >> 14) & 0x3FFF) + 1
    if kind == b"VP8X":
        return int.from_bytes(data[24:27], "little") + 1, int.from_bytes(data[27:30], "little") + 1
    return None


def _jpeg(data: bytes) -> tuple[int, int] | None:
    at = 2
    while at + 9 <= len(data):
        if data[at] != 0xFF:
            return None
        marker = data[at + 1]
        if marker in _JPEG_SIZES:
            height, width = struct.unpack(">HH", data[at + 5 : at + 9])
            return _positive(width, height)
        if marker == 0xFF:
            at += 1
        else:
            at += 2 + struct.unpack(">H", data[at + 2 : at + 4])[0]
    return None


def tiles(width: int, height: int) -> int:
    """Tiles of 512 pixels that a picture is cut into: fitted into 2,048 by 2,048, then its shortest side to
    768, only ever shrunk."""
    scale = min(1.0, 2048 / max(width, height))
    scale = min(scale, 768 / min(width, height))
    return ceil(round(width * scale) / 512) * ceil(round(height * scale) / 512)


def patches(width: int, height: int, most: int = 1536) -> int:
    """Patches of 32 pixels that cover a picture, which is shrunk to ``most`` of them."""
    found = ceil(width / 32) * ceil(height / 32)
    return min(found, most)
