"""Stopping a child in the system call in which it waits, and making system calls in its place (x86-64)."""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
import signal
import struct
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Iterable

_CONTINUE, _SINGLE_STEP, _DETACH = 7, 9, 17
_GET_EVENT_MESSAGE, _GET_REGISTERS, _SET_REGISTERS, _SEIZE, _INTERRUPT = 0x4201, 0x4204, 0x4205, 0x4206, 0x4207
_TRACE_FORK, _TRACE_CLONE, _TRACE_SECCOMP, _EXIT_KILL = 1 << 1, 1 << 3, 1 << 7, 1 << 20
_EVENT_FORK, _EVENT_CLONE, _EVENT_SECCOMP, _EVENT_STOP = 1, 3, 7, 128
_GENERAL, _FLOATING_POINT = 1, 2
_SYSCALL_INSTRUCTION = b"\x0f\x05"
# What the kernel leaves in the result register of an interrupted call: ERESTARTSYS to ERESTART_RESTARTBLOCK.
_RESTARTED = range(-516, -511)

# The order of user_regs_struct.
_R10, _R9, _R8, _RAX, _RCX, _RDX, _RSI, _RDI, _ORIG_RAX, _RIP = range(7, 17)
_RSP = 19
_SCRATCH_DISTANCE = 8192
_ARGUMENTS = _RDI, _RSI, _RDX, _R10, _R8, _R9
_REGISTERS = struct.Struct("=27q")
_FLOATING_POINT_BYTES = 512

SYS_RECVMSG = 47
_SYS_CLONE = 56
# How long a process may take to come to the call in which it waits, and to stop, for which it needs the processor:
# where hundreds are busy it gets that after a second or more. The host waits 20.
_COMING_SECONDS, _STOP_SECONDS = 0.5, 12
# From the shortest to the longest: those who ask too often keep a crowd of others from the processor.
_PAUSE_SECONDS, _MAX_PAUSE_SECONDS, _PAUSE_GROWTH = 0.00002, 0.005, 1.25
_MAX_SUPPRESSED_SIGNALS = 64
# CLD_EXITED, CLD_KILLED and CLD_DUMPED, of which Python 3.8 knows two.
_ENDED = (1, 2, 3)
_VECTORS_A_CALL = 512

_libc = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.restype = ctypes.c_long
for _call in ("process_vm_readv", "process_vm_writev"):
    if hasattr(_libc, _call):
        getattr(_libc, _call).restype = ctypes.c_ssize_t
_libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]


class _Vector(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]


def is_supported() -> bool:
    return platform.machine() == "x86_64" and hasattr(_libc, "process_vm_writev")


def _ptrace(request, pid, address=0, data=0):
    if _libc.ptrace(request, pid, address, data) == -1:
        number = ctypes.get_errno()
        raise OSError(number, "ptrace %#x: %s" % (request, os.strerror(number)))


class Registers:
    """What the processor holds of a process that waits in a system call."""

    def __init__(self, general: list[int], floating_point: bytes) -> None:
        self.general = general
        self.floating_point = floating_point

    @property
    def scratch(self) -> int:
        """Memory below the stack that nothing is kept in."""
        return (self.general[_RSP] - _SCRATCH_DISTANCE) & ~15

    def waits_in(self, call: int) -> bool:
        return self.general[_ORIG_RAX] == call and self.general[_RAX] in _RESTARTED

    def at_call(self, number: int, arguments: Iterable[int] = ()) -> list[int]:
        """The registers with which the instruction of the system call runs once more."""
        general = list(self.general)
        general[_RIP] -= len(_SYSCALL_INSTRUCTION)
        general[_RAX], general[_ORIG_RAX] = number, -1
        for place, value in zip(_ARGUMENTS, arguments):
            general[place] = value
        return general


class Tracee:
    """A process that is stopped in a system call until it is released."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.registers: Registers = None  # type: ignore[assignment]

    @classmethod
    def stop(cls, pid: int, call: int) -> Tracee:
        """Stops a process that waits in this call, or will in a moment."""
        tracee = cls(pid)
        _ptrace(_SEIZE, pid, 0, _TRACE_FORK | _TRACE_CLONE | _TRACE_SECCOMP | _EXIT_KILL)
        try:
            tracee._await_call(call)
        except BaseException:
            # Or it would stay stopped for good.
            with contextlib.suppress(OSError):
                _ptrace(_DETACH, pid)
            raise
        return tracee

    def _await_call(self, call):
        pid = self.pid
        deadline = time.monotonic() + _COMING_SECONDS
        while True:
            _ptrace(_INTERRUPT, pid)
            event, number = self._await_stop()
            self.registers = self._read_registers()
            if event == _EVENT_STOP and self.registers.waits_in(call):
                return
            # A signal that was on its way is delivered, unless it is the one that tracing itself causes.
            delivered = 0 if event or number == signal.SIGTRAP else number
            if time.monotonic() > deadline:
                _ptrace(_DETACH, pid, 0, delivered)
                raise OSError("process %d does not wait" % pid)
            _ptrace(_CONTINUE, pid, 0, delivered)
            time.sleep(_PAUSE_SECONDS)

    def _await_stop(self):
        """(event, signal) of the stop. A process that does not stop in time is killed: nothing else would free it."""
        deadline = time.monotonic() + _STOP_SECONDS
        pause = _PAUSE_SECONDS
        while True:
            # Its end is left for whoever collects it.
            seen = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WSTOPPED | os.WNOHANG | os.WNOWAIT)
            if seen is not None:
                break
            if time.monotonic() > deadline:
                os.kill(self.pid, signal.SIGKILL)
                raise OSError("process %d does not stop" % self.pid)
            time.sleep(pause)
            pause = min(pause * _PAUSE_GROWTH, _MAX_PAUSE_SECONDS)
        if seen.si_code in _ENDED:
            raise OSError("process %d has ended" % self.pid)
        _, status = os.waitpid(self.pid, os.WNOHANG)
        return status >> 16, os.WSTOPSIG(status)

    def _read_registers(self):
        general = list(_REGISTERS.unpack(self._get(_GENERAL, _REGISTERS.size)))
        return Registers(general, self._get(_FLOATING_POINT, _FLOATING_POINT_BYTES))

    def _get(self, kind, size):
        buffer = ctypes.create_string_buffer(size)
        vector = _Vector(ctypes.addressof(buffer), size)
        _ptrace(_GET_REGISTERS, self.pid, kind, ctypes.addressof(vector))
        return buffer.raw

    def _set(self, kind, data):
        buffer = ctypes.create_string_buffer(data, len(data))
        vector = _Vector(ctypes.addressof(buffer), len(data))
        _ptrace(_SET_REGISTERS, self.pid, kind, ctypes.addressof(vector))

    def call(self, number: int, *arguments: int) -> int:
        """Makes a system call in its place; raises what it failed with."""
        self._step(number, arguments)
        result = _REGISTERS.unpack(self._get(_GENERAL, _REGISTERS.size))[_RAX]
        if -4096 < result < 0:
            raise OSError(-result, "system call %d: %s" % (number, os.strerror(-result)))
        return result

    def clone(self, flags: int, thread_id: int) -> Tracee:
        """A child of it that is stopped before it has done anything. `thread_id` is where the C library keeps it."""
        event = self._step(_SYS_CLONE, (flags, 0, 0, thread_id, 0))
        if event not in (_EVENT_FORK, _EVENT_CLONE):
            raise OSError("process %d made no child" % self.pid)
        message = ctypes.c_ulong()
        _ptrace(_GET_EVENT_MESSAGE, self.pid, 0, ctypes.addressof(message))
        child = Tracee(message.value)
        child.registers = self.registers
        try:
            _ptrace(_SINGLE_STEP, self.pid)
            self._await_stop()
            child._await_stop()
        except OSError:
            os.kill(child.pid, signal.SIGKILL)
            raise
        return child

    def _step(self, number, arguments):
        """Runs the one instruction; gives the event at which it stopped."""
        self._set(_GENERAL, _REGISTERS.pack(*self.registers.at_call(number, arguments)))
        for _ in range(_MAX_SUPPRESSED_SIGNALS):
            _ptrace(_SINGLE_STEP, self.pid)
            event, stopped_by = self._await_stop()
            # Neither signals that it got meanwhile nor the news of them are let through. What the filter asks is.
            if event not in (_EVENT_STOP, _EVENT_SECCOMP) and (event or stopped_by == signal.SIGTRAP):
                return event
        raise OSError("process %d gets too many signals" % self.pid)

    def read(self, runs: list[tuple[int, int]], buffer: int) -> None:
        """Copies what its memory holds from each start to its end to an address here, in one piece."""
        self._transfer("process_vm_readv", runs, buffer)

    def write(self, runs: list[tuple[int, int]], data: bytes) -> None:
        """Writes data to its memory, from each start to its end; not through /proc, which a session has read-only."""
        self._transfer("process_vm_writev", runs, ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p).value)

    def _transfer(self, call, runs, address):
        one, none = ctypes.c_ulong(1), ctypes.c_ulong(0)
        for first in range(0, len(runs), _VECTORS_A_CALL):
            part = runs[first : first + _VECTORS_A_CALL]
            # Pairs of an address and a length, as the kernel reads them.
            numbers = [number for low, high in part for number in (low, high - low)]
            size = sum(numbers[1::2])
            ours, theirs = (ctypes.c_uint64 * 2)(address, size), (ctypes.c_uint64 * len(numbers))(*numbers)
            count = ctypes.c_ulong(len(part))
            if getattr(_libc, call)(ctypes.c_long(self.pid), ours, one, theirs, count, none) != size:
                raise OSError(ctypes.get_errno(), "%s: not all of %d bytes" % (call, size))
            address += size

    def release(self, registers: Registers | None = None) -> None:
        """Lets it begin its system call again, with these registers or its own."""
        if registers is not None:
            self._set(_FLOATING_POINT, registers.floating_point)
        at = registers or self.registers
        self._set(_GENERAL, _REGISTERS.pack(*at.at_call(at.general[_ORIG_RAX])))
        _ptrace(_DETACH, self.pid)
