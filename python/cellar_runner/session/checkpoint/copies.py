"""How a head gets a checkpoint: init makes it, or the head forks a copy that waits until it becomes a head."""

from __future__ import annotations

import _signal as _signals  # type: ignore[import-not-found]
import fcntl
import json
import os
import resource
import select
import signal
import socket

from ...linux import fds, fork_memory, syscalls
from ...linux.signal_actions import SignalActions
from . import messages

SPARE_SECONDS = 0.2
TRIM_BYTES = 1 << 20

# The functions behind those of `signal`, which would make enumerations of their results.
_set_signal_mask = _signals.pthread_sigmask
_SIGNALS = frozenset(int(number) for number in signal.valid_signals())
_BLOCK, _SET = int(signal.SIG_BLOCK), int(signal.SIG_SETMASK)
# Bound before a cell can replace them.
_encode, _decode = json.JSONEncoder().encode, json.JSONDecoder().decode
_RUNNER = range(fds.CHANNEL, fds.DESCRIPTOR_CEILING)
_REOPENED_FLAGS = os.O_ACCMODE | os.O_APPEND | os.O_NONBLOCK


class Checkpointer:
    """Makes checkpoints of the head. In the head `park` returns None, in a new head its orders."""

    def __init__(self) -> None:
        self._held = 0
        # What init has passed and nobody has asked for yet.
        self._lent: dict[bytes, int] = {}
        self._has_spare = True
        # Whether init makes them, by the pages that were written.
        self.asks_init = True
        self._thread_id = syscalls.thread_id_address()
        self._actions = SignalActions()
        # Whether copies are out of the sight of cells. Where init counts their memory it must see them.
        self.hides_copies = False

    def park(self, step: int) -> tuple[dict, list[int]] | None:
        # A cell's handlers must not run in a copy that outlives the cell.
        mask = _set_signal_mask(_BLOCK, _SIGNALS)
        try:
            woken = self._ask_init(step) if self.asks_init else None
            if not self.asks_init:
                woken = self._copy(step)
        finally:
            _set_signal_mask(_SET, mask)
        if woken is not None:
            os.setsid()
            _reopen_files(woken[0]["files"])
        return woken

    def _ask_init(self, step):
        """Waits while init makes the checkpoint. A process that is made of it later goes on here, with its orders."""
        # Of the link's own number, which it has in every copy.
        link = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET, 0, fds.LINK)
        files: list = []
        try:
            question = step, self._thread_id, self._actions.digest()
            link.send(messages.CHECKPOINT.pack(*question, False))
            while True:
                data, descriptors = fds.receive_with_descriptors(link)
                if data == messages.TAKEN:
                    return None
                if data == messages.TRIM:
                    self._trim()
                    link.send(messages.CHECKPOINT.pack(*question, True))
                    continue
                if data in (messages.COPY, b""):
                    self.asks_init = False
                    return None
                if data.startswith(messages.FILES):
                    files.extend(_decode(data[len(messages.FILES) :].decode()))
                elif not self._take_lent(data, descriptors):
                    break
        finally:
            link.detach()
            # The kernel resets the action of a blocked signal that it has to send at each step.
            self._actions.restore(signal.SIGTRAP)
        self._begin_anew()
        return dict(_decode(data.decode()), files=files), descriptors

    def _begin_anew(self):
        self._lent.clear()
        self._has_spare = True

    def _take_lent(self, kind, descriptors):
        if kind == messages.SPARE_LINK:
            _place_high(descriptors[0], fds.SPARE)
            self._has_spare = True
        elif kind in (messages.WRITER, messages.STATE):
            self._lent[kind] = descriptors[0]
        else:
            return False
        return True

    def _trim(self):
        if fork_memory.anonymous_bytes() - self._held > TRIM_BYTES:
            fork_memory.trim()
            self._held = fork_memory.anonymous_bytes()

    def _copy(self, step):
        self._trim()
        # What can be found out before the fork is: whatever the copy does costs it pages.
        open_descriptors = _OpenDescriptors()
        with socket.socket(fileno=os.dup(fds.LINK)) as link:
            if not self._has_spare:
                self._receive(link, messages.SPARE_LINK)
            # Before the fork: no cell that comes meanwhile finds the copy open.
            self._set_visible(False)
            try:
                pid = syscalls.sibling_fork()
            except OSError:
                self._set_visible(True)
                raise
            if pid:
                self._set_visible(True)
                link.send(messages.PARKED.pack(step, pid))
        if pid:
            os.close(fds.SPARE)
            self._has_spare = False
            return None
        try:
            woken = _wait_parked(open_descriptors)
            self._set_visible(True)
            self._begin_anew()
            return woken
        except BaseException:
            # Nothing but a new head may go on from here.
            os._exit(1)

    def _set_visible(self, seen):
        if self.hides_copies:
            syscalls.prctl(syscalls.PR_SET_DUMPABLE, int(seen))

    def borrow(self, kind: bytes) -> int:
        with socket.socket(fileno=os.dup(fds.LINK)) as link:
            self._receive(link, kind)
        return self._lent.pop(kind)

    @staticmethod
    def tell_writer(writer: int, pid: int) -> None:
        with socket.socket(fileno=os.dup(fds.LINK)) as link:
            link.send(messages.WRITING.pack(writer, pid, 0))

    def _receive(self, link, wanted):
        """Waits for what init sends, so that heads pass no descriptors themselves."""
        poll = select.poll()
        poll.register(link, select.POLLIN)
        while wanted not in self._lent and poll.poll(SPARE_SECONDS * 1000):
            kind, descriptors = fds.receive_with_descriptors(link)
            if not descriptors or not self._take_lent(kind, descriptors):
                break
            if kind == wanted:
                return
        if wanted not in self._lent:
            raise OSError("init did not send the descriptor %r" % wanted.decode())


def fork_without_signals() -> int:
    """Forks with all signals blocked: a cell's handlers must not run in a copy that outlives the cell."""
    mask, pid = _set_signal_mask(_BLOCK, _SIGNALS), None
    try:
        pid = syscalls.sibling_fork()
    finally:
        if pid != 0:
            _set_signal_mask(_SET, mask)
    return pid


def _place_high(descriptor, number):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    try:
        fds.place(descriptor, number)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def _wait_parked(open_descriptors):
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
            return dict(_decode(data.decode()), files=open_descriptors.files), descriptors
        for descriptor in descriptors:
            os.close(descriptor)
        wake.send(_encode({"pid": pid}).encode())


class _OpenDescriptors:
    """The descriptors of a cell that a copy must close or reopen."""

    def __init__(self):
        # (number, flags, offset) of those that a new head opens anew.
        self.files = []
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
                    self.files.append((number, flags, os.lseek(number, 0, os.SEEK_CUR)))
                except OSError:
                    continue
        self.lost_message = _encode({"lost": lost[:64]}).encode()

    def close_shared(self):
        null = os.open(os.devnull, os.O_RDONLY)
        for number in (0, 1, 2):
            os.dup2(null, number)
        os.close(null)
        for number in _RUNNER:
            if number not in (fds.WAKE, fds.DEAD):
                os.closerange(number, number + 1)
        for number, inheritable in self._dead:
            # The number stays taken, so that an old object never reaches a new file.
            os.dup2(fds.DEAD, number, inheritable)


def _reopen_files(files):
    """In a new head: offsets of its own, as they were at the checkpoint."""
    for number, flags, offset in files:
        try:
            inheritable = os.get_inheritable(number)
            fresh = os.open("/proc/self/fd/%d" % number, flags & _REOPENED_FLAGS)
        except OSError:
            # Gone since: an object that nothing held any more had it open.
            continue
        try:
            os.lseek(fresh, offset, os.SEEK_SET)
            os.dup2(fresh, number, inheritable)
        except OSError:
            # It has no such place any more: the one that the copy had is kept.
            pass
        os.close(fresh)
