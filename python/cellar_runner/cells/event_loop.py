"""The one asyncio event loop of a session, kept across cells and forks."""

from __future__ import annotations

import contextvars
from typing import Any, Awaitable, Coroutine

from ..pristine import BUILTINS as __builtins__

SETTLING_ROUNDS = 50
FRAME_LIMIT = 50


class EventLoop:
    """Created when a cell first needs it; background tasks run on it between cells."""

    def __init__(self):
        self._loop = None
        # Loops of other libraries, which would do more than close their descriptors when they are collected.
        self._retired = []
        self.awaited = []

    def attach(self) -> Any:
        """Makes the session's loop the current one; asyncio.run() leaves none."""
        import asyncio

        if self._loop is None or self._loop.is_closed():
            self._loop = asyncio.new_event_loop()
        asyncio._set_running_loop(None)
        asyncio.set_event_loop(self._loop)
        return self._loop

    def reset(self) -> None:
        """Before a cell: repair what the last one did to the current loop."""
        self.awaited = []
        if self._loop is not None:
            self.attach()

    def run(self, coroutine: Coroutine) -> Any:
        """Run a coroutine to its end; its context variables stay set afterwards."""
        contexts: list[contextvars.Context] = []
        loop = self.attach()
        task = loop.create_task(noting_context(coroutine, contexts))
        try:
            return loop.run_until_complete(task)
        except BaseException:
            self._give_up(loop, task, coroutine)
            raise
        finally:
            for context in contexts:
                copy_variables(context)

    def _give_up(self, loop, task, coroutine):
        if not task.done():
            self._abandon(loop, task)
        if task.done():
            coroutine.close()

    def _abandon(self, loop, task):
        """Cancel a task that an interrupt left pending, without waiting for one that refuses."""
        self.awaited = _awaited_frames(task)
        task.cancel()
        for _ in range(SETTLING_ROUNDS):
            if task.done() or loop.is_closed():
                break
            loop.call_soon(loop.stop)
            try:
                loop.run_forever()
            except SystemExit:
                # The task that raised it first passes it on.
                continue
        if task.done() and not task.cancelled():
            task.exception()

    def rebuild(self) -> None:
        """In a copy, whose descriptors lead nowhere: a new selector and self-pipe."""
        loop = self._loop
        if loop is None or loop.is_closed():
            return
        from selectors import DefaultSelector

        if not hasattr(loop, "_make_self_pipe") or not hasattr(loop, "_selector"):
            self._retired.append(loop)
            self._loop = None
            return
        # Their numbers lead nowhere now, but are still taken.
        for part in (loop._selector, loop._ssock, loop._csock):
            if part is not None:
                part.close()
        loop._selector = DefaultSelector()
        loop._internal_fds = 0
        loop._default_executor = None
        loop._make_self_pipe()
        if getattr(loop, "_signal_handlers", None):
            import signal

            signal.set_wakeup_fd(loop._csock.fileno())


async def noting_context(coroutine: Awaitable, contexts: list[contextvars.Context]) -> Any:
    """Awaits a coroutine and appends the context in which it ended."""
    try:
        return await coroutine
    finally:
        contexts.append(contextvars.copy_context())


def copy_variables(context: contextvars.Context) -> None:
    for variable, value in context.items():
        if variable.get(None) is not value:
            variable.set(value)


def _awaited_frames(task):
    """(file, line, name) of each coroutine from the task's own down to the one that waits."""
    frames: list[tuple[str, int, str]] = []
    coroutine = task.get_coro()
    while coroutine is not None and len(frames) < FRAME_LIMIT:
        frame = getattr(coroutine, "cr_frame", None) or getattr(coroutine, "gi_frame", None)
        if frame is None:
            break
        frames.append((frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name))
        inner = getattr(coroutine, "cr_await", None)
        coroutine = inner if inner is not None else getattr(coroutine, "gi_yieldfrom", None)
    return frames
