"""What the archive functions return, shown short."""

from __future__ import annotations

from ..context.results import Piece, Result
from ..pristine import BUILTINS as __builtins__
from ..values.reprs import cap, exact, guarded_repr
from .limits import shown

SHOWN_HITS = 50
LONGEST_LINE = 300
SHOWN_FILES = 20
SHOWN_NOTES = 5
CUT = "\u2026"


class MemberText(Piece):
    """Text of a member; `total` counts all of its characters."""

    name = ""
    encoding = "utf-8"
    is_guess = False
    start = 0
    total = 0

    @property
    def truncated(self) -> bool:
        return self.start + len(self) < self.total

    @property
    def more(self) -> int:
        return max(0, self.total - self.start - len(self))

    def __repr__(self):
        rows = [str.__repr__(self)]
        if self.truncated:
            end = self.start + len(self)
            told = "[characters {:,} to {:,} of {:,}: archive_file({}, start={}) goes on]"
            rows.append(told.format(self.start, end, self.total, shown(self.name), end))
        if self.is_guess:
            rows.append("[not UTF-8: read as {}, which is a guess]".format(self.encoding))
        return "\n".join(rows)


class MemberBytes(bytes):
    """The content of a member that is not text. Its repr tells what it is instead of showing it."""

    name = ""
    # How many archives this is inside of.
    depth = 0
    hint = ""

    def __repr__(self):
        row = "<{}: {:,} bytes, not text, begins with {!r}>".format(shown(self.name), len(self), bytes(self[:8]))
        return row + ("\n[{}]".format(self.hint) if self.hint else "")


class Hit(Piece):
    """A line that matches, cut around its match if it is long."""

    file = ""
    place = ""
    line: int | None = None


class Hits(Result):
    """Up to 50 lines; `total` counts all."""

    def __init__(self, items=(), query="", archive="", total=0, searched=0, notes=()):
        super().__init__(items)
        self.query, self.archive = query, archive
        self.total, self.searched, self.notes = total, searched, list(notes)

    def __reduce__(self):
        return Hits, (list(self), self.query, self.archive, self.total, self.searched, self.notes)

    def __repr__(self):
        count = "no hits" if not self.total else "1 hit" if self.total == 1 else "{:,} hits".format(self.total)
        head = "{} for {} in {} ({:,} searched)".format(
            count, cap(guarded_repr(self.query), 120), exact(self.archive), self.searched
        )
        if self.more:
            head += ", the first {:,}:".format(len(self))
        rows = [head]
        rows += ["{}, {}: {}".format(exact(hit.file), hit.place, str.__str__(hit)) for hit in self]
        if self.more:
            rows.append("{} {:,} more: narrow the query".format(CUT, self.more))
        return "\n".join(rows + _noted(self.notes))


class Extracted(Result):
    """The paths that were written; `refused` has (member, reason) of the others."""

    def __init__(self, items=(), folder="", size=0, refused=()):
        super().__init__(items)
        self.folder, self.size, self.refused = folder, size, list(refused)
        self.total = len(self)

    def __reduce__(self):
        return Extracted, (list(self), self.folder, self.size, self.refused)

    def __repr__(self):
        files = "1 file" if len(self) == 1 else "{:,} files".format(len(self))
        rows = ["{}, {:,} bytes, in {}".format(files, self.size, exact(self.folder))]
        rows += [exact(str.__str__(path)[len(self.folder) + 1 :]) for path in self[:SHOWN_FILES]]
        if len(self) > SHOWN_FILES:
            rows.append("{} {:,} more".format(CUT, len(self) - SHOWN_FILES))
        return "\n".join(
            rows + _noted(["not extracted: {}: {}".format(shown(name), why) for name, why in self.refused])
        )


def _noted(notes):
    rows = ["[{}]".format(cap(exact(note), 400)) for note in notes[:SHOWN_NOTES]]
    if len(notes) > SHOWN_NOTES:
        rows.append("[{} {:,} more notes]".format(CUT, len(notes) - SHOWN_NOTES))
    return rows


def cut_around(line: str, start: int) -> str:
    if len(line) <= LONGEST_LINE:
        return line
    first = max(0, min(start - LONGEST_LINE // 3, len(line) - LONGEST_LINE))
    last = first + LONGEST_LINE
    return "{}{}{}".format(CUT if first else "", line[first:last], CUT if last < len(line) else "")
