"""What the kernel keeps of a process beside its memory."""

from __future__ import annotations

import os
import resource
import stat

from ...linux import fds
from ...linux.write_tracking import PAGE

MAX_LOST = 64

# By their first characters: lines of /proc/PID/status that hardly ever change.
_CARRIED_LINES = (b"Name:\t", b"Umask:", b"Thread", b"SigBlk", b"SigIgn", b"SigCgt", b"Seccom", b"Cpus_a", b"VmLib:")
_SIZE_LINES = (b"VmSize", b"VmData", b"VmStk:", b"VmPTE:")
_LIMITS = range(16)
_RUNNER = (1, 2, *range(fds.DEAD, fds.DESCRIPTOR_CEILING))


class KernelState:
    """What pages cannot carry over into another process, read of a process that is stopped.

    `actions` stands for its signal handlers, of which the kernel tells others only that there are any.
    """

    def __init__(self, pid: int, actions: int) -> None:
        lines = _status(pid)
        # All but what follows must be the same in two processes.
        self._carried: list[object] = [line for line in lines if line[:6] in _CARRIED_LINES]
        self._carried.extend((os.readlink("/proc/%d/cwd" % pid), _identity("/proc/%d/cwd" % pid), actions))
        self._carried.append(os.getpriority(os.PRIO_PROCESS, pid))
        self._carried.extend(resource.prlimit(pid, limit) for limit in _LIMITS if limit != resource.RLIMIT_NOFILE)
        pages = _pages_in(lines)
        self._data = pages[b"VmData"]
        self._mapped = pages[b"VmSize"] - pages[b"VmStk:"]
        self.page_tables = pages[b"VmPTE:"]
        # (number, target, flags, offset) of what cells have open.
        self.files: list[tuple[int, str, int, int]] = []
        # Numbers of those that wait at their end instead of having a place in a file, or cannot be read.
        self._placeless: set[int] = set()
        for name in os.listdir("/proc/%d/fd" % pid):
            number = int(name)
            if number not in _RUNNER:
                path = "/proc/%d/fd/%s" % (pid, name)
                self.files.append((number, os.readlink(path), *_position(pid, name)))
                self._carried.append((self.files[-1][:3], _identity(path)))
                if self.files[-1][2] & os.O_PATH or stat.S_ISFIFO(os.stat(path).st_mode):
                    self._placeless.add(number)

    def recount_page_tables(self, pid: int) -> None:
        """Tracking makes some where there were none."""
        self.page_tables = _pages_in(_status(pid))[b"VmPTE:"]

    def follows(self, earlier: KernelState, new_pages: int) -> bool:
        """Whether nothing has changed since but pages, of which so many are mapped anew and none was unmapped."""
        return (
            self._carried == earlier._carried
            and self._mapped == earlier._mapped + new_pages
            and self._data == earlier._data + new_pages
        )

    @property
    def dead(self) -> list[tuple[int, int]]:
        """(number, flags) of what a copy cannot share with the process."""
        return [(number, flags) for number, target, flags, _ in self.files if _is_dead(target)]

    @property
    def reopened(self) -> list[tuple[int, int, int]]:
        """(number, flags, offset) of the files that a new process opens anew."""
        return [
            (number, flags, offset)
            for number, target, flags, offset in self.files
            if target.startswith("/") and not target.startswith("/dev/") and number not in self._placeless
        ]

    @property
    def lost(self) -> list[str]:
        """What a copy cannot keep, in words."""
        dead = [(number, target) for number, target, _, _ in self.files if _is_dead(target)]
        return ["%s (descriptor %d)" % (target.partition(":")[0], number) for number, target in dead[:MAX_LOST]]


def _status(pid):
    with open("/proc/%d/status" % pid, "rb", buffering=0) as file:
        return file.read().split(b"\n")


def _pages_in(lines):
    return {line[:6]: int(line.split()[1]) * 1024 // PAGE for line in lines if line[:6] in _SIZE_LINES}


def _identity(path):
    """Another file may have come to the same name."""
    status = os.stat(path)
    return status.st_dev, status.st_ino


def _is_dead(target):
    return target.startswith(("socket:", "pipe:", "anon_inode:"))


def _position(pid, name):
    with open("/proc/%d/fdinfo/%s" % (pid, name), "rb", buffering=0) as file:
        fields = dict(line.split(b":", 1) for line in file.read().splitlines()[:2])
    return int(fields[b"flags"], 8), int(fields[b"pos"])
