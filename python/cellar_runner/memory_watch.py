"""Holds a session to its memory limit: old checkpoints go first, then the running head."""

from . import processes

WATCH_SECONDS = 0.2
PRESSURE = 0.9


class MemoryWatch:
    """With a control group the kernel enforces the limit; without one this does."""

    def __init__(self, limits, group, branches, shared_bytes):
        # Processes of the session map the context they were born with, and are not charged for it.
        self._limit = (limits["memory_mb"] << 20) + shared_bytes
        self._group = group
        self._branches = branches
        self._kills = 0
        self.due = 0.0

    def look(self, now, end):
        """`end(branch)` kills a head that holds too much."""
        self.due = now + WATCH_SECONDS
        if self._group is not None:
            if self._group.usage() > PRESSURE * self._group.limit:
                self._drop_oldest()
            return
        if _proportional_bytes() <= self._limit or self._drop_oldest():
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
