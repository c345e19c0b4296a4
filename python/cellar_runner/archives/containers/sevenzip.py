"""7z, by the library py7zr where it is installed."""

from __future__ import annotations

import io
from typing import Any, Iterator

from ...pristine import BUILTINS as __builtins__
from ..libraries import library
from ..limits import BLOCK, ArchiveError, Meter, refuse_many, shown
from .members import Entry, Members, missing_library, reading


class SevenZip(Members):
    kind = "7z"

    def __init__(self, source, password=None):
        super().__init__(source)
        self._password = None if password is None else password.decode("utf-8")
        with source, reading(source.name, "7z archive"):
            with self._opened() as file:
                found = file.list()
                refuse_many(len(found), source.name)
                encrypted = "encrypted" if file.needs_password() else ""
            for info in found:
                kind = "folder" if info.is_directory else "link" if getattr(info, "is_symlink", False) else "file"
                size = info.uncompressed if kind == "file" else None
                self.add(info.filename, kind=kind, size=size, note=encrypted if kind == "file" else "")

    def _opened(self):
        py7zr = library("py7zr")
        if py7zr is None:
            raise missing_library(self.source.name, "a 7z archive", "py7zr")
        try:
            return py7zr.SevenZipFile(self.source.file(), password=self._password)
        except py7zr.exceptions.PasswordRequired:
            raise _locked(self.source.name) from None

    def blocks(self, entry: Entry, meter: Meter) -> Iterator[bytes]:
        meter.announce(entry.size)
        if entry.copy > 1:
            raise ArchiveError("{} has the name of an earlier member: py7zr cannot read it".format(shown(entry)))
        with self.source, reading(entry.name, "member"):
            kept = _Kept(meter, entry.packed)
            with self._opened() as file:
                if file.needs_password() and self._password is None:
                    raise _locked(entry.name)
                file.extract(targets=[entry.name], factory=_factory(kept))
            data = kept.content.getbuffer()
        for start in range(0, len(data), BLOCK):
            yield bytes(data[start : start + BLOCK])


def _locked(name):
    return ArchiveError('{} is encrypted: archive_open(..., password="...") opens it'.format(shown(name)))


class _Kept:
    def __init__(self, meter, packed):
        self.meter, self.packed = meter, packed
        self.content = io.BytesIO()


def _factory(kept):
    """py7zr writes what it unpacks into objects that this makes: into memory, and counted."""
    base: Any = library("py7zr.io")

    class Counted(base.Py7zIO):
        def write(self, s):
            kept.meter.add(len(s))
            return kept.content.write(s)

        def read(self, size=None):
            return kept.content.read(-1 if size is None else size)

        def seek(self, offset, whence=0):
            return kept.content.seek(offset, whence)

        def flush(self):
            return None

        def size(self):
            return len(kept.content.getbuffer())

    class Factory(base.WriterFactory):
        def create(self, filename):
            return Counted()

    return Factory()
