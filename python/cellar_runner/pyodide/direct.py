"""A session in the thread of its host: cells that wait are left and resumed, for nothing may block.

A cell without `await` runs to its end at once. One with it runs in pieces, between which JavaScript
works; the host's answers come then. Calls of what the host answers get their `await` from `awaiting.py`.
"""

from __future__ import annotations

import os
import time

from ..cells.event_loop import EventLoop, copy_variables, noting_context
from ..cells.interpreter import Interpreter
from ..pristine import BUILTINS as __builtins__
from ..session.interrupts import Interrupts
from . import awaiting
from .session import Wasm, open_session

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Coroutine, Generator

    from ..policy.admission import Admission

# So that timers and frames of the host are served in good time.
LONGEST_SECONDS = 1.0

_clock, _getpid = time.perf_counter, os.getpid


class SteppedLoop(EventLoop):
    def pieces(self, coroutine: Coroutine, look: Callable[[], object]) -> Generator[float | None, None, Any]:
        """Yields the seconds until something is due; `look` may raise an interrupt."""
        contexts: list = []
        loop = self.attach()
        task = loop.create_task(noting_context(coroutine, contexts))
        try:
            while True:
                loop.call_soon(loop.stop)
                loop.run_forever()
                if task.done():
                    return task.result()
                yield loop.seconds_to_wait()
                look()
        except BaseException:
            self._give_up(loop, task, coroutine)
            raise
        finally:
            for context in contexts:
                copy_variables(context)


class SteppedInterpreter(Interpreter):
    _loop: SteppedLoop

    def __init__(self, display: Callable, look: Callable[[], object], answered: set[str]) -> None:
        self._answered = answered
        super().__init__(display)
        self._loop = SteppedLoop()
        self._look = look

    @property
    def admission(self) -> awaiting.AwaitingAdmission:
        return self._awaiting

    @admission.setter
    def admission(self, admission: Admission | None) -> None:
        self._awaiting = awaiting.AwaitingAdmission(admission, self._answered)

    def pieces(self, number: int, code: str) -> Generator[float | None, None, dict[str, Any]]:
        """Yields while it waits; gives what `run` would give."""
        outcome = None
        try:
            cell = self._build(number, self._prepare(number, code))
            if not cell.in_loop:
                value = self.value_of(cell)
            elif cell.wrapper is None:
                value = yield from self._stepped(cell)
            else:
                with cell.wrapper(self.commands) as wrapper:
                    value = yield from self._stepped(cell)
                value = None if wrapper.hides_value else value
            outcome = self._ok(value)
        except BaseException as error:
            outcome = self._failure(error)
        try:
            self._finish_output(outcome)
            self.leave()
        except KeyboardInterrupt as error:
            self.leave()
            outcome = self._late_outcome(error)
        return outcome

    def _stepped(self, cell):
        value = yield from self._loop.pieces(self._steps(cell, _getpid()), self._look)
        return value if cell.shows_value else None


def _interruptible(handler):
    """What hangs while a value is described would hang the host for ever."""

    def handle(direct, params):
        direct._is_asked = True
        try:
            return handler(direct, params)
        finally:
            direct._is_asked = False

    return handle


_INTERRUPTIBLE = {name: _interruptible(Wasm._methods[name]) for name in ("get_variable", "variables")}


class Direct(Wasm):
    """Cannot wait for the host: a cell awaits its answers, and JavaScript brings them."""

    can_wait = False
    interpreter: SteppedInterpreter

    def __init__(self, port: Any) -> None:
        self._is_overdue, self._see = port.isOverdue, port.see
        self._posted, self._pieces, self._is_asked = 0, None, False
        self._answered_names = set(awaiting.ANSWERED)
        interrupts = Interrupts(self._wanted_step, self._notice_signal)

        def make_interpreter(display):
            return SteppedInterpreter(display, interrupts.raise_if_interrupted, self._answered_names)

        super().__init__(port, make_interpreter, interrupts)
        self._builtins[awaiting.HELPER] = awaiting.settled

    def _wanted_step(self):
        return self.interrupts.step if self._is_overdue() else self._posted

    def _notice_signal(self):
        if self._is_asked and self._is_overdue():
            raise KeyboardInterrupt
        self._see()

    def take(self, body: Any) -> float | None:  # type: ignore[override]
        """Handles one frame; gives the seconds until `resume`, or None when nothing is open."""
        message = self._channel.assemble(body.to_bytes())
        if message is None:
            return None
        method = message.get("method")
        if method == "interrupt":
            self._posted = message["params"]["step"]
        elif method == "execute":
            self._pieces = self._execute_in_pieces(message)
        else:
            self._handle(message)
        return self.resume()

    def resume(self) -> float | None:
        if self._pieces is None:
            return None
        try:
            seconds = next(self._pieces)
        except StopIteration:
            self._pieces = None
            return None
        return LONGEST_SECONDS if seconds is None else min(seconds, LONGEST_SECONDS)

    def _execute_in_pieces(self, message):
        identifier, params = message["id"], message["params"]
        try:
            self._begin_cell(params)
            started = _clock()
            outcome = yield from self.interpreter.pieces(params["number"], params["code"])
            self._end_cell(outcome, started)
            outcome["checkpoint"] = self.checkpoints.plan(params)
            self._channel.answer(identifier, outcome)
        except BaseException as error:
            self._channel.report_error(identifier, error)

    def _configure(self, params):
        self._answered_names.update(tool["name"] for tool in params.get("tools", ()))
        return super()._configure(params)

    _methods = dict(Wasm._methods, configure=_configure, **_INTERRUPTIBLE)


def open_direct_session(port: Any) -> Wasm:
    return open_session(port, Direct)
