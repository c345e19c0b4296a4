"""Runs ripgrep, which finds the matching lines of a source in linear time."""

from __future__ import annotations

import errno
import os
import re
import signal
from typing import Any

from ...pristine import BUILTINS as __builtins__
from .source import FileSource, TextSource

LONGEST_PATTERN = 100_000
PIPE_BYTES = 1 << 20
_SET_PIPE_SIZE = 1031

_open, _close, _read, _write, _pipe = os.open, os.close, os.read, os.write, os.pipe
_spawn: Any = getattr(os, "posix_spawn", None)
_kill: Any = getattr(os, "kill", None)
_wait: Any = getattr(os, "waitpid", None)
_lseek, _new_file = os.lseek, getattr(os, "memfd_create", None)
_SIGKILL = getattr(signal, "SIGKILL", 9)
_RESET = [one for one in (getattr(signal, "SIGPIPE", None), signal.SIGINT) if one is not None]
_CARET = re.compile(r"^ {4}( *)\^", re.MULTILINE)
_BEYOND = re.compile(r"look-around|backreferences")
_ERROR = re.compile(r"^error: (.*)$", re.MULTILINE)
# Python's syntax that ripgrep takes for flags: a named reference, a condition, an atomic group.
_FOREIGN = ("(?P=", "(?(", "(?>")

try:
    from fcntl import fcntl as _control
except ImportError:
    _control = None  # type: ignore[assignment]


class Rejected(Exception):
    """A pattern that ripgrep rejects, with the position if it is known."""

    def __init__(self, message, position=None, is_backtracking=False):
        super().__init__(message)
        self.position = position
        # Whether Python's re may accept it.
        self.is_backtracking = is_backtracking


class Failed(Exception):
    """ripgrep could not do its work."""


class Ripgrep:
    def __init__(self, path):
        self._path = path

    def search(
        self, source: TextSource | FileSource, pattern: str, ignore_case: bool, most: int
    ) -> tuple[list[tuple[int, int]], int]:
        """([(line, offset of the first match in it)] of up to `most` lines, how many there are)."""
        # Without decoding, a byte order mark counts in the offsets.
        shared = ["-a", "--crlf", "--encoding=none", "-I"]
        shared += ["-i" if ignore_case else "-s", "-e", pattern]
        limit = most + 1 + source.skipped_lines
        wanted = ["-n", "-b", "--column", "-M1", "-m%d" % limit, "--no-heading"]
        try:
            rows = self._run(wanted + shared, source, 0).splitlines()
        except Rejected as error:
            group = -1 if error.position is None else error.position - 2
            if group >= 0 and pattern.startswith("(?<", group):
                # Before release 14, named groups need a P.
                named = pattern[: group + 2] + "P" + pattern[group + 2 :]
                return self.search(source, named, ignore_case, most)
            if group >= 0 and pattern.startswith(_FOREIGN, group):
                error.is_backtracking = True
            raise
        found = [row for row in map(_place, rows) if row[0] > source.skipped_lines]
        if len(found) <= most:
            return [row[:2] for row in found], len(found)
        rest = self._run(["-c"] + shared, source, found[most][2]).strip()
        return [row[:2] for row in found[:most]], most + int(rest or b"1")

    def _run(self, options, source, start):
        argv = [self._path, "--no-config", "--color=never"] + options + ["--"]
        ends, pid = [_scratch(), _scratch()], 0
        out, err = ends
        try:
            actions = [(os.POSIX_SPAWN_DUP2, out, 1), (os.POSIX_SPAWN_DUP2, err, 2)]
            feed = None
            if source.descriptor is None:
                reader, feed = _pipe()
                ends += [reader, feed]
                _widen(feed)
            else:
                reader = _opened_again(source.descriptor)
                ends.append(reader)
                _lseek(reader, start, os.SEEK_SET)
            actions.append((os.POSIX_SPAWN_DUP2, reader, 0))
            # By path ripgrep maps the file; from an offset on it has to read it.
            argv.append("-" if feed is not None or start else "/proc/self/fd/0")
            try:
                pid = _spawn(self._path, argv, {}, file_actions=actions, setsigmask=[], setsigdef=_RESET)
            except OSError as error:
                raise Failed("ripgrep cannot be started: {}".format(error.strerror)) from None
            if feed is not None:
                _close(ends.pop(2))
                _feed(feed, source.pieces(start))
                _close(ends.pop())
            status, pid = _status(pid), 0
            return _outcome(status, _whole(out), _whole(err))
        finally:
            if pid:
                end_process(pid)
            for descriptor in ends:
                _close(descriptor)


def _opened_again(descriptor):
    """The same file with an offset of its own."""
    try:
        return _open("/proc/self/fd/%d" % descriptor, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise Failed("the file cannot be reopened: {}".format(error.strerror)) from None


def _feed(feed, pieces):
    """Writes until the reader closes the pipe."""
    for piece in pieces:
        view = memoryview(piece)
        while view:
            try:
                view = view[_write(feed, view) :]
            except OSError as error:
                if error.errno == errno.EPIPE:
                    return
                raise


def _status(pid):
    """Its wait status; None if something else has reaped it."""
    try:
        return _wait(pid, 0)[1]
    except ChildProcessError:
        return None


def end_process(pid: int) -> None:
    try:
        _kill(pid, _SIGKILL)
        _wait(pid, 0)
    except OSError:
        pass


def _outcome(status, out, err):
    if status in (0, 1 << 8, None) and not err:
        return out
    message = err.decode("utf-8", "replace").strip()
    if status is not None and status & 0x7F:
        raise Failed("ripgrep was killed by signal {}".format(status & 0x7F))
    if "regex" in message[:200].lower() or "is not allowed in" in message[:200]:
        error, caret = _ERROR.search(message), _CARET.search(message)
        position = len(caret.group(1)) if caret and "~~~" not in message[:200] else None
        reason = error.group(1) if error else message.splitlines()[0]
        raise Rejected(reason, position, bool(_BEYOND.search(reason)))
    raise Failed("ripgrep failed: " + message[:500])


def _place(row):
    line, column, offset = map(int, row.split(b":", 3)[:3])
    return line, offset + column - 1, offset


def _scratch():
    """An unnamed file: unlike a pipe, it needs no reader."""
    if _new_file is not None:
        try:
            return _new_file("search")
        except OSError:
            # The seccomp filter denies memory that no limit counts.
            pass
    import tempfile

    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


def _whole(descriptor):
    _lseek(descriptor, 0, os.SEEK_SET)
    parts: list[bytes] = []
    while True:
        part = _read(descriptor, 1 << 20)
        if not part:
            return b"".join(parts)
        parts.append(part)


def _widen(descriptor):
    """Fewer context switches; a small pipe works too."""
    try:
        _control(descriptor, _SET_PIPE_SIZE, PIPE_BYTES)
    except (OSError, TypeError):
        pass
