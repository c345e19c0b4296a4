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
        # What lies in the session's file systems is charged to the same group.
        memory = (limits["memory_mb"] + limits["workspace_mb"] + 2 * limits["tmp_mb"]) * MEBIBYTE
        if self._parents["version"] == 2:
            directory = self._make(self._parents["unified_fd"])
            syscalls.write_kernel_file(directory, "memory.max", str(memory))
            self._try(directory, "memory.swap.max", "0")
            syscalls.write_kernel_file(directory, "pids.max", str(limits["processes"]))
            syscalls.write_kernel_file(directory, "cgroup.procs", "0")
            self._usage = os.open("memory.current", os.O_RDONLY, dir_fd=directory)
            self._events = os.open("memory.events", os.O_RDONLY, dir_fd=directory)
            os.close(directory)
            return
        if self._parents.get("cpu_fd") is not None:
            directory = self._make(self._parents["cpu_fd"])
            syscalls.write_kernel_file(directory, "cgroup.procs", "0")
            os.close(directory)
        directory = self._make(self._parents["pids_fd"])
        syscalls.write_kernel_file(directory, "pids.max", str(limits["processes"]))
        syscalls.write_kernel_file(directory, "cgroup.procs", "0")
        os.close(directory)
        directory = self._make(self._parents["memory_fd"])
        syscalls.write_kernel_file(directory, "memory.limit_in_bytes", str(memory))
        self._try(directory, "memory.memsw.limit_in_bytes", str(memory))
        # Version 1 counts what lies in sockets apart from the rest, and only when told to.
        self._try(directory, "memory.kmem.tcp.limit_in_bytes", str(SOCKET_MEBIBYTES * MEBIBYTE))
        syscalls.write_kernel_file(directory, "cgroup.procs", "0")
        self._usage = os.open("memory.usage_in_bytes", os.O_RDONLY, dir_fd=directory)
        self._events = os.open("memory.oom_control", os.O_RDONLY, dir_fd=directory)
        os.close(directory)

    def _make(self, parent):
        os.mkdir(self._name, dir_fd=parent)
        return os.open(self._name, os.O_RDONLY | os.O_DIRECTORY, dir_fd=parent)

    @staticmethod
    def _try(directory, name, text):
        try:
            syscalls.write_kernel_file(directory, name, text)
        except OSError:
            # Kernels without swap accounting lack the file; then there is no swap to bound.
            pass

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
    """Moves this process into the group that a session has made."""
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
