"""The objects of a PDF file by their numbers, read when they are asked for."""

from __future__ import annotations

import re
import time
from typing import Any

from ...pristine import BUILTINS as __builtins__
from ...values.reprs import is_a
from ..limits import MEMBER_BYTES, ArchiveError, Meter
from . import filters
from .syntax import Reference, Scanner, Stream, read_object
from .tables import read_tables

MOST_OBJECTS = 500_000
MOST_LINKS = 100
KEPT_OBJECTS = 20_000
KEPT_BYTES = 64 << 20
MOST_SECONDS = 30
UNPACKED_BYTES = 256 << 20

_clock = time.monotonic
_OBJECT = re.compile(rb"(?<![0-9])(\d{1,10})[\0\t\n\f\r ]{1,20}(\d{1,5})[\0\t\n\f\r ]{1,20}obj\b")
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
            read_tables(data, self.content, self._put, self.trailer)
            is_whole = is_a(self.get(self.get(self.trailer.get("Root")), "Pages"), dict)
        except TooMany:
            raise
        except (ArchiveError, ValueError, RecursionError, OverflowError):
            is_whole = False
        if not is_whole:
            self._repair()

    def _put(self, number, place):
        if len(self._places) >= MOST_OBJECTS:
            raise TooMany("the PDF has more than {:,} objects: it is not read".format(MOST_OBJECTS))
        self._places.setdefault(number, place)

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
        if type(place) is tuple:
            found = self._from_pack(place[0], number)
        else:
            found = read_object(Scanner(self.data, place), number) if 0 <= place < len(self.data) else None
        if len(self._kept) > KEPT_OBJECTS:
            self._kept.clear()
        self._kept[number] = found
        return found

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
            # A pack in a pack is not allowed, and could be in itself.
            stream = self._numbered(pack) if type(self._places.get(pack)) is int else None
            if not is_a(stream, Stream):
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
