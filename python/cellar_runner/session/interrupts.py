"""Interrupts: SIGINT belongs to the cells, as in plain Python; the host has a signal of its own."""

from __future__ import annotations

import _signal as _signals  # type: ignore[import-not-found]
import signal
import threading

from ..pristine import BUILTINS as __builtins__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

# Where there is neither, the host has to share SIGINT.
HOST_SIGNAL = int(getattr(signal, "SIGRTMAX", getattr(signal, "SIGINFO", signal.SIGINT)))

# The functions behind the ones of `signal`, which would make enumerations of their results.
_signal, _getsignal, _raise_signal = _signals.signal, _signals.getsignal, _signals.raise_signal
_SIGINT, _usual = int(signal.SIGINT), _signals.default_int_handler
_get_ident = threading.get_ident


class Interrupts:
    """Raises KeyboardInterrupt in user code, and never in the middle of the runner's own work.

    `wanted_step()` gives the step that the host last wanted to interrupt; `noticed()` is called at each signal.
    """

    def __init__(self, wanted_step: Callable[[], int], noticed: Callable[[], object] | None = None) -> None:
        self.wanted_step = wanted_step
        self._noticed = noticed
        self.step = 0
        self.armed = False
        self._missed = False
        self._main = _get_ident()
        self.of_cell = CellInterrupts(lambda: self.armed)

    def take_signals(self) -> None:
        self.of_cell.close()
        _signal(HOST_SIGNAL, self.on_signal)

    def enter(self) -> None:
        self.of_cell.open()
        self.arm()

    def leave(self) -> None:
        self.armed = False
        self.of_cell.close()

    def arm(self) -> None:
        self.armed = True
        self._missed = False
        self.raise_if_interrupted()
        self.of_cell.deliver()

    def disarm(self) -> None:
        self.armed = False

    def on_signal(self, _number: int, _frame: object) -> None:
        if self._noticed is not None:
            self._noticed()
        if self.armed:
            self.raise_if_interrupted()
        else:
            self._missed = True

    def raise_if_interrupted(self) -> None:
        if self.step and self.wanted_step() == self.step:
            raise KeyboardInterrupt

    def postponed(self, work: Callable, *arguments: Any) -> Any:
        """Does what must not be interrupted; an interrupt that comes meanwhile is raised after it."""
        if not self.armed or _get_ident() != self._main:
            return work(*arguments)
        self.armed = False
        held = None
        try:
            held = self.of_cell.hold()
            return work(*arguments)
        finally:
            # No call before this: the recursion limit may be nearly reached.
            self.armed = True
            try:
                if self._missed:
                    self.arm()
            finally:
                self.of_cell.release(held)


class CellInterrupts:
    """Keeps a SIGINT that user code sends off the runner's own work."""

    def __init__(self, is_armed: Callable[[], bool]) -> None:
        self._is_armed = is_armed
        self._missed = False
        # The cell's handler, while the runner works in the middle of the cell.
        self._aside = None
        # One object: a method is made anew at each look.
        self._handler = self._on_signal

    def close(self) -> None:
        """No user code runs from now on; a SIGINT that comes late interrupts nothing."""
        if _getsignal(_SIGINT) is not self._handler:
            _signal(_SIGINT, self._handler)

    def open(self) -> None:
        """User code runs from now on, with the handler that Python starts with."""
        self._missed = False
        _signal(_SIGINT, _usual)

    def hold(self) -> Any:
        """Puts the cell's handler aside; what this gives is for `release`."""
        handler = _getsignal(_SIGINT)
        # One that C code has set cannot be put back from here.
        if handler is None or handler is self._handler:
            return None
        self._aside = handler
        _signal(_SIGINT, self._handler)
        return handler

    def release(self, handler: Any) -> None:
        """Gives the cell its handler back; it gets what came meanwhile."""
        if handler is None:
            return
        self._aside = None
        _signal(_SIGINT, handler)
        if self._missed:
            self._missed = False
            _raise_signal(_SIGINT)

    def deliver(self) -> None:
        """Lets the cell's handler have what came while it was aside."""
        if self._missed and self._aside is not None:
            self._missed = False
            self._call(_SIGINT, None)

    def _on_signal(self, number, frame):
        if self._is_armed() and self._aside is not None:
            self._call(number, frame)
        else:
            self._missed = True

    def _call(self, number, frame):
        # Python tells SIG_DFL and SIG_IGN by numbers.
        if callable(self._aside):
            self._aside(number, frame)
