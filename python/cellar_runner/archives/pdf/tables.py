"""The tables of a PDF file, which say where its objects are: as text, or as packed streams."""

from __future__ import annotations

import re
from typing import Any, Callable

from ...pristine import BUILTINS as __builtins__
from ...values.reprs import is_a
from ..limits import ArchiveError
from .syntax import Scanner, Stream, read_object

MOST_TABLES = 1000
_START = re.compile(rb"startxref[\0\t\n\f\r ]{0,20}(\d{1,15})")
_ROW = re.compile(rb"[\0\t\n\f\r ]{0,8}(\d{1,10}) (\d{1,5}) ([nf])")


def read_tables(
    data: bytes, content: Callable[[Stream], bytes], put: Callable[[int, Any], None], trailer: dict[str, Any]
) -> None:
    """Calls put(number, place) for each object, those of the newest table first, and fills the trailer."""
    found = _START.findall(data[-2048:]) or _START.findall(data)
    waiting, seen = [int(found[-1])] if found else [], set()
    while waiting:
        place = waiting.pop(0)
        if place in seen:
            continue
        seen.add(place)
        if len(seen) > MOST_TABLES or not 0 <= place < len(data):
            raise ArchiveError("the PDF has tables that lead nowhere")
        scanner = Scanner(data, place)
        scanner.blank()
        is_text = data.startswith(b"xref", scanner.position)
        attributes = _text_table(scanner, put) if is_text else _packed_table(scanner, content, put)
        for key, value in attributes.items():
            trailer.setdefault(key, value)
        for key in ("XRefStm", "Prev"):
            if type(attributes.get(key)) is int:
                waiting.append(attributes[key])


def _text_table(scanner, put):
    scanner.position += 4
    while True:
        first = scanner.value()
        if type(first) is not int:
            break
        count = scanner.value()
        if type(count) is not int:
            raise ArchiveError("the PDF has a damaged table")
        for number in range(first, first + count):
            match = _ROW.match(scanner.data, scanner.position)
            if match is None:
                raise ArchiveError("the PDF has a damaged table")
            scanner.position = match.end()
            if match.group(3) == b"n":
                put(number, int(match.group(1)))
    attributes = scanner.value() if first == b"trailer" else None
    if not is_a(attributes, dict):
        raise ArchiveError("the PDF has a table without a trailer")
    return attributes


def _packed_table(scanner, content, put):
    stream = read_object(scanner, None)
    if not is_a(stream, Stream) or stream.attributes.get("Type") != "XRef":
        raise ArchiveError("the PDF has no table where one must be")
    attributes = stream.attributes
    widths = attributes.get("W")
    is_usable = is_a(widths, list) and len(widths) == 3 and all(type(one) is int and 0 <= one <= 8 for one in widths)
    if not is_usable or not sum(widths):
        raise ArchiveError("the PDF has a damaged table")
    rows = content(stream)
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
                put(number, fields[1] if kind == 1 else (fields[1], fields[2]))
    return attributes
