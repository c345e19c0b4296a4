"""HTML: one part, the text of the page."""

from __future__ import annotations

from ...pristine import BUILTINS as __builtins__
from ..containers.members import Entry
from ..limits import Meter
from . import html_text
from .document import Document


class HtmlPage(Document):
    kind = "html"

    def __init__(self, source):
        super().__init__(source)
        self.add("text", kind="text")

    def text(self, entry: Entry, meter: Meter) -> str:
        meter.announce(self.source.size)
        with self.source:
            data = self.source.read_at(0, self.source.size)
        meter.add(len(data))
        text, title = html_text.text_of(html_text.decoded(data))
        return "{}\n\n{}".format(title, text) if title else text
