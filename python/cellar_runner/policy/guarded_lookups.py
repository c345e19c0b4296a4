"""Texts that reach attributes while a restricted cell runs, read with its guard."""

from __future__ import annotations

import _string  # type: ignore[import-not-found]
import functools
import operator
import string
import sys
import types
from typing import Any, Callable

from ..pristine import BUILTINS as __builtins__
from . import strings
from .rules import STRING_HINT

_MAKERS = ("attrgetter", "methodcaller")
_QUERIES = ("eval", "query")
_FUNCTIONS = (types.FunctionType, types.MethodType)


class ImportRefused(ImportError):
    """A module that is not on the list, or what must not be taken from one."""


def substitute(guard: Callable, owner: Any, name: str, value: Any) -> Any:
    """A guarded replacement for a function that takes names as text, or None."""
    if name in _MAKERS and owner is operator:
        return functools.partial(AttributeGetter if name == "attrgetter" else MethodCaller, guard)
    if name in _QUERIES and isinstance(value, _FUNCTIONS) and _is_of_pandas(owner):
        return Query(guard, value)
    return None


def plain(text: Any, purpose: str) -> str:
    """The text; a subclass of str could read differently each time."""
    if type(text) is not str:
        raise TypeError("{} must be a plain str, not {}".format(purpose, type(text).__name__))
    return text


def _is_of_pandas(owner):
    if isinstance(owner, types.ModuleType):
        return str(owner.__dict__.get("__name__")).partition(".")[0] == "pandas"
    kinds = type(owner).__mro__
    return any(str(kind.__module__).partition(".")[0] == "pandas" for kind in kinds)


class AttributeGetter:
    """operator.attrgetter through the guard."""

    def __init__(self, guard, *paths):
        if not paths:
            raise TypeError("attrgetter takes the names of attributes")
        self._guard = guard
        self._paths = tuple(plain(path, "the name of an attribute") for path in paths)

    def __call__(self, owner):
        values = tuple(functools.reduce(self._guard, path.split("."), owner) for path in self._paths)
        return values if len(values) > 1 else values[0]

    def __reduce__(self):
        return operator.attrgetter, self._paths


class MethodCaller:
    """operator.methodcaller through the guard."""

    def __init__(self, guard, name, *arguments, **options):
        self._guard = guard
        self._call = plain(name, "the name of a method"), arguments, options

    def __call__(self, owner):
        name, arguments, options = self._call
        return self._guard(owner, name)(*arguments, **options)

    def __reduce__(self):
        name, arguments, options = self._call
        return functools.partial(operator.methodcaller, name, **options), arguments


class Query:
    """query() and eval() of a frame, with the modules of an expression through the guard."""

    def __init__(self, guard, method):
        self._guard = guard
        self._method = method

    def __call__(self, *arguments, **options):
        caller = sys._getframe(1)
        known = [options.get("local_dict"), caller.f_locals, options.get("global_dict"), caller.f_globals]
        for text in arguments[:1] + (options.get("expr"),):
            if isinstance(text, str):
                self._check(plain(text, "an expression"), [names for names in known if names])
        # this frame is one more between the cell and the function that looks for its variables
        options["level"] = options.get("level", 0) + 1
        return self._method(*arguments, **options)

    def _check(self, text, known):
        name = strings.name_in_code(text)
        if name is not None:
            raise ImportRefused("{} in an expression is refused: {}".format(name, STRING_HINT))
        for first, *steps in strings.chains(text):
            value = next((names[first] for names in known if first in names), None)
            for step in steps:
                if step.startswith("_"):
                    self._guard(value, step)
                if isinstance(value, types.ModuleType):
                    value = self._step(value, step)

    def _step(self, module, name):
        try:
            return self._guard(module, name)
        except AttributeError:
            # a column may have the name of a module
            return None


class Formatting(string.Formatter):
    """str.format with attributes through the guard."""

    def __init__(self, guard, text, method):
        self._guard = guard
        self._text = text
        self._method = method

    def __call__(self, *arguments, **options):
        if self._method == "format_map":
            return self.vformat(self._text, (), arguments[0])
        return self.vformat(self._text, arguments, options)

    def get_field(self, field_name: str, args: Any, kwargs: Any) -> Any:
        first, rest = _string.formatter_field_name_split(field_name)
        value = self.get_value(first, args, kwargs)
        for is_attribute, step in rest:
            value = self._guard(value, step) if is_attribute else value[step]
        return value, first
