"""`IPython.core.magic`, where IPython is not installed: functions and classes become magics."""

from __future__ import annotations

import argparse
import shlex
from typing import Any, Callable, NoReturn

from ...pristine import BUILTINS as __builtins__
from ..magics.dispatch import UsageError
from .loader import get_ipython

_MARK = "_cellar_magic"


def _decorator(kind, apply, text):
    """A decorator that calls apply(function, kind, name); it may be given the name."""

    def decorate(given):
        if callable(given):
            apply(given, kind, given.__name__)
            return given

        def named(function):
            apply(function, kind, given)
            return function

        return named

    decorate.__doc__ = text.format(kind.replace("_", " and "))
    return decorate


def _register(function, kind, name):
    get_ipython().register_magic_function(function, kind, name)


def _mark(function, kind, name):
    setattr(function, _MARK, (kind, name))


register_line_magic = _decorator("line", _register, "Make a function a {} magic.")
register_cell_magic = _decorator("cell", _register, "Make a function a {} magic.")
register_line_cell_magic = _decorator("line_cell", _register, "Make a function a {} magic.")
line_magic = _decorator("line", _mark, "Mark a method as a {} magic.")
cell_magic = _decorator("cell", _mark, "Mark a method as a {} magic.")
line_cell_magic = _decorator("line_cell", _mark, "Mark a method as a {} magic.")


class Magics:
    __module__ = "IPython.core.magic"
    registered = False

    def __init__(self, shell=None, **_options):
        self.shell = get_ipython() if shell is None else shell
        self.magics: dict[str, dict] = {"line": {}, "cell": {}, "line_cell": {}}
        for name in dir(type(self)):
            kind, shown = getattr(getattr(type(self), name, None), _MARK, (None, None))
            if kind is not None:
                self.magics[kind][shown] = getattr(self, name)


def magics_class(cls: Any) -> type:
    cls.registered = True
    return cls


def needs_local_scope(function: Any) -> Callable:
    """Pass the caller's names to the function."""
    function.needs_local_scope = True
    return function


def no_var_expand(function: Any) -> Callable:
    """Do not expand variables in the line."""
    function._ipython_magic_no_var_expand = True
    return function


class MagicArgumentParser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(message)

    def parse_argstring(self, argstring: str) -> argparse.Namespace:
        return self.parse_args(shlex.split(argstring))


def magic_arguments(name: str | None = None) -> Callable:
    """Give a magic the arguments listed below it."""

    def decorate(function):
        shown = name or function.__name__.replace("magic_", "").replace("_", "-")
        parser = MagicArgumentParser(prog="%" + shown, add_help=False)
        for arguments, options in reversed(getattr(function, "arguments", [])):
            parser.add_argument(*arguments, **options)
        function.parser = parser
        return function

    return decorate


def argument(*arguments: Any, **options: Any) -> Callable:
    def decorate(function):
        function.arguments = getattr(function, "arguments", []) + [(arguments, options)]
        return function

    return decorate


def parse_argstring(magic_func: Any, argstring: str) -> argparse.Namespace:
    return magic_func.parser.parse_argstring(argstring)
