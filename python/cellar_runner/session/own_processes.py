"""Tells the runner's own processes of a session (heads, checkpoints, writers, relay) from those of cells."""

from __future__ import annotations

import time

from ..linux import children, processes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .branch import Branch
    from .checkpoint.page_log import PageLog
    from .egress_relay import Relay
    from .state_writers import Writers

PARKING_MILLISECONDS = 20
PAUSE_SECONDS = 0.001


class OwnProcesses:
    """Asks the kernel: what a head or a copy of it says about pids is never believed."""

    def __init__(self, branches: dict[int, Branch]) -> None:
        self._branches = branches
        self.writers: Writers = None  # type: ignore[assignment]
        self.relay: Relay = None  # type: ignore[assignment]
        self.known_user_processes: set[int] = set()
        # Heads and copies that were killed, until the kernel has taken them away, and what tracked their writes.
        self.ending: dict[int, PageLog | None] = {}

    def _own(self):
        own = {1, self.relay.pid, *self.writers.pids, *self.ending}
        for branch in self._branches.values():
            own.add(branch.pid)
            own.update(parked.pid for parked in branch.parked)
        return own

    def note_end(self, pid: int) -> None:
        page_log = self.ending.pop(pid, None)
        if page_log is not None:
            page_log.close()

    def collect_ending(self, deadline: float) -> bool:
        """Waits for those that were killed; whether there were any, and all have left."""
        had_some = bool(self.ending)
        while self.ending:
            for pid in list(self.ending):
                if children.has_ended(pid):
                    self.note_end(pid)
            if time.monotonic() > deadline:
                return False
            time.sleep(PAUSE_SECONDS)
        return had_some

    def is_new_child(self, pid: int) -> bool:
        """Whether it is a child of init that has no part in the session yet."""
        return children.is_child(pid) and pid not in self._own()

    def count(self) -> int:
        user_processes = self._user_processes()
        if user_processes - self.known_user_processes:
            # One of them may be a checkpoint in the making: its head tells at once.
            for branch in self._branches.values():
                branch.expect_parked(PARKING_MILLISECONDS)
            user_processes = self._user_processes()
        self.known_user_processes = user_processes
        return len(user_processes)

    def _user_processes(self):
        own = self._own()
        return {pid for pid in processes.listed() if pid not in own and processes.is_running(pid)}

    def end_branch(self, branch: Branch, dead: int | None = None) -> None:
        """Ends every process of a branch, also of its `dead` head; the checkpoints and other heads are spared."""
        others = [other for other in self._branches.values() if other is not branch]
        heads = {other.pid for other in self._branches.values()}
        processes.kill_until_gone(branch.pid or dead, self._own() - {branch.pid}, heads, bool(others))
