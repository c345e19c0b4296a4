"""EPUB: the chapters in the order of the book."""

from __future__ import annotations

import posixpath
import urllib.parse

from ...pristine import BUILTINS as __builtins__
from ..containers.members import Entry
from ..limits import Meter
from . import html_text, xml_events
from .document import PackedDocument

_TOLD = ("title", "creator", "language", "date", "publisher")


class Epub(PackedDocument):
    kind = "epub"
    noun = "chapter"

    def __init__(self, archive):
        super().__init__(archive)
        package = self._package()
        hrefs: dict[str, str] = {}
        order: list[str] = []
        telling = ""

        def start(tag, attributes):
            nonlocal telling
            telling = tag if tag in _TOLD else ""
            if tag == "item":
                hrefs[attributes.get("id", "")] = urllib.parse.unquote(attributes.get("href", ""))
            elif tag == "itemref":
                order.append(attributes.get("idref", ""))

        def end(_):
            nonlocal telling
            telling = ""

        def text(piece):
            if telling and piece.strip() and len(self.metadata.get(telling, "")) < 500:
                self.metadata[telling] = self.metadata.get(telling, "") + piece.strip()

        xml_events.parse(self.content(package), package, start, end, text)
        for name in order:
            path = posixpath.normpath(posixpath.join(posixpath.dirname(package), hrefs.get(name, "")))
            self.part(path, path)
        self.pictures()

    def _package(self):
        found: list[str] = []

        def start(tag, attributes):
            if tag == "rootfile":
                found.append(attributes.get("full-path", ""))

        xml_events.parse(self.content("META-INF/container.xml"), "META-INF/container.xml", start)
        return found[0] if found else "content.opf"

    def text(self, entry: Entry, meter: Meter) -> str:
        return html_text.text_of(html_text.decoded(self.content(entry.path, meter)))[0]
