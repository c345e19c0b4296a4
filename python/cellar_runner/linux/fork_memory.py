"""What makes a fork cheap: fewer mappings, and huge pages."""

from __future__ import annotations

import ctypes
import os
import sys
import tempfile

PAGE = 4096
HUGE_PAGE = 2 << 20
PROT_READ_WRITE = 3
PROT_READ_EXEC = 5
MADV_COLLAPSE = 25
# Just above an arena.
HEAP_BLOCK = (1 << 20) + (64 << 10)
LARGEST_HOLE = 1 << 20
SMALLEST_HOLE = 24

_libc = ctypes.CDLL(None, use_errno=True)
_libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
_libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
_libc.malloc.restype = ctypes.c_void_p
_libc.free.argtypes = [ctypes.c_void_p]


class _HeapInfo(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in "abcdefghi"] + [("keepcost", ctypes.c_size_t)]


_trim = getattr(_libc, "malloc_trim", None)


def _mappings():
    with open("/proc/self/maps", "rb") as maps:
        for line in maps.read().splitlines():
            fields = line.split(None, 5)
            low, high = (int(part, 16) for part in fields[0].split(b"-"))
            name = fields[5] if len(fields) > 5 else b""
            yield low, high, fields[1], int(fields[2], 16), name


class _RawAllocator(ctypes.Structure):
    _fields_ = [(name, ctypes.c_void_p) for name in ("context", "malloc", "calloc", "realloc", "free")]


class _ArenaAllocator(ctypes.Structure):
    _fields_ = [(name, ctypes.c_void_p) for name in ("context", "alloc", "free")]


def gather_arenas() -> None:
    """Lets Python take its arenas from the C heap: in one piece they fit into huge pages.

    Arenas of before this call hold what lives as long as the interpreter, and are never freed.
    """
    # The C library keeps blocks in its heap that are no larger than what was freed before.
    _libc.free(_libc.malloc(HEAP_BLOCK))
    raw = _RawAllocator()
    ctypes.pythonapi.PyMem_GetAllocator(0, ctypes.byref(raw))
    arenas = _ArenaAllocator(raw.context, raw.malloc, raw.free)
    ctypes.pythonapi.PyObject_SetArenaAllocator(ctypes.byref(arenas))


def merge_mappings() -> None:
    """Gives the pieces of each shared library equal rights, so that the kernel joins them.

    Five mappings of a library become two. Its read-only data becomes executable and its
    relocated data writable again: only for libraries the zygote loaded, before any user code.
    """
    mappings = list(_mappings())
    for index, (low, high, rights, offset, name) in enumerate(mappings):
        if rights != b"r--p" or not (b".so" in name or b"python" in name):
            continue
        before = mappings[index - 1] if index else None
        after = mappings[index + 1] if index + 1 < len(mappings) else None
        joins_after = after and after[4] == name and after[0] == high and after[3] == offset + high - low
        joins_before = before and before[4] == name and before[1] == low and before[3] + before[1] - before[0] == offset
        if after and joins_after and after[2] == b"rw-p":
            _libc.mprotect(low, high - low, PROT_READ_WRITE)
        elif (after and joins_after and after[2] == b"r-xp") or (before and joins_before and before[2] == b"r-xp"):
            _libc.mprotect(low, high - low, PROT_READ_EXEC)


def collapse_heap() -> None:
    """Puts the preloaded heap into huge pages: a fork then copies hundreds of entries less."""
    for low, high, rights, _, name in list(_mappings()):
        if not rights.startswith(b"rw") or name not in (b"", b"[heap]"):
            continue
        start = -(-low // HUGE_PAGE) * HUGE_PAGE
        for address in range(start, high - HUGE_PAGE + 1, HUGE_PAGE):
            _libc.madvise(address, HUGE_PAGE, MADV_COLLAPSE)


def trim() -> None:
    """Gives freed memory back to the kernel, or every later copy would hold it too."""
    if _trim is not None:
        _trim(0)


def fill_holes() -> list[bytes]:
    """Takes the free blocks that lie between preloaded objects, for good.

    New objects of a session then lie close together instead of touching a page each all over
    the heap, so that copies share more. Returns what must be kept.
    """
    plugs: list[bytes] = []
    for size, free in _free_blocks():
        content = size - sys.getsizeof(b"")
        if content > 0:
            plugs.extend(bytes(content) for _ in range(free))
    _fill_c_heap()
    return plugs


def _fill_c_heap():
    """The same for the C library's heap: takes blocks until they come from its end."""
    if not hasattr(_libc, "mallinfo2"):
        return
    _libc.mallinfo2.restype = _HeapInfo
    _libc.sbrk.restype = ctypes.c_void_p
    size = LARGEST_HOLE
    while size >= SMALLEST_HOLE:
        end = _libc.sbrk(0) - _libc.mallinfo2().keepcost
        block = _libc.malloc(size)
        while block is not None and block < end:
            block = _libc.malloc(size)
        _libc.free(block)
        size = size * 3 // 4


def _free_blocks():
    """(block size, number of free blocks in pools that are in use), as the allocator tells."""
    with tempfile.TemporaryFile() as report:
        saved = os.dup(2)
        os.dup2(report.fileno(), 2)
        try:
            sys._debugmallocstats()
        finally:
            os.dup2(saved, 2)
            os.close(saved)
        report.seek(0)
        for line in report.read().decode("ascii", "replace").splitlines():
            fields = line.split()
            if len(fields) == 5 and all(field.isdigit() for field in fields):
                yield int(fields[1]), int(fields[4])


def anonymous_bytes() -> int:
    """Private memory of this process, by the kernel's cheapest count."""
    with open("/proc/self/statm", "rb") as statm:
        fields = statm.read().split()
    return (int(fields[1]) - int(fields[2])) * PAGE


def available_bytes() -> int:
    """What the machine could give without taking it from anyone, as the kernel guesses."""
    with open("/proc/meminfo", "rb") as report:
        for line in report:
            if line.startswith(b"MemAvailable:"):
                return int(line.split()[1]) * 1024
    return 1 << 62
