"""What grep() searches: the texts of a context, or a file, as bytes in order."""

from __future__ import annotations

import bisect
import os
from typing import Any, Iterator

from ...context.texts import leaves, place_of
from ...pristine import BUILTINS as __builtins__

PIECE = 1 << 18
# ripgrep holds a whole line of its input in memory; longer lines are split.
LONGEST_LINE = 8 << 20

_pread: Any = getattr(os, "pread", None)
_after = bisect.bisect_right


class TextSource:
    """A text, or every text and number in lists and dicts."""

    descriptor = None
    skipped_bytes = skipped_lines = 0

    def __init__(self, value, name="context"):
        self.name = name
        self.parts = []
        self._places = []
        for path, text in leaves(value):
            if text:
                self.parts.append(text)
                self._places.append(place_of(path))
        self._starts, self._origins, self._first_lines = [], [], [0]
        self._breaks = []

    def place(self, part: int) -> str:
        return self._places[part]

    def as_texts(self, _most: int) -> TextSource:
        return self

    def pieces(self, offset: int = 0) -> Iterator[bytes]:
        """The bytes of all parts, each ending with a line break; from an offset of an earlier run."""
        if offset:
            entry = _after(self._starts, offset) - 1
            begun = self._starts[entry]
            for number, data in enumerate(_batched(self._encoded(*self._origins[entry]))):
                yield data if number else data[offset - begun :]
            return
        self._starts, self._origins, self._breaks = [], [], []
        yield from _batched(self._recorded())

    def _recorded(self):
        """Notes where each piece comes from, for locate()."""
        position = 0
        for part, start, is_split, data in self._encoded(0, 0):
            self._starts.append(position)
            self._origins.append((part, start))
            position += len(data)
            if is_split:
                self._breaks.append(position)
            yield part, start, is_split, data

    def _encoded(self, first, start):
        """(part, position in it, whether a line is split after it, its bytes) of each piece."""
        for part in range(first, len(self.parts)):
            text, unbroken = self.parts[part], 0
            for at in range(start, len(text), PIECE):
                piece = text[at : at + PIECE]
                end = piece.rfind("\n") + 1
                unbroken = len(piece) - end + (0 if end else unbroken)
                is_last = at + PIECE >= len(text)
                is_split = unbroken > LONGEST_LINE and not is_last
                data = piece.encode("utf-8", "surrogatepass")
                if is_split or (is_last and end < len(piece)):
                    data += b"\n"
                if is_split:
                    unbroken = 0
                yield part, at, is_split, data
            start = 0

    @property
    def has_split_lines(self) -> bool:
        return bool(self._breaks)

    def locate(self, line: int, offset: int) -> tuple[int, int, int]:
        """(part, line in it, position in it) of an offset in the bytes."""
        entry = _after(self._starts, offset) - 1
        part, start = self._origins[entry]
        text = self.parts[part]
        within = offset - self._starts[entry]
        if not text[start : start + within].isascii():
            data = text[start : start + PIECE].encode("utf-8", "surrogatepass")
            within = _characters_in(data[:within])
        line -= _after(self._breaks, offset) + self._first_line(part)
        return part, line, start + within

    def _first_line(self, part):
        known = self._first_lines
        while len(known) <= part:
            text = self.parts[len(known) - 1]
            known.append(known[-1] + text.count("\n") + (not text.endswith("\n")))
        return known[part]

    def around(self, part: int, position: int, reach: int) -> tuple[str, str, bool, bool]:
        """(text before, text after, whether the part begins and ends within them)."""
        text = self.parts[part]
        before, after = text[max(0, position - reach) : position], text[position : position + reach]
        return before, after, position <= reach, position + reach >= len(text)

    def line_before(self, part: int, position: int) -> int | None:
        """Where the previous line ends, or None."""
        at = self.parts[part].rfind("\n", 0, position)
        return None if at < 0 else at

    def line_after(self, part: int, position: int) -> int | None:
        """Where the next line starts, or None."""
        at = self.parts[part].find("\n", position)
        return None if at < 0 else at + 1


class FileSource:
    """An open regular file, searched in place."""

    has_split_lines = False

    def __init__(self, descriptor, name, skipped_bytes=0, skipped_lines=0):
        self.descriptor = descriptor
        self.name = name
        # What the file has before the text.
        self.skipped_bytes, self.skipped_lines = skipped_bytes, skipped_lines

    def place(self, _part: int) -> str:
        return ""

    def locate(self, line: int, offset: int) -> tuple[int, int, int]:
        return 0, line - self.skipped_lines, offset

    def around(self, _part: int, position: int, reach: int) -> tuple[str, str, bool, bool]:
        low = max(self.skipped_bytes, position - 4 * reach)
        before = _pread(self.descriptor, position - low, low)
        after = _pread(self.descriptor, 4 * reach + 4, position)
        ends = len(after) < 4 * reach + 4
        while after and not ends and 0x80 <= after[-1] < 0xC0:
            after = after[:-1]
        if after and not ends and after[-1] >= 0xC0:
            after = after[:-1]
        begins = low == self.skipped_bytes
        while before and not begins and 0x80 <= before[0] < 0xC0:
            before = before[1:]
        return _decoded(before), _decoded(after), begins, ends

    def line_before(self, _part: int, position: int) -> int | None:
        while position > self.skipped_bytes:
            low = max(self.skipped_bytes, position - PIECE)
            at = _pread(self.descriptor, position - low, low).rfind(b"\n")
            if at >= 0:
                return low + at
            position = low
        return None

    def line_after(self, _part: int, position: int) -> int | None:
        while True:
            data = _pread(self.descriptor, PIECE, position)
            at = data.find(b"\n")
            if at >= 0:
                return position + at + 1
            if not data:
                return None
            position += len(data)

    def as_texts(self, most: int) -> TextSource:
        """The whole text, for Python's re; ValueError if it is too long."""
        data: list[bytes] = []
        at = self.skipped_bytes
        while at - self.skipped_bytes <= most:
            piece = _pread(self.descriptor, 1 << 20, at)
            if not piece:
                return TextSource(_decoded(b"".join(data)), self.name)
            data.append(piece)
            at += len(piece)
        message = "{} has more than {:,} bytes, too many to search with Python's re: read it in parts"
        raise ValueError(message.format(self.name, most))


class FileBackedSource(FileSource):
    """An ASCII context that is mapped from a file, after one line of header."""

    def __init__(self, text, descriptor, lead):
        super().__init__(descriptor, "context", lead, 1)
        self._text = text

    def as_texts(self, _most: int) -> TextSource:
        return TextSource(self._text, self.name)


def _characters_in(data):
    """How many whole characters these bytes have; the last one may be cut off."""
    for missing in range(4):
        try:
            return len(data[: len(data) - missing].decode("utf-8", "surrogatepass"))
        except UnicodeDecodeError:
            continue
    return 0


def _batched(encoded):
    """Joins small pieces, so that short texts do not take a write each."""
    batch, waiting = [], 0
    for _part, _start, _is_split, data in encoded:
        batch.append(data)
        waiting += len(data)
        if waiting >= PIECE:
            yield b"".join(batch)
            batch, waiting = [], 0
    if batch:
        yield b"".join(batch)


def _decoded(data):
    return data.decode("utf-8", "replace")
