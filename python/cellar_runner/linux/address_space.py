"""The mappings of another process, and what the kernel counts of them."""

from __future__ import annotations

import fcntl
import os
import struct

# The end of what a process can map, and what nobody can write or track.
_LIMIT = 0x7FFFFFFFE000
_KERNEL_MAPPINGS = (b"[vdso]", b"[vvar]", b"[vvar_vclock]", b"[vsyscall]")
_QUERY = 0xC0686611
_QUERY_ARGUMENT = struct.Struct("=9Q4I2Q")
_READABLE_AND_WRITABLE, _ALL_RIGHTS = 3, 15

TYPE_CHECKING = False
if TYPE_CHECKING:
    Run = tuple[int, int]


class Mappings:
    """Read once for each copy: on a process with a thousand mappings it takes as long as a fork."""

    def __init__(self, pid: int) -> None:
        # Where writes can be tracked: all but what is shared with other processes or the kernel.
        self.spans: list[Run] = []
        self.writable: list[Run] = []
        self.stack: Run = (0, 0)
        self.heap_start = 0
        # Whether it writes code and runs it: rights then change in ways that only a copy can follow.
        self.has_own_code = False
        low = 4096
        with open("/proc/%d/maps" % pid, "rb") as file:
            lines = file.read().splitlines()
        for line in lines:
            addresses, rights, _, device, _ = line.split(None, 5)[:5]
            if line.endswith(b"[stack]"):
                self.stack = _range(addresses)
            elif line.endswith(b"[heap]") and not self.heap_start:
                self.heap_start, _ = _range(addresses)
            if rights.endswith(b"s") or line.endswith(_KERNEL_MAPPINGS):
                start, end = _range(addresses)
                if low < start:
                    self.spans.append((low, min(start, _LIMIT)))
                low = end
            elif rights.startswith(b"rw"):
                self.writable.append(_range(addresses))
            elif b"x" in rights and device == b"00:00":
                self.has_own_code = True
        if low < _LIMIT:
            self.spans.append((low, _LIMIT))


def _range(addresses):
    start, end = addresses.split(b"-")
    return int(start, 16), int(end, 16)


class MappingQuery:
    """Asks about single mappings (Linux 6.11)."""

    def __init__(self, pid: int) -> None:
        self._maps = os.open("/proc/%d/maps" % pid, os.O_RDONLY | os.O_CLOEXEC)

    def close(self) -> None:
        os.close(self._maps)

    def are_plain(self, runs: list[Run]) -> bool:
        """Whether these are nothing but private memory, to read and write."""
        for low, high in runs:
            while low < high:
                argument = bytearray(_QUERY_ARGUMENT.pack(_QUERY_ARGUMENT.size, 0, low, *(0,) * 12))
                fcntl.ioctl(self._maps, _QUERY, argument)
                _, _, _, start, end, rights, _, _, inode, *_ = _QUERY_ARGUMENT.unpack(argument)
                if rights & _ALL_RIGHTS != _READABLE_AND_WRITABLE or inode or start > low or end <= low:
                    return False
                low = end
        return True
