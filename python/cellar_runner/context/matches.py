"""Matches of a pattern in the texts of a value."""

from __future__ import annotations

import re
from typing import Any

from ..pristine import BUILTINS as __builtins__
from ..values.reprs import cap, guarded_repr, is_a, type_name
from .texts import Record, leaves, lines, place_of, whole_number

SHOWN_CHARACTERS = 40_000
SHOWN_MATCH = 80
SHOWN_BEYOND_WINDOW = 1_000

_compile = re.compile
_Pattern = re.Pattern
_PatternError = re.error
_MULTILINE = re.MULTILINE


class Match(Record):
    """One match: match, start, end, line, text, where. Its `context` is the text again.

    That is no item of its own, so that the text is neither sent nor shown twice.
    """

    __slots__ = ()

    def __missing__(self, name):
        if name == "context":
            return self["text"]
        raise KeyError(name)

    def get(self, name: str, default: Any = None) -> Any:
        try:
            return self[name]
        except KeyError:
            return default


class Matches(list):
    """The first matches; `total` counts all."""

    def __init__(self, pattern="", window=0, note=""):
        super().__init__()
        self.pattern = pattern
        self.total = 0
        self._window = window
        self._note = note

    @property
    def more(self) -> int:
        return max(0, self.total - len(self))

    def __repr__(self):
        name = cap(guarded_repr(self.pattern), 2 * SHOWN_MATCH)
        if not self.total:
            return "no matches for {}{}".format(name, self._note)
        head = "{:,} match{} for {}".format(self.total, "" if self.total == 1 else "es", name)
        if self.more:
            head += ", the first {:,} of them in this list".format(len(self))
        parts = [head]
        room = SHOWN_CHARACTERS
        for position, match in enumerate(self):
            if room <= 0:
                parts.append("... {:,} more in this list".format(len(self) - position))
                break
            parts.append(self._entry(position, match))
            room -= len(parts[-1])
        if self.more:
            parts.append("... {:,} more: raise max_results to get them".format(self.more))
        return "\n".join(parts)

    def _entry(self, position, match):
        if not is_a(match, Match):
            return "[{}] {}".format(position, cap(guarded_repr(match), SHOWN_BEYOND_WINDOW))
        text = cap(match.text, 2 * self._window + SHOWN_BEYOND_WINDOW)
        return "[{}] {}line {:,}, characters {}:{}, {}\n    {}".format(
            position,
            "in {}, ".format(match.where) if match.where else "",
            match.line,
            match.start,
            match.end,
            cap(guarded_repr(match.match[: 2 * SHOWN_MATCH]), SHOWN_MATCH),
            text.replace("\r\n", "\n").replace("\n", "\n    "),
        )


class Line(tuple):
    """(number, line), and the place of its text where there are several."""

    where = ""

    def __repr__(self):
        return tuple.__repr__(self) + (" in " + self.where if self.where else "")


def compiled(pattern: Any) -> Any:
    """A compiled pattern; in a str, ^ and $ match at every line."""
    if is_a(pattern, _Pattern) and is_a(pattern.pattern, str):
        return pattern
    if not is_a(pattern, str):
        kind = "bytes pattern" if is_a(pattern, _Pattern) else type_name(type(pattern))
        raise TypeError("the pattern must be a str or a re.compile() of one, not " + kind)
    try:
        return _compile(str.__str__(pattern), _MULTILINE)
    except (_PatternError, OverflowError, RecursionError) as error:
        position = getattr(error, "pos", None)
        message = "bad pattern{}: {}; to search for this text as it is, pass re.escape({})".format(
            "" if position is None else " at position {}".format(position),
            getattr(error, "msg", error),
            cap(guarded_repr(pattern), 2 * SHOWN_MATCH),
        )
        raise ValueError(message) from None


def search(value: Any, pattern: Any, window: int, max_results: int | None) -> Matches:
    window = whole_number(window, "window")
    if window < 0:
        raise ValueError("window must not be negative: use 0 for the match alone")
    if max_results is not None:
        max_results = whole_number(max_results, "max_results")
        if max_results < 0:
            raise ValueError("max_results must not be negative: use None for all matches")
    expression = compiled(pattern)
    note = "" if is_a(value, str) else " (values are searched, keys are not)"
    found = Matches(expression.pattern, window, note)
    for path, text in leaves(value):
        line, counted = 1, 0
        hits = expression.finditer(text)
        for hit in hits:
            if max_results is not None and len(found) >= max_results:
                found.total += 1 + _count(hits)
                break
            start, end = hit.span()
            line += text.count("\n", counted, start)
            counted = start
            found.total += 1
            found.append(
                Match(
                    match=hit.group(),
                    start=start,
                    end=end,
                    line=line,
                    text=text[max(0, start - window) : end + window],
                    where=place_of(path),
                )
            )
    return found


def count(value: Any, pattern: Any) -> int:
    expression = compiled(pattern)
    return sum(_count(expression.finditer(text)) for _path, text in leaves(value))


def _count(hits):
    return sum(1 for _ in hits)


def matching_lines(value: Any, pattern: Any) -> list:
    search_line = compiled(pattern).search
    found = []
    for path, text in leaves(value):
        for number, start, end in lines(text):
            # a slice, not bounds: lookarounds and anchors must not see beyond the line
            line = text[start:end]
            if search_line(line) is None:
                continue
            entry = (number, line)
            if path:
                entry = Line(entry)
                entry.where = place_of(path)
            found.append(entry)
    return found
