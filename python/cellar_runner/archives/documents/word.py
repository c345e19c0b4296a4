"""DOCX: the document, its notes and comments, its headers and footers."""

from __future__ import annotations

import re

from ...pristine import BUILTINS as __builtins__
from ..containers.members import Entry
from ..limits import Meter
from . import paragraphs
from .document import PackedDocument

_OTHERS = re.compile(r"word/(footnotes|endnotes|comments|header\d*|footer\d*)\.xml")


class Word(PackedDocument):
    kind = "docx"

    def __init__(self, archive):
        super().__init__(archive)
        main = self.main_part("word/document.xml")
        self.part(main, "document")
        for path in sorted(self.paths()):
            match = _OTHERS.fullmatch(path)
            if match and path != main:
                self.part(path, match.group(1))
        if not self.entries:
            self.content("word/document.xml")
        self.pictures()

    def text(self, entry: Entry, meter: Meter) -> str:
        return paragraphs.text_of(self.content(entry.path, meter), entry.path, Meter(entry.address))
