"""The text of WordprocessingML and DrawingML, whose elements have the same short names."""

from __future__ import annotations

from ...pristine import BUILTINS as __builtins__
from ..limits import Meter
from . import xml_events


def text_of(data: bytes, name: str, meter: Meter) -> str:
    """A line for each paragraph; the cells of a table are parted by tabs."""
    parts: list[str] = []
    # How many elements are open whose text is shown, and whose text is not.
    open_texts = hidden = rows = 0

    def start(tag, attributes):
        nonlocal open_texts, hidden, rows
        if tag in ("Fallback", "del"):
            hidden += 1
        elif tag == "t":
            open_texts += 1
        elif tag == "tr":
            rows += 1
        elif not hidden and tag == "tab" and "val" not in attributes and ":val" not in attributes:
            parts.append("\t")
        elif not hidden and tag in ("br", "cr"):
            parts.append(" " if rows else "\n")

    def end(tag):
        nonlocal open_texts, hidden, rows
        if tag in ("Fallback", "del"):
            hidden -= 1
        elif tag == "t":
            open_texts -= 1
        elif hidden:
            return
        elif tag == "p":
            parts.append(" " if rows else "\n")
        elif tag == "tc":
            while parts and parts[-1] == " ":
                parts.pop()
            parts.append("\t")
        elif tag == "tr":
            rows -= 1
            if parts and parts[-1] == "\t":
                parts.pop()
            parts.append("\n")

    def text(piece):
        if open_texts and not hidden:
            meter.add(len(piece))
            parts.append(piece)

    xml_events.parse(data, name, start, end, text)
    return "".join(parts).strip("\n")
