"""TAR: headers of 512 bytes before each file, with the extensions of POSIX and GNU."""

from __future__ import annotations

from typing import Any, Iterable, Iterator

from ...pristine import BUILTINS as __builtins__
from ..limits import BLOCK, EXTRACT_BYTES, LISTING_BYTES, MOST_ENTRIES, ArchiveError, Meter, shown
from .members import Entry, Members
from .packing import Unpacked

RECORD = 512
# What stands before a header: long names and the like.
MOST_EXTENSION = 1 << 20
MOST_SIZE = 1 << 62
_KINDS = {
    b"0": "file",
    b"\0": "file",
    b"7": "file",
    b"1": "link",
    b"2": "link",
    b"3": "device",
    b"4": "device",
    b"5": "folder",
    b"6": "pipe",
    b"S": "sparse file",
}
_EXTENSIONS = (b"L", b"K", b"x", b"g")


class Damaged(Exception):
    """A header that is none."""


def is_header(block: bytes) -> bool:
    if len(block) < RECORD or not block.rstrip(b"\0"):
        return False
    try:
        return _number(block[148:156]) == sum(block[:148]) + 8 * 32 + sum(block[156:RECORD])
    except Damaged:
        return False


class Tar(Members):
    def __init__(self, source, packing=""):
        super().__init__(source)
        self.packing = packing
        self.kind = "tar." + packing if packing else "tar"
        with source:
            self._list(self._opened(LISTING_BYTES))

    def _opened(self, most):
        if not self.packing:
            return self.source
        return Unpacked(self.packing, self.source, most + RECORD * MOST_ENTRIES)

    def _list(self, reader):
        position = headers = 0
        extended: dict[str, Any] = {}
        while True:
            headers += 1
            if headers > 3 * MOST_ENTRIES:
                message = "{} has too many headers: it is not opened"
                raise ArchiveError(message.format(shown(self.source.name)))
            header = reader.read_at(position, RECORD)
            if not header.rstrip(b"\0") and len(header) in (0, RECORD):
                break
            try:
                if not is_header(header):
                    raise Damaged("header {:,} is damaged or cut off".format(headers))
                size = _number(header[124:136])
                kind = header[156:157]
                if kind in _EXTENSIONS:
                    position = self._extend(reader, position, kind, size, extended)
                    continue
                size = extended.get("size", size)
                if not 0 <= size < MOST_SIZE:
                    raise Damaged("header {:,} has the size {:,}".format(headers, size))
            except Damaged as error:
                self._stop(str(error))
                return
            position += RECORD
            entry = self._entry(header, kind, size, position, extended)
            extended.clear()
            has_content = entry.kind in ("file", "sparse file", "other")
            position += -(-size // RECORD) * RECORD if has_content else 0
            if not self.packing and position > self.source.size + RECORD:
                self._stop("{} is cut off".format(shown(entry)))
                return

    def _stop(self, reason):
        if not self.entries:
            message = "{} is not a whole TAR archive: {}; get it again"
            raise ArchiveError(message.format(shown(self.source.name), reason))
        self.notes.append("the listing ends early: {}".format(reason))

    def _extend(self, reader, position, kind, size, extended):
        """Notes what an extension says about the next member, and returns where that begins."""
        if not 0 <= size <= MOST_EXTENSION:
            raise Damaged("a header extension of {:,} bytes".format(size))
        data = reader.read_at(position + RECORD, size)
        if len(data) < size:
            raise Damaged("a header extension is cut off")
        if kind == b"L":
            extended["path"] = data.split(b"\0", 1)[0]
        elif kind == b"K":
            extended["linkpath"] = data.split(b"\0", 1)[0]
        elif kind == b"x":
            extended.update(_records(data))
        return position + RECORD - (-size // RECORD) * RECORD

    def _entry(self, header, kind, size, position, extended):
        name = extended.get("path")
        if name is None:
            name = header[:100].split(b"\0", 1)[0]
            prefix = header[345:500].split(b"\0", 1)[0]
            if header[257:263] == b"ustar\0" and prefix:
                name = prefix + b"/" + name
        text, note = _decoded(name)
        what = _KINDS.get(kind, "other")
        if what == "file" and kind != b"7" and text.endswith("/"):
            what = "folder"
        if extended.get("sparse"):
            what = "sparse file"
        if what == "link":
            target = _decoded(extended.get("linkpath", header[157:257].split(b"\0", 1)[0]))[0]
            note = "to " + shown(target)
        entry = self.add(text, kind=what, note=note, size=size if what == "file" else None)
        entry.position, entry.length = position, size
        return entry

    def blocks(self, entry: Entry, meter: Meter) -> Iterator[bytes]:
        with self.source:
            yield from self._content(self._opened(LISTING_BYTES), entry, meter)

    def passage(self, entries: Iterable[Entry], meters: Any) -> Iterator[tuple[Entry, Iterator[bytes]]]:
        """One pass over packed data, whatever the number of members."""
        with self.source:
            reader = self._opened(EXTRACT_BYTES)
            for entry in sorted(entries, key=lambda one: one.number):
                yield entry, self._content(reader, entry, meters(entry))

    def _content(self, reader, entry, meter):
        meter.announce(entry.length)
        position, left = entry.position, entry.length
        while left > 0:
            block = reader.read_at(position, min(BLOCK, left))
            if not block:
                message = "{} is cut off: {:,} of its {:,} bytes are missing; get the archive again"
                raise ArchiveError(message.format(shown(entry), left, entry.length))
            meter.add(len(block))
            yield block
            position, left = position + len(block), left - len(block)


def _number(field):
    if field[:1] in (b"\x80", b"\xff"):
        return int.from_bytes(field[1:], "big") - (256 ** (len(field) - 1) if field[0] == 255 else 0)
    text = field.split(b"\0", 1)[0].strip()
    try:
        return int(text, 8) if text else 0
    except ValueError:
        raise Damaged("a header has no number where one must be") from None


def _records(data):
    """The fields that matter of "LENGTH key=value" lines."""
    found: dict[str, Any] = {}
    position = 0
    while position < len(data) and data[position : position + 1] != b"\0":
        digits = data[position : position + 12].split(b" ", 1)[0]
        length = int(digits) if digits.isdigit() else 0
        record = data[position : position + length]
        if length < len(digits) + 4 or len(record) < length or record[-1:] != b"\n":
            raise Damaged("a header extension is damaged")
        key, _, value = record[len(digits) + 1 : -1].partition(b"=")
        if key in (b"path", b"linkpath"):
            found[key.decode("ascii")] = value
        elif key == b"size":
            if not value.isdigit() or len(value) > 20:
                raise Damaged("a header extension has the size {}".format(shown(value)))
            found["size"] = int(value)
        elif key.startswith(b"GNU.sparse."):
            found["sparse"] = True
        position += length
    return found


def _decoded(name):
    try:
        return name.decode("utf-8"), ""
    except UnicodeDecodeError:
        return name.decode("latin-1"), "name not in UTF-8"
