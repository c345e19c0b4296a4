"""Reads the file of a snapshot; every block is checked before anything is made of it."""

from __future__ import annotations

import io
import json
import os
import zlib
from bisect import bisect_right
from typing import Any, Sequence

from ..module_finder import import_own
from ..pristine import BUILTINS as __builtins__
from .file_writer import END, FORMAT, HEAD, LZ4, MAGIC, RAW, TAIL, ZLIB, Refused, lz4_block

# From this size on, a mapping is cheaper than zeroed memory.
MAPPED = 1 << 19
HUGE_PAGES = 14
# The highest expansion of any codec.
MOST_EXPANSION = 1100

_crc, _inflater = zlib.crc32, zlib.decompressobj
_decode_json = json.JSONDecoder().decode
_FileIO, _fstat = io.FileIO, os.fstat


class FileReader:
    def __init__(self, descriptor):
        self._file = _FileIO(descriptor, "rb", closefd=False)
        self._size = _fstat(descriptor).st_size
        self._lz4 = None
        self.damage = None
        self._end = self._size
        self.index = self._read_index()

    def _read_index(self):
        if self._size < HEAD.size + TAIL.size:
            raise Refused("this file is not a snapshot, or only a part of one")
        magic, number = HEAD.unpack(self._bytes(0, HEAD.size))
        if magic != MAGIC:
            raise Refused("this file is not a snapshot")
        if number != FORMAT:
            raise Refused(
                "the snapshot has format {}, this version reads format {}".format(number, FORMAT)
            )
        start = self._size - TAIL.size
        place, stored, raw, check, end = TAIL.unpack(self._bytes(start, TAIL.size))
        if end != END or place < HEAD.size or place + stored != start:
            raise Refused("the snapshot is cut off or damaged at its end")
        self._end = start
        try:
            text = self.block([place, stored, raw, ZLIB, check])
            index = _decode_json(str(text, "ascii"))
        except (ValueError, RecursionError):
            raise Refused("the index of the snapshot is damaged") from None
        if type(index) is not dict:
            raise Refused("the index of the snapshot is damaged")
        self._end = place
        return index

    def _bytes(self, offset, size):
        data = bytearray(size)
        self._fill(offset, memoryview(data))
        return data

    def _fill(self, offset, view):
        self._file.seek(offset)
        while len(view):
            got = self._file.readinto(view)
            if not got:
                raise self._damaged("the snapshot is cut off")
            view = view[got:]

    def _damaged(self, message):
        self.damage = Refused(message)
        return self.damage

    def checked(self, entry: Sequence[int]) -> tuple[int, int, int, int, int]:
        """The parts of an entry, if they are plausible."""
        try:
            offset, stored, raw, code, check = entry
            numbers = all(type(part) is int and part >= 0 for part in entry)
        except (TypeError, ValueError):
            raise self._damaged("the index of the snapshot is damaged") from None
        fits = numbers and offset + stored <= self._end and raw <= (stored + 1) * MOST_EXPANSION
        if not fits or (code == RAW and raw != stored):
            raise self._damaged("the index of the snapshot is damaged")
        return offset, stored, raw, code, check

    def block(self, entry: Sequence[int]) -> Any:
        offset, stored, raw, code, check = self.checked(entry)
        data = self._bytes(offset, stored)
        if _crc(data) != check:
            raise self._damaged("the snapshot is damaged: a checksum does not fit")
        if code == RAW:
            return data
        try:
            data = self._expand(code, data, raw)
        except Refused:
            raise
        except Exception:
            data = None
        if data is None or len(data) != raw:
            raise self._damaged("the snapshot is damaged: a block cannot be expanded")
        return data

    def _expand(self, code, data, raw):
        if code == ZLIB:
            return _inflater().decompress(data, raw + 1)
        if code != LZ4:
            raise self._damaged("the snapshot holds a block of an unknown kind")
        if self._lz4 is None:
            self._lz4 = lz4_block()
        return self._lz4.decompress(data, uncompressed_size=raw)

    def buffer(self, entries: list[list[int]]) -> Any:
        parts = [self.checked(entry) for entry in entries]
        memory = _memory(sum(part[2] for part in parts))
        view = memoryview(memory)
        for part in parts:
            target, view = view[: part[2]], view[part[2] :]
            if part[3] == RAW:
                self._fill(part[0], target)
                if _crc(target) != part[4]:
                    raise self._damaged("the snapshot is damaged: a checksum does not fit")
            else:
                target[:] = self.block(part)
        return memory


def _memory(size):
    if size < MAPPED:
        return bytearray(size)
    try:
        mmap = import_own("mmap")

        # Private: forks would write to a shared one.
        memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except (ImportError, AttributeError, OSError):
        return bytearray(size)
    if hasattr(memory, "madvise"):
        try:
            memory.madvise(HUGE_PAGES)
        except (OSError, ValueError):
            pass
    return memory


class PickleReader:
    """The file that an unpickler reads, block by block."""

    def __init__(self, file_reader, entries):
        self._file_reader = file_reader
        self._entries = entries
        self._starts = [0]
        for entry in entries:
            self._starts.append(self._starts[-1] + file_reader.checked(entry)[2])
        self._number = -1
        self._block = memoryview(b"")
        self.position = 0
        # Read before anything else.
        self.before = b""

    def _here(self):
        number = bisect_right(self._starts, self.position) - 1
        if number >= len(self._entries):
            return memoryview(b"")
        if number != self._number:
            self._block = memoryview(self._file_reader.block(self._entries[number]))
            self._number = number
        return self._block[self.position - self._starts[number] :]

    def _parts(self, size):
        while size > 0:
            part = self._here()[:size]
            if not len(part):
                return
            self.position += len(part)
            size -= len(part)
            yield part

    def readinto(self, target: Any) -> int:
        view = memoryview(target).cast("B")
        done = 0
        for part in self._parts(len(view)):
            view[done : done + len(part)] = part
            done += len(part)
        return done

    def read(self, size: int) -> bytes:
        if self.before:
            part, self.before = self.before[:size], self.before[size:]
            return part
        return b"".join(self._parts(size))

    def readline(self) -> bytes:
        line = bytearray()
        while not line.endswith(b"\n"):
            byte = self.read(1)
            if not byte:
                break
            line += byte
        return bytes(line)
