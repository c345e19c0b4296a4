"""Writes the file of a snapshot: blocks of bytes, then an index of them with a check for each."""

from __future__ import annotations

import json
import struct
import zlib
from typing import Any, Callable

from ..module_finder import import_own
from ..pristine import BUILTINS as __builtins__

MAGIC = b"\x89CELLAR\n"
END = b"\nRALLEC\x89"
FORMAT = 1
BLOCK = 1 << 20
SAMPLE = 1 << 12
WORTHWHILE = 0.8

RAW, ZLIB, LZ4 = range(3)

HEAD = struct.Struct("<8sI")
TAIL = struct.Struct("<QIII8s")
_crc, _compress = zlib.crc32, zlib.compress
_encode_json = json.JSONEncoder(ensure_ascii=True, separators=(",", ":")).encode


class Refused(Exception):
    """A snapshot that cannot be read here."""


class LimitExceeded(Exception):
    """More bytes than allowed."""


def lz4_block() -> Any:
    try:
        return import_own("lz4.block")
    except KeyboardInterrupt:
        raise
    except BaseException:
        return None


def compressor(name: str) -> tuple[int, Callable]:
    """(code, function) for the name of a compression."""
    if name == "zlib":
        return ZLIB, lambda data: _compress(data, 1)
    block = lz4_block()
    if block is None:
        raise Refused("lz4 is not installed: cellar install lz4")
    pack = block.compress
    return LZ4, lambda data: pack(data, store_size=False)


class FileWriter:
    """Writes blocks to a sink, compressed if that pays."""

    def __init__(self, sink, limit, compression):
        self._sink = sink
        self._limit = limit
        self._code, self._compress = compressor(compression)
        self.sent = 0
        self.is_broken = False
        self._send(HEAD.pack(MAGIC, FORMAT))

    def compress(self, view: memoryview) -> tuple[int, Any, int]:
        """(code, stored bytes, raw length) of one block."""
        size = len(view)
        if size > 2 * SAMPLE:
            middle = size // 2
            for start in (0, middle, size - SAMPLE):
                if len(self._compress(view[start : start + SAMPLE])) < SAMPLE * WORTHWHILE:
                    break
            else:
                return RAW, view, size
        stored = self._compress(view)
        return (self._code, stored, size) if len(stored) < size else (RAW, view, size)

    def allow(self, more: int) -> None:
        """Raises LimitExceeded if so many more bytes would be too many."""
        if self.sent + more > self._limit:
            raise LimitExceeded

    def _send(self, data):
        self.sent += len(data)
        self.allow(0)
        try:
            self._sink(data)
        except BaseException:
            self.is_broken = True
            raise

    def send(self, block: tuple[int, Any, int]) -> list[int]:
        """Writes one block; returns its entry for the index."""
        code, stored, size = block
        entry = [self.sent, len(stored), size, code, _crc(stored)]
        self._send(stored)
        return entry

    def send_view(self, view: memoryview) -> list[list[int]]:
        """Writes a long view without copying it."""
        starts = range(0, len(view), BLOCK)
        return [self.send(self.compress(view[start : start + BLOCK])) for start in starts]

    def finish(self, index: dict) -> None:
        """Writes the index and the trailer."""
        text = _encode_json(index).encode("ascii")
        stored = _compress(text, 1)
        place = self.sent
        self._send(stored)
        self._send(TAIL.pack(place, len(stored), len(text), _crc(stored), END))


class PickleWriter:
    """The file that a pickler writes. What comes after `begin` is held until `keep` or `roll_back`."""

    def __init__(self, file_writer):
        self._file_writer = file_writer
        self._open = bytearray()
        self._held = []
        self._held_bytes = 0
        self._before = None
        self._mark = (0, 0)
        self._probe = None
        self.length = 0
        self.entries = []

    def write(self, data: Any) -> None:
        if self._probe is not None:
            self._probe += data
            return
        view = memoryview(data).cast("B")
        size = len(view)
        self.length += size
        if size < BLOCK:
            self._open += view
            if len(self._open) >= BLOCK:
                self._close_block()
            return
        self._close_block()
        for start in range(0, size, BLOCK):
            part = view[start : start + BLOCK]
            code, stored, length = self._file_writer.compress(part)
            if code == RAW and type(data) is not bytes:
                stored = bytes(part)
            self._hold((code, stored, length))

    def _close_block(self):
        if self._before is None:
            self._before = bytes(self._open[: self._mark[0]])
        if self._open:
            block, self._open = self._open, bytearray()
            self._hold(self._file_writer.compress(memoryview(block)))

    def _hold(self, block):
        self._held.append(block)
        self._held_bytes += len(block[1])
        self._file_writer.allow(self._held_bytes)

    def begin(self) -> None:
        self._mark = (len(self._open), self.length)
        self._before = None

    def keep(self) -> None:
        for block in self._held:
            self.entries.append(self._file_writer.send(block))
        self._clear_held()

    def roll_back(self) -> None:
        if self._before is not None:
            self._open = bytearray(self._before)
        else:
            del self._open[self._mark[0] :]
        self._clear_held()
        self.length = self._mark[1]

    def _clear_held(self):
        self._held = []
        self._held_bytes = 0
        self._before = None

    def finish(self) -> None:
        self.begin()
        self._close_block()
        self.keep()

    def capture(self, action: Callable[[], Any]) -> bytes:
        """What `action` would write."""
        self._probe = bytearray()
        try:
            action()
            return bytes(self._probe)
        finally:
            self._probe = None
