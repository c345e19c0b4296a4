"""A stopped copy of a head, and the checkpoints that new heads can be made of with it."""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import signal
import socket
import struct
import termios
import time

from ...linux import fds, processes, ptrace, syscalls
from . import messages
from .page_runs import joined

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ...linux.write_tracking import Run
    from .kernel_state import KernelState

# How far a stack may grow below its mapping.
MAX_STACK_BYTES = 64 << 20
PAUSE_SECONDS = 0.00005
# Of the largest numbers they fit into what a head receives at once.
FILES_A_MESSAGE = 256

CLONE_FLAGS = syscalls.CLONE_PARENT | syscalls.CLONE_CHILD_SETTID | syscalls.CLONE_CHILD_CLEARTID | signal.SIGCHLD
_PRIVATE_FIXED, _READ_WRITE = 0x02 | 0x20 | 0x100000, 3
_SYS_CLOSE, _SYS_MMAP, _SYS_BRK, _SYS_SOCKETPAIR = 3, 9, 12, 53
_SYS_PRCTL, _SYS_CLOCK_GETTIME, _SYS_DUP3 = 157, 228, 292


class Link:
    """The socket on which the heads of a twin get their orders. Both ends: what nobody took is taken back."""

    def __init__(self, ours: socket.socket, theirs: socket.socket) -> None:
        self.ours, self.theirs = ours, theirs

    @classmethod
    def make_in(cls, copy: ptrace.Tracee) -> Link:
        """Has the copy make both, since nothing that a head could have changed may lead there."""
        place = copy.registers.scratch
        copy.call(_SYS_SOCKETPAIR, socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_CLOEXEC, 0, place)
        numbers = (ctypes.c_int * 2)()
        copy.read([(place, place + ctypes.sizeof(numbers))], ctypes.addressof(numbers))
        ours, theirs = (socket.socket(fileno=syscalls.take_descriptor(copy.pid, number)) for number in numbers)
        link = cls(ours, theirs)
        copy.call(_SYS_DUP3, numbers[1], fds.LINK, os.O_CLOEXEC)
        for number in numbers:
            if number != fds.LINK:
                copy.call(_SYS_CLOSE, number)
        return link

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

    def become(self, checkpoint: PageCheckpoint, orders: list[bytes], descriptors: list[int], deadline: float) -> int:
        """The pid of a new process with the state of a checkpoint, which has its orders: messages, one by one."""
        # Signals that would stop it are not kept pending.
        os.kill(self.pid, signal.SIGCONT)
        child = self._tracee.clone(CLONE_FLAGS, self._thread_id)
        try:
            # Or its memory could not be written.
            child.call(_SYS_PRCTL, syscalls.PR_SET_DUMPABLE, 1, 0, 0, 0)
            self._write(child, checkpoint)
            child.write([(self._thread_id, self._thread_id + 4)], struct.pack("=i", child.pid))
            child.release(checkpoint.registers)
        except BaseException:
            processes.kill(child.pid)
            raise
        for number, data in enumerate(orders, 1):
            self._link.send(child.pid, data, descriptors if number == len(orders) else [], deadline)
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
        child.write(joined(addresses), b"".join(map(pages.__getitem__, addresses)))


class PageCheckpoint:
    """A checkpoint that init can make a new head of."""

    link = None

    def __init__(
        self,
        step: int,
        twin: Twin,
        registers: ptrace.Registers,
        heap: Run,
        state: KernelState,
        pages: dict[int, bytes],
        mapped: list[Run],
    ) -> None:
        self.step = step
        self.pages = pages
        # What the head has mapped since the checkpoint before.
        self.mapped = mapped
        self.early_deaths = 0
        self.lost = state.lost
        self.registers = registers
        self.heap_start, self.heap_end = heap
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
            data = [*_files_messages(self._files), json.dumps(orders).encode()]
            return self._twin.become(self, data, descriptors, deadline)
        except (OSError, MemoryError):
            return -1


def _files_messages(files):
    for first in range(0, len(files), FILES_A_MESSAGE):
        yield messages.FILES + json.dumps(files[first : first + FILES_A_MESSAGE]).encode()
