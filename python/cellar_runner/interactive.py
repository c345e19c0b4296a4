"""What needs a person at a terminal: replaced by clear errors, or made to work without one."""

from __future__ import annotations

import bdb
import builtins
import getpass
import sys

from .pristine import BUILTINS as __builtins__


class InputUnavailable(EOFError):
    """Nobody can answer a prompt from inside a cell."""


class DebuggerUnavailable(RuntimeError):
    """Nobody can step through a cell."""


def _input(prompt="", /):
    """Not available in a sandboxed cell."""
    raise InputUnavailable(
        "input() is not available in a sandboxed cell: assign the value in the code instead"
    )


def _getpass(prompt="Password: ", stream=None, **_options):
    """Not available in a sandboxed cell."""
    raise InputUnavailable(
        "getpass() is not available in a sandboxed cell: assign the value in the code instead"
    )


def _no_debugger(*_arguments, **_options):
    raise DebuggerUnavailable(
        "the debugger is not available in a sandboxed cell: print the values instead"
    )


class Leave:
    """exit and quit: end the cell as sys.exit does."""

    def __init__(self, name):
        self._name = name

    def __repr__(self):
        return "Use {}() to end the cell".format(self._name)

    def __call__(self, code=None):
        raise SystemExit(code)


def install(display):
    """Put the session's builtins in place."""
    builtins.input = _input
    builtins.display = display
    builtins.exit = Leave("exit")
    builtins.quit = Leave("quit")
    if not hasattr(builtins, "help"):
        from _sitebuiltins import _Helper

        builtins.help = _Helper()
    getpass.getpass = _getpass
    bdb.Bdb.set_trace = _no_debugger
    sys.breakpointhook = _no_debugger
