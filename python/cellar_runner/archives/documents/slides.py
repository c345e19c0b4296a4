"""PPTX: each slide in its order, with the notes of the speaker."""

from __future__ import annotations

from ...pristine import BUILTINS as __builtins__
from ..containers.members import Entry
from ..limits import Meter
from . import paragraphs, xml_events
from .document import PackedDocument


class Slides(PackedDocument):
    kind = "pptx"
    noun = "slide"

    def __init__(self, archive):
        super().__init__(archive)
        main = self.main_part("ppt/presentation.xml")
        relations = self.relations(main)
        found: list[str] = []

        def start(tag, attributes):
            if tag == "sldId":
                kind, path = relations.get(attributes.get(":id", ""), ("", ""))
                if kind == "slide":
                    found.append(path)

        xml_events.parse(self.content(main), main, start)
        for number, path in enumerate(found, 1):
            self.part(path, "slide {}".format(number))
        self.pictures()

    def text(self, entry: Entry, meter: Meter) -> str:
        text = paragraphs.text_of(self.content(entry.path, meter), entry.path, Meter(entry.address))
        for kind, path in self.relations(entry.path).values():
            if kind == "notesSlide" and self.has(path):
                notes = paragraphs.text_of(self.content(path, meter), path, Meter(path))
                text += "\nnotes: " + notes
        return text
