"""What every kind of archive offers: its entries, and the content of each on demand."""

from __future__ import annotations

import contextlib
from typing import Any, Iterable, Iterator

from ...context.results import Piece
from ...pristine import BUILTINS as __builtins__
from ...values.reprs import cap, exact, guarded_str, type_name
from ..limits import LONGEST_NAME, ArchiveError, Meter, refuse_many, shown


class Entry(Piece):
    """The name of a member; `kind` is file, folder, link, device or the like."""

    kind = "file"
    size: int | None = None
    packed: int | None = None
    number = 0
    # The second member of the same name has 2.
    copy = 1
    note = ""
    # Where the content of a member of a TAR begins, and its length.
    position = 0
    length = 0
    # The file that a part of a document is made from.
    path = ""

    @property
    def name(self) -> str:
        return str.__str__(self)

    @property
    def address(self) -> str:
        """A text that finds this member and no other."""
        return self.name if self.copy == 1 else "{}#{}".format(self.name, self.copy)


class Members:
    """Subclasses fill `entries`, and read the content of one."""

    kind = ""
    # Documents have text, other archives have files.
    is_document = False
    noun = "file"
    encoding = "utf-8"

    def __init__(self, source):
        self.source = source
        self.entries: list[Entry] = []
        self.notes: list[str] = []
        self.metadata: dict[str, Any] = {}
        self._copies: dict[str, int] = {}
        self._named = 0

    def add(self, name: str, **details: Any) -> Entry:
        refuse_many(len(self.entries) + 1, self.source.name)
        self._named += len(name)
        if len(name) > LONGEST_NAME or self._named > 64 << 20:
            message = "{} has names of too many characters, such as {}: it is not opened"
            raise ArchiveError(message.format(shown(self.source.name), shown(name[:100])))
        entry = Entry(exact(name))
        vars(entry).update(details, number=len(self.entries))
        self._copies[name] = entry.copy = self._copies.get(name, 0) + 1
        self.entries.append(entry)
        return entry

    def blocks(self, entry: Entry, meter: Meter) -> Iterator[bytes]:
        """The content of a file."""
        raise NotImplementedError

    def text(self, entry: Entry, meter: Meter) -> str:
        """The text of a part of a document."""
        raise NotImplementedError

    def passage(self, entries: Iterable[Entry], meters: Any) -> Iterator[tuple[Entry, Iterator[bytes]]]:
        """Each of them with its content, in the order that is cheapest; meters(entry) counts one."""
        for entry in entries:
            yield entry, self.blocks(entry, meters(entry))


@contextlib.contextmanager
def reading(name: str, what: str = "archive") -> Iterator[None]:
    """Turns what libraries raise for broken files into one kind of error."""
    try:
        yield
    except ArchiveError:
        raise
    except MemoryError:
        message = "{} needs more memory than there is: it is not read"
        raise ArchiveError(message.format(shown(name))) from None
    except Exception as error:
        reason = cap(guarded_str(error) or type_name(type(error)), 200)
        message = "{} is damaged or not a whole {}: {}; get it again, or read what the listing still shows"
        raise ArchiveError(message.format(shown(name), what, reason)) from None


def missing_library(name: str, what: str, libraries: str) -> ArchiveError:
    message = "{} is {}, which needs the library {}: it is not installed in this sandbox"
    return ArchiveError(message.format(shown(name), what, libraries))
