"""The findings that an agent marks, with their sources."""

from __future__ import annotations

from typing import Any

from ..context.texts import Record
from ..pristine import BUILTINS as __builtins__
from ..values.reprs import cap, exact, guarded_repr, is_a, type_name

MOST_FINDINGS = 500
LONGEST = 2000
LONGEST_SOURCE = 300


class FindingList(list):
    def __repr__(self):
        if not self:
            return 'no findings yet: mark_finding("...") adds one'
        return "\n".join(map(_row, self))


def _row(entry):
    if not is_a(entry, Record):
        return cap(guarded_repr(entry), 200)
    source = entry.get("source")
    return "{}. {}{}".format(entry.get("number"), entry.get("text"), " [{}]".format(source) if source else "")


class Findings:
    def __init__(self):
        self._all = []
        self._reported = 0

    def mark(self, text: Any, source: Any) -> Record:
        text = _text(text, "a finding", LONGEST, "sum it up in a sentence or two")
        if source is not None:
            source = _text(source, "a source", LONGEST_SOURCE, 'name the place, such as "line 42"')
        if not text.strip():
            raise ValueError("a finding must not be empty")
        if len(self._all) >= MOST_FINDINGS:
            raise ValueError("there are {} findings already, the most that are kept".format(MOST_FINDINGS))
        self._all.append({"number": len(self._all) + 1, "text": text, "source": source})
        return Record(self._all[-1])

    def listed(self) -> FindingList:
        return FindingList(map(Record, self._all))

    def begin(self) -> None:
        self._reported = len(self._all)

    def new(self) -> list[dict]:
        return [dict(finding) for finding in self._all[self._reported :]]

    def state(self) -> list[dict]:
        return [dict(finding) for finding in self._all]

    def restore(self, data: list[dict]) -> None:
        self._all = []
        for number, finding in enumerate(data[:MOST_FINDINGS], 1):
            source = finding["source"]
            source = None if source is None else str(source)
            self._all.append({"number": number, "text": str(finding["text"]), "source": source})
        self.begin()


def _text(value, what, most, advice):
    if not is_a(value, str):
        raise TypeError("{} must be a str, not {}".format(what, type_name(type(value))))
    text = exact(value)
    if len(text) > most:
        message = "{} may have at most {:,} characters, not {:,}: {}"
        raise ValueError(message.format(what, most, len(text), advice))
    return text
