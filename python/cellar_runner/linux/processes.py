"""The processes of a session, as its pid namespace shows them."""

from __future__ import annotations

import os
import signal
import time

from . import syscalls

ROUNDS = 200


def listed() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except OSError:
        pass


def kill_until_gone(head: int | None, spared: set, heads: set, shared: bool) -> None:
    """Kills all but the spared until none is left. Where branches share a session, only what descends from `head`."""
    for _ in range(ROUNDS):
        victims = [pid for pid in listed() if pid not in spared]
        if shared:
            victims = [pid for pid in victims if _descends(pid, head)]
        if not victims:
            return
        for pid in victims:
            kill(pid)
        if victims == [head]:
            return
        time.sleep(0.001)
        _reap(victims, heads)


def _reap(victims, heads):
    """Collects orphans now; heads are left for the loop, which must report them."""
    for pid in victims:
        if pid not in heads:
            try:
                os.waitpid(pid, os.WNOHANG)
            except OSError:
                pass


def kill_descendants(ancestor: int) -> None:
    """Kills every process below one. Each is checked again once a descriptor holds it, as pids are reused."""
    for pid in listed():
        if not _is_below(pid, ancestor):
            continue
        try:
            handle = syscalls.open_process(pid)
        except OSError:
            continue
        try:
            if _is_below(pid, ancestor):
                syscalls.kill_process(handle)
        except OSError:
            pass
        finally:
            os.close(handle)


def _is_below(pid, ancestor):
    return any(int(fields[1]) == ancestor for _, fields in _ancestry(pid))


def threads(pid: int | None) -> int:
    """How many threads a process has; 0 when there is none."""
    if pid is None:
        return 0
    try:
        return len(os.listdir("/proc/%d/task" % pid))
    except OSError:
        return 0


def is_running(pid: int) -> bool:
    """False for one that has ended and only waits to be collected by its parent."""
    fields = _fields(pid)
    return fields is not None and fields[0] not in ("Z", "X")


def _descends(pid, head):
    """Whether a process is the head, its descendant, or of its session."""
    return any(head in (above, int(fields[3])) for above, fields in _ancestry(pid))


def _ancestry(pid):
    """(pid, fields) of a process and of each one above it."""
    while pid > 1:
        fields = _fields(pid)
        if fields is None:
            return
        yield pid, fields
        pid = int(fields[1])


def _fields(pid):
    """State, parent, group, session and so on, or None."""
    try:
        # A name may hold any byte.
        with open("/proc/%d/stat" % pid, "rb") as stat:
            return stat.read().decode("latin-1").rpartition(")")[2].split()
    except OSError:
        return None
