"""What needs a person at a terminal: replaced by clear errors, or made to work without one."""

from __future__ import annotations

import bdb
import builtins
import getpass
import sys
from typing import Any, Callable

from ..pristine import BUILTINS
from ..pristine import BUILTINS as __builtins__

_MISSING = object()
_NO_INPUT = "{}() is not available in a sandboxed cell: assign the value in the code instead"
_plain_input = BUILTINS["input"]
_plain_getpass, _plain_set_trace = getpass.getpass, bdb.Bdb.set_trace
_getframe = sys._getframe


class InputUnavailable(EOFError):
    """A cell cannot ask for input."""


class DebuggerUnavailable(RuntimeError):
    """A cell cannot be debugged interactively."""


def _is_unattended(stream: Any) -> bool:
    """Whether this is a cell's original stdin, and not a terminal."""
    standard: Any = getattr(sys, "__stdin__", None)
    if stream is None or stream is not standard:
        return False
    try:
        return not stream.isatty()
    except ValueError:
        return True


def _input(prompt=_MISSING, /):
    """Read a line from sys.stdin, where the code has put something in its place."""
    if not _is_unattended(getattr(sys, "stdin", None)):
        return _plain_input() if prompt is _MISSING else _plain_input(prompt)
    raise InputUnavailable(_NO_INPUT.format("input"))


def _getpass(prompt="Password: ", stream=None, **options):
    """Read a password from sys.stdin, where the code has put something in its place."""
    if not _is_unattended(getattr(sys, "stdin", None)):
        return _plain_getpass(prompt, stream, **options)
    raise InputUnavailable(_NO_INPUT.format("getpass"))


def _set_trace(self, frame=None, **options):
    """Start debugging from frame, where the code has put something in the place of sys.stdin."""
    # A debugger with an input of its own may have been given its commands.
    if _is_unattended(getattr(self, "stdin", None)) and _is_unattended(getattr(sys, "stdin", None)):
        raise DebuggerUnavailable(
            "the debugger is not available in a sandboxed cell: print the values instead"
        )
    return _plain_set_trace(self, _getframe(1) if frame is None else frame, **options)


class Exit:
    """exit and quit: end the cell as sys.exit does."""

    def __init__(self, name):
        self._name = name

    def __repr__(self):
        return "Use {}() to end the cell".format(self._name)

    def __call__(self, code=None):
        raise SystemExit(code)


def install(display: Callable, keep: Callable) -> None:
    names = vars(builtins)
    names.update(input=_input, display=display, keep=keep, exit=Exit("exit"), quit=Exit("quit"))
    if "help" not in names:
        from _sitebuiltins import _Helper

        names["help"] = _Helper()
    getpass.getpass = _getpass
    bdb.Bdb.set_trace = _set_trace  # type: ignore[method-assign]
    sys.breakpointhook = sys.__breakpointhook__
