"""Output of a session in a single process: sent to the host by the thread that writes it."""

from __future__ import annotations

import os
import select
import sys
import threading
import time

from ..pristine import BUILTINS as __builtins__
from . import streams
from .capture import PARTIAL_LINE_SECONDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, NoReturn

    from ..protocol.channel import Channel

READ_BYTES = 1 << 18
# One that floods the pipes must not hold up the cell that drains them.
ROUNDS = 64
WINDOWS_SECONDS = 0.02

_exit, _now, _sleep, _get_ident = os._exit, time.monotonic, time.sleep, threading.get_ident
_read, _write, _listdir = os.read, os.write, os.listdir


class OutputPump(streams.SingleProcessOutput):
    """What Python prints goes to the host at once, so that a crash loses nothing of it.

    Only what C code and programs write comes through the pipes behind descriptors 1 and 2.
    """

    def __init__(self, channel: Channel, nonce: bytes, postponed: Callable, place: Callable[[int], int]) -> None:
        pipes = [os.pipe(), os.pipe()]
        self._readers = tuple(place(reader) for reader, _ in pipes)
        super().__init__(tuple(place(writer) for _, writer in pipes), channel, nonce, postponed)
        self._inside: set[int] = set()
        self._drain_lock = threading.Lock()
        self._watcher = _Watcher(self._readers, place)
        for writer in self.descriptors:
            if sys.platform == "linux":
                from ..linux import fds

                fds.enlarge(writer)
        self._is_copy = False
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._mark_as_copy)

    def _mark_as_copy(self):
        """A child that user code forked must not use the channel: its output goes into the pipes."""
        self._is_copy = True

    def _bypasses_capture(self):
        return self._is_copy or _get_ident() in self._inside

    def _enter(self, work, *arguments):
        thread = _get_ident()
        self._inside.add(thread)
        try:
            return self._postponed(work, *arguments)
        finally:
            self._inside.discard(thread)

    def _push(self, descriptor, data):  # type: ignore[override]
        with self._drain_lock:
            self._drain()
            self._or_exit(self._capture.feed, self.descriptors.index(descriptor), data)
            if self._watcher.is_idle and self._capture.next_deadline() is not None:
                self._watcher.wake()

    def watch(self) -> NoReturn:
        """Serves the pipes and the clock; the body of a thread."""
        seconds = None
        while True:
            came = self._watcher.wait(seconds)
            try:
                seconds = self._enter(self._pass_on_due, came)
            except MemoryError:
                # The cell has taken all there is: later, or with the next cell, there is more.
                seconds = PARTIAL_LINE_SECONDS

    def _pass_on_due(self, came):
        """Passes on what has come or is due; gives the seconds until the next look."""
        with self._drain_lock:
            self._drain()
            self._or_exit(self._capture.tick, _now())
            due = self._capture.next_deadline()
            if due is not None:
                return max(0, due - _now())
            self._watcher.is_idle = not came
            return PARTIAL_LINE_SECONDS if came else None

    def _drain(self):
        for _ in range(ROUNDS):
            ready = self._watcher.ready()
            if not ready:
                return
            for which, descriptor in enumerate(self._readers):
                if descriptor in ready:
                    self._or_exit(self._capture.feed, which, _read(descriptor, READ_BYTES))

    @staticmethod
    def _or_exit(work, *arguments):
        try:
            work(*arguments)
        except OSError:
            _exit(1)

    def _count_processes(self):
        """Processes that cells left running, where the system tells."""
        count = 0
        try:
            for thread in _listdir("/proc/self/task"):
                with open("/proc/self/task/%s/children" % thread) as children:
                    count += len(children.read().split())
        except OSError:
            pass
        return count


class _Watcher:
    """Waits until pipes can be read, in the way that this system offers."""

    def __init__(self, readers, place):
        self.is_idle = True
        self._readers = readers
        self._wake_reader = None
        if os.name == "nt":
            return
        self._wake_reader, self._wake_writer = (place(end) for end in os.pipe())
        self._pipe_poll, self._full_poll = select.poll(), select.poll()
        for poll in (self._pipe_poll, self._full_poll):
            for reader in readers:
                poll.register(reader, select.POLLIN)
        self._full_poll.register(self._wake_reader, select.POLLIN)

    def ready(self):
        if self._wake_reader is None:
            return [reader for reader in self._readers if _waiting_bytes(reader)]
        return [descriptor for descriptor, _ in self._pipe_poll.poll(0)]

    def wait(self, seconds):
        """Returns when there may be something to do; False when only time has passed."""
        if self._wake_reader is None:
            _sleep(WINDOWS_SECONDS)
            return False
        came = self._full_poll.poll(None if seconds is None else seconds * 1000 + 1)
        if any(descriptor == self._wake_reader for descriptor, _ in came):
            _read(self._wake_reader, 64)
        return bool(came)

    def wake(self):
        self.is_idle = False
        if self._wake_reader is not None:
            _write(self._wake_writer, b"!")


def _waiting_bytes(descriptor):
    """How much a pipe of Windows holds; a thread that waits in a read would block all others."""
    import ctypes
    import msvcrt

    waiting = ctypes.c_ulong(0)
    handle = ctypes.c_void_p(msvcrt.get_osfhandle(descriptor))  # type: ignore[attr-defined]
    peek = ctypes.windll.kernel32.PeekNamedPipe  # type: ignore[attr-defined]
    peek(handle, None, 0, None, ctypes.byref(waiting), None)
    return waiting.value
