"""The objects of a PDF file by their numbers, read when they are asked for."""

from __future__ import annotations

import re
import time
from typing import Any

from ...pristine import BUILTINS as __builtins__
from ...values.reprs import is_a
from ..limits import MEMBER_BYTES, ArchiveError, Meter
from . import filters
from .syntax import Keyword, Reference, Scanner, Stream

MOST_OBJECTS = 500_000
MOST_TABLES = 1000
MOST_LINKS = 100
KEPT_OBJECTS = 20_000
KEPT_BYTES = 64 << 20
MOST_SECONDS = 30
UNPACKED_BYTES = 256 << 20

_clock = time.monotonic
_OBJECT = re.compile(rb"(?<![0-9])(\d{1,10})[\0\t\n\f\r ]{1,20}(\d{1,5})[\0\t\n\f\r ]{1,20}obj\b")
_START = re.compile(rb"startxref[\0\t\n\f\r ]{0,20}(\d{1,15})")
_ROW = re.compile(rb"[\0\t\n\f\r ]{0,8}(\d{1,10}) (\d{1,5}) ([nf])")
_TRAILER = re.compile(rb"trailer[\0\t\n\f\r ]*(?=<<)")


class PdfFile:
    def __init__(self, data):
        self.data = data
        # A place in the file, or (number of an object stream, index in it).
        self._places: dict[int, Any] = {}
        self._kept: dict[int, Any] = {}
        self._packs: dict[int, dict[int, Any]] = {}
        self._packed_bytes = 0
        self.begin()
        self.trailer: dict[str, Any] = {}
        self.was_repaired = False
        try:
            self._read_tables()
            is_whole = is_a(self.get(self.get(self.trailer.get("Root")), "Pages"), dict)
        except TooMany:
            raise
        except (ArchiveError, ValueError, RecursionError, OverflowError):
            is_whole = False
        if not is_whole:
            self._repair()

    def _read_tables(self):
        found = _START.findall(self.data[-2048:]) or _START.findall(self.data)
        waiting, seen = [int(found[-1])] if found else [], set()
        while waiting:
            place = waiting.pop(0)
            if place in seen:
                continue
            seen.add(place)
            if len(seen) > MOST_TABLES or place >= len(self.data):
                raise ArchiveError("the PDF has tables that lead nowhere")
            scanner = Scanner(self.data, place)
            scanner.blank()
            is_table = self.data.startswith(b"xref", scanner.position)
            attributes = self._table(scanner) if is_table else self._table_stream(scanner)
            for key, value in attributes.items():
                self.trailer.setdefault(key, value)
            for key in ("XRefStm", "Prev"):
                if type(attributes.get(key)) is int:
                    waiting.append(attributes[key])

    def _put(self, number, place):
        if len(self._places) >= MOST_OBJECTS:
            raise TooMany("the PDF has more than {:,} objects: it is not read".format(MOST_OBJECTS))
        self._places.setdefault(number, place)

    def _table(self, scanner):
        scanner.position += 4
        while True:
            first = scanner.value()
            if type(first) is not int:
                break
            count = scanner.value()
            if type(count) is not int:
                raise ArchiveError("the PDF has a damaged table")
            for number in range(first, first + count):
                match = _ROW.match(self.data, scanner.position)
                if match is None:
                    raise ArchiveError("the PDF has a damaged table")
                scanner.position = match.end()
                if match.group(3) == b"n":
                    self._put(number, int(match.group(1)))
        attributes = scanner.value() if first == b"trailer" else None
        if not is_a(attributes, dict):
            raise ArchiveError("the PDF has a table without a trailer")
        return attributes

    def _table_stream(self, scanner):
        stream = self._object(scanner, None)
        if not is_a(stream, Stream) or stream.attributes.get("Type") != "XRef":
            raise ArchiveError("the PDF has no table where one must be")
        attributes = stream.attributes
        widths = [width for width in attributes.get("W", ()) if type(width) is int and 0 <= width <= 8]
        if len(widths) != 3 or not sum(widths):
            raise ArchiveError("the PDF has a damaged table")
        rows = self.content(stream)
        ranges = attributes.get("Index") or [0, attributes.get("Size", 0)]
        place = 0
        for first, count in zip(ranges[::2], ranges[1::2]):
            if type(first) is not int or type(count) is not int:
                raise ArchiveError("the PDF has a damaged table")
            for number in range(first, first + count):
                if place + sum(widths) > len(rows):
                    return attributes
                fields = []
                for width in widths:
                    fields.append(int.from_bytes(rows[place : place + width], "big"))
                    place += width
                kind = fields[0] if widths[0] else 1
                if kind in (1, 2):
                    self._put(number, fields[1] if kind == 1 else (fields[1], fields[2]))
        return attributes

    def _repair(self):
        """Finds the objects by looking for them, as in a file whose tables are missing or wrong."""
        self.was_repaired = True
        self._places, self._kept, self._packs = {}, {}, {}
        for match in _OBJECT.finditer(self.data):
            number = int(match.group(1))
            self._places.pop(number, None)
            self._put(number, match.start())
        for match in _TRAILER.finditer(self.data):
            attributes = Scanner(self.data, match.end()).value()
            if is_a(attributes, dict):
                self.trailer.update(attributes)
        for number in list(self._places):
            found = self._quietly(number)
            attributes = found.attributes if is_a(found, Stream) else found
            if not is_a(attributes, dict):
                continue
            if attributes.get("Type") == "ObjStm" and is_a(found, Stream):
                for index, inner in enumerate(self._numbers(found)):
                    self._put(inner, (number, index))
            if attributes.get("Type") == "Catalog":
                self.trailer["Root"] = Reference((number, 0))
            if attributes.get("Type") == "XRef":
                for key in ("Root", "Info", "Encrypt"):
                    if key in attributes:
                        self.trailer.setdefault(key, attributes[key])

    def _quietly(self, number):
        try:
            return self.resolve(Reference((number, 0)))
        except TooMany:
            raise
        except ArchiveError:
            return None

    def resolve(self, value: Any) -> Any:
        """What a reference leads to; a chain of references that does not end gives None."""
        for _ in range(MOST_LINKS):
            if type(value) is not Reference:
                return value
            value = self._numbered(value[0])
        return None

    def get(self, mapping: Any, *keys: str) -> Any:
        for key in keys:
            mapping = self.resolve(mapping)
            if is_a(mapping, Stream):
                mapping = mapping.attributes
            mapping = mapping.get(key) if is_a(mapping, dict) else None
        return self.resolve(mapping)

    def _numbered(self, number):
        if number in self._kept:
            return self._kept[number]
        place = self._places.get(number)
        if place is None:
            return None
        self.tick()
        # While it is read, it is nothing to itself.
        self._kept[number] = None
        if type(place) is tuple:
            found = self._from_pack(place[0], number)
        else:
            found = self._object(Scanner(self.data, place), number) if 0 <= place < len(self.data) else None
        if len(self._kept) > KEPT_OBJECTS:
            self._kept.clear()
        self._kept[number] = found
        return found

    def _object(self, scanner, number):
        first, generation, word = scanner.value(), scanner.value(), scanner.value()
        if type(first) is not int or type(generation) is not int or word != b"obj":
            raise ArchiveError("the PDF has no object where one must be")
        if number is not None and first != number:
            raise ArchiveError("the PDF has object {} where {} must be".format(first, number))
        value = scanner.value()
        if is_a(value, dict):
            scanner.blank()
            if self.data.startswith(b"stream", scanner.position):
                start = scanner.position + 6
                start += 2 if self.data.startswith(b"\r\n", start) else self.data.startswith((b"\n", b"\r"), start)
                return Stream(value, start, first)
        return None if type(value) is Keyword else value

    def content(self, stream: Stream) -> bytes:
        """The data of a stream, unpacked."""
        attributes = stream.attributes
        names = self._list(attributes.get("Filter", attributes.get("F")))
        parameters = self._list(attributes.get("DecodeParms", attributes.get("DP")))
        given = [
            {key: self.resolve(item) for key, item in one.items()} if is_a(one, dict) else {} for one in parameters
        ]
        meter = Meter("a stream of the PDF", MEMBER_BYTES)
        data = filters.unpacked(self._raw(stream), [str(name) for name in names], given, meter)
        # Many streams that each stay below the limit are too many together.
        self._meter.add(len(data))
        return data

    def begin(self) -> None:
        """The limits for unpacked data and for time are those of one page."""
        self._meter = Meter("the PDF", UNPACKED_BYTES)
        self._until = _clock() + MOST_SECONDS

    def tick(self) -> None:
        if _clock() > self._until:
            raise TooMany("the PDF took more than {} seconds: the rest is not read".format(MOST_SECONDS))

    def _list(self, value):
        value = self.resolve(value)
        items = value if is_a(value, list) else [] if value is None else [value]
        return [self.resolve(item) for item in items[:100]]

    def _raw(self, stream):
        length = self.resolve(stream.attributes.get("Length"))
        end = stream.start + length if type(length) is int and length >= 0 else -1
        if end < 0 or b"endstream" not in self.data[end : end + 20]:
            end = self.data.find(b"endstream", stream.start)
            end = len(self.data) if end < 0 else end
        return self.data[stream.start : end]

    def _numbers(self, stream):
        scanner = Scanner(self.content(stream))
        count = self.resolve(stream.attributes.get("N"))
        numbers = []
        for _ in range(count if type(count) is int and 0 <= count <= MOST_OBJECTS else 0):
            number, place = scanner.value(), scanner.value()
            if type(number) is not int or type(place) is not int:
                break
            numbers.append(number)
        return numbers

    def _from_pack(self, pack, number):
        if pack not in self._packs:
            self._packs[pack] = {}
            stream = self._numbered(pack)
            if not is_a(stream, Stream) or type(self._places.get(pack)) is tuple:
                return None
            self._packs[pack] = self._pack(stream)
        found = self._packs[pack].get(number)
        return None if found is None else Scanner(*found).value()

    def _pack(self, stream):
        data = self.content(stream)
        if self._packed_bytes + len(data) > KEPT_BYTES:
            self._packs.clear()
            self._packed_bytes = 0
        self._packed_bytes += len(data)
        first = self.resolve(stream.attributes.get("First"))
        count = self.resolve(stream.attributes.get("N"))
        if type(first) is not int or type(count) is not int or not 0 <= count <= MOST_OBJECTS:
            return {}
        scanner, items = Scanner(data), {}
        for _ in range(count):
            number, place = scanner.value(), scanner.value()
            if type(number) is not int or type(place) is not int or place < 0:
                break
            items[number] = (data, first + place)
        return items


class TooMany(ArchiveError):
    """A limit of the whole file, which looking elsewhere does not change."""
