"""Which pages another process has written, told by the kernel since Linux 6.7.

The pages are write-protected through a userfaultfd that resolves each write by itself and remembers
it (UFFD_FEATURE_WP_ASYNC), so that a process is not kept waiting for anybody.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import struct

PAGE = 4096
SYS_USERFAULTFD = 323
# The last argument is not one of the call: by it the filter tells this one from others (rules.ts).
USERFAULTFD_ARGUMENTS = (os.O_CLOEXEC | os.O_NONBLOCK | 1, 0x63656C6C)

_API, _REGISTER, _PROTECT, _SCAN = 0xC018AA3F, 0xC020AA00, 0xC018AA06, 0xC0606610
_UFFD_API, _WRITE_PROTECT_MODE = 0xAA, 2
_UNPOPULATED, _ASYNCHRONOUS = 1 << 13, 1 << 15
# Categories of pages.
_TRACKED, _WRITTEN, _OF_FILE, _PRESENT, _SWAPPED = 1, 2, 4, 8, 16
_PROTECT_MATCHING, _CHECK_TRACKED = 1, 2
_WRITE_PROTECT = 1
_RUNS_A_SCAN = 4096
_ARGUMENT = struct.Struct("=12Q")

TYPE_CHECKING = False
if TYPE_CHECKING:
    Run = tuple[int, int]


class WriteTracker:
    """`descriptor` is a userfaultfd of the process."""

    def __init__(self, pid: int, descriptor: int) -> None:
        self._descriptor = descriptor
        self._pagemap = os.open("/proc/%d/pagemap" % pid, os.O_RDONLY | os.O_CLOEXEC)
        self._runs = (ctypes.c_uint64 * (3 * _RUNS_A_SCAN))()
        self._address = ctypes.addressof(self._runs)
        try:
            features = struct.pack("=QQQ", _UFFD_API, _ASYNCHRONOUS | _UNPOPULATED, 0)
            fcntl.ioctl(descriptor, _API, bytearray(features))
        except OSError:
            self.close()
            raise

    def close(self) -> None:
        os.close(self._pagemap)
        os.close(self._descriptor)

    def track(self, spans: list[Run]) -> None:
        """Tracks every mapping in these spans of the address space, from the next `take` on."""
        for low, high in spans:
            try:
                order = struct.pack("=QQQQ", low, high - low, _WRITE_PROTECT_MODE, 0)
                fcntl.ioctl(self._descriptor, _REGISTER, bytearray(order))
            except OSError as error:
                # Nothing is mapped in this span.
                if error.errno != errno.EINVAL:
                    raise

    def protect(self, runs: list[Run]) -> None:
        """Watches these pages for the next write; others that were written go on being reported."""
        for low, high in runs:
            order = struct.pack("=QQQ", low, high - low, _WRITE_PROTECT)
            fcntl.ioctl(self._descriptor, _PROTECT, bytearray(order))

    def untracked(self, spans: list[Run]) -> list[Run]:
        """Mappings that came since; no page is looked at in those that are tracked."""
        return self._scan(spans, 0, _TRACKED, _TRACKED)

    def populated(self, spans: list[Run]) -> list[Run]:
        return sorted(self._scan(spans, 0, 0, _PRESENT) + self._scan(spans, 0, 0, _SWAPPED))

    def has_private(self, runs: list[Run]) -> bool:
        """Whether any page is the process's own, not one of a file."""
        return bool(self._scan(runs, 0, _OF_FILE, _OF_FILE | _PRESENT))

    def take(self, spans: list[Run]) -> list[Run]:
        """Runs of pages that were written or dropped, protected from now on."""
        return self._scan(spans, _PROTECT_MATCHING | _CHECK_TRACKED, 0, _WRITTEN)

    def written(self, spans: list[Run]) -> list[Run]:
        """Runs of pages that were written or dropped since they were protected; fails if a mapping is not tracked."""
        return self._scan(spans, _CHECK_TRACKED, 0, _WRITTEN)

    def _scan(self, spans, flags, inverted, wanted):
        found: list[Run] = []
        for low, high in spans:
            while low < high:
                order = bytearray(
                    _ARGUMENT.pack(
                        *(_ARGUMENT.size, flags, low, high, 0, self._address, _RUNS_A_SCAN, 0),
                        *(inverted, wanted, 0, wanted),
                    )
                )
                count = fcntl.ioctl(self._pagemap, _SCAN, order)
                low = _ARGUMENT.unpack(order)[4]
                numbers = self._runs[: 3 * count]
                found.extend(zip(numbers[0::3], numbers[1::3]))
        return found
