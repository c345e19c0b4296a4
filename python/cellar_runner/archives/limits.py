"""How much of an archive is read, and the error that says what was refused."""

from __future__ import annotations

from typing import Iterable, Iterator

from ..pristine import BUILTINS as __builtins__
from ..values.reprs import cap, guarded_repr

MEMBER_BYTES = 64 << 20
SEARCH_BYTES = 512 << 20
EXTRACT_BYTES = 512 << 20
# A compressed TAR has no directory: its listing reads all of it.
LISTING_BYTES = 512 << 20
MOST_ENTRIES = 100_000
DIRECTORY_BYTES = 64 << 20
LONGEST_NAME = 4096
MOST_RATIO = 1000
RATIO_FROM = 1 << 20
MOST_NESTING = 8
BLOCK = 1 << 16
SHOWN_NAME = 200


class ArchiveError(ValueError):
    """An archive, or a part of one, that cannot or must not be read."""


def shown(name: object) -> str:
    return cap(guarded_repr(name), SHOWN_NAME)


def amount(count: int) -> str:
    for unit, size in (("GB", 1 << 30), ("MB", 1 << 20), ("KB", 1 << 10)):
        if count >= size:
            return "{:,.4g} {}".format(count / size, unit)
    return "{:,} bytes".format(count)


class Meter:
    """Counts what really comes out of a decompressor, and stops at the limit."""

    def __init__(self, name, most=MEMBER_BYTES, advice=""):
        self.name, self.most, self.advice = name, most, advice
        self.count = 0

    def add(self, produced: int, consumed: int | None = None) -> None:
        """`consumed` counts the packed bytes so far, if the ratio matters."""
        self.count += produced
        if self.count > self.most:
            message = "{} holds more than {}, the most that is read at once{}"
            raise ArchiveError(message.format(shown(self.name), amount(self.most), self.advice))
        if consumed is not None and self.count > RATIO_FROM and self.count > MOST_RATIO * max(1, consumed):
            message = "{} unpacks to more than {:,} times its size, as a decompression bomb does: it is not read"
            raise ArchiveError(message.format(shown(self.name), MOST_RATIO))

    def announce(self, declared: int | None) -> None:
        """Refuses by the size that a directory claims, before anything is read."""
        if declared is not None and declared > self.most - self.count:
            message = "{} says that it holds {}, but at most {} are read at once{}"
            raise ArchiveError(message.format(shown(self.name), amount(declared), amount(self.most), self.advice))

    def metered(self, blocks: Iterable[bytes]) -> Iterator[bytes]:
        for block in blocks:
            self.add(len(block))
            yield block


def refuse_many(count: int, name: str, what: str = "entries") -> None:
    if count > MOST_ENTRIES:
        message = "{} has more than {:,} {}: it is not opened"
        raise ArchiveError(message.format(shown(name), MOST_ENTRIES, what))
