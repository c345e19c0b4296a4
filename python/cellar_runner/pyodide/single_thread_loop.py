"""Waiting in a place with one thread: `time.sleep` and an asyncio loop that can be interrupted."""

from __future__ import annotations

import asyncio
import signal
import time

from ..pristine import BUILTINS as __builtins__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections import deque
    from typing import Callable

# So that a clock that was set, or a lost wake-up, delays nothing for long.
LONGEST_MILLISECONDS = 1000

_now, _raise_signal = time.monotonic, signal.raise_signal


class _Rest:
    """Stands in for a selector: there are no descriptors to wait for, only time."""

    def __init__(self, pause):
        self._pause = pause

    def select(self, timeout=None):
        self._pause(timeout)
        return ()

    def close(self):
        """There is nothing to close."""


class Loop(asyncio.BaseEventLoop):
    """An event loop of timers and callbacks. It runs wherever it is told to, to the end."""

    if TYPE_CHECKING:
        # Of the base class, which the types of asyncio do not tell.
        _ready: deque
        _scheduled: list

    def __init__(self, pause: Callable[[float | None], object]) -> None:
        super().__init__()
        self._selector = _Rest(pause)

    def seconds_to_wait(self) -> float | None:
        """How long nothing is due; None when only something from outside can change that."""
        if self._ready:
            return 0
        if not self._scheduled:
            return None
        return max(0, self._scheduled[0].when() - self.time())

    def _process_events(self, event_list):
        """No descriptor has events."""

    def _write_to_self(self):
        """There is no other thread that could wake this one."""


class _Policy(asyncio.events._BaseDefaultEventLoopPolicy):  # type: ignore[name-defined]
    """Gives every caller of asyncio such a loop."""

    def __init__(self, pause):
        super().__init__()
        self._pause = pause

    def new_event_loop(self):
        return Loop(self._pause)


def install(wait: Callable[[float], int]) -> None:
    """`wait(milliseconds)` gives the number of a signal that came, or 0."""

    def pause(seconds):
        """Waits so long, or until a signal; for ever when `seconds` is None."""
        until = None if seconds is None else _now() + seconds
        while True:
            left = LONGEST_MILLISECONDS if until is None else (until - _now()) * 1000
            if left <= 0:
                return
            number = wait(min(left, LONGEST_MILLISECONDS))
            if number:
                _raise_signal(number)
                if until is None:
                    return

    def sleep(seconds, /):
        """Delays for a number of seconds, which may be a fraction."""
        seconds = float(seconds)
        if seconds < 0:
            raise ValueError("sleep length must be non-negative")
        pause(seconds)

    sleep.__module__, sleep.__qualname__ = "time", "sleep"
    time.sleep = sleep
    asyncio._set_running_loop(None)
    asyncio.events._set_event_loop_policy(_Policy(pause))  # type: ignore[attr-defined]
    asyncio.set_event_loop(None)
