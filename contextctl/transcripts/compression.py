"""Compressed recordings, told by their leading bytes: gzip, and zstd where a decoder for it is installed."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib import import_module
from itertools import chain
from typing import Protocol

from contextctl.errors import Location
from contextctl.findings import Finding, finding
from contextctl.transcripts.conversations import transcript_error

GZIP = b"\x1f\x8b"
ZSTD = b"\x28\xb5\x2f\xfd"

MAX_RATIO = 1000
"""How many bytes one compressed byte may stand for. zlib gives 1,032 as the most that its method can reach,
on one byte repeated without end (zlib.net/zlib_tech.html)."""

SUSPECT_BYTES = 100_000_000
"""Content up to this size is taken whatever its ratio."""

_PIECE_BYTES = 1024
"""Compressed bytes that are taken at once: a block of zstd makes 128 KiB of as little as four of them."""


class _Decoder(Protocol):
    """What the decoders of :mod:`zlib`, ``compression.zstd`` and ``zstandard`` have in common."""

    @property
    def eof(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...

    def decompress(self, data: bytes, /) -> bytes: ...


@dataclass(frozen=True, slots=True)
class _Method:
    name: str
    decoder: Callable[[], _Decoder]
    error: type[Exception]


@dataclass(slots=True)
class Unpacking:
    """The content of a file in chunks, decompressed where it is compressed.

    ``chunks`` are the bytes of the file, the first of them with its leading bytes. ``problem`` is there
    once all chunks were taken: where compressed data are cut short or damaged, what comes before is given.
    Raises :class:`~contextctl.errors.TranscriptError` on the way for content of a size that no recording
    has, and where there is no decoder.
    """

    chunks: Iterable[bytes]
    path: str
    problem: Finding | None = None

    def __iter__(self) -> Iterator[bytes]:
        chunks = iter(self.chunks)
        head = next(chunks, b"")
        method = _method(head, self.path)
        if method is None:
            yield head
            yield from chunks
            return
        yield from self._decompressed(_pieces(head, chunks), method)

    def _decompressed(self, pieces: Iterable[bytes], method: _Method) -> Iterator[bytes]:
        decoder, in_member = method.decoder(), False
        taken, made, line = 0, 0, 1
        for piece in pieces:
            taken += len(piece)
            left = piece
            while left := left if in_member else left.lstrip(b"\0"):
                try:
                    content = decoder.decompress(left)
                except method.error:
                    self.problem = _torn(f"the {method.name} data are damaged", self.path, line)
                    return
                made += len(content)
                line += content.count(b"\n")
                if made > SUSPECT_BYTES and made > MAX_RATIO * taken:
                    raise _bomb(method, self.path)
                if content:
                    yield content
                in_member, left = not decoder.eof, decoder.unused_data
                if decoder.eof:
                    decoder = method.decoder()
        if in_member:
            self.problem = _torn(f"the {method.name} data end before they are complete", self.path, line)


def unpacked(data: bytes, path: str) -> tuple[bytes, Finding | None]:
    """The content of a whole file, and what is wrong with its compression; see :class:`Unpacking`."""
    if not data.startswith((GZIP, ZSTD)):
        return data, None
    unpacking = Unpacking([data], path)
    return b"".join(unpacking), unpacking.problem


def _pieces(head: bytes, chunks: Iterator[bytes]) -> Iterator[bytes]:
    for chunk in chain([head], chunks):
        for start in range(0, len(chunk), _PIECE_BYTES):
            yield chunk[start : start + _PIECE_BYTES]


def _method(head: bytes, path: str) -> _Method | None:
    if head.startswith(GZIP):
        return _Method("gzip", lambda: zlib.decompressobj(wbits=16 + zlib.MAX_WBITS), zlib.error)
    return _zstd(path) if head.startswith(ZSTD) else None


def _zstd(path: str) -> _Method:
    """The decoder of the standard library where it has one (Python 3.14), else that of ``zstandard``."""
    try:
        own = import_module("compression.zstd")
        return _Method("zstd", own.ZstdDecompressor, own.ZstdError)
    except ImportError:
        pass
    try:
        extra = import_module("zstandard")
    except ImportError:
        raise transcript_error(
            [
                finding(
                    "CTX009",
                    "the file is zstd-compressed, and no decoder for it is installed",
                    location=Location(path),
                    hint="pip install 'contextctl[zstd]', or decompress it first, with zstd -d",
                )
            ]
        ) from None
    return _Method("zstd", lambda: extra.ZstdDecompressor().decompressobj(), extra.ZstdError)


def _torn(what: str, path: str, line: int) -> Finding:
    return finding(
        "CTX016",
        f"{what}; what comes before was read",
        location=Location(path, line),
        hint="get the whole file, or compress the recording again",
    )


def _bomb(method: _Method, path: str) -> Exception:
    return transcript_error(
        [
            finding(
                "CTX009",
                f"the {method.name} data hold more than {MAX_RATIO:,} bytes for each of their own and more "
                f"than {SUSPECT_BYTES // 10**6} MB in all, which no recording does; it was not read",
                location=Location(path),
                hint="where it is a recording all the same, decompress it first",
            )
        ]
    )
