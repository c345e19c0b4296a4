"""The variables of a session, as SHOW_VARS() returns them."""

from __future__ import annotations

from ..context.texts import Record
from ..pristine import BUILTINS as __builtins__
from ..values import encoding

SHOWN = 100


class Variables(list):
    """One Record for each variable, with name, type, text and size."""

    def __repr__(self):
        if not self:
            return "no variables yet"
        rows = [_row(entry) for entry in self[:SHOWN]]
        if len(self) > SHOWN:
            rows.append("\u2026 {:,} more".format(len(self) - SHOWN))
        return "\n".join(rows)

    @classmethod
    def of(cls, namespace: dict) -> Variables:
        return cls(map(Record, encoding.describe(namespace)))


def _row(entry):
    size = "[{:,}]".format(entry["size"]) if "size" in entry else ""
    return "{}: {}{} = {}".format(entry["name"], entry["type"], size, entry["text"])
