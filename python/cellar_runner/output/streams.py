"""sys.stdout and sys.stderr of a cell: bytes into the head's pipes, in one order."""

from __future__ import annotations

import ctypes
import io
import os
import sys
import threading
from functools import partial

from ..pristine import BUILTINS as __builtins__
from . import marks
from .capture import Capture

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Sequence, TextIO

    from ..protocol.channel import Channel

_write, _get_ident = os.write, threading.get_ident
_running_frames, _main_thread = sys._current_frames, threading.main_thread
# What code in C has written and not passed on yet.
flush_c_streams = partial(ctypes.CDLL("ucrtbase" if os.name == "nt" else None).fflush, None)


def background_threads() -> frozenset[int]:
    """Threads that were there before the cell began."""
    main = _main_thread().ident
    return frozenset(ident for ident in _running_frames() if ident != main)


def empty_input() -> TextIO:
    """Standard input with nothing in it; by the usual number, so that what is put behind it counts."""
    try:
        if os.fstat(0).st_rdev == os.stat(os.devnull).st_rdev:
            return open(0, closefd=False)
    except OSError:
        pass
    return open(os.devnull)


class OutputPipes:
    """The writing ends of a cell's output, which another process or thread reads."""

    def __init__(self, descriptors: Sequence[int], nonce: bytes) -> None:
        self.descriptors = descriptors
        self._nonce = nonce
        self._order = 0
        self._last = 0
        self._aside: frozenset = frozenset()
        self._lock = threading.Lock()

    def _mark_both(self, kind, step=0, argument=0):
        self._order += 1
        mark = marks.encode(self._nonce, kind, self._order, step, argument)
        for descriptor in self.descriptors:
            self._push(descriptor, mark)

    @staticmethod
    def _push(descriptor, data):
        try:
            written = _write(descriptor, data)
            while written < len(data):
                written += _write(descriptor, data[written:])
        except OSError:
            # User code closed the pipe: the output is lost, the cell is not.
            pass

    def begin_cell(self, step: int, max_output: int) -> None:
        self.begin(background_threads())
        self._mark_both(marks.BEGIN, step, max_output)

    def end_cell(self, step: int) -> None:
        """Marks the end; who reads the pipes delivers the output."""
        self._mark_both(marks.END, step)

    def begin(self, background_threads: frozenset[int]) -> None:
        self._aside = background_threads
        self._last = 0
        self._lock = threading.Lock()

    def sync(self) -> int:
        """Everything written before is older than everything written after; gives the number."""
        with self._lock:
            self._mark_both(marks.SYNC)
            return self._order

    def write(self, which: int, data: bytes) -> None:
        with self._lock:
            if _get_ident() in self._aside:
                aside = marks.encode(self._nonce, marks.ASIDE, self._order)
                back = marks.encode(self._nonce, marks.RETURN, self._order)
                self._push(self.descriptors[which], aside + data + back)
                return
            if which != self._last:
                self._mark_both(marks.SYNC)
                self._last = which
            self._push(self.descriptors[which], data)
            if which and data.endswith(b"\n"):
                # C code may write to the other stream next, and cannot tell.
                self._mark_both(marks.SYNC)
                self._last = 0


class SingleProcessOutput(OutputPipes):
    """Output that the process sends to the host itself, where it is written.

    Subclasses say in `_enter` how such work is done, and in `_bypasses_capture` when to write to the pipes instead.
    """

    def __init__(self, descriptors: Sequence[int], channel: Channel, nonce: bytes, postponed: Callable) -> None:
        super().__init__(descriptors, nonce)
        self._channel = channel
        # Does work that no interrupt may break off.
        self._postponed = postponed
        self._capture = Capture(nonce, self._emit, self._settle)

    def begin_cell(self, step: int, max_output: int) -> None:
        self._enter(super().begin_cell, step, max_output)

    def end_cell(self, step: int) -> None:
        self._enter(super().end_cell, step)

    def write(self, which: int, data: bytes) -> None:
        if self._bypasses_capture():
            OutputPipes._push(self.descriptors[which], data)
        else:
            self._enter(super().write, which, data)

    def sync(self) -> int:
        return self._order if self._bypasses_capture() else self._enter(super().sync)

    def _emit(self, step, stream, text, order):
        self._notify("output", step=step, stream=stream, text=text, seq=order)

    def _settle(self, step, order, omitted):
        self._notify("settled", step=step, seq=order, omitted=omitted, processes=self._count_processes())

    def _notify(self, method, **about):
        self._channel.notify(method, dict(about, branch=0, generation=0))

    def _count_processes(self):
        return 0

    def _bypasses_capture(self):
        """Whether this is called in the middle of such work, as by a finaliser or a signal handler that prints."""
        raise NotImplementedError

    def _enter(self, work, *arguments):
        raise NotImplementedError


class _Standard:
    """What the binary and the text side of a standard stream have in common."""

    def __init__(self, pipes, which):
        self._pipes = pipes
        self._which = which

    def writable(self) -> bool:
        return True

    def isatty(self) -> bool:
        return False

    def fileno(self) -> int:
        return self._which + 1

    def close(self) -> None:
        """A cell cannot close what the next cell needs."""


class CellBuffer(_Standard, io.RawIOBase):  # type: ignore[misc]
    """The binary side, `sys.stdout.buffer`."""

    def write(self, data: Any) -> int:
        data = bytes(data)
        if data:
            self._pipes.write(self._which, data)
        return len(data)


class CellStream(_Standard, io.TextIOBase):  # type: ignore[misc]
    """The text side. A thread's unfinished line waits for its end, so that lines stay whole."""

    encoding = "utf-8"
    errors = "backslashreplace"
    newlines = None
    line_buffering = True
    mode = "w"

    def __init__(self, pipes: OutputPipes, which: int) -> None:
        super().__init__(pipes, which)
        self._main = _get_ident()
        self._unfinished: dict[int, bytes] = {}
        self.buffer = CellBuffer(pipes, which)
        self.name = "<stderr>" if which else "<stdout>"

    def reconfigure(self, **_options: object) -> None:
        """Accepted for programs that ask for UTF-8 or line buffering, which is the case."""

    def write(self, text: str) -> int:
        if not isinstance(text, str):
            raise TypeError("write() argument must be str, not %s" % type(text).__name__)
        if not text:
            return 0
        thread = _get_ident()
        data = text.encode("utf-8", "backslashreplace")
        if thread != self._main:
            data = self._unfinished.pop(thread, b"") + data
            if not data.endswith(b"\n") and len(data) < 8192:
                self._unfinished[thread] = data
                return len(text)
        self._pipes.write(self._which, data)
        return len(text)

    def flush(self) -> None:
        waiting = self._unfinished.pop(_get_ident(), b"")
        if waiting:
            self._pipes.write(self._which, waiting)

    def finish(self) -> None:
        """Sends the unfinished lines of all threads, at the end of a cell."""
        for thread in list(self._unfinished):
            waiting = self._unfinished.pop(thread, b"")
            if waiting:
                self._pipes.write(self._which, waiting)
