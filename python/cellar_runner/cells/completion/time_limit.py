"""Breaks off what the runner asks of objects between cells, when it takes too long."""

from __future__ import annotations

import _signal as _signals  # type: ignore[import-not-found]
import signal
import threading
from typing import Any, Callable

from ...pristine import BUILTINS as __builtins__

_signal, _getsignal = _signals.signal, _signals.getsignal
_setitimer: Any = getattr(_signals, "setitimer", None)
_getitimer: Any = getattr(_signals, "getitimer", None)
_SIGALRM = int(getattr(signal, "SIGALRM", 0))
_REAL = getattr(signal, "ITIMER_REAL", 0)
_get_ident, _main_thread = threading.get_ident, threading.main_thread
# The signal repeats, in case user code catches the exception.
_AGAIN_SECONDS = 0.05


class TimeLimitExceeded(BaseException):
    """The time is over."""


def _raise_exceeded(_number, _frame):
    raise TimeLimitExceeded


def is_available() -> bool:
    """Whether a timer can interrupt Python code here: only in the main thread."""
    return (
        _setitimer is not None
        and _get_ident() == _main_thread().ident
        # A handler set by C code could not be restored.
        and _getsignal(_SIGALRM) is not None
    )


def within(seconds: float, work: Callable[[], Any]) -> Any:
    """Runs `work`; raises TimeLimitExceeded after `seconds`. The cells' own timer continues afterwards."""
    handler, timer = _getsignal(_SIGALRM), _getitimer(_REAL)
    try:
        _signal(_SIGALRM, _raise_exceeded)
        _setitimer(_REAL, seconds, _AGAIN_SECONDS)
        try:
            return work()
        finally:
            _setitimer(_REAL, 0)
    finally:
        # Again: the first call may have been interrupted before it was done.
        _setitimer(_REAL, 0)
        _signal(_SIGALRM, handler)
        if timer[0] > 0:
            _setitimer(_REAL, *timer)
