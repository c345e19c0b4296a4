"""Pages, metadata and the number of pictures, with the standard library only."""

from __future__ import annotations

from typing import Any

from ...pristine import BUILTINS as __builtins__
from ...values.reprs import is_a
from ..limits import MOST_ENTRIES, ArchiveError, Meter, refuse_many
from .content import PageText
from .file import PdfFile
from .syntax import Reference, Stream

MOST_LEVELS = 100
MOST_CONTENTS = 10_000
MOST_PICTURES = 100_000
_INHERITED = ("Resources",)
_TOLD = ("Title", "Author", "Subject", "Creator", "CreationDate")


class OwnReader:
    name = "the own reader"

    def __init__(self, data):
        self._file = PdfFile(data)
        if self._file.get(self._file.trailer, "Encrypt") is not None:
            raise ArchiveError("it is encrypted, which needs the library pypdf or pymupdf: neither is installed")
        self._pages = self._found_pages()
        if not self._pages:
            raise ArchiveError("it has no pages: it is damaged or not a PDF; get it again")
        self.metadata = self._found_metadata()
        self.images = self._count_images()
        self.note = (
            "the tables of the PDF are damaged: its objects were searched for" if self._file.was_repaired else ""
        )

    def __len__(self):
        return len(self._pages)

    def _found_pages(self):
        """The leaves of the page tree, in order; a node that comes again is left out."""
        root = self._file.get(self._file.trailer, "Root", "Pages")
        pages: list[dict[str, Any]] = []
        seen: set[int] = set()
        waiting: list[tuple[Any, dict[str, Any], int]] = [(root, {}, 0)]
        while waiting:
            given, inherited, level = waiting.pop()
            if type(given) is Reference:
                if given[0] in seen:
                    continue
                seen.add(given[0])
            node = self._quietly(given)
            if not is_a(node, dict) or level > MOST_LEVELS:
                continue
            passed = dict(inherited, **{key: node[key] for key in _INHERITED if key in node})
            kids = self._file.get(node, "Kids")
            if is_a(kids, list) and node.get("Type") != "Page":
                refuse_many(len(kids) + len(waiting) + len(pages), "the PDF", "pages")
                waiting.extend((kid, passed, level + 1) for kid in reversed(kids))
            else:
                pages.append(dict(node, **passed))
        return pages

    def _quietly(self, value):
        try:
            return self._file.resolve(value)
        except (ArchiveError, ValueError):
            return None

    def _found_metadata(self):
        told = {}
        for key in _TOLD:
            try:
                value = self._file.get(self._file.trailer, "Info", key)
            except ArchiveError:
                value = None
            if type(value) is bytes:
                told[key.lower()] = _text_of(value[:2000])[:300]
        return told

    def _count_images(self):
        seen = set()
        for number, page in enumerate(self._pages[:MOST_ENTRIES]):
            try:
                objects = self._file.get(page, "Resources", "XObject")
                for name, value in objects.items() if is_a(objects, dict) else ():
                    found = self._file.resolve(value)
                    if is_a(found, Stream) and found.attributes.get("Subtype") == "Image":
                        seen.add(value[0] if type(value) is Reference else (number, name))
                    if len(seen) >= MOST_PICTURES:
                        return len(seen)
            except (ArchiveError, ValueError):
                continue
        return len(seen)

    def text(self, index: int, meter: Meter) -> str:
        file, page = self._file, self._pages[index]
        file.begin()
        contents = file.get(page, "Contents")
        streams = contents if is_a(contents, list) else [contents]
        if len(streams) > MOST_CONTENTS:
            raise ArchiveError("it has {:,} streams: it is not read".format(len(streams)))
        found = [file.resolve(stream) for stream in streams]
        data = b"\n".join(file.content(stream) for stream in found if is_a(stream, Stream))
        text = PageText(file, meter)
        text.run(data, file.get(page, "Resources"))
        return text.result()


def _text_of(value):
    if value.startswith(b"\xfe\xff"):
        return value[2:].decode("utf-16-be", "replace")
    if value.startswith(b"\xef\xbb\xbf"):
        return value[3:].decode("utf-8", "replace")
    return value.decode("cp1252", "replace")
