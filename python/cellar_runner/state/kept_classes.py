"""keep(): code says how objects of a class are saved and loaded, where pickle cannot."""

from __future__ import annotations

import types
from typing import Any, Callable

from ..pristine import BUILTINS as __builtins__
from ..values.reprs import exact, guarded_str, is_a, qualified_name, type_name
from .lost_variables import LostVariable, short

# Types that snapshots save themselves.
_OWN = (
    (object, type(None), type(Ellipsis), type(NotImplemented), bool, int, float, complex, str)
    + (bytes, bytearray, memoryview, list, tuple, dict, set, frozenset, range, slice, property)
    + (types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.ModuleType)
    + (types.CodeType, types.CellType, staticmethod, classmethod)
)

_mro_of = type.__dict__["__mro__"].__get__
_module_of = type.__dict__["__module__"].__get__
_qualname_of = type.__dict__["__qualname__"].__get__


class Postponed(Exception):
    """An object that has to wait until everything is written that its load function may use."""


class KeptClass:
    def __init__(self, kind, save, load):
        self.kind = kind
        self.save = save
        self.load = load
        self.name = qualified_name(kind)
        self._key = _key(kind)

    def covers(self, kind: type) -> bool:
        """Whether it is this class, or an earlier definition of it."""
        return kind is self.kind or (self._key is not None and _key(kind) == self._key)

    def reduce(self, value: Any) -> tuple:
        try:
            saved = self.save(value)
        except Exception as error:
            reason = "an object of {}, whose save function failed: {}".format(self.name, _text(error))
            advice = "fix it and call keep({}, save, load) again".format(self.name)
            raise LostVariable(value, short(reason), short(advice)) from None
        return load, (self.name, self.load, saved)


class KeptClasses:
    def __init__(self):
        self._all = []

    def __iter__(self):
        return iter(list(self._all))

    def __len__(self):
        return len(self._all)

    def add(self, kind: type, save: Callable, load: Callable) -> None:
        self._all = [one for one in self._all if not one.covers(kind)] + [KeptClass(kind, save, load)]

    def for_type(self, kind: type) -> KeptClass | None:
        """The entry for the nearest of a class and its bases, or None."""
        if not self._all:
            return None
        for base in _mro_of(kind):
            for one in self._all:
                if one.covers(base):
                    return one
        return None

    def function(self) -> Callable:
        def keep(cls, save, load):
            """Say how objects of a class are kept in snapshots, where pickle cannot.

            cls: the class; its subclasses are kept the same way, unless they have their own.
            save: a function that takes an object and gives bytes, a str or other plain data.
            load: a function that takes that data and gives the object.

            Calling it again for a class replaces what was said before.

            >>> keep(Store, lambda store: store.path, lambda path: Store(path))
            """
            _check(cls, save, load)
            self.add(cls, save, load)

        keep.__module__, keep.__qualname__ = "cellar", "keep"
        return keep


def load(name: str, function: Callable, saved: Any) -> Any:
    """Calls a load function; if it fails, the variable is lost with a reason."""
    try:
        return function(saved)
    except MemoryError:
        raise
    except Exception as error:
        reason = "the load function of keep({}) failed: {}".format(name, _text(error))
        raise LostVariable(None, short(reason), "run the cell that made it again") from None


def _key(kind):
    """The name of a class defined in cells, or None for others."""
    module, name = _module_of(kind), exact(_qualname_of(kind))
    is_named = is_a(module, str) and module == "__main__" and "<locals>" not in name
    return name if is_named else None


def _check(cls, save, load):
    if not is_a(cls, type):
        text = "keep() takes a class first, not an object of {}: keep({}, save, load)"
        name = type_name(type(cls))
        raise TypeError(text.format(name, name))
    if issubclass(cls, type) or any(cls is own for own in _OWN):
        text = "keep() is not needed for {}, which snapshots save anyway: pass a class of your own"
        raise TypeError(text.format(type_name(cls)))
    for name, function in (("save", save), ("load", load)):
        if not callable(function):
            text = "keep() takes a function for {}, not {}: keep(cls, save, load)"
            raise TypeError(text.format(name, type_name(type(function))))


def _text(error):
    text = guarded_str(error)
    return "{}: {}".format(type_name(type(error)), text) if text else type_name(type(error))
