"""Finds strings, comments and brackets in text that may not be valid Python."""

from __future__ import annotations

import re
from typing import Any

from ..pristine import BUILTINS as __builtins__

_TOKEN = re.compile(
    r"""(?P<comment>\#)
      | (?P<quote>\"\"\"|\'\'\'|\"|\')
      | (?P<open>[(\[{])
      | (?P<close>[)\]}])
      | (?P<continued>\\$)""",
    re.VERBOSE,
)
_ENDS = {
    quote: re.compile(r"(?:[^\\]|\\.)*?" + re.escape(quote), re.DOTALL)
    for quote in ('"""', "'''", '"', "'")
}


class Scanner:
    """Fed line by line; knows whether the next line starts a statement."""

    def __init__(self):
        self._quote: Any = None
        self._depth = 0
        self._continued = False

    @property
    def at_statement(self) -> bool:
        return self._quote is None and self._depth == 0 and not self._continued

    @property
    def in_string(self) -> bool:
        return self._quote is not None

    def feed(self, line: str) -> list[tuple[int, int]]:
        """The (start, end) spans of a line that are code."""
        spans = []
        position = start = 0
        self._continued = False
        if self._quote is not None:
            position = start = self._close(line, 0)
        while position < len(line):
            token = _TOKEN.search(line, position)
            if token is None or token.lastgroup == "comment":
                spans.append((start, token.start() if token else len(line)))
                return spans
            position = token.end()
            kind = token.lastgroup
            if kind == "open":
                self._depth += 1
            elif kind == "close":
                self._depth = max(0, self._depth - 1)
            elif kind == "continued":
                self._continued = True
            else:
                spans.append((start, token.start()))
                self._quote = token.group()
                position = start = self._close(line, position)
        if start < len(line):
            spans.append((start, len(line)))
        return spans

    def _close(self, line, position):
        """Where the open string ends in this line."""
        end = _ENDS[self._quote].match(line, position)
        if end is not None:
            self._quote = None
            return end.end()
        if len(self._quote) == 1 and not line.endswith("\\"):
            self._quote = None
        return len(line)
