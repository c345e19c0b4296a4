"""From the codes of a font to text, and how wide they are."""

from __future__ import annotations

import bisect
from typing import Any, Iterator

from ...pristine import BUILTINS as __builtins__
from ...values.reprs import is_a
from ..limits import ArchiveError
from .glyphs import Glyphs
from .syntax import Keyword, Name, Scanner, Stream

MOST_MAPPED = 200_000
LONGEST_TARGET = 512
UNKNOWN = "\ufffd"
_NUMBERS = (int, float)


class Font:
    """`characters(codes)` gives (text, width in thousandths, whether it is a space of one byte)."""

    def __init__(self, file: Any, attributes: Any, glyphs: Glyphs):
        get = file.get
        self._map: UnicodeMap | None = None
        found = get(attributes, "ToUnicode")
        if is_a(found, Stream):
            try:
                self._map = UnicodeMap(file.content(found))
            except ArchiveError:
                self._map = None
        self.is_composite = get(attributes, "Subtype") == "Type0"
        self._codes: list[str] = []
        self._widths: dict[int, Any] = {}
        self._default = 1000.0 if self.is_composite else 500.0
        if self.is_composite:
            inner = file.resolve((get(attributes, "DescendantFonts") or [None])[0])
            default = get(inner, "DW")
            self._default = float(default) if type(default) in _NUMBERS else 1000.0
            self._read_composite_widths(file, get(inner, "W"))
        else:
            self._codes = _codes(file, get(attributes, "Encoding"), get(attributes, "BaseFont"), glyphs)
            first, widths = get(attributes, "FirstChar"), get(attributes, "Widths")
            if type(first) is int and is_a(widths, list):
                for code, width in enumerate(widths[:256], first):
                    width = file.resolve(width)
                    if type(width) in _NUMBERS:
                        self._widths[code] = width

    def _read_composite_widths(self, file, items):
        items = items if is_a(items, list) else []
        place = 0
        while place + 1 < len(items) and len(self._widths) < MOST_MAPPED:
            first, second = file.resolve(items[place]), file.resolve(items[place + 1])
            if type(first) is int and is_a(second, list):
                for code, width in enumerate(second[:MOST_MAPPED], first):
                    if type(width) in _NUMBERS:
                        self._widths[code] = width
                place += 2
                continue
            width = file.resolve(items[place + 2]) if place + 2 < len(items) else None
            if type(first) is int and type(second) is int and type(width) in _NUMBERS:
                for code in range(first, min(second, first + 65536) + 1):
                    self._widths[code] = width
            place += 3

    def characters(self, codes: bytes) -> Iterator[tuple[str, float, bool]]:
        step = 2 if self.is_composite else 1
        if self._map is not None and self._map.code_size and self.is_composite:
            step = self._map.code_size
        for start in range(0, len(codes), step):
            code = int.from_bytes(codes[start : start + step], "big")
            text = self._map.text(code) if self._map is not None else None
            if text is None:
                text = self._codes[code] if code < len(self._codes) else UNKNOWN
            yield text, self._widths.get(code, self._default), step == 1 and code == 32


def _codes(file, encoding, base, glyphs):
    """The text of each code of a simple font."""
    name = encoding if is_a(encoding, Name) else file.get(encoding, "BaseEncoding")
    codes = glyphs.encoding(str(name) if name else "StandardEncoding")
    differences = file.get(encoding, "Differences") if is_a(encoding, dict) else None
    code = 0
    items: Any = differences if is_a(differences, list) else []
    for item in items[:2000]:
        item = file.resolve(item)
        if type(item) is int:
            code = item
        elif is_a(item, Name):
            if 0 <= code < 256:
                codes[code] = glyphs.character(str(item)) or UNKNOWN
            code += 1
    return codes


class UnicodeMap:
    """A ToUnicode CMap. Ranges stay ranges: two numbers may stand for four thousand million codes."""

    def __init__(self, data):
        self.code_size = 0
        self._single: dict[int, str] = {}
        self._starts: list[int] = []
        self._ranges: list[tuple[int, int, Any]] = []
        scanner = Scanner(data)
        held: list[Any] = []
        while not scanner.at_end():
            value = scanner.value()
            if type(value) is not Keyword:
                held.append(value)
                if len(held) > MOST_MAPPED:
                    raise ArchiveError("the PDF has a font with too many codes")
                continue
            if value == b"endcodespacerange":
                self.code_size = max((len(item) for item in held if type(item) is bytes), default=0)
            elif value == b"endbfchar":
                self._add_single(held)
            elif value == b"endbfrange":
                self._add_ranges(held)
            held = []
            if len(self._single) + len(self._ranges) > MOST_MAPPED:
                raise ArchiveError("the PDF has a font with too many codes")
        self._ranges.sort(key=lambda one: one[0])
        self._starts = [one[0] for one in self._ranges]

    def _add_single(self, held):
        for code, target in zip(held[::2], held[1::2]):
            if type(code) is bytes and type(target) is bytes:
                self._single[int.from_bytes(code[:4], "big")] = _target(target)

    def _add_ranges(self, held):
        for first, last, target in zip(held[::3], held[1::3], held[2::3]):
            if type(first) is not bytes or type(last) is not bytes:
                continue
            start, end = int.from_bytes(first[:4], "big"), int.from_bytes(last[:4], "big")
            if is_a(target, list):
                target = [_target(item) for item in target[:MOST_MAPPED] if type(item) is bytes]
            elif type(target) is bytes:
                target = _target(target)
            else:
                continue
            self._ranges.append((start, end, target))

    def text(self, code: int) -> str | None:
        if code in self._single:
            return self._single[code]
        place = bisect.bisect_right(self._starts, code) - 1
        if place < 0:
            return None
        start, end, target = self._ranges[place]
        if not start <= code <= end or not target:
            return None
        if is_a(target, list):
            return target[code - start] if code - start < len(target) else None
        last = ord(target[-1]) + code - start
        return target[:-1] + (chr(last) if last < 0x110000 and not 0xD800 <= last < 0xE000 else UNKNOWN)


def _target(data):
    data = data[:LONGEST_TARGET]
    return data.decode("latin-1") if len(data) == 1 else data.decode("utf-16-be", "replace")
