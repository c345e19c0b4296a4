"""Wakes threads that wait for something which another thread reads."""

from __future__ import annotations

import threading
from typing import Callable

from ..pristine import BUILTINS as __builtins__

WAKEUP_SECONDS = 0.1


class Wakeup:
    """A condition: the thread that reads notifies, the others wait."""

    def __init__(self):
        self._condition = threading.Condition()

    def wait(self, is_there: Callable[[], bool]) -> None:
        """Waits to be notified, but not long: an interrupt has to wait as long as this."""
        with self._condition:
            if not is_there():
                self._condition.wait(WAKEUP_SECONDS)

    def notify(self) -> None:
        with self._condition:
            self._condition.notify_all()
