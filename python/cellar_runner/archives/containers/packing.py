"""Decompression of deflate, gzip, bzip2, xz, LZMA and Zstandard in small steps, counted."""

from __future__ import annotations

import zlib
from typing import Any, Iterable, Iterator

from ...pristine import BUILTINS as __builtins__
from ..libraries import library
from ..limits import BLOCK, ArchiveError, Meter, shown
from .members import missing_library, reading

# Small, since what one step has not used yet would count as used.
PACKED_BLOCK = 4096
MOST_DICTIONARY = 128 << 20
STARTS = {"gz": b"\x1f\x8b", "bz2": b"BZh", "xz": b"\xfd7zXZ\0", "zst": b"\x28\xb5\x2f\xfd"}


def packed_blocks(source: Any, start: int = 0, count: int | None = None) -> Iterator[bytes]:
    left = source.size - start if count is None else count
    while left > 0:
        block = source.read_at(start, min(PACKED_BLOCK, left))
        if not block:
            return
        yield block
        start, left = start + len(block), left - len(block)


def unpacked(kind: str, packed: Iterable[bytes], meter: Meter) -> Iterator[bytes]:
    """Blocks of the content; raises ArchiveError where the packed data breaks off or is wrong."""
    with reading(meter.name, "{} stream".format(kind)):
        feed = _Feed(packed)
        steps = _zstandard_steps(feed) if _has_only_zstandard(kind, meter.name) else _steps(kind, feed, meter.name)
        for block in steps:
            meter.add(len(block), feed.count)
            yield block


class _Feed:
    def __init__(self, blocks):
        self._blocks = iter(blocks)
        self.count = 0

    def next(self) -> bytes:
        block = next(self._blocks, b"")
        self.count += len(block)
        return block

    def read(self, _size: int = -1) -> bytes:
        return self.next()


def _steps(kind, feed, name):
    machine, given = _machine(kind, name), feed.next()
    while True:
        block, given = _step(machine, given)
        if block:
            yield block
        if machine.eof:
            # Files of these kinds may be several streams one after the other.
            given = (given or feed.next()).lstrip(b"\0")
            while given and len(given) < 6:
                more = feed.next()
                if not more:
                    break
                given += more
            if kind not in STARTS or not given.startswith(STARTS[kind]):
                return
            machine = _machine(kind, name)
        elif not given and not block:
            given = feed.next()
            if not given:
                message = "{} ends too early: its packed data is cut off; get it again"
                raise ArchiveError(message.format(shown(name)))


def _step(machine, given):
    """(what came out, what is still to be given)."""
    if hasattr(machine, "unconsumed_tail"):
        block = machine.decompress(given, BLOCK)
        return block, machine.unused_data if machine.eof else machine.unconsumed_tail
    # These keep what they were given and did not use.
    block = machine.decompress(given, BLOCK)
    return block, machine.unused_data if machine.eof else b""


def _machine(kind, name):
    if kind in ("deflate", "gz", "zlib"):
        return zlib.decompressobj({"deflate": -15, "gz": 31, "zlib": 15}[kind])
    module = library({"bz2": "bz2", "xz": "lzma", "lzma": "lzma"}[kind]) if kind != "zst" else _own_zstd()
    if module is None:
        raise missing_library(name, "packed as " + kind, "bz2" if kind == "bz2" else "lzma")
    if kind == "bz2":
        return module.BZ2Decompressor()
    if kind == "zst":
        return module.ZstdDecompressor(options={module.DecompressionParameter.window_log_max: 27})
    form = module.FORMAT_XZ if kind == "xz" else module.FORMAT_ALONE
    return module.LZMADecompressor(form, memlimit=MOST_DICTIONARY)


def _own_zstd():
    """The module of Python 3.14, or its backport; None without."""
    return library("compression.zstd") or library("backports.zstd")


def _has_only_zstandard(kind, name):
    if kind != "zst" or _own_zstd() is not None:
        return False
    if library("zstandard") is None:
        raise missing_library(name, "packed with Zstandard", "zstandard (or Python 3.14)")
    return True


def _zstandard_steps(feed):
    machine = library("zstandard").ZstdDecompressor(max_window_size=MOST_DICTIONARY)
    with machine.stream_reader(feed, read_size=PACKED_BLOCK, read_across_frames=True, closefd=False) as reader:
        while True:
            block = reader.read(BLOCK)
            if not block:
                return
            yield block


class Unpacked:
    """Packed data read at positions: forwards it goes on, backwards it begins anew."""

    def __init__(self, kind, source, most, advice=""):
        self._kind, self._source = kind, source
        self._most, self._advice = most, advice
        self._begin()

    def _begin(self):
        meter = Meter(self._source.name, self._most, self._advice)
        self._blocks = unpacked(self._kind, packed_blocks(self._source), meter)
        self._start, self._block = 0, b""

    def read_at(self, position: int, count: int) -> bytes:
        if position < self._start:
            self._begin()
        parts, left = [], count
        while left > 0:
            offset = position - self._start
            if offset < len(self._block):
                part = self._block[offset : offset + left]
                parts.append(part)
                position, left = position + len(part), left - len(part)
                continue
            block = next(self._blocks, b"")
            if not block:
                break
            self._start, self._block = self._start + len(self._block), block
        return b"".join(parts)
