"""What keeps a head from being copied."""

from __future__ import annotations

import os
import resource
import sys
import time

from ...linux import fork_memory

MAX_GROWTH_BYTES = 256 << 20
LEAVING_MILLISECONDS = 5

_running_frames = sys._current_frames
_usage, _SELF = resource.getrusage, resource.RUSAGE_SELF


class Obstacles:
    """What keeps a head from being copied, measured from the moment it is made."""

    def __init__(self) -> None:
        self._start = fork_memory.anonymous_bytes()
        self._peak = _peak_bytes()
        self._allowed = 0

    def allow(self, size: int) -> None:
        """A text that is never written to, in huge pages, costs a copy nothing."""
        self._allowed = size

    def find(self, is_alone: bool) -> str | None:
        """The reason in a sentence, or None. `is_alone` spares counting the threads."""
        try:
            threads = 1 if is_alone else count_threads()
            grown = _peak_bytes() - self._peak
            if grown > MAX_GROWTH_BYTES:
                grown = fork_memory.anonymous_bytes() - self._start - self._allowed
        except OSError as error:
            return "no checkpoint: %s" % error
        if threads > 1:
            return "no checkpoint: threads are running (%d beside the main one)" % (threads - 1)
        if grown > MAX_GROWTH_BYTES:
            return "no checkpoint: the session holds %d MB of its own memory" % (grown >> 20)
        if _uses_cuda():
            return "no checkpoint: CUDA does not survive a fork"
        return None


def count_threads() -> int:
    """Threads of this process; one that Python has joined may take a moment to be gone."""
    for _ in range(LEAVING_MILLISECONDS):
        threads = len(os.listdir("/proc/self/task"))
        if threads == 1 or len(_running_frames()) > 1:
            break
        time.sleep(0.001)
    return threads


def _peak_bytes():
    return _usage(_SELF).ru_maxrss * 1024


def _uses_cuda():
    torch = sys.modules.get("torch")
    try:
        if torch is not None and torch.cuda.is_initialized():
            return True
        return "cupy" in sys.modules or "pycuda" in sys.modules
    except Exception:
        return False
