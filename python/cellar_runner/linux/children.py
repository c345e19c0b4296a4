"""Running work in forked children, and learning of their end."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Iterator, NoReturn

# Of the C library: a pointer, a set of signals, and then the flags.
_SIGACTION_BYTES, _FLAGS_OFFSET, _SA_NOCLDSTOP = 256, 136, 1
_libc = ctypes.CDLL(None, use_errno=True)

# What the kernel can count to; a number beyond it is no pid.
MAX_PID = 1 << 22


def run_child(work: Callable[[Any], object], argument: object) -> NoReturn:
    """Does the work of a new child and exits; an error is printed to stderr."""
    try:
        signal.set_wakeup_fd(-1)
        work(argument)
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        os._exit(1)


def how_ended(status: int) -> str:
    """How a child ended, in words that follow its name."""
    if os.WIFSIGNALED(status):
        return "was ended by signal %d" % os.WTERMSIG(status)
    code = os.WEXITSTATUS(status)
    return "ended" if code == 0 else "ended with exit code %d" % code


def wake_descriptor() -> int:
    """A descriptor that becomes readable when a child ends."""
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    os.set_blocking(writer, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    return reader


@contextlib.contextmanager
def stops_unheard() -> Iterator[None]:
    """Meanwhile only the end of a child raises SIGCHLD, not each stop of one that is traced."""
    usual = ctypes.create_string_buffer(_SIGACTION_BYTES)
    _libc.sigaction(signal.SIGCHLD, None, usual)
    changed = ctypes.create_string_buffer(usual.raw, _SIGACTION_BYTES)
    (flags,) = struct.unpack_from("=i", usual, _FLAGS_OFFSET)
    struct.pack_into("=i", changed, _FLAGS_OFFSET, flags | _SA_NOCLDSTOP)
    _libc.sigaction(signal.SIGCHLD, changed, None)
    try:
        yield
    finally:
        _libc.sigaction(signal.SIGCHLD, usual, None)


def is_child(pid: object) -> bool:
    """Whether it is a child of this process that was not waited for yet; pid 1 never is."""
    if type(pid) is not int or not 1 < pid <= MAX_PID:
        return False
    try:
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def has_ended(pid: int) -> bool:
    """Whether it has, and is collected now or was before."""
    try:
        collected, status = os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        return True
    return collected == pid and not os.WIFSTOPPED(status)


def ended() -> Iterator[tuple[int, int]]:
    """(pid, status) of each that has ended and was not collected yet."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        # Whoever traces a child is told of its stops as well.
        if not os.WIFSTOPPED(status):
            yield pid, status
