"""Threads that do some jobs side by side, and are gone when all is done: a checkpoint needs a lone thread."""

from __future__ import annotations

import contextvars
import threading
import time
from typing import Callable, Iterable

from ...pristine import BUILTINS as __builtins__

# How long the main thread sleeps at most before it looks whether it was interrupted.
GLANCE_SECONDS = 0.2
# How long those that are interrupted may take to leave.
LEAVING_SECONDS = 0.5

_Thread, _allocate_lock, _now = threading.Thread, threading.Lock, time.monotonic
_copy_context = contextvars.copy_context


class Crew:
    """Jobs are functions that raise nothing. Where no thread can be had, they are done one by one."""

    def __init__(self, most_at_once: int) -> None:
        self._most_at_once = most_at_once
        self._is_stopped = False

    def run(self, jobs: Iterable[Callable[[], None]]) -> None:
        waiting = list(jobs)
        if len(waiting) < 2 or self._most_at_once < 2:
            for job in waiting:
                job()
            return
        waiting.reverse()
        threads: list[tuple] = []
        try:
            self._start(waiting, threads)
            if not threads:
                self._work(waiting)
            for _thread, done in threads:
                while not done.acquire(True, GLANCE_SECONDS):
                    pass
        except BaseException:
            self._is_stopped = True
            self._see_off(threads)
            raise
        for thread, _done in threads:
            thread.join()

    def _start(self, waiting, threads):
        for _ in range(min(self._most_at_once, len(waiting))):
            done = _allocate_lock()
            done.acquire()
            # Each has the context variables of the cell.
            work = (_copy_context().run, self._work, waiting, done)
            thread = _Thread(target=work[0], args=work[1:], name="chain", daemon=True)
            # Before it starts, since an interrupt may come in the middle of that.
            threads.append((thread, done))
            try:
                thread.start()
            except RuntimeError:
                threads.pop()
                break

    def _work(self, waiting, done=None):
        try:
            while not self._is_stopped:
                try:
                    # One operation, so that no two take the same.
                    job = waiting.pop()
                except IndexError:
                    return
                job()
        finally:
            if done is not None:
                done.release()

    def _see_off(self, threads):
        """What waits for the host is answered when the cell is stopped; what works on is not waited for."""
        until = _now() + LEAVING_SECONDS
        for thread, _done in threads:
            if thread.ident is not None:
                thread.join(max(0.0, until - _now()))
