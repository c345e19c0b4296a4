"""Holds a session to its memory limit: old checkpoints go first, then the running head."""

from . import processes

WATCH_SECONDS = 0.2
PRESSURE = 0.9
# What one socket can hold in its buffers, where the filter and the wall keep them from being widened.
SOCKET_BYTES = 512 << 10
# So many are not charged for.
FREE_SOCKETS = 64


class MemoryWatch:
    """With a control group the kernel enforces the limit; without one this does."""

    def __init__(self, limits, group, branches, shared_bytes):
        # Processes of the session map the context they were born with, and are not charged for it.
        self._limit = (limits["memory_mb"] << 20) + shared_bytes
        self._group = group
        self._branches = branches
        self._kills = 0
        self._owns_network = group is None and _has_loopback_only()
        self.due = 0.0

    def look(self, now, end):
        """`end(branch)` kills a head that holds too much."""
        self.due = now + WATCH_SECONDS
        if self._group is not None:
            if self._group.usage() > PRESSURE * self._group.limit:
                self._drop_oldest()
            return
        held = _proportional_bytes()
        if held <= self._limit and (not self._owns_network or held + _socket_bytes() <= self._limit):
            return
        if self._drop_oldest():
            return
        for branch in self._branches.values():
            if branch.pid is not None:
                branch.starved = True
                end(branch)

    def kernel_killed(self):
        """Whether the kernel ended a process of this session for memory since the last look."""
        if self._group is None:
            return False
        kills = self._group.kills()
        grown, self._kills = kills > self._kills, kills
        return grown

    def _drop_oldest(self):
        """True when a checkpoint other than the newest was let go."""
        for branch in self._branches.values():
            if len(branch.parked) > 1:
                branch.forget(branch.parked[0])
                return True
        return False


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


def _socket_bytes():
    """What sockets can hold, not what they do: a process that hides itself hides that too."""
    return max(0, _sockets() - FREE_SOCKETS) * SOCKET_BYTES


def _sockets():
    """Of the session's network namespace, also those that are under way in messages."""
    try:
        with open("/proc/net/sockstat", "rb") as report:
            return int(report.readline().split()[2])
    except (OSError, LookupError, ValueError):
        return 0


def _has_loopback_only():
    """Whether the network is the session's own, not the host's."""
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
