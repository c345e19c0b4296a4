"""XLSX: each sheet as rows of values with tabs between them; a hit says its cell."""

from __future__ import annotations

import datetime
import re
from typing import Iterator

from ...pristine import BUILTINS as __builtins__
from ..containers.members import Entry
from ..limits import MEMBER_BYTES, ArchiveError, Meter, shown
from . import xml_events
from .document import PackedDocument

# Empty cells before one are shown as tabs, but not thousands of them.
MOST_GAP = 100
MOST_COLUMN = 16384
_CELL = re.compile(r"([A-Z]{1,3})([0-9]{1,7})")
_DATE_FORMATS = frozenset(range(14, 23)) | frozenset(range(45, 48))
_QUOTED = re.compile(r'"[^"]*"|\[[^\]]*\]|\\.')


class Sheets(PackedDocument):
    kind = "xlsx"
    noun = "sheet"
    has_cells = True

    def __init__(self, archive):
        super().__init__(archive)
        self._strings: list[str] | None = None
        self._dates: list[bool] | None = None
        self._epoch = datetime.datetime(1899, 12, 30)
        self._main = self.main_part("xl/workbook.xml")
        self._relations = self.relations(self._main)

        def start(tag, attributes):
            if tag == "sheet":
                path = self._relations.get(attributes.get(":id", ""), ("", ""))[1]
                before = len(self.entries)
                self.part(path, attributes.get("name", path))
                if attributes.get("state", "visible") != "visible" and len(self.entries) > before:
                    self.entries[-1].note = "hidden"
            elif tag == "workbookPr" and attributes.get("date1904") in ("1", "true"):
                self._epoch = datetime.datetime(1904, 1, 1)

        xml_events.parse(self.content(self._main), self._main, start)
        self.pictures()

    def text(self, entry: Entry, meter: Meter) -> str:
        lines: list[str] = []
        row, column = 0, 0
        parts: list[str] = []
        for place, text in self._values(entry, meter):
            at_column, at_row = place
            if at_row != row:
                lines.append("".join(parts))
                parts, row, column = [], at_row, 1
            gap = at_column - column
            parts.append("\t" * gap if 0 <= gap <= MOST_GAP else "\t{}: ".format(_letters(at_column)))
            parts.append(text.replace("\n", " ").replace("\t", " "))
            column = at_column
        lines.append("".join(parts))
        return "\n".join(lines[1:])

    def cells(self, entry: Entry, meter: Meter) -> Iterator[tuple[str, str]]:
        for (column, row), text in self._values(entry, meter):
            yield "{}{}".format(_letters(column), row), text.replace("\n", " ")

    def _values(self, entry, meter):
        """((column, row), text) of the cells that are not empty, in the order of the file."""
        data = self.content(entry.path, meter)
        strings, dates = self._shared_strings(), self._date_styles()
        shown_text = Meter(entry.address, MEMBER_BYTES)
        found: list[tuple[tuple[int, int], str]] = []
        cell: dict[str, str] = {}
        column = row = 0
        pieces: list[str] = []
        is_value = False

        def start(tag, attributes):
            nonlocal column, row, is_value
            if tag == "row":
                given = attributes.get("r", "")
                row, column = (int(given) if given.isdigit() and len(given) < 8 else row + 1), 0
            elif tag == "c":
                cell.clear()
                cell.update(attributes)
                pieces.clear()
                column, row = _position(attributes.get("r", ""), column + 1, row)
            elif tag in ("v", "t"):
                is_value = True

        def end(tag):
            nonlocal is_value
            if tag in ("v", "t"):
                is_value = False
            elif tag == "c" and pieces:
                text = self._shown("".join(pieces), cell, strings, dates)
                if text:
                    # The same long string may stand in a million cells.
                    shown_text.add(len(text) + 1)
                    found.append(((column, row), text))

        def text(piece):
            if is_value:
                pieces.append(piece)

        xml_events.parse(data, entry.path, start, end, text)
        return found

    def _shown(self, value, cell, strings, dates):
        kind = cell.get("t", "n")
        if kind == "s":
            index = int(value) if value.isdigit() and len(value) < 10 else -1
            return strings[index] if 0 <= index < len(strings) else "#REF"
        if kind == "b":
            return "TRUE" if value == "1" else "FALSE"
        style = cell.get("s", "")
        if kind == "n" and style.isdigit() and len(style) < 6 and int(style) < len(dates) and dates[int(style)]:
            return self._date(value)
        return value

    def _date(self, value):
        try:
            days = float(value)
            if days < 1:
                seconds = round(days * 86400)
                return "{:02}:{:02}:{:02}".format(seconds // 3600, seconds // 60 % 60, seconds % 60)
            moment = self._epoch + datetime.timedelta(seconds=round(days * 86400))
        except (ValueError, OverflowError):
            return value
        return moment.isoformat(" ") if moment.time() != datetime.time() else moment.date().isoformat()

    def _related(self, kind):
        found = (path for what, path in self._relations.values() if what == kind and self.has(path))
        return next(found, None)

    def _shared_strings(self):
        if self._strings is not None:
            return self._strings
        strings: list[str] = []
        pieces: list[str] = []
        is_text = is_reading_aid = False

        def start(tag, _):
            nonlocal is_text, is_reading_aid
            if tag == "si":
                pieces.clear()
            elif tag == "rPh":
                is_reading_aid = True
            is_text = tag == "t" and not is_reading_aid

        def end(tag):
            nonlocal is_text, is_reading_aid
            is_text = False
            if tag == "rPh":
                is_reading_aid = False
            elif tag == "si":
                if len(strings) >= 5_000_000:
                    raise ArchiveError("{} has too many strings: it is not read".format(shown(self.source.name)))
                strings.append("".join(pieces))

        def text(piece):
            if is_text:
                pieces.append(piece)

        path = self._related("sharedStrings")
        if path:
            xml_events.parse(self.content(path), path, start, end, text)
        self._strings = strings
        return strings

    def _date_styles(self):
        """For each style of cells, whether its numbers are dates."""
        if self._dates is not None:
            return self._dates
        formats = set(_DATE_FORMATS)
        dates: list[bool] = []
        in_cells = False

        def start(tag, attributes):
            nonlocal in_cells
            number = attributes.get("numFmtId", "")
            if tag == "numFmt" and number.isdigit() and len(number) < 6:
                code = _QUOTED.sub("", attributes.get("formatCode", "").lower())
                if any(letter in code for letter in "ymdhs") and "general" not in code:
                    formats.add(int(number))
            elif tag == "cellXfs":
                in_cells = True
            elif tag == "xf" and in_cells and len(dates) < 100_000:
                dates.append(number.isdigit() and len(number) < 6 and int(number) in formats)

        def end(tag):
            nonlocal in_cells
            in_cells = in_cells and tag != "cellXfs"

        path = self._related("styles")
        if path:
            xml_events.parse(self.content(path), path, start, end)
        self._dates = dates
        return dates


def _position(reference, column, row):
    match = _CELL.fullmatch(reference)
    if match is None:
        return min(column, MOST_COLUMN), row
    number = 0
    for letter in match.group(1):
        number = number * 26 + ord(letter) - 64
    return min(number, MOST_COLUMN), int(match.group(2))


def _letters(number):
    text = ""
    while number > 0:
        number, rest = divmod(number - 1, 26)
        text = chr(65 + rest) + text
    return text
