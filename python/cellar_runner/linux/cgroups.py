"""Control groups of sessions, below the group the host prepared."""

from __future__ import annotations

import os

from . import syscalls

MEBIBYTE = 1 << 20
SOCKET_MEBIBYTES = 32


class SessionGroup:
    """One session's group; made by its first process, removed by the supervisor."""

    def __init__(self, parents: dict, name: str, limits: dict[str, int]) -> None:
        self._parents = parents
        self._name = name
        self._limits = limits
        self._usage: int | None = None
        self._events: int | None = None

    def join(self) -> None:
        limits = self._limits
        processes = {"pids.max": limits["processes"]}
        # What lies in the session's file systems is charged to the same group.
        memory = (limits["memory_mb"] + limits["workspace_mb"] + 2 * limits["tmp_mb"]) * MEBIBYTE
        if self._parents["version"] == 2:
            bounds = {"memory.max": memory, **processes}
            self._enter("unified_fd", bounds, {"memory.swap.max": 0}, ("memory.current", "memory.events"))
            return
        if self._parents.get("cpu_fd") is not None:
            self._enter("cpu_fd", {})
        self._enter("pids_fd", processes)
        # Version 1 counts what lies in sockets apart from the rest, and only when told to.
        sockets = SOCKET_MEBIBYTES * MEBIBYTE
        optional = {"memory.memsw.limit_in_bytes": memory, "memory.kmem.tcp.limit_in_bytes": sockets}
        read = ("memory.usage_in_bytes", "memory.oom_control")
        self._enter("memory_fd", {"memory.limit_in_bytes": memory}, optional, read)

    def _enter(self, parent, bounds, optional=None, read=()):
        """Makes this session's group below a parent and moves into it; `read` are the files of its usage."""
        os.mkdir(self._name, dir_fd=self._parents[parent])
        directory = os.open(self._name, os.O_RDONLY | os.O_DIRECTORY, dir_fd=self._parents[parent])
        for name, value in bounds.items():
            syscalls.write_kernel_file(directory, name, str(value))
        for name, value in (optional or {}).items():
            syscalls.try_kernel_file(directory, name, str(value))
        syscalls.write_kernel_file(directory, "cgroup.procs", "0")
        if read:
            self._usage, self._events = (os.open(name, os.O_RDONLY, dir_fd=directory) for name in read)
        os.close(directory)

    @property
    def descriptors(self) -> list[int]:
        return [fd for fd in (self._usage, self._events) if fd is not None]

    def kills(self) -> int:
        """How often the kernel ended a process of this group for memory."""
        assert self._events is not None
        for line in os.pread(self._events, 4096, 0).splitlines():
            name, _, value = line.partition(b" ")
            if name == b"oom_kill":
                return int(value)
        return 0

    def usage(self) -> int:
        assert self._usage is not None
        return int(os.pread(self._usage, 64, 0))

    @property
    def counts_sockets(self) -> bool:
        return self._parents["version"] == 2

    @property
    def limit(self) -> int:
        return (self._limits["memory_mb"] + self._limits["workspace_mb"]) * MEBIBYTE


def _descriptors(parents):
    keys = ("unified_fd", "cpu_fd", "pids_fd", "memory_fd")
    return [parents[key] for key in keys if parents.get(key) is not None]


def enter(parents: dict, name: str) -> None:
    for parent in _descriptors(parents):
        syscalls.write_kernel_file(parent, name + "/cgroup.procs", "0")


def kill(parents: dict, name: str) -> bool:
    """Ends all that is in a session's group at once; False where the kernel offers no such thing."""
    if parents["version"] != 2:
        return False
    try:
        syscalls.write_kernel_file(parents["unified_fd"], name + "/cgroup.kill", "1")
    except OSError:
        return False
    return True


def remove(parents: dict, name: str) -> None:
    for parent in _descriptors(parents):
        try:
            os.rmdir(name, dir_fd=parent)
        except OSError:
            pass
