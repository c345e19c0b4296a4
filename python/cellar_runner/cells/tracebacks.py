"""Errors as a model wants them: user frames only, bounded, and never lost to their own text."""

from __future__ import annotations

import os
import sys
from itertools import groupby
from typing import Any, Sequence, Tuple

from ..module_finder import RUNNER
from ..pristine import BUILTINS
from ..pristine import BUILTINS as __builtins__
from ..values.reprs import cap, exact, guarded_str, is_a, qualified_name, type_name
from .hints import hint_for

TRACEBACK_LIMIT = 20_000
MESSAGE_LIMIT = 10_000
LINE_LIMIT = 500
FRAMES_AT_EACH_END = 12
REPEATS_SHOWN = 3
CHAIN_LIMIT = 10
GROUP_LIMIT = 15
WORKSPACE = "/workspace"
# The name of Service's method that raises the host's interrupts.
INTERRUPT_FRAME = "raise_if_interrupted"

_RUNNER_PACKAGE = __name__.partition(".")[0] + "."
# File, line and name.
_Frame = Tuple[str, int, str]
_HEADER = "Traceback (most recent call last):\n"
_CAUSE = "\nThe above exception was the direct cause of the following exception:\n\n"
_CONTEXT = "\nDuring handling of the above exception, another exception occurred:\n\n"

# read through the base class: a property of the same name in a subclass is user code
_traceback_of = BaseException.__dict__["__traceback__"].__get__
_cause_of = BaseException.__dict__["__cause__"].__get__
_context_of = BaseException.__dict__["__context__"].__get__
_suppress_of = BaseException.__dict__["__suppress_context__"].__get__
_getcwd = os.getcwd
_isfile = os.path.isfile


class Tracebacks:
    def __init__(self, interpreter):
        self._interpreter = interpreter
        self._sources = interpreter.sources
        self._files = {}
        self._awaited: Sequence[_Frame] = ()

    def describe(self, error: BaseException, awaited: Sequence[_Frame] = ()) -> dict[str, str]:
        """The error of an outcome; `awaited` are frames that wait in the event loop."""
        name = type_name(type(error))
        self._files = {}
        self._awaited = awaited
        try:
            message = self.message(error)
            text = cap("".join(self._chain(error, set(), 0)).rstrip("\n"), TRACEBACK_LIMIT)
            described = {"type": name, "message": message, "traceback": text}
            hint = hint_for(error, self._interpreter.network, self._interpreter.lost_names)
            if hint:
                described["hint"] = exact(hint)
            return described
        except (MemoryError, RecursionError):
            return self.bare(error)
        finally:
            self._files = {}
            self._awaited = ()

    def bare(self, error: BaseException) -> dict[str, str]:
        """The same without calling any user code."""
        name = type_name(type(error))
        try:
            frames = "".join(self._stack(error))
        except (MemoryError, RecursionError):
            frames = ""
        text = cap((_HEADER + frames if frames else "") + name, TRACEBACK_LIMIT)
        return {"type": name, "message": "", "traceback": text}

    def message(self, error: BaseException) -> str:
        text = guarded_str(error)
        if text is None:
            return "<{}; its __str__ failed>".format(type_name(type(error)))
        return cap(text, MESSAGE_LIMIT)

    def interrupted_by_host(self, error: BaseException) -> bool:
        """Whether the innermost frame is the runner's handler for host interrupts."""
        step = _traceback_of(error)
        while step is not None and step.tb_next is not None:
            step = step.tb_next
        return step is not None and step.tb_frame.f_code.co_name == INTERRUPT_FRAME and (
            step.tb_frame.f_code.co_filename.startswith(RUNNER)
        )

    def _chain(self, error, seen, depth):
        seen.add(id(error))
        parts = []
        if depth < CHAIN_LIMIT:
            cause = _cause_of(error)
            context = None if _suppress_of(error) else _context_of(error)
            before = cause if cause is not None else context
            if before is not None and id(before) not in seen:
                parts += self._chain(before, seen, depth + 1)
                parts.append(_CAUSE if cause is not None else _CONTEXT)
        parts += self._single(error, seen, depth)
        return parts

    def _single(self, error, seen, depth):
        frames = self._stack(error, depth == 0)
        parts = [_HEADER] + frames if frames else []
        if is_a(error, SyntaxError):
            parts += _syntax_location(error)
        parts.append(self._last_line(error))
        parts += _notes(error)
        parts += self._group(error, seen, depth)
        return parts

    def _last_line(self, error):
        kind = type(error)
        name = qualified_name(kind)
        if name.startswith(_RUNNER_PACKAGE):
            name = type_name(kind)
        if is_a(error, SyntaxError):
            text = guarded_str(getattr(error, "msg", None)) or "invalid syntax"
        else:
            found = guarded_str(error)
            text = "<exception str() failed>" if found is None else found
        text = cap(text, MESSAGE_LIMIT)
        return "{}: {}\n".format(name, text) if text else name + "\n"

    def _group(self, error, seen, depth):
        group = BUILTINS.get("BaseExceptionGroup")
        if group is None or not is_a(error, group) or depth >= CHAIN_LIMIT:
            return []
        parts = []
        members = group.exceptions.__get__(error)
        for number, member in enumerate(members[:GROUP_LIMIT], 1):
            parts.append("  +---------------- {} ----------------\n".format(number))
            if id(member) in seen:
                parts.append("  | ...\n")
                continue
            text = "".join(self._chain(member, seen, depth + 1))
            parts += ["  | {}\n".format(line) for line in text.rstrip("\n").split("\n")]
        if len(members) > GROUP_LIMIT:
            parts.append("  | ... {} more\n".format(len(members) - GROUP_LIMIT))
        parts.append("  +------------------------------------\n")
        return parts

    def _stack(self, error, whole=True):
        """Lines for the user's frames (all, if there are none), and where a library raised."""
        user: list[_Frame] = []
        other: list[_Frame] = []
        innermost: _Frame | None = None
        step = _traceback_of(error)
        while step is not None:
            code = step.tb_frame.f_code
            entry: _Frame = (code.co_filename, step.tb_lineno or 0, code.co_name)
            if self._is_user(entry[0]):
                user.append(entry)
                innermost = None
            elif not entry[0].startswith(RUNNER):
                other.append(entry)
                innermost = entry
            step = step.tb_next
        if not user and is_a(error, KeyboardInterrupt):
            user = [frame for frame in self._awaited if self._is_user(frame[0])]
            whole = False
        lines = self._frame_lines(user or (other if whole else []))
        if (user or not whole) and innermost is not None:
            place = "  [raised in {}:{} {}]\n"
            lines.append(place.format(_short(innermost[0]), innermost[1], innermost[2]))
        return lines

    def _frame_lines(self, entries):
        runs = [(frame, len(list(same))) for frame, same in groupby(entries)]
        left_out = len(runs) - 2 * FRAMES_AT_EACH_END
        lines = []
        for position, (entry, count) in enumerate(runs):
            if left_out > 0 and position == FRAMES_AT_EACH_END:
                lines.append("  [... {:,} frames left out ...]\n".format(left_out))
            if left_out > 0 and FRAMES_AT_EACH_END <= position < FRAMES_AT_EACH_END + left_out:
                continue
            filename, number, name = entry
            text = '  File "{}", line {}, in {}\n'.format(filename, number, name)
            source = self._source_line(filename, number)
            if source:
                text += "    {}\n".format(source[:LINE_LIMIT])
            lines += [exact(text)] * min(count, REPEATS_SHOWN)
            if count > REPEATS_SHOWN:
                repeated = "  [Previous line repeated {:,} more times]\n"
                lines.append(repeated.format(count - REPEATS_SHOWN))
        return lines

    def _is_user(self, filename):
        if filename in self._sources:
            return True
        if filename.startswith("<"):
            return filename.startswith("<cell ")
        if filename.startswith(RUNNER) or "/site-packages/" in filename:
            return False
        if filename.startswith(WORKSPACE + os.sep):
            return True
        folder = _working_folder()
        if folder is None:
            return False
        # compiled extensions name their sources by relative paths that do not exist here
        return filename.startswith(folder) or _isfile(folder + filename)

    def _source_line(self, filename, number):
        if filename in self._sources:
            return self._sources.line(filename, number).strip()
        if filename not in self._files:
            self._files[filename] = _read_lines(filename)
        lines = self._files[filename]
        return lines[number - 1].strip() if 0 < number <= len(lines) else ""


def _working_folder():
    try:
        folder = _getcwd()
    except OSError:
        return None
    if folder == os.sep or sys.prefix.startswith(folder):
        return None
    return folder + os.sep


def _read_lines(filename):
    try:
        if not _isfile(filename) or os.path.getsize(filename) > 5_000_000:
            return []
        with open(filename, encoding="utf-8", errors="replace") as source:
            return source.read().split("\n")
    except (OSError, ValueError):
        return []


def _short(filename):
    """A library's path from its package on."""
    folders = [entry.rstrip(os.sep) + os.sep for entry in sys.path if is_a(entry, str) and entry]
    best = max((len(folder) for folder in folders if filename.startswith(folder)), default=0)
    return exact(filename[best:])


def _syntax_location(error):
    """The File line, the source and the caret of a SyntaxError."""
    filename: Any = getattr(error, "filename", None)
    number = getattr(error, "lineno", None)
    if not is_a(number, int):
        return []
    shown = filename if is_a(filename, str) else "<string>"
    parts = ['  File "{}", line {}\n'.format(exact(shown), number)]
    text: Any = getattr(error, "text", None)
    offset: Any = getattr(error, "offset", None)
    if not is_a(text, str):
        return parts
    text = exact(text).rstrip("\n")
    stripped = text.lstrip(" \t\f")
    shift = len(text) - len(stripped)
    parts.append("    {}\n".format(stripped[:LINE_LIMIT]))
    if is_a(offset, int) and 0 < offset - shift <= LINE_LIMIT:
        end: Any = getattr(error, "end_offset", None)
        same_line = getattr(error, "end_lineno", None) in (None, number)
        width = end - offset if is_a(end, int) and same_line else 1
        width = max(1, min(width, len(stripped) - (offset - shift) + 1))
        parts.append("    {}{}\n".format(" " * (offset - shift - 1), "^" * width))
    return parts


def _notes(error):
    try:
        notes = error.__notes__
    except KeyboardInterrupt:
        raise
    except BaseException:
        return []
    if not is_a(notes, (list, tuple)):
        return []
    texts = [guarded_str(note) for note in list(notes)[:GROUP_LIMIT]]
    return [cap(text, MESSAGE_LIMIT) + "\n" for text in texts if text]
