"""Checkpoints as the pages that a head has written: a stopped copy of it, and what has changed since.

The twin is a copy of the head that is stopped before it has done anything. Each checkpoint after it is a delta: the
pages that the head has written since the one before, and its registers, taken while the head waits for init's answer.
A new head is a child of the twin with the pages and registers of one checkpoint. What pages cannot carry, such as open
files or the working directory, must be as it was when the twin was made, and no memory may have been unmapped since;
else, or when so much was written that a copy is cheaper, the checkpoint is a new twin.
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import mmap
import os
import resource
import signal
import socket
import struct
import termios
import time

from ...linux import fds, processes, ptrace, syscalls
from ...linux.address_space import MappingQuery, Mappings
from ...linux.write_tracking import PAGE, SYS_USERFAULTFD, USERFAULTFD_FLAGS, WriteTracker
from .kernel_state import KernelState

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ...linux.write_tracking import Run

# A copy of the process is cheaper than keeping more pages than these, of one checkpoint or of all since the twin.
MAX_DELTA_PAGES = 2048
MAX_LOG_PAGES = 4096
MAX_HOT_PAGES = 1024
# So often it is found out anew which pages are hot.
RELEARN_EVERY = 64
# How far a stack may grow below its mapping.
MAX_STACK_BYTES = 64 << 20
PAUSE_SECONDS = 0.00005

_CLONE_FLAGS = syscalls.CLONE_PARENT | syscalls.CLONE_CHILD_SETTID | syscalls.CLONE_CHILD_CLEARTID | signal.SIGCHLD
_PRIVATE_FIXED, _READ_WRITE = 0x02 | 0x20 | 0x100000, 3
_SYS_CLOSE, _SYS_MMAP, _SYS_BRK, _SYS_PRCTL, _SYS_CLOCK_GETTIME, _SYS_DUP3, _SYS_CLOSE_RANGE = 3, 9, 12, 157, 228, 292, 436
# What a twin closes of the runner's: all but its link, the context and the dead descriptor.
_CLOSED = ((fds.CHANNEL, fds.LINK - 1), (fds.LINK + 1, fds.DEAD - 1))


class Link:
    """The socket on which the heads that are made of a twin get their orders. Both ends: what nobody took is taken back."""

    def __init__(self) -> None:
        self.ours, self.theirs = fds.socket_pair()

    def close(self) -> None:
        self.ours.close()
        self.theirs.close()

    def send(self, child: int, data: bytes, descriptors: list[int], deadline: float) -> None:
        """Waits until the child has taken them: the next one has the same socket."""
        fds.send_with_descriptors(self.ours, data, descriptors, socket.MSG_DONTWAIT)
        waiting = bytearray(4)
        while fcntl.ioctl(self.ours, termios.TIOCOUTQ, waiting) == 0 and any(waiting):
            if time.monotonic() > deadline or not processes.is_running(child):
                processes.kill(child)
                self._take_back()
                raise OSError("process %d did not take its orders" % child)
            time.sleep(PAUSE_SECONDS)

    def _take_back(self):
        try:
            while True:
                _, descriptors = fds.receive_with_descriptors(self.theirs, flags=socket.MSG_DONTWAIT)
                for descriptor in descriptors:
                    os.close(descriptor)
        except BlockingIOError:
            pass


class Twin:
    """A stopped copy of a head, and the deltas that were taken of the head since, oldest first."""

    def __init__(self, tracee: ptrace.Tracee, link: Link, thread_id: int, stack: Run) -> None:
        self._tracee = tracee
        self._link = link
        self._thread_id = thread_id
        self._stack = stack
        self.deltas: list[PageCheckpoint] = []

    @property
    def pid(self) -> int:
        return self._tracee.pid

    def count_pages(self) -> int:
        return sum(len(delta.pages) for delta in self.deltas)

    def forget(self, checkpoint: PageCheckpoint, ended: bool) -> None:
        """What is older than the next delta is merged into it; without any the twin ends."""
        at = self.deltas.index(checkpoint)
        del self.deltas[at]
        if at < len(self.deltas):
            later = self.deltas[at]
            later.pages = {**checkpoint.pages, **later.pages}
            later.mapped = checkpoint.mapped + later.mapped
        if not self.deltas:
            self._link.close()
            if not ended:
                processes.kill(self.pid)

    def become(self, checkpoint: PageCheckpoint, orders: bytes, descriptors: list[int], deadline: float) -> int:
        """The pid of a new process with the state of a checkpoint, which has its orders."""
        # Signals that would stop it are not kept pending.
        os.kill(self.pid, signal.SIGCONT)
        child = self._tracee.clone(_CLONE_FLAGS, self._thread_id)
        try:
            # Or its memory could not be written.
            child.call(_SYS_PRCTL, syscalls.PR_SET_DUMPABLE, 1, 0, 0, 0)
            self._write(child, checkpoint)
            child.write([(self._thread_id, self._thread_id + 4)], struct.pack("=i", child.pid))
            child.release(checkpoint.registers)
        except OSError:
            processes.kill(child.pid)
            raise
        self._link.send(child.pid, orders, descriptors, deadline)
        return child.pid

    def _write(self, child, checkpoint):
        pages: dict[int, bytes] = {}
        mapped: list[Run] = []
        for delta in self.deltas[: self.deltas.index(checkpoint) + 1]:
            pages.update(delta.pages)
            mapped.extend(delta.mapped)
        if child.call(_SYS_BRK, checkpoint.heap_end) != checkpoint.heap_end:
            raise OSError("the heap cannot be as large as it was")
        for low, high in mapped:
            # What is part of the heap is there by now.
            if not checkpoint.heap_start <= low < checkpoint.heap_end:
                child.call(_SYS_MMAP, low, high - low, _READ_WRITE, _PRIVATE_FIXED, -1, 0)
        low, high = self._stack
        deepest = min((page for page in pages if high - MAX_STACK_BYTES <= page < low), default=low)
        if deepest < low:
            # The kernel lets the stack grow where it writes to it for the process.
            child.call(_SYS_CLOCK_GETTIME, 0, deepest)
        addresses = sorted(pages)
        child.write(_joined(addresses), b"".join(map(pages.__getitem__, addresses)))


class PageCheckpoint:
    """A checkpoint that init can make a new head of."""

    link = None

    def __init__(
        self, step: int, twin: Twin, head: HeadMemory, state: KernelState, pages: dict[int, bytes], mapped: list[Run]
    ) -> None:
        self.step = step
        self.pages = pages
        # What the head has mapped since the checkpoint before.
        self.mapped = mapped
        self.early_deaths = 0
        self.lost = state.lost
        self.registers = head.registers
        self.heap_start, self.heap_end = head.heap
        self._files = state.reopened
        self._twin = twin
        twin.deltas.append(self)

    @property
    def pid(self) -> int:
        return self._twin.pid

    def close(self, ended: bool) -> None:
        self._twin.forget(self, ended)

    def wake(self, orders: dict, descriptors: list[int], deadline: float, _on_message: object) -> int:
        """The pid of a new process that goes on from here with these orders, or -1."""
        try:
            data = json.dumps(dict(orders, files=self._files)).encode()
            return self._twin.become(self, data, descriptors, deadline)
        except OSError:
            return -1


class HeadMemory:
    """What is known of a head's memory while it is stopped."""

    def __init__(self, registers: ptrace.Registers, heap: Run) -> None:
        self.registers = registers
        self.heap = heap


class PageLog:
    """Takes the checkpoints of one head, which must be waiting for init."""

    def __init__(self, pid: int, hides_copies: bool) -> None:
        self._pid = pid
        self._hides_copies = hides_copies
        self._tracker: WriteTracker = None  # type: ignore[assignment]
        self._mappings: MappingQuery = None  # type: ignore[assignment]
        self._twin: Twin | None = None
        self._spans: list[Run] = []
        self._writable: list[Run] = []
        self._state: KernelState = None  # type: ignore[assignment]
        self._heap: Run = (0, 0)
        self._tables = PageTables()
        self._hot = HotPages()
        # What each page held at the last checkpoint, as far as it was read.
        self._contents: dict[int, bytes] = {}
        self._buffer = mmap.mmap(-1, MAX_DELTA_PAGES * PAGE)
        self._buffer_address = ctypes.addressof(ctypes.c_char.from_buffer(self._buffer))

    def close(self) -> None:
        if self._tracker is not None:
            self._tracker.close()
            self._mappings.close()

    def take(self, step: int, thread_id: int, link: Link) -> tuple[PageCheckpoint, bool]:
        """The checkpoint, and whether it is a new twin, which then has the link that was meant for it."""
        head = ptrace.Tracee.stop(self._pid, ptrace.SYS_RECVMSG)
        try:
            state = KernelState(self._pid)
            if self._tracker is None:
                self._track(head)
            delta = self._delta(step, head, state)
            if delta is not None:
                return delta, False
            twin = self._make_twin(head, state, thread_id, link)
            return PageCheckpoint(step, twin, HeadMemory(head.registers, self._heap), state, {}, []), True
        finally:
            head.release()

    def _track(self, head):
        number = head.call(SYS_USERFAULTFD, USERFAULTFD_FLAGS)
        try:
            descriptor = syscalls.take_descriptor(self._pid, number)
        finally:
            head.call(_SYS_CLOSE, number)
        self._mappings = MappingQuery(self._pid)
        self._tracker = WriteTracker(self._pid, descriptor)

    def _delta(self, step, head, state):
        """The pages written since the last checkpoint, or None when only a new twin can hold the state."""
        twin = self._twin
        if twin is None or not twin.deltas or twin.count_pages() > MAX_LOG_PAGES:
            return None
        try:
            mapped: list[Run] = []
            runs = self._tracker.written(self._spans)
        except PermissionError:
            # Mappings have come that are not tracked yet.
            mapped = self._tracker.untracked(self._spans)
            if not self._are_plain(mapped):
                return None
            self._tracker.track(mapped)
            present = self._tracker.populated(mapped)
            # All of what is new is reported, also what nobody has written to.
            self._tracker.take(mapped)
            runs = sorted([*present, *self._tracker.written(self._spans)])
            self._writable = sorted([*self._writable, *mapped])
        if not state.follows(self._state, _count(mapped)) or _count(runs) > MAX_DELTA_PAGES:
            return None
        made = self._tables.add(runs)
        if state.page_tables != self._state.page_tables + made:
            # Where a whole page table was dropped, the kernel does not tell which pages were.
            return None
        self._state = state
        if mapped:
            self._heap = self._heap[0], head.call(_SYS_BRK, 0)
        pages = self._changed(head, runs)
        return PageCheckpoint(step, twin, HeadMemory(head.registers, self._heap), state, pages, mapped)

    def _are_plain(self, mapped):
        try:
            return self._mappings.are_plain(mapped)
        except OSError:
            # The kernel is older than such questions.
            return False

    def _changed(self, head, runs):
        """The pages of these runs that hold something else than at the last checkpoint."""
        runs = self._hot.select(runs, self._writable, self._tracker)
        addresses = _pages(runs)
        head.read(runs, self._buffer_address)
        buffer, known, pages = self._buffer, self._contents.get, {}
        for page, start in zip(addresses, range(0, MAX_DELTA_PAGES * PAGE, PAGE)):
            content = buffer[start : start + PAGE]
            if known(page) != content:
                pages[page] = content
        self._contents.update(pages)
        return pages

    def _make_twin(self, head, state, thread_id, link):
        self._twin = None
        mappings = Mappings(self._pid)
        if mappings.has_own_code:
            raise OSError("the process has made code of its own")
        self._spans, self._writable = mappings.spans, mappings.writable
        self._heap = mappings.heap_start, head.call(_SYS_BRK, 0)
        self._tracker.track(self._spans)
        runs = self._tracker.take(self._spans)
        if self._state is not None and state.page_tables != self._state.page_tables + self._tables.add(runs):
            self._tables = PageTables()
            runs = self._tracker.populated(self._spans)
        self._tables.add(runs)
        self._state = state
        self._contents.clear()
        copy = head.clone(_CLONE_FLAGS, thread_id)
        try:
            _, hard = resource.prlimit(copy.pid, resource.RLIMIT_NOFILE)
            resource.prlimit(copy.pid, resource.RLIMIT_NOFILE, (hard, hard))
            copy.call(_SYS_DUP3, fds.SPARE, fds.LINK, os.O_CLOEXEC)
            for first, last in _CLOSED:
                copy.call(_SYS_CLOSE_RANGE, first, last, 0)
            for number, flags in ((1, 0), (2, 0), *state.dead):
                copy.call(_SYS_DUP3, fds.DEAD, number, flags & os.O_CLOEXEC)
            if self._hides_copies:
                copy.call(_SYS_PRCTL, syscalls.PR_SET_DUMPABLE, 0, 0, 0, 0)
        except OSError:
            processes.kill(copy.pid)
            raise
        self._twin = Twin(copy, link, thread_id, mappings.stack)
        return self._twin


class HotPages:
    """Pages that cells write again and again. They are not protected, which would cost each cell a fault a page."""

    def __init__(self) -> None:
        self._known: set[int] = set()
        self._taken = 0

    def select(self, runs: list[Run], writable: list[Run], tracker: WriteTracker) -> list[Run]:
        """What of these runs can have been written. Pages that were not written before are protected."""
        self._taken += 1
        if self._taken % RELEARN_EVERY == 0 or len(self._known) > MAX_HOT_PAGES:
            self._known.clear()
        known = self._known
        new = _joined([page for page in _pages(runs) if page not in known])
        if not new:
            return runs
        tracker.protect(new)
        written = _pages(_within(new, writable))
        known.update(written)
        # What was only read for the first time, such as code of a library, is reported too.
        return runs if len(written) == _count(new) else _joined([page for page in _pages(runs) if page in known])


class PageTables:
    """Which page tables a process has, of each level: those that its pages need."""

    _BITS = 9

    def __init__(self) -> None:
        self._known: tuple[set[int], set[int], set[int]] = set(), set(), set()

    def add(self, runs: list[Run]) -> int:
        """How many of those for these pages are new."""
        needed = {low >> 21 for low, _ in runs}
        for low, high in runs:
            if (high - 1) >> 21 not in needed or high - low > 1 << 21:
                needed.update(range(low >> 21, ((high - 1) >> 21) + 1))
        made = 0
        for known in self._known:
            needed -= known
            known |= needed
            made += len(needed)
            needed = {number >> self._BITS for number in needed}
        return made


def _pages(runs):
    return [page for low, high in runs for page in range(low, high, PAGE)]


def _joined(addresses):
    """Pages that follow each other, as runs."""
    runs: list[Run] = []
    start = end = -1
    for address in addresses:
        if address != end:
            if end >= 0:
                runs.append((start, end))
            start = address
        end = address + PAGE
    if end >= 0:
        runs.append((start, end))
    return runs


def _count(runs):
    return sum(end - start for start, end in runs) // PAGE


def _within(runs, allowed):
    """The parts of sorted runs that lie in sorted ranges."""
    at = 0
    for start, end in runs:
        while at < len(allowed) and allowed[at][1] <= start:
            at += 1
        while start < end and at < len(allowed):
            low, high = allowed[at]
            if end <= low:
                break
            yield max(start, low), min(end, high)
            start = high
            if end > high:
                at += 1
