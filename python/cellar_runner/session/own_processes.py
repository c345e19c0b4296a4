"""Which processes of a session are ours: its heads, their checkpoints, the writers and the relay."""

from ..linux import children, processes

PARKING_MILLISECONDS = 20


class Census:
    """Asks the kernel. What a head or a copy says about pids is never believed."""

    def __init__(self, branches):
        self._branches = branches
        self.writers = None
        self.relay = None
        self.known_strangers = set()

    def _own(self):
        own = {1, self.relay.pid, *self.writers.pids}
        for branch in self._branches.values():
            own.add(branch.pid)
            own.update(parked.pid for parked in branch.parked)
        return own

    def is_new_child(self, pid):
        """Whether it is a child of init that has no part in the session yet."""
        return children.owns(pid) and pid not in self._own()

    def count(self):
        """Processes beside init, the heads and their checkpoints."""
        strangers = self._strangers()
        if strangers - self.known_strangers:
            # One of them may be a checkpoint in the making: its head tells at once.
            for branch in self._branches.values():
                branch.expect_parked(PARKING_MILLISECONDS)
            strangers = self._strangers()
        self.known_strangers = strangers
        return len(strangers)

    def _strangers(self):
        own = self._own()
        return {pid for pid in processes.listed() if pid not in own and processes.runs(pid)}

    def sweep(self, branch, dead=None):
        """Ends every process of a branch, also of its `dead` head; the checkpoints and other heads are spared."""
        others = [other for other in self._branches.values() if other is not branch]
        heads = {other.pid for other in self._branches.values()}
        processes.end(branch.pid or dead, self._own() - {branch.pid}, heads, bool(others))
