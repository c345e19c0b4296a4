"""Holds a session to its memory limit: old checkpoints go first, then the running head."""

from __future__ import annotations

from ..linux import processes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable

    from ..linux.cgroups import SessionGroup
    from .branch import Branch

WATCH_SECONDS = 0.2
# After checkpoints were given up: their memory is free in a moment, or was not what was too much.
AGAIN_SECONDS = 0.02
# Above this part of the limit, giving up one at a time would let a cell go on for seconds.
FAR = 1.25
PRESSURE = 0.9
# What one socket can hold in its buffers, where the filter and the wall keep them from being widened.
SOCKET_BYTES = 512 << 10
# So many are not charged for.
FREE_SOCKETS = 64
# Version 1 of control groups counts TCP apart from memory, and above its limit lets each have so much all the same.
TCP_BYTES = 128 << 10


class MemoryWatch:
    """With a control group the kernel enforces the limit; without one this does."""

    def __init__(
        self, limits: dict[str, int], group: SessionGroup | None, branches: dict[int, Branch], shared_bytes: int
    ) -> None:
        # Processes of the session map the context they were born with, and are not charged for it.
        self._limit = (limits["memory_mb"] << 20) + shared_bytes
        self._group = group
        self._branches = branches
        self._kills = 0
        self._owns_network = _has_loopback_only()
        self.due = 0.0

    def check(self, now: float, end: Callable[[Branch], object]) -> None:
        """Drops checkpoints and ends heads that hold too much; `end(branch)` kills a head."""
        self.due = now + WATCH_SECONDS
        if self._group is not None:
            if self._group.usage() > PRESSURE * self._group.limit:
                self._drop_oldest()
            if self._group.counts_sockets or not self._owns_network:
                return
            if _sockets() * TCP_BYTES > self._group.limit:
                self._end_heads(end)
            return
        held = _proportional_bytes() + sum(branch.logged_bytes() for branch in self._branches.values())
        if self._owns_network:
            # What sockets can hold, not what they do: a process that hides itself hides that too.
            held += max(0, _sockets() - FREE_SOCKETS) * SOCKET_BYTES
        if held <= self._limit:
            return
        if self._drop_oldest(every=held > FAR * self._limit):
            self.due = now + AGAIN_SECONDS
        else:
            self._end_heads(end)

    def _end_heads(self, end):
        for branch in self._branches.values():
            if branch.pid is not None:
                branch.out_of_memory = True
                end(branch)

    def kernel_killed(self) -> bool:
        """Whether the kernel ended a process of this session for memory since the last look."""
        if self._group is None:
            return False
        kills = self._group.kills()
        grown, self._kills = kills > self._kills, kills
        return grown

    def _drop_oldest(self, every=False):
        """True when a checkpoint other than the newest was let go, or all of those."""
        dropped = False
        for branch in self._branches.values():
            while len(branch.parked) > 1:
                branch.forget(branch.parked[0])
                dropped = True
                if not every:
                    return True
        return dropped


def _proportional_bytes():
    """What the session's processes hold, shared pages counted by share."""
    total = 0
    for pid in processes.listed():
        if pid != 1:
            try:
                with open("/proc/%d/smaps_rollup" % pid, "rb") as rollup:
                    text = rollup.read()
                total += sum(_field(text, name) for name in (b"Pss_Anon:", b"Pss_Shmem:", b"SwapPss:"))
                total += _told_bytes(pid, (b"VmPTE:",))
            except OSError:
                # A process may hide its details from init, but not its size.
                total += _told_bytes(pid, (b"RssAnon:", b"RssShmem:", b"VmSwap:", b"VmPTE:"))
    return total


def _sockets():
    """Of the session's network namespace, also those that are under way in messages."""
    try:
        with open("/proc/net/sockstat", "rb") as report:
            return int(report.readline().split()[2])
    except (OSError, LookupError, ValueError):
        return 0


def _has_loopback_only():
    try:
        with open("/proc/net/dev", "rb") as report:
            return [line.split(b":")[0].strip() for line in report.readlines()[2:]] == [b"lo"]
    except OSError:
        return False


def _field(text, name):
    at = text.find(name)
    return int(text[at + len(name) :].split(None, 1)[0]) * 1024 if at >= 0 else 0


def _told_bytes(pid, names):
    """Page tables count too: a few mapped bytes far apart take a page of them each."""
    try:
        with open("/proc/%d/status" % pid, "rb") as status:
            text = status.read()
    except OSError:
        return 0
    return sum(_field(text, name) for name in names)
