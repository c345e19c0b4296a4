"""archive_search(): the lines of the members that match."""

from __future__ import annotations

import re
import time
from typing import Any

from ..context.texts import lines
from ..pristine import BUILTINS as __builtins__
from ..values.reprs import is_a, type_name
from .archive import Archive
from .charset import Decoding
from .limits import SEARCH_BYTES, ArchiveError, Meter, amount, shown
from .results import SHOWN_HITS, Hit, Hits, cut_around

LONGEST_QUERY = 1000
# Longer lines are searched in parts, so that no expression runs over a whole file.
LONGEST_PART = 20_000
OVERLAP = 1000
SECONDS = 60

_clock = time.monotonic


def search(archive: Archive, query: Any, regex: Any) -> Hits:
    finder = _finder(query, regex)
    work = _Search(archive, finder)
    members = archive._members
    if members.is_document:
        work.documents(members)
    else:
        work.files(members)
    return Hits(work.hits, query, archive.name, work.total, work.searched, work.notes())


class _Search:
    def __init__(self, archive, finder):
        self._archive, self._finder = archive, finder
        self._left = SEARCH_BYTES
        self._until = _clock() + SECONDS
        self.hits: list[Hit] = []
        self.total = self.searched = 0
        self._binary: list[str] = []
        self._failed: list[str] = []
        self._unsearched = 0

    def notes(self):
        notes = []
        if self._binary:
            names = ", ".join(shown(name) for name in self._binary[:3])
            plural = "1 member is" if len(self._binary) == 1 else "{:,} members are".format(len(self._binary))
            notes.append(
                "{} not text and not searched: {}; archive_open(archive_file(name)) opens one".format(plural, names)
            )
        if self._unsearched:
            message = "stopped after {} or {} seconds: {:,} members are not searched"
            notes.append(message.format(amount(SEARCH_BYTES), SECONDS, self._unsearched))
        return notes + ["not searched: {}".format(reason) for reason in self._failed]

    def _is_over(self):
        return self._left <= 0 or _clock() > self._until

    def files(self, members):
        wanted = [entry for entry in members.entries if entry.kind == "file"]
        meters = {}

        def meter(entry):
            meters[entry.number] = Meter(entry.address)
            return meters[entry.number]

        passage = members.passage(wanted, meter)
        done = 0
        while True:
            try:
                step = next(passage, None)
            except ArchiveError as error:
                self._failed.append(str(error))
                break
            if step is None or self._is_over():
                break
            done += 1
            entry, blocks = step
            try:
                data = b"".join(blocks)
            except ArchiveError as error:
                self._failed.append(str(error))
                continue
            finally:
                self._left -= meters[entry.number].count
            decoding = Decoding(data)
            if decoding.encoding is None:
                self._binary.append(entry.address)
                continue
            self.searched += 1
            self._text(entry, decoding.text())
        self._unsearched += len(wanted) - done

    def documents(self, members):
        wanted = [entry for entry in members.entries if entry.kind == "text"]
        for number, entry in enumerate(wanted):
            if self._is_over():
                self._unsearched = len(wanted) - number
                return
            meter = Meter(entry.address)
            try:
                if members.has_cells:
                    for place, text in members.cells(entry, meter):
                        self._line(entry, place, None, text)
                else:
                    self._text(entry, members.text(entry, meter))
                self.searched += 1
            except ArchiveError as error:
                self._failed.append(str(error))
            self._left -= meter.count

    def _text(self, entry, text):
        for number, start, end in lines(text):
            if not number % 1000 and self._is_over():
                self._failed.append("{} from line {:,}".format(shown(entry), number))
                return
            self._line(entry, "line {}".format(number), number, text[start:end])

    def _line(self, entry, place, number, text):
        position = self._found(text)
        if position is None:
            return
        self.total += 1
        if len(self.hits) < SHOWN_HITS:
            hit = Hit(cut_around(text, position).strip())
            hit.file, hit.place, hit.line = entry.address, place, number
            self.hits.append(hit)

    def _found(self, text):
        for first in range(0, max(1, len(text)), LONGEST_PART):
            position = self._finder(text[first : first + LONGEST_PART + OVERLAP])
            if position is not None:
                return first + position
        return None


def _finder(query, regex):
    """A function from a line to the place of the first match in it, or None."""
    if not is_a(query, str):
        message = 'the query must be a str, not {}: archive_search("invoice")'
        raise TypeError(message.format(type_name(type(query))))
    query = str.__str__(query)
    if not query:
        raise ValueError('the query is empty: archive_search("invoice"), or archive_file(name) for all of a member')
    if len(query) > LONGEST_QUERY:
        message = "the query has {:,} characters, but at most {:,} are allowed"
        raise ValueError(message.format(len(query), LONGEST_QUERY))
    if not regex:
        return _literal(query)
    try:
        match = re.compile(query, re.IGNORECASE).search
    except (re.error, OverflowError, RecursionError) as error:
        message = "bad pattern {}: {}; without regex=True the query is searched as it stands"
        raise ValueError(message.format(shown(query), error)) from None

    def expression(text):
        found = match(text)
        return None if found is None else found.start()

    return expression


def _literal(query):
    folded = query.casefold()

    def literal(text):
        position = text.casefold().find(folded)
        return None if position < 0 else min(position, len(text))

    return literal
