"""Lays out text in lines: groups are broken from the outermost in, once a line is full."""

from __future__ import annotations

from collections import deque
from contextlib import contextmanager
from typing import Iterator

from ..pristine import BUILTINS as __builtins__

MAX_WIDTH = 79
MAX_ITEMS = 1_000


class Full(BaseException):
    """More text than there is room for; no `except Exception` of a value's own method stops it."""


class _Group:
    __slots__ = ("depth", "waiting", "want_break")

    def __init__(self, depth):
        self.depth = depth
        self.waiting = 0
        self.want_break = False


class Layout:
    """The interface that `_repr_pretty_` methods call, under IPython's names."""

    def __init__(self, room, max_width=MAX_WIDTH, newline="\n", max_seq_length=MAX_ITEMS):
        self.max_width = max_width
        self.newline = newline
        self.max_seq_length = max_seq_length
        self.indentation = 0
        self.output_width = 0
        self.buffer_width = 0
        self.room = room
        self._written = []
        # Waiting for the decision: a text with its width, or [separator, width, indentation, group].
        self._waiting: deque = deque()
        outermost = _Group(0)
        self._open = [outermost]
        # For each depth, the groups that may still be broken.
        self._unbroken = [[outermost]]

    def written(self) -> str:
        return "".join(self._written)

    def write(self, text: str) -> None:
        self._written.append(text)
        self.room -= len(text)
        if self.room < 0:
            raise Full

    def text(self, text: str) -> None:
        width = len(text)
        if not self._waiting:
            self.write(text)
            self.output_width += width
            return
        self._waiting.append((text, width))
        self.buffer_width += width
        if self.output_width + self.buffer_width > self.max_width:
            self._fit()

    def breakable(self, sep: str = " ") -> None:
        group = self._open[-1]
        if group.want_break:
            self._new_line()
            return
        group.waiting += 1
        width = len(sep)
        self._waiting.append((sep, width, self.indentation, group))
        self.buffer_width += width
        if self.output_width + self.buffer_width > self.max_width:
            self._fit()

    def break_(self) -> None:
        group = self._outermost()
        if group is not None:
            self._break(group)
        self._new_line()

    def begin_group(self, indent: int = 0, open: str = "") -> None:
        if open:
            self.text(open)
        depth = self._open[-1].depth + 1
        group = _Group(depth)
        self._open.append(group)
        while depth >= len(self._unbroken):
            self._unbroken.append([])
        self._unbroken[depth].append(group)
        self.indentation += indent

    def end_group(self, dedent: int = 0, close: str = "") -> None:
        self.indentation -= dedent
        group = self._open.pop()
        if not group.waiting:
            self._settle(group)
        if close:
            self.text(close)

    @contextmanager
    def group(self, indent: int = 0, open: str = "", close: str = "") -> Iterator[None]:
        self.begin_group(indent, open)
        try:
            yield
        finally:
            self.end_group(indent, close)

    @contextmanager
    def indent(self, indent: int) -> Iterator[None]:
        self.indentation += indent
        try:
            yield
        finally:
            self.indentation -= indent

    def flush(self) -> None:
        while self._waiting:
            self._write_first()
        self.buffer_width = 0

    def _new_line(self):
        self.flush()
        self.write(self.newline)
        self.write(" " * self.indentation)
        self.output_width = self.indentation
        self.buffer_width = 0

    def _fit(self):
        """Breaks groups until the line is short enough."""
        while self.output_width + self.buffer_width > self.max_width:
            group = self._outermost()
            if group is None:
                return
            self._break(group)

    def _break(self, group):
        while group.waiting:
            self._write_first()
        waiting = self._waiting
        while waiting and len(waiting[0]) == 2:
            self._write_first()

    def _outermost(self):
        """Marks the outermost group with breakables, and those outside it, to be broken."""
        for groups in self._unbroken:
            last = len(groups) - 1
            for back in range(last + 1):
                group = groups[last - back]
                if group.waiting:
                    # counted from the other end, as in IPython
                    del groups[back]
                    group.want_break = True
                    return group
            for group in groups:
                group.want_break = True
            del groups[:]
        return None

    def _settle(self, group):
        groups = self._unbroken[group.depth]
        for position, other in enumerate(groups):
            if other is group:
                del groups[position]
                return

    def _write_first(self):
        item = self._waiting.popleft()
        text, width = item[0], item[1]
        self.buffer_width -= width
        if len(item) == 4:
            group = item[3]
            group.waiting -= 1
            if group.want_break:
                self.write(self.newline)
                self.write(" " * item[2])
                self.output_width = item[2]
                return
            if not group.waiting:
                self._settle(group)
        self.write(text)
        self.output_width += width
