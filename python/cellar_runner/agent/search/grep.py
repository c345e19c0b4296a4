"""grep(): the lines of the context or of a file that match a pattern."""

from __future__ import annotations

import os
import re
import shutil
from typing import Any, Callable

from ...context.texts import whole_number
from ...pristine import BUILTINS as __builtins__
from ...values.reprs import cap, guarded_repr, is_a, type_name
from ..files import Document
from . import python_re, regex_syntax
from .hits import Hits, hit_at
from .ripgrep import LONGEST_PATTERN, Failed, Rejected, Ripgrep
from .source import FileSource, TextSource

SLOW_SECONDS = 10
MOST_CONTEXT_LINES = 20
# The largest file that is read whole if ripgrep cannot read it itself.
READ_BYTES = 64 << 20

_exists, _is_folder = os.path.lexists, os.path.isdir
_RegexError = re.error
_BACKTRACKING_NOTE = "look-around and backreferences: searched with Python's re, which is slower"
_NO_RIPGREP = "ripgrep is not available: searched with Python's re, which is slower"
_UNSTOPPABLE = "; only the time limit of the cell can stop it"
_SPLIT = "lines of more than 8 MB were searched in parts"
_HINTS = (
    ("unclosed group", "to search for a literal bracket, write \\( or \\)"),
    ("unopened group", "to search for a literal bracket, write \\( or \\)"),
    ("unclosed character class", "to search for a literal [, write \\["),
    ("repetition operator missing", "to search for a literal *, + or ?, put a \\ before it"),
    ("repetition quantifier", "to search for a literal {, write \\{"),
    ("is not allowed in", "grep() searches one line at a time; search_context() matches across lines"),
    ("size limit", "repeat less, or search for the parts one by one"),
)
_HINT = "re.escape(text) matches any text literally"


class PatternError(ValueError):
    """An invalid pattern; `position`, from 0, is where it goes wrong."""

    position = None


class Search:
    def __init__(self, ripgrep, most, seconds=SLOW_SECONDS):
        path = ripgrep or shutil.which("rg")
        self._ripgrep: Any = Ripgrep(path) if path and hasattr(os, "posix_spawn") else None
        self._most = most
        self._seconds = seconds

    def grep(
        self,
        context: Callable[[], TextSource | FileSource],
        pattern: Any,
        file: Any,
        context_lines: Any,
        ignore_case: Any,
    ) -> Hits:
        """`context()` returns what is searched if no file is named."""
        pattern = _checked_pattern(pattern, file)
        context_lines = whole_number(context_lines, "context_lines")
        if not 0 <= context_lines <= MOST_CONTEXT_LINES:
            message = "context_lines must be from 0 to {}, not {}"
            raise ValueError(message.format(MOST_CONTEXT_LINES, cap(str(context_lines), 50)))
        ignore_case = ignore_case is not False and bool(ignore_case)
        if file is None:
            return self._search(context(), pattern, context_lines, ignore_case)
        with _document(file, pattern) as document:
            return self._search(self._source(document), pattern, context_lines, ignore_case)

    def _source(self, document):
        in_place = self._ripgrep is not None and _is_folder("/proc/self/fd")
        if in_place and document.encoding != "utf-16" and document.status.st_size:
            return FileSource(document.descriptor, document.path)
        if document.status.st_size > READ_BYTES:
            message = "{} has {:,} bytes, too many to search here: read it in parts"
            raise ValueError(message.format(guarded_repr(document.path), document.status.st_size))
        return TextSource(document.text(0, READ_BYTES), document.path)

    def _search(self, source, pattern, context_lines, ignore_case):
        note = ""
        try:
            if self._ripgrep is None:
                raise Rejected(_NO_RIPGREP, None, True)
            source, rows, total = self._with_ripgrep(source, pattern, ignore_case)
            found = [source.locate(*row) for row in rows]
        except Rejected as error:
            if not error.is_backtracking:
                raise _bad(pattern, str(error), error.position) from None
            note = _NO_RIPGREP if self._ripgrep is None else _BACKTRACKING_NOTE
            source = source.as_texts(READ_BYTES)
            found, total = self._with_python(source, pattern, ignore_case)
            if not python_re.CAN_STOP:
                note += _UNSTOPPABLE
        except Failed as error:
            raise RuntimeError("the search failed: {}".format(error)) from None
        if source.has_split_lines:
            note = "; ".join(filter(None, (note, _SPLIT)))
        hits = [hit_at(source, part, line, position, context_lines) for part, line, position in found]
        return Hits(hits, pattern, source.name, total, note)

    def _with_ripgrep(self, source, pattern, ignore_case):
        """(what was searched, lines and offsets, how many there are)."""
        try:
            return (source,) + self._ripgrep.search(source, pattern, ignore_case, self._most)
        except Failed:
            if source.descriptor is None:
                raise
        # ripgrep could not open the file: feed it the text instead.
        source = source.as_texts(READ_BYTES)
        return (source,) + self._ripgrep.search(source, pattern, ignore_case, self._most)

    def _with_python(self, source, pattern, ignore_case):
        translated = None
        try:
            translated = regex_syntax.translated(pattern)
            return python_re.search(source, translated, ignore_case, self._most, self._seconds)
        except regex_syntax.Untranslatable as error:
            raise _bad(pattern, str(error), error.position) from None
        except (_RegexError, OverflowError, RecursionError) as error:
            position = getattr(error, "pos", None) if translated == pattern else None
            raise _bad(pattern, str(getattr(error, "msg", error)), position) from None
        except python_re.OutOfTime:
            message = "the search was stopped after {} seconds: write the pattern without {}"
            what = "look-around and backreferences" if self._ripgrep else "nested repetitions"
            raise TimeoutError(message.format(self._seconds, what)) from None


def _checked_pattern(pattern, file):
    if not is_a(pattern, str):
        message = 'the pattern must be a str, not {}: grep("error") or grep("error", file="notes.txt")'
        raise TypeError(message.format(type_name(type(pattern))))
    pattern = str.__str__(pattern)
    if not pattern:
        raise PatternError('the pattern is empty: use peek() for the beginning, grep(".") for every line')
    if len(pattern) > LONGEST_PATTERN:
        message = "the pattern has {:,} characters, but at most {:,} are allowed"
        raise PatternError(message.format(len(pattern), LONGEST_PATTERN))
    if "\0" in pattern:
        raise _bad(pattern, "a NUL character must be written as \\x00", pattern.index("\0"))
    try:
        pattern.encode("utf-8")
    except UnicodeEncodeError as error:
        raise _bad(pattern, "a lone surrogate", error.start) from None
    return pattern


def _document(file, pattern):
    try:
        return Document(file, "grep")
    except (OSError, ValueError):
        if len(pattern) < 1000 and "/" in pattern and _exists(pattern):
            message = "the pattern comes first: grep({}, file={})"
            wanted, path = (cap(guarded_repr(one), 200) for one in (file, pattern))
            raise ValueError(message.format(wanted, path)) from None
        raise


def _bad(pattern, reason, position):
    hint = next((text for words, text in _HINTS if words in reason), _HINT)
    place = "" if position is None else " at position {}".format(position)
    shown = ""
    if position is not None and "\n" not in pattern:
        first = max(0, position - 40)
        shown = "\n    {}\n    {}^".format(pattern[first : position + 40], " " * (position - first))
    error = PatternError("bad pattern{}: {}; {}{}".format(place, reason, hint, shown))
    error.position = position
    return error
