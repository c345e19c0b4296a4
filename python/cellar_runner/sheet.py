"""Memory for a large string that forks need not copy, not even its page table.

The pages come from a sealed file without a name, mapped privately and read-only under the string.
Nobody can change or shorten the file any more, and who writes there anyway ends only itself.
"""

import ctypes
import fcntl
import mmap
import os

# The C library gives strings of this size a mapping of their own, which is unmapped as a whole.
SMALLEST = 40 << 20
MAP_FIXED = 0x10
_SEALS = 0x1 | 0x2 | 0x4 | 0x8
_ADD_SEALS = 1033
_OWN_MAPPING = 2

_libc = ctypes.CDLL(None, use_errno=True)
_mmap = _libc.mmap
_mmap.restype = ctypes.c_void_p
_mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]


def under(text, address, size):
    """A sheet for the characters of a new string; None where it cannot lie on one."""
    if size < SMALLEST or not _has_own_mapping(text) or not hasattr(os, "memfd_create"):
        return None
    try:
        return Sheet(address, size)
    except OSError:
        return None


def _has_own_mapping(text):
    """As the GNU C library notes in front of what it hands out."""
    if not hasattr(_libc, "gnu_get_libc_version"):
        return False
    note = ctypes.c_size_t.from_address(id(text) - ctypes.sizeof(ctypes.c_size_t))
    return bool(note.value & _OWN_MAPPING)


class Sheet:
    """Takes the bytes of a string in order, and puts them in place in the end."""

    def __init__(self, address, size):
        self._at = address
        self._first = -(-address // mmap.PAGESIZE) * mmap.PAGESIZE
        self._last = (address + size) // mmap.PAGESIZE * mmap.PAGESIZE
        self._file = os.memfd_create("context", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)

    def put(self, data):
        """Whole pages go into the file, the edges where they belong."""
        view = memoryview(data)
        while view:
            if self._first <= self._at < self._last:
                part = view[: self._last - self._at]
                part = part[: os.pwrite(self._file, part, self._at - self._first)]
            else:
                part = view if self._at >= self._last else view[: self._first - self._at]
                ctypes.memmove(self._at, bytes(part), len(part))
            self._at += len(part)
            view = view[len(part) :]

    def lay(self):
        """Replaces the memory under the string; what was not put is zero."""
        size = self._last - self._first
        os.ftruncate(self._file, size)
        fcntl.fcntl(self._file, _ADD_SEALS, _SEALS)
        flags = mmap.MAP_PRIVATE | MAP_FIXED
        place = _mmap(self._first, size, mmap.PROT_READ, flags, self._file, 0)
        os.close(self._file)
        if place != self._first:
            raise MemoryError("the context's memory cannot be mapped")
