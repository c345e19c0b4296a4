"""Threads that wait for the host for `async` code. They end when nothing waits: checkpoints need a lone thread."""

from __future__ import annotations

import _thread
import collections
from typing import Any, Callable

from ..module_finder import import_own
from ..pristine import BUILTINS as __builtins__

# The host answers fewer at once, and a session may have few threads.
MOST_THREADS = 32

_start, _allocate_lock, _deque = _thread.start_new_thread, _thread.allocate_lock, collections.deque


class Workers:
    def __init__(self) -> None:
        self._waiting: collections.deque = _deque()
        self._lock = _allocate_lock()
        self._running = 0

    async def awaited(self, work: Callable[[], Any]) -> Any:
        """What `work` gives, done in a thread when one is free."""
        asyncio = import_own("asyncio")
        loop = asyncio.get_running_loop()
        answered = loop.create_future()

        def settle(outcome, error):
            if answered.done():
                return
            if error is None:
                answered.set_result(outcome)
            else:
                answered.set_exception(error)

        def job():
            # Of a cell that was interrupted nothing more is sent.
            if answered.done() or loop.is_closed():
                return
            try:
                outcome, failure = work(), None
            except BaseException as error:
                outcome, failure = None, error
            try:
                loop.call_soon_threadsafe(settle, outcome, failure)
            except RuntimeError:
                # The loop was closed: nobody waits any more.
                pass

        self._add(job)
        return await answered

    def _add(self, job):
        self._waiting.append(job)
        with self._lock:
            if self._running >= MOST_THREADS:
                return
            self._running += 1
        try:
            _start(self._work, ())
        except RuntimeError:
            # No thread is to be had: others do it, or it is done here.
            self._work()

    def _work(self):
        while True:
            try:
                job = self._waiting.popleft()
            except IndexError:
                with self._lock:
                    if self._waiting:
                        continue
                    self._running -= 1
                    return
            job()
