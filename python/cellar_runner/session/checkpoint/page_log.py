"""Checkpoints as the pages that a head has written: a stopped copy of it, and what has changed since.

The twin is a copy of the head that is stopped before it has done anything. Each checkpoint after it is a delta: the
pages that the head has written since the one before, and its registers, taken while the head waits for init's answer.
A new head is a child of the twin with the pages and registers of one checkpoint. What pages cannot carry, such as open
files or the working directory, must be as it was when the twin was made, and no memory may have been unmapped since;
else, or when so much was written that a copy is cheaper, the checkpoint is a new twin.
"""

from __future__ import annotations

import ctypes
import itertools
import mmap
import operator
import os
import resource
import struct

from ...linux import children, fds, processes, ptrace, syscalls
from ...linux.address_space import MappingQuery, Mappings
from ...linux.write_tracking import PAGE, SYS_USERFAULTFD, USERFAULTFD_ARGUMENTS, WriteTracker
from .kernel_state import KernelState
from .page_runs import count, joined, pages_of, within
from .twin import CLONE_FLAGS, Link, PageCheckpoint, Twin

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Iterable, Iterator

    from ...linux.write_tracking import Run

# A copy of the process is cheaper than keeping more pages than these, of one checkpoint or of all since the twin.
MAX_DELTA_PAGES = 2048
MAX_LOG_PAGES = 4096
MAX_HOT_PAGES = 1024
# So often it is found out anew which pages are hot.
RELEARN_EVERY = 64

_SYS_CLOSE, _SYS_BRK, _SYS_PRCTL, _SYS_DUP3, _SYS_CLOSE_RANGE = 3, 12, 157, 292, 436
# What a twin closes of the runner's: all but the place of its link.
_CLOSED = ((fds.CHANNEL, fds.LINK - 1), (fds.LINK + 1, fds.DESCRIPTOR_CEILING - 1))


class PageLog:
    """Takes the checkpoints of one head, which must be waiting for init."""

    def __init__(self, pid: int, hides_copies: bool, hot: HotPages) -> None:
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
        self._hot = hot
        # What each page held at the last checkpoint, as far as it was read.
        self._contents: dict[int, bytes] = {}
        # Without control groups the filter refuses shared memory.
        self._buffer = mmap.mmap(-1, MAX_DELTA_PAGES * PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        self._buffer_address = ctypes.addressof(ctypes.c_char.from_buffer(self._buffer))

    def close(self) -> None:
        if self._tracker is not None:
            self._tracker.close()
            self._mappings.close()

    def take(self, step: int, thread_id: int, actions: int, is_trimmed: bool) -> PageCheckpoint | None:
        """None when the head is to be copied, and should give back what it does not use before."""
        with children.stops_unheard():
            return self._take(step, thread_id, actions, is_trimmed)

    def _take(self, step, thread_id, actions, is_trimmed):
        head = ptrace.Tracee.stop(self._pid, ptrace.SYS_RECVMSG)
        try:
            state = KernelState(self._pid, actions)
            if self._tracker is None:
                self._track(head)
            delta = self._delta(step, head, state)
            if delta is None:
                # What was found out of what was written is of no use to the next one.
                self._twin = None
            if delta is not None or not is_trimmed:
                return delta
            twin = self._make_twin(head, state, thread_id)
            return PageCheckpoint(step, twin, head.registers, self._heap, state, {}, [])
        finally:
            head.release()

    def _track(self, head):
        number = head.call(SYS_USERFAULTFD, *USERFAULTFD_ARGUMENTS)
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
        mapped: list[Run] = []
        taken: list[Run] = []
        try:
            runs = self._tracker.written(self._spans)
        except PermissionError:
            # Mappings have come that are not tracked yet.
            mapped = self._tracker.untracked(self._spans)
            if not self._are_plain(mapped):
                return None
            self._tracker.track(mapped)
            present = self._tracker.populated(mapped)
            # All of what is new is reported, also what nobody has written to.
            taken = self._tracker.take(mapped)
            runs = sorted([*present, *self._tracker.written(self._spans)])
            self._writable = sorted([*self._writable, *mapped])
        if not state.follows(self._state, count(mapped)) or count(runs) > MAX_DELTA_PAGES:
            return None
        addresses = pages_of(runs)
        new = self._hot.protect_new(addresses, self._tracker)
        if state.page_tables != self._state.page_tables + self._tables.add(new):
            # Where a whole page table was dropped, the kernel does not tell which pages were.
            return None
        foreign = self._hot.drop_outside(new, self._writable)
        if foreign:
            if self._tracker.has_private(foreign):
                # It was not writable before, or is not any more.
                return None
            addresses = [page for page in addresses if page in self._hot]
        self._state = state
        if mapped:
            self._heap = self._heap[0], head.call(_SYS_BRK, 0)
            self._tables.add(taken)
            state.recount_page_tables(self._pid)
        pages = self._changed(head, addresses)
        return PageCheckpoint(step, twin, head.registers, self._heap, state, pages, mapped)

    def _are_plain(self, mapped):
        try:
            return self._mappings.are_plain(mapped)
        except OSError:
            # The kernel is older than such questions.
            return False

    def _changed(self, head, addresses):
        """The pages that hold something else than at the last checkpoint."""
        head.read(joined(addresses), self._buffer_address)
        # Without a loop in Python: there are some hundred.
        contents = struct.unpack_from("%ds" % PAGE * len(addresses), self._buffer)
        differ = map(operator.ne, contents, map(self._contents.get, addresses))
        pages = dict(itertools.compress(zip(addresses, contents), differ))
        self._contents.update(pages)
        return pages

    def _make_twin(self, head, state, thread_id):
        self._twin = None
        mappings = Mappings(self._pid)
        if mappings.has_own_code:
            raise OSError("the process has made code of its own")
        self._spans, self._writable = mappings.spans, mappings.writable
        self._heap = mappings.heap_start, head.call(_SYS_BRK, 0)
        self._tracker.track(self._spans)
        self._tables.add(self._tracker.take(self._spans))
        state.recount_page_tables(self._pid)
        if state.page_tables != self._tables.size:
            self._tables = PageTables(self._tracker.populated(self._spans))
        self._state = state
        self._contents.clear()
        # What cells write again and again is compared with this.
        known = pages_of(within(joined(sorted(self._hot)), self._writable))
        self._changed(head, known[:MAX_DELTA_PAGES])
        copy = head.clone(CLONE_FLAGS, thread_id)
        try:
            _, hard = resource.prlimit(copy.pid, resource.RLIMIT_NOFILE)
            resource.prlimit(copy.pid, resource.RLIMIT_NOFILE, (hard, hard))
            for first, last in _CLOSED:
                copy.call(_SYS_CLOSE_RANGE, first, last, 0)
            for number, flags in ((1, 0), (2, 0), *state.dead):
                copy.call(_SYS_DUP3, fds.DEAD, number, flags & os.O_CLOEXEC)
            link = Link.make_in(copy)
            if self._hides_copies:
                copy.call(_SYS_PRCTL, syscalls.PR_SET_DUMPABLE, 0, 0, 0, 0)
        except BaseException:
            processes.kill(copy.pid)
            raise
        self._twin = Twin(copy, link, thread_id, mappings.stack)
        return self._twin


class HotPages:
    """Pages that cells write again and again. They are not protected, which would cost each cell a fault a page."""

    def __init__(self) -> None:
        self._known: set[int] = set()
        self._taken = 0

    def __contains__(self, page: int) -> bool:
        return page in self._known

    def __iter__(self) -> Iterator[int]:
        return iter(self._known)

    def protect_new(self, addresses: list[int], tracker: WriteTracker) -> list[Run]:
        """The pages that were not written before; they are protected, the others are not."""
        self._taken += 1
        if self._taken % RELEARN_EVERY == 0 or len(self._known) > MAX_HOT_PAGES:
            self._known.clear()
        pages = set(addresses).difference(self._known)
        self._known |= pages
        new = joined(sorted(pages))
        tracker.protect(new)
        return new

    def drop_outside(self, new: list[Run], writable: list[Run]) -> list[Run]:
        """Forgets those that cannot be written, and were only read for the first time, such as code of a library."""
        if count(within(new, writable)) == count(new):
            return []
        foreign = set(pages_of(new)).difference(pages_of(within(new, writable)))
        self._known -= foreign
        return joined(sorted(foreign))


class PageTables:
    """Which page tables a process has, of each level: those that its pages need."""

    _BITS = 9

    def __init__(self, runs: Iterable[Run] = ()) -> None:
        self._known: tuple[set[int], set[int], set[int]] = set(), set(), set()
        self.add(list(runs))

    @property
    def size(self) -> int:
        return sum(map(len, self._known))

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
