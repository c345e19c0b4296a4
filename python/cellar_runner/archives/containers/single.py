"""One file that is packed with gzip, bzip2, xz or Zstandard."""

from __future__ import annotations

from typing import Iterator

from ...pristine import BUILTINS as __builtins__
from ..limits import Meter
from .members import Entry, Members
from .packing import packed_blocks, unpacked

_ENDINGS = {"gz": (".gz", ".z"), "bz2": (".bz2",), "xz": (".xz",), "zst": (".zst",)}


class Single(Members):
    def __init__(self, source, kind):
        super().__init__(source)
        self.kind = kind
        name = source.name
        ending = next((one for one in _ENDINGS[kind] if name.lower().endswith(one)), "")
        self.add(name[: -len(ending)] if ending and len(name) > len(ending) else "content", packed=source.size)

    def blocks(self, entry: Entry, meter: Meter) -> Iterator[bytes]:
        with self.source:
            yield from unpacked(self.kind, packed_blocks(self.source), meter)
