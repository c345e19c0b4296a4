"""An opened archive: a list of its members, and what can be asked about them."""

from __future__ import annotations

import difflib
from typing import Any

from ..context.results import Result
from ..context.texts import whole_number
from ..pristine import BUILTINS as __builtins__
from ..values.reprs import cap, exact, guarded_str, is_a, type_name
from .charset import Decoding
from .containers.members import Entry, Members
from .limits import LONGEST_NAME, ArchiveError, Meter, shown
from .results import CUT, MemberBytes, MemberText

SHOWN_TEXT = 50_000
SHOWN_ENTRIES = 40
_ADVICE = "; archive_extract() writes it to a file instead"


class Archive(Result):
    """The members of an archive. Each is a str, its name, with .kind, .size and .note."""

    def __init__(self, members: Members):
        super().__init__(members.entries)
        self._members = members
        self.total = len(self)
        self.kind = members.kind
        self.name = members.source.name
        self.path = members.source.path
        self.notes = members.notes
        self.metadata = members.metadata

    def __reduce__(self):
        from .opening import reopened

        return reopened, (self._members.source.given(),)

    @property
    def size(self) -> int:
        """The bytes that the files say they hold."""
        return sum(entry.size or 0 for entry in self._members.entries)

    def names(self) -> list[str]:
        return [entry.address for entry in self._members.entries]

    def __repr__(self):
        entries = self._members.entries
        rows = ["{}: {}, {}".format(exact(self.name), self.kind, _counts(self._members, self.size))]
        rows += ["{}: {}".format(key, cap(guarded_str(value) or "", 200)) for key, value in self.metadata.items()]
        rows += [_row(entry) for entry in entries[:SHOWN_ENTRIES]]
        if len(entries) > SHOWN_ENTRIES:
            rows.append("{} {:,} more: .names() has all".format(CUT, len(entries) - SHOWN_ENTRIES))
        return "\n".join(rows + ["[{}]".format(note) for note in self.notes[:5]])

    __str__ = __repr__

    def entry(self, name: Any) -> Entry:
        """The member with this name, number or address."""
        entries = self._members.entries
        if is_a(name, Entry) and name.number < len(entries) and entries[name.number] == name:
            return entries[name.number]
        if is_a(name, int):
            return self._numbered(name)
        if not is_a(name, str):
            message = "a member is named by a str, not {}: archive_file({})"
            raise TypeError(message.format(type_name(type(name)), shown(entries[0]) if entries else "name"))
        name = str.__str__(name)
        if len(name) > LONGEST_NAME:
            raise ArchiveError("no member has a name of {:,} characters".format(len(name)))
        found = [entry for entry in entries if entry.name == name]
        if not found and "#" in name:
            found = [entry for entry in entries if entry.copy > 1 and entry.address == name]
        if found:
            return found[0]
        near = difflib.get_close_matches(name[:200], [entry.name[:200] for entry in entries[:2000]], 3, 0.5)
        hint = "did you mean {}?".format(" or ".join(map(shown, near))) if near else "its names are in archive.names()"
        raise ArchiveError("{} has no member {}; {}".format(shown(self.name), shown(name), hint))

    def _numbered(self, number):
        """Pages and slides are counted from 1; others from 0, as in the list."""
        entries = self._members.entries
        index = number - 1 if self._members.is_document else number
        if not 0 <= index < len(entries):
            message = "{} has {:,} members: there is no number {:,}"
            raise ArchiveError(message.format(shown(self.name), len(entries), number))
        return entries[index]

    def readable(self, entry: Entry) -> Entry:
        if entry.kind in ("file", "text"):
            return entry
        why = {
            "folder": "a folder, which has no content",
            "link": "a link {}: links are not followed; read that member by its own name".format(entry.note),
            "sparse file": "a sparse file, which cannot be read here: unpack it elsewhere",
        }
        reason = why.get(entry.kind, "a {}, which is never read".format(entry.kind))
        raise ArchiveError("{} is {}".format(shown(entry), reason))

    def file(self, name: Any, start: Any = 0) -> MemberText | MemberBytes:
        """The text of a member, up to 50,000 characters from `start`, or its bytes."""
        start = whole_number(start, "start")
        if start < 0:
            raise ValueError("start must not be negative")
        entry = self.readable(self.entry(name))
        meter = Meter(entry.address, advice=_ADVICE)
        members = self._members
        if members.is_document and entry.kind == "text":
            return _shown_part([members.text(entry, meter)], entry, start, members.encoding, False)
        data = b"".join(members.blocks(entry, meter))
        decoding = Decoding(data)
        if decoding.encoding is None:
            return self._binary(data, entry)
        return _shown_part(decoding.pieces(), entry, start, decoding.encoding, decoding.is_guess)

    def _binary(self, data, entry):
        from .opening import kind_of

        found = MemberBytes(data)
        found.name, found.depth = entry.name, self._members.source.depth + 1
        kind = kind_of(data, entry.name)
        if kind:
            found.hint = "{}: archive_open(archive_file({})) opens it".format(kind, shown(entry.address))
        return found


def _shown_part(pieces, entry, start, encoding, is_guess):
    kept, total, left = [], 0, SHOWN_TEXT
    for piece in pieces:
        offset = max(0, start - total)
        if left and offset < len(piece):
            part = piece[offset : offset + left]
            kept.append(part)
            left -= len(part)
        total += len(piece)
    text = MemberText("".join(kept))
    text.name, text.encoding, text.is_guess = entry.address, encoding, is_guess
    text.start, text.total = min(start, total), total
    return text


def _counts(members, size):
    kinds: dict[str, int] = {}
    for entry in members.entries:
        kinds[entry.kind] = kinds.get(entry.kind, 0) + 1
    parts = []
    for kind, count in kinds.items():
        noun = members.noun if kind == "text" else kind
        parts.append("{:,} {}{}".format(count, noun, "" if count == 1 else "s"))
    if size:
        parts.append("{:,} bytes".format(size))
    return ", ".join(parts) or "empty"


def _row(entry):
    name, note = exact(entry.address), " ({})".format(exact(entry.note)) if entry.note else ""
    if entry.kind == "folder":
        return name + ("" if name.endswith("/") else "/") + note
    if entry.kind in ("file", "text"):
        return (name if entry.size is None else "{}  {:,}".format(name, entry.size)) + note
    return "{}  ({}{})".format(name, entry.kind, " " + exact(entry.note) if entry.note else "")
