"""A document: parts that are text, and files such as its pictures."""

from __future__ import annotations

import posixpath
from typing import Any, Iterator

from ...pristine import BUILTINS as __builtins__
from ..containers.members import Entry, Members
from ..limits import ArchiveError, Meter, shown
from . import xml_events

_PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".bmp", ".tif", ".tiff", ".svg", ".emf", ".wmf", ".webp")


class Document(Members):
    is_document = True
    # Whether cells() says more about a place than the number of a line.
    has_cells = False
    noun = "part"

    def cells(self, entry: Entry, meter: Meter) -> Iterator[tuple[str, str]]:
        """(place, text) of each cell."""
        raise NotImplementedError


class PackedDocument(Document):
    """A document that is a ZIP archive of XML files."""

    def __init__(self, archive):
        super().__init__(archive.source)
        self.archive = archive
        self._files = {entry.name: entry for entry in reversed(archive.entries) if entry.kind == "file"}

    def part(self, path: str, name: str) -> None:
        """Lists a part of the document by a name of its own."""
        if path in self._files:
            self.add(name, kind="text", path=path)

    def pictures(self) -> None:
        """Lists the pictures; to be called last."""
        for path, entry in sorted(self._files.items()):
            if path.lower().endswith(_PICTURES):
                self.add(path, kind="file", path=path, size=entry.size, packed=entry.packed)

    def has(self, path: str) -> bool:
        return path in self._files

    def paths(self) -> list[str]:
        return list(self._files)

    def blocks(self, entry: Entry, meter: Meter) -> Iterator[bytes]:
        return self.archive.blocks(self._files[entry.path], meter)

    def content(self, path: str, meter: Meter | None = None) -> bytes:
        if path not in self._files:
            message = "{} has no part {}, which a {} document must have"
            raise ArchiveError(message.format(shown(self.source.name), shown(path), self.kind))
        return b"".join(self.archive.blocks(self._files[path], meter or Meter(path)))

    def relations(self, path: str) -> dict[str, tuple[str, str]]:
        """{id: (kind, path)} of the parts that a part refers to inside of the document."""
        folder, name = posixpath.split(path)
        of_part = posixpath.join(folder, "_rels", name + ".rels")
        found: dict[str, tuple[str, str]] = {}
        if not self.has(of_part):
            return found

        def start(tag: str, attributes: dict[str, Any]) -> None:
            if tag == "Relationship" and attributes.get("TargetMode") != "External":
                target = attributes.get("Target", "")
                where = posixpath.normpath(posixpath.join("/" + folder, target)).lstrip("/")
                found[attributes.get("Id", "")] = (attributes.get("Type", "").rpartition("/")[2], where)

        xml_events.parse(self.content(of_part), of_part, start)
        return found

    def main_part(self, usual: str) -> str:
        found = (path for kind, path in self.relations("").values() if kind == "officeDocument" and self.has(path))
        return next(found, usual)
