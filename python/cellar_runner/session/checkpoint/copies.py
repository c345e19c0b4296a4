"""Checkpoints: a forked copy of the head that waits until it is asked to become one."""

from __future__ import annotations

import fcntl
import json
import os
import resource
import select
import signal
import socket
import struct
import sys
import time

from ..linux import fds, fork_memory, syscalls

SPARE_SECONDS = 0.2
MAX_GROWTH_BYTES = 256 << 20
LEAVING_MILLISECONDS = 5
TRIM_BYTES = 1 << 20
PARKED = struct.Struct("=II")
# The number of a writer and its pid; the last word tells it from the one above.
WRITING = struct.Struct("=III")
# What init passes to a head: the link of its next checkpoint, one to write its state on, or the
# file of a state to restore.
SPARE_LINK, WRITER, STATE = b"spare", b"writer", b"state"

_set_signal_mask, _SIGNALS = signal.pthread_sigmask, signal.valid_signals()
# Bound before a cell can replace them.
_encode, _decode = json.JSONEncoder().encode, json.JSONDecoder().decode
_running_frames = sys._current_frames
_usage, _SELF = resource.getrusage, resource.RUSAGE_SELF
_RUNNER = range(fds.CHANNEL, fds.DESCRIPTOR_CEILING)
_REOPENED_FLAGS = os.O_ACCMODE | os.O_APPEND | os.O_NONBLOCK


class Obstacles:
    """What keeps a head from being copied, measured from the moment it is made."""

    def __init__(self) -> None:
        self._start = fork_memory.anonymous_bytes()
        self._peak = _peak_bytes()
        self._allowed = 0

    def allow(self, size: int) -> None:
        """A text that is never written to, in huge pages, costs a copy nothing."""
        self._allowed = size

    def find(self, is_alone: bool) -> str | None:
        """The reason in a sentence, or None. `is_alone` spares counting the threads."""
        try:
            threads = 1 if is_alone else count_threads()
            grown = _peak_bytes() - self._peak
            if grown > MAX_GROWTH_BYTES:
                grown = fork_memory.anonymous_bytes() - self._start - self._allowed
        except OSError as error:
            return "no checkpoint: %s" % error
        if threads > 1:
            return "no checkpoint: threads are running (%d beside the main one)" % (threads - 1)
        if grown > MAX_GROWTH_BYTES:
            return "no checkpoint: the session holds %d MB of its own memory" % (grown >> 20)
        if _uses_cuda():
            return "no checkpoint: CUDA does not survive a fork"
        return None


def count_threads() -> int:
    """Threads of this process; one that Python has joined may take a moment to be gone."""
    for _ in range(LEAVING_MILLISECONDS):
        threads = len(os.listdir("/proc/self/task"))
        if threads == 1 or len(_running_frames()) > 1:
            break
        time.sleep(0.001)
    return threads


def _peak_bytes():
    return _usage(_SELF).ru_maxrss * 1024


def _uses_cuda():
    torch = sys.modules.get("torch")
    try:
        if torch is not None and torch.cuda.is_initialized():
            return True
        return "cupy" in sys.modules or "pycuda" in sys.modules
    except Exception:
        return False


class Checkpointer:
    """Parks copies of the head. In the head `park` returns None, in a new head its orders."""

    def __init__(self) -> None:
        self._pages = fork_memory.WrittenPages()
        self._held = 0
        self._has_spare = True
        # Whether copies are out of the sight of cells. Where init counts their memory it must see them.
        self.hides_copies = False

    def park(self, step: int) -> tuple[dict, list[int]] | None:
        if fork_memory.anonymous_bytes() - self._held > TRIM_BYTES:
            fork_memory.trim()
            self._held = fork_memory.anonymous_bytes()
        self._pages.before_fork()
        # What can be found out before the fork is: whatever the copy does costs it pages.
        open_descriptors = _OpenDescriptors()
        with socket.socket(fileno=os.dup(fds.LINK)) as link:
            if not self._has_spare:
                self._receive(link, SPARE_LINK)
            # Before the fork: no cell that comes meanwhile finds the copy open.
            self._set_visible(False)
            try:
                pid = fork_without_signals()
            except OSError:
                self._set_visible(True)
                raise
            if pid:
                self._set_visible(True)
                link.send(PARKED.pack(step, pid))
        if pid:
            os.close(fds.SPARE)
            self._has_spare = False
            self._pages.after_fork()
            return None
        self._has_spare = True
        try:
            return _wait_parked(open_descriptors, self._set_visible)
        except BaseException:
            # Nothing but a new head may go on from here.
            os._exit(1)

    def _set_visible(self, seen):
        if self.hides_copies:
            syscalls.prctl(syscalls.PR_SET_DUMPABLE, int(seen))

    def borrow(self, kind: bytes) -> int:
        with socket.socket(fileno=os.dup(fds.LINK)) as link:
            return self._receive(link, kind)

    @staticmethod
    def tell_writer(writer: int, pid: int) -> None:
        with socket.socket(fileno=os.dup(fds.LINK)) as link:
            link.send(WRITING.pack(writer, pid, 0))

    def _receive(self, link, wanted):
        """Waits for what init sends, so that heads pass no descriptors themselves."""
        poll = select.poll()
        poll.register(link, select.POLLIN)
        while poll.poll(SPARE_SECONDS * 1000):
            kind, descriptors = fds.receive_with_descriptors(link)
            if not descriptors:
                break
            if kind == SPARE_LINK:
                _place_high(descriptors[0], fds.SPARE)
                self._has_spare = True
            if kind == wanted:
                return descriptors[0]
        raise OSError("init did not send the descriptor %r" % wanted.decode())


def fork_without_signals() -> int:
    """Forks with all signals blocked: a cell's handlers must not run in a copy that outlives the cell."""
    mask, pid = _set_signal_mask(signal.SIG_BLOCK, _SIGNALS), None
    try:
        pid = syscalls.sibling_fork()
    finally:
        if pid != 0:
            _set_signal_mask(signal.SIG_SETMASK, mask)
    return pid


def _place_high(descriptor, number):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    try:
        fds.place(descriptor, number)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def _wait_parked(open_descriptors, set_visible):
    """Waits in the parked copy. Returns only in a new head, with its orders and descriptors."""
    fds.open_descriptor_range()
    fds.place(fds.SPARE, fds.WAKE)
    open_descriptors.close_shared()
    wake = socket.socket(fileno=fds.WAKE)
    wake.send(open_descriptors.lost_message)
    while True:
        data, descriptors = fds.receive_with_descriptors(wake)
        if not data:
            os._exit(0)
        try:
            pid = syscalls.sibling_fork()
        except OSError:
            pid = -1
        if pid == 0:
            wake.close()
            set_visible(True)
            os.setsid()
            open_descriptors.reopen_files()
            return _decode(data.decode()), descriptors
        for descriptor in descriptors:
            os.close(descriptor)
        wake.send(_encode({"pid": pid}).encode())


class _OpenDescriptors:
    """The descriptors of a cell that a copy must close or reopen."""

    def __init__(self):
        self._files = []
        self._dead = []
        lost = []
        for name in os.listdir("/proc/self/fd"):
            number = int(name)
            if number <= 2 or number in _RUNNER:
                continue
            try:
                target = os.readlink("/proc/self/fd/" + name)
            except OSError:
                continue
            if target.startswith(("socket:", "pipe:", "anon_inode:")):
                self._dead.append((number, os.get_inheritable(number)))
                lost.append("%s (descriptor %d)" % (target.partition(":")[0], number))
            elif target.startswith("/") and not target.startswith("/dev/"):
                flags = fcntl.fcntl(number, fcntl.F_GETFL)
                try:
                    self._files.append((number, flags, os.lseek(number, 0, os.SEEK_CUR)))
                except OSError:
                    continue
        self.lost_message = _encode({"lost": lost[:64]}).encode()

    def close_shared(self):
        null = os.open(os.devnull, os.O_RDONLY)
        for number in (0, 1, 2):
            os.dup2(null, number)
        os.close(null)
        for number in _RUNNER:
            if number != fds.WAKE:
                os.closerange(number, number + 1)
        if self._dead:
            # The number stays taken, so that an old object never reaches a new file.
            dead = os.open(os.devnull, os.O_PATH | os.O_CLOEXEC)
            for number, inheritable in self._dead:
                os.dup2(dead, number, inheritable)
            os.close(dead)

    def reopen_files(self):
        """In a new head: offsets of its own, as they were at the checkpoint."""
        for number, flags, offset in self._files:
            try:
                inheritable = os.get_inheritable(number)
                fresh = os.open("/proc/self/fd/%d" % number, flags & _REOPENED_FLAGS)
            except OSError:
                # Gone since: an object that nothing held any more had it open.
                continue
            os.lseek(fresh, offset, os.SEEK_SET)
            os.dup2(fresh, number, inheritable)
            os.close(fresh)
