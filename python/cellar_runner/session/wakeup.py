"""Tells threads that something came which they may be waiting for."""

import threading

from ..pristine import BUILTINS as __builtins__

NEWS_SECONDS = 0.1


class News:
    """Wakes the threads that wait for something another thread reads."""

    def __init__(self):
        self._condition = threading.Condition()

    def wait(self, is_there):
        """Waits for news, but not long: an interrupt has to wait as long as this."""
        with self._condition:
            if not is_there():
                self._condition.wait(NEWS_SECONDS)

    def tell(self):
        with self._condition:
            self._condition.notify_all()
