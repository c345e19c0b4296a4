"""peek(), chunk_context(), list_dir() and file_info()."""

from __future__ import annotations

import datetime
import os
from typing import Any, Callable, Iterator

from ..context.texts import Record, leaves, place_of, whole_number
from ..pristine import BUILTINS as __builtins__
from ..values.reprs import cap, exact, guarded_repr, is_a
from .files import Document, between, kind_of, path_of, status_of
from .results import Result

MOST_ENTRIES = 100
MOST_SCANNED = 100_000
MOST_CHUNKS = 20
HELD_EDGE = 1500
SNAP = 200
COUNTED_BYTES = 256 << 20

_scan = os.scandir
_from_timestamp = datetime.datetime.fromtimestamp
_UTC = datetime.timezone.utc


class Listing(Result):
    def __init__(self, items=(), path="", total=0):
        super().__init__(items)
        self.path, self.total = path, total

    def __reduce__(self):
        return Listing, (list(self), self.path, self.total)

    def __repr__(self):
        count = "1 entry" if self.total == 1 else "{:,} entries".format(self.total)
        rows = ["{}: {}".format(exact(self.path), count if self.total else "empty")]
        rows += [_row(entry) if is_a(entry, Record) else cap(guarded_repr(entry), 200) for entry in self]
        if self.more:
            rows.append("\u2026 {:,} more: os.listdir() lists all".format(self.more))
        return "\n".join(rows)


def _row(entry):
    kind, name = entry.get("kind"), exact(str(entry.get("name")))
    if kind == "folder":
        return name + "/"
    if kind == "file":
        return "{}  {:,}".format(name, entry.get("size") or 0)
    return "{}  ({})".format(name, kind)


class Chunks(Result):
    """The parts of a context; `spans` has the start and end of each."""

    def __init__(self, items=(), spans=()):
        super().__init__(items)
        self.spans = list(spans)

    def __reduce__(self):
        return Chunks, (list(self), self.spans)

    def __repr__(self):
        rows = ["{} chunk{}".format(len(self), "" if len(self) == 1 else "s")]
        for number, (start, end) in enumerate(self.spans[:MOST_CHUNKS]):
            rows.append("[{}] characters {}:{}".format(number, start, end))
        return "\n".join(rows)

    def held(self) -> str:
        """The edges of each chunk are enough: prompts are made of whole chunks."""
        edges = (edge for text in self for edge in (text[:HELD_EDGE], text[-HELD_EDGE:]))
        return "\n".join(map(exact, edges))


def pieces(value: Any) -> Iterator[str]:
    """The text of a context; each value of lists and dicts follows its path, on lines of its own."""
    for path, text in leaves(value):
        if not path:
            yield text
            continue
        yield "{}: ".format(place_of(path))
        yield text
        yield "\n"


def length(value: Any) -> int:
    return sum(map(len, pieces(value)))


def peek(context: Callable[[], Any], n: Any, file: Any, start: Any) -> str:
    """`context()` returns what is shown if no file is named."""
    if is_a(n, (str, os.PathLike)):
        given = cap(guarded_repr(n), 200)
        message = "the first argument of peek() is how many characters to show: peek(500, file={})"
        raise TypeError(message.format(given))
    n, start = whole_number(n, "n"), whole_number(start, "start")
    if n < 0 or start < 0:
        advice = "peek(500, start=context_len() - 500) shows the end"
        raise ValueError("n and start must not be negative: " + advice)
    if file is None:
        return between(pieces(context()), start, n) if n else ""
    with Document(file, "peek") as document:
        document.refuse_binary()
        return document.text(start, n) if n else ""


def chunks(value: Any, n: Any, overlap: Any) -> Chunks:
    """Chunks of about the same length, which end at line breaks where possible."""
    n, overlap = whole_number(n, "n"), whole_number(overlap, "overlap")
    if not 1 <= n <= MOST_CHUNKS:
        message = "n must be from 1 to {}, not {}: chunk_text(context, size) makes chunks of a size"
        raise ValueError(message.format(MOST_CHUNKS, cap(str(n), 50)))
    text = str.__str__(value) if is_a(value, str) else "".join(pieces(value))
    size = -(-len(text) // n)
    if not 0 <= overlap <= max(0, size - 1):
        message = "overlap must be from 0 to {}: a chunk has about {:,} characters"
        raise ValueError(message.format(max(0, size - 1), size))
    spans, start = [], 0
    for number in range(1, n + 1):
        end = len(text) if number == n else _snapped(text, max(start + 1, number * size))
        if end > start:
            spans.append((max(0, start - overlap), end))
        start = max(start, end)
        if start >= len(text):
            break
    return Chunks([text[first:last] for first, last in spans], spans)


def _snapped(text, end):
    """The nearest line break less than SNAP characters away, else the same position."""
    if end >= len(text):
        return len(text)
    after = text.find("\n", end, end + SNAP - 1) + 1
    before = text.rfind("\n", max(0, end - SNAP), end) + 1
    near = [place for place in (before, after) if place > 0]
    return min(near, key=lambda place: abs(place - end)) if near else end


def list_dir(path: Any) -> Listing:
    path = path_of(path, "list_dir")
    status, is_lost = status_of(path)
    if kind_of(status.st_mode) != "folder" or is_lost:
        message = "{0} is not a folder: file_info({0}) shows what it is"
        raise NotADirectoryError(message.format(guarded_repr(path)))
    entries, total = [], 0
    with _scan(path) as found:
        for entry in found:
            total += 1
            if total <= MOST_SCANNED:
                entries.append(entry)
    named = sorted(entries, key=lambda entry: (not _is_folder(entry), entry.name))
    return Listing([_entry(entry) for entry in named[:MOST_ENTRIES]], path, total)


def _is_folder(entry):
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False


def _entry(entry):
    try:
        status = entry.stat(follow_symlinks=False)
    except OSError:
        return Record(name=exact(entry.name), kind="unknown", size=None)
    kind = kind_of(status.st_mode)
    return Record(name=exact(entry.name), kind=kind, size=status.st_size if kind == "file" else None)


class FileInfo(Record):
    """path, kind, size, modified, and of a text its encoding and lines."""

    __slots__ = ()

    def __repr__(self):
        return ", ".join("{}: {}".format(key, _shown(item)) for key, item in self.items())


def _shown(item):
    return "{:,}".format(item) if is_a(item, int) else str(item)


def file_info(path: Any) -> FileInfo:
    path = path_of(path, "file_info")
    status, is_lost = status_of(path)
    kind = "link to nowhere" if is_lost else kind_of(status.st_mode)
    info = FileInfo(path=exact(path), kind=kind, size=status.st_size)
    info["modified"] = _from_timestamp(int(status.st_mtime), _UTC).isoformat()
    if kind == "file":
        with Document(path, "file_info") as document:
            info["encoding"] = "binary" if document.is_binary else document.encoding
            if not document.is_binary and document.status.st_size <= COUNTED_BYTES:
                info["lines"] = _count_lines(document)
    return info


def _count_lines(document):
    count, last = 0, "\n"
    for piece in document.pieces():
        count += piece.count("\n")
        last = piece[-1:] or last
    return count + (last != "\n")
