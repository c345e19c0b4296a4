"""The objects of PDF as they are written: numbers, names, strings, lists, dicts."""

from __future__ import annotations

import re
from typing import Any

from ...pristine import BUILTINS as __builtins__
from ..limits import ArchiveError

MOST_DEPTH = 50
_BLANK = re.compile(rb"[\0\t\n\f\r ]*")
_COMMENT = re.compile(rb"[^\r\n]*")
_WORD = re.compile(rb"[^\0\t\n\f\r ()<>\[\]{}/%]+")
_NUMBER = re.compile(rb"[+-]?(?:\d{1,20}(?:\.\d*)?|\.\d+)$")
_REFERENCE = re.compile(rb"(\d{1,10})[\0\t\n\f\r ]{1,20}(\d{1,5})[\0\t\n\f\r ]{1,20}R(?![^\0\t\n\f\r ()<>\[\]{}/%])")
_NAME_CODE = re.compile(rb"#([0-9a-fA-F]{2})")
_STRING_STOP = re.compile(rb"[()\\]")
_NOT_HEX = re.compile(rb"[^0-9a-fA-F]")
_ESCAPES = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"b": b"\b", b"f": b"\f"}
_END = object()


class Name(str):
    __slots__ = ()


class Keyword(bytes):
    __slots__ = ()


class Reference(tuple):
    """(number, generation) of an object."""

    __slots__ = ()


class Stream:
    """`attributes` is its dict; the data begins at `start` of the file."""

    __slots__ = ("attributes", "start", "number")

    def __init__(self, attributes, start, number=0):
        self.attributes, self.start, self.number = attributes, start, number


class Scanner:
    def __init__(self, data, position=0):
        self.data, self.position = data, position

    def blank(self) -> None:
        self.position = _skipped(_BLANK, self.data, self.position)
        while self.data.startswith(b"%", self.position):
            self.position = _skipped(_BLANK, self.data, _skipped(_COMMENT, self.data, self.position))

    def at_end(self) -> bool:
        self.blank()
        return self.position >= len(self.data)

    def value(self, depth: int = 0) -> Any:
        """The next object or keyword; b"" as a keyword at the end."""
        if depth > MOST_DEPTH:
            raise ArchiveError("the PDF has more than {} lists in each other: it is not read".format(MOST_DEPTH))
        self.blank()
        data, start = self.data, self.position
        first = data[start : start + 1]
        if first == b"/":
            return self._name()
        if first == b"(":
            return self._string()
        if first == b"<":
            if data[start + 1 : start + 2] == b"<":
                return self._dict(depth)
            return self._hex_string()
        if first == b"[":
            self.position += 1
            items: list[Any] = []
            while True:
                item = self._item(b"]", depth)
                if item is _END:
                    return items
                items.append(item)
        if first.isdigit():
            match = _REFERENCE.match(data, start)
            if match:
                self.position = match.end()
                return Reference((int(match.group(1)), int(match.group(2))))
        return self._word()

    def _item(self, closing, depth):
        self.blank()
        data = self.data
        if self.position >= len(data):
            return _END
        if data.startswith(closing, self.position):
            self.position += len(closing)
            return _END
        before = self.position
        item = self.value(depth + 1)
        if self.position == before:
            self.position += 1
        if type(item) is Keyword and item in (b"endobj", b"stream"):
            self.position = before
            return _END
        return item

    def _dict(self, depth):
        self.position += 2
        found: dict[str, Any] = {}
        while True:
            key = self._item(b">>", depth)
            if key is _END:
                return found
            if type(key) is not Name:
                continue
            value = self._item(b">>", depth)
            if value is _END:
                return found
            found[str(key)] = value

    def _word(self):
        match = _WORD.match(self.data, self.position)
        if match is None:
            # A bracket that nothing opened.
            word = self.data[self.position : self.position + 1]
            self.position += 1
            return Keyword(word)
        self.position = match.end()
        word = match.group()
        if _NUMBER.match(word):
            return float(word) if b"." in word else int(word)
        constants = {b"true": True, b"false": False, b"null": None}
        return constants[word] if word in constants else Keyword(word)

    def _name(self):
        match = _WORD.match(self.data, self.position + 1)
        self.position = match.end() if match else self.position + 1
        name = match.group() if match else b""
        if b"#" in name:
            name = _NAME_CODE.sub(lambda code: bytes((int(code.group(1), 16),)), name)
        return Name(name.decode("latin-1"))

    def _hex_string(self):
        end = self.data.find(b">", self.position)
        end = len(self.data) if end < 0 else end
        digits = _NOT_HEX.sub(b"", self.data[self.position + 1 : end])
        self.position = end + 1
        return bytes.fromhex((digits + b"0" * (len(digits) % 2)).decode("ascii"))

    def _string(self):
        data, position, depth = self.data, self.position + 1, 1
        parts: list[bytes] = []
        while True:
            match = _STRING_STOP.search(data, position)
            if match is None:
                self.position = len(data)
                return b"".join(parts + [data[position:]])
            stop = match.start()
            parts.append(data[position:stop])
            letter = match.group()
            position = stop + 1
            if letter == b"\\":
                piece, position = _escape(data, position)
                parts.append(piece)
                continue
            depth += 1 if letter == b"(" else -1
            if depth == 0:
                self.position = position
                return b"".join(parts)
            parts.append(letter)


def _skipped(pattern, data, position):
    match = pattern.match(data, position)
    return match.end() if match else position


def _escape(data, position):
    """(what a backslash before this place means, where it ends)."""
    letter = data[position : position + 1]
    if letter in b"01234567" and letter:
        end = position + 1
        while end < position + 3 and data[end : end + 1] in b"01234567" and data[end : end + 1]:
            end += 1
        return bytes((int(data[position:end], 8) & 255,)), end
    if letter == b"\r":
        return b"", position + (2 if data[position + 1 : position + 2] == b"\n" else 1)
    if letter == b"\n":
        return b"", position + 1
    return _ESCAPES.get(letter, letter), position + 1
