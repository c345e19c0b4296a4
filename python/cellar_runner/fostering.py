"""A fork whose child belongs to the first process of another pid namespace, not to us.

A middle process makes the child and leaves, so that the child gets a new parent: the first process
of the namespace. The middle one borrows our memory while we stand still, and makes the only copy.
"""

import ctypes
import mmap
import os
import platform
import struct

from . import linux

# clone(CLONE_VM | CLONE_VFORK | CLONE_FS | CLONE_FILES); in the middle process clone as fork does,
# store the pid where the first argument points, exit. It touches no stack, which is not its own.
_MIDDLE = {
    "x86_64": "4989f94989f2bf0047000031f631d24531c0b8380000000f0585c0751cbf"
    "11002001b8380000000f0585c0740c41890131ffb83c0000000f054898c3"
}
_WAIT_ALL = 0x40000000
_SYS_RSEQ = 334
_RSEQ_BYTES, _RSEQ_SIGNATURE = 32, 0x53053053

_libc = ctypes.CDLL(None, use_errno=True)
_libc.pthread_self.restype = ctypes.c_void_p


class Fostering:
    """Holds the code of the middle process; where it cannot be had, makes one by a plain fork."""

    def __init__(self):
        self._code = self._load(_MIDDLE.get(platform.machine()))

    @staticmethod
    def _load(code):
        if code is None or not linux.thread_id_address():
            return None
        page = mmap.mmap(-1, mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        page.write(bytes.fromhex(code))
        address = ctypes.addressof(ctypes.c_char.from_buffer(page))
        readable_executable = ctypes.c_int(mmap.PROT_READ | mmap.PROT_EXEC)
        if _libc.mprotect(ctypes.c_void_p(address), ctypes.c_size_t(mmap.PAGESIZE), readable_executable):
            # A machine that lets no memory become code.
            return None
        kind = ctypes.PYFUNCTYPE(ctypes.c_long, ctypes.POINTER(ctypes.c_int), ctypes.c_void_p)
        return page, kind(address)

    def fork(self):
        """0 in the child; in this process True. Raises when no child could be made."""
        if self._code is None:
            return self._fork_twice()
        child = ctypes.c_int(0)
        tid = linux.thread_id_address()
        middle = linux.made(self._code[1](ctypes.byref(child), tid))
        if middle == 0:
            _register_rseq()
            return 0
        os.waitpid(middle, _WAIT_ALL)
        if child.value <= 0:
            raise BlockingIOError("no process could be made: %s" % os.strerror(-child.value))
        return True

    @staticmethod
    def _fork_twice():
        middle = linux.fork()
        if middle == 0:
            try:
                if linux.fork() == 0:
                    return 0
            except OSError:
                os._exit(1)
            os._exit(0)
        _, status = os.waitpid(middle, 0)
        if status != 0:
            raise BlockingIOError("no process could be made")
        return True


def _register_rseq():
    """The kernel forgets this registration where memory is shared, and the C library relies on it."""
    try:
        offset = ctypes.c_ssize_t.in_dll(_libc, "__rseq_offset").value
        size = ctypes.c_uint.in_dll(_libc, "__rseq_size").value
    except ValueError:
        return
    if size:
        area = ctypes.c_void_p(_libc.pthread_self() + offset)
        _libc.syscall(_SYS_RSEQ, area, ctypes.c_uint(_RSEQ_BYTES), 0, ctypes.c_uint(_RSEQ_SIGNATURE))
