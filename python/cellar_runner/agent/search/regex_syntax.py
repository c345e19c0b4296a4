"""Translates patterns from ripgrep's syntax to that of Python's re."""

from __future__ import annotations

import re

from ...pristine import BUILTINS as __builtins__

_CLASSES = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "ascii": "\\x00-\\x7f",
    "blank": " \\t",
    "cntrl": "\\x00-\\x1f\\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": "!-/:-@\\[-`{-~",
    "space": "\\t\\n\\v\\f\\r ",
    "upper": "A-Z",
    "word": "\\w",
    "xdigit": "0-9A-Fa-f",
}
_CODE = re.compile(r"\\[xuU]\{([0-9A-Fa-f]{1,6})\}").match
_POSIX = re.compile(r"\[:([a-z]+):\]").match
_FLAGS = re.compile(r"\(\?([imsxu]*)(-[imsxu]+)?\)").match
_SCOPED = re.compile(r"\(\?([imsxu]*)(-[imsxu]+)?:").match
_escape = re.escape


class Untranslatable(Exception):
    """Something that Python's re cannot express, and its position."""

    def __init__(self, message, position):
        super().__init__(message)
        self.position = position


class _Translation:

    def __init__(self, pattern):
        self._pattern = pattern
        self._at = 0
        self._parts = []
        # For each open group, how many groups were opened in it for flags that apply to its end.
        self._open = [0]

    def run(self):
        pattern = self._pattern
        while self._at < len(pattern):
            character = pattern[self._at]
            if character == "\\":
                self._escape(False)
            elif character == "[":
                self._class()
            elif character == "(":
                self._group()
            else:
                if character == ")":
                    self._parts.append(")" * (self._open.pop() if len(self._open) > 1 else 0))
                self._take(1)
        self._parts.append(")" * self._open[-1] if len(self._open) == 1 else "")
        return "".join(self._parts)

    def _take(self, count, written=None):
        taken = self._pattern[self._at : self._at + count]
        self._parts.append(taken if written is None else written)
        self._at += count

    def _escape(self, in_class):
        code = _CODE(self._pattern, self._at)
        following = self._pattern[self._at + 1 : self._at + 2]
        if code is not None and int(code.group(1), 16) <= 0x10FFFF:
            self._take(len(code.group()), _escape(chr(int(code.group(1), 16))))
        elif following in ("p", "P"):
            raise Untranslatable("\\p{...} works only with ripgrep", self._at)
        elif following == "z" and not in_class:
            self._take(2, "\\Z")
        else:
            self._take(2)

    def _class(self):
        """A set in brackets; ripgrep's can be nested and combined."""
        start = self._at
        self._take(2 if self._pattern.startswith("[^", self._at) else 1)
        if self._pattern.startswith("]", self._at):
            self._take(1, "\\]")
        while self._at < len(self._pattern):
            posix = _POSIX(self._pattern, self._at)
            if self._pattern[self._at] == "]":
                self._take(1)
                return
            if self._pattern[self._at] == "\\":
                self._escape(True)
            elif posix is not None and posix.group(1) in _CLASSES:
                self._take(len(posix.group()), _CLASSES[posix.group(1)])
            elif self._pattern[self._at] == "[" or self._combines():
                raise Untranslatable("sets within sets work only with ripgrep", start)
            else:
                self._take(1)

    def _combines(self):
        return self._pattern[self._at : self._at + 2] in ("&&", "--", "~~")

    def _group(self):
        pattern, at = self._pattern, self._at
        flags = _FLAGS(pattern, at)
        if flags is not None:
            self._take(len(flags.group()), "(?" + _kept(flags) + ":")
            self._open[-1] += 1
            return
        scoped = _SCOPED(pattern, at)
        if scoped is not None:
            self._take(len(scoped.group()), "(?" + _kept(scoped) + ":")
        elif pattern.startswith("(?<", at) and pattern[at + 3 : at + 4] not in ("=", "!"):
            self._take(3, "(?P<")
        else:
            self._take(1)
        self._open.append(0)


def _kept(flags):
    """Without u, which is always on."""
    off = (flags.group(2) or "").replace("u", "")
    return flags.group(1).replace("u", "") + ("" if off == "-" else off)


def translated(pattern):
    """The pattern for Python's re, or Untranslatable."""
    return _Translation(pattern).run()
