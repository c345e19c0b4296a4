"""Starts a session's Python where there is no init, and leaves no process behind when it ends.

The arguments are the command to start. Descriptor 3 is a pipe that ends when the session must:
the host closes it, or dies.
"""

from __future__ import annotations

import os
import resource
import select
import signal
import sys
import time

LIFELINE = 3
PR_SET_CHILD_SUBREAPER = 36


def main(command: list[str]) -> None:
    # A group of its own: Ctrl-C in the host's terminal is the host's affair.
    os.setpgid(0, 0)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.set_inheritable(LIFELINE, False)
    if sys.platform == "linux":
        import ctypes

        # Makes this process the parent of what its descendants leave behind.
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    wake, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    runner = os.posix_spawn(command[0], command, os.environ, setpgroup=0)
    with open(os.devnull, "r+b") as null:
        for number in (0, 1):
            os.dup2(null.fileno(), number)
    statuses: dict = {}
    while runner not in statuses:
        ready, _, _ = select.select([LIFELINE, wake], [], [])
        if LIFELINE in ready:
            break
        os.read(wake, 4096)
        _reap(statuses)
    _end_all(runner, statuses)
    _leave_like(statuses[runner])


def _reap(statuses):
    """Collects the dead; False when there is no child at all."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return False
        if pid == 0:
            return True
        statuses[pid] = status


def _end_all(runner, statuses):
    """Kills the runner's group and what left it, until nothing is left to wait for."""
    while True:
        for victim in [-runner] + _children():
            try:
                os.kill(victim, signal.SIGKILL)
            except OSError:
                pass
        if not _reap(statuses):
            return
        time.sleep(0.002)


def _children():
    try:
        with open("/proc/self/task/%d/children" % os.getpid()) as children:
            return [int(pid) for pid in children.read().split()]
    except OSError:
        return []


def _leave_like(status):
    """Ends as the runner did, so that the host sees how that was."""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        try:
            signal.signal(number, signal.SIG_DFL)
        except OSError:
            # SIGKILL needs no permission.
            pass
        os.kill(os.getpid(), number)
    os._exit(os.WEXITSTATUS(status))


if __name__ == "__main__":
    main(sys.argv[1:])
