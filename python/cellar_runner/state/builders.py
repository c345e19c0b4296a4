"""Makes again what a snapshot holds by value: functions, classes and the parts they are made of."""

from __future__ import annotations

import abc
import functools
import importlib
import marshal
import sys
import types
import typing
import weakref
from typing import Any, Callable, Sequence

from ..pristine import BUILTINS as __builtins__

_modules = sys.modules
_import = importlib.import_module
_load_code = marshal.loads
_FunctionType, _CellType = types.FunctionType, types.CellType
_set_attribute = type.__setattr__
_members_of = type.__dict__["__dict__"].__get__
_HOOK = "__init_subclass__"


def import_module(name: str) -> types.ModuleType:
    module = _modules.get(name)
    return _import(name) if module is None else module


def make_code(data: bytes) -> types.CodeType:
    return _load_code(data)


def make_function(code: bytes, home: Any, name: str, closure: tuple | None) -> types.FunctionType:
    """A function whose globals are a live namespace: a dict, or a module's."""
    if type(home) is str:
        home = vars(import_module(home))
    return _FunctionType(_load_code(code), home, name, None, closure)


def fill_function(function: types.FunctionType, state: tuple) -> None:
    attributes, slots = state
    function.__dict__.update(attributes)
    for name, value in slots.items():
        setattr(function, name, value)


def make_cell() -> types.CellType:
    return _CellType()


def fill_cell(cell: types.CellType, state: tuple) -> None:
    cell.cell_contents = state[0]


def _quiet(cls, **_options):
    pass


def make_class(meta: type, name: str, bases: tuple, core: dict) -> type:
    """An empty class; its metaclass and bases were notified when it was first made."""
    hooked = []
    for base in bases:
        for kind in base.__mro__:
            if kind.__module__ == "__main__" and _HOOK in _members_of(kind):
                hooked.append((kind, _members_of(kind)[_HOOK]))
                _set_attribute(kind, _HOOK, classmethod(_quiet))
    try:
        new = abc.ABCMeta.__new__ if issubclass(meta, abc.ABCMeta) else type.__new__
        return new(meta, name, bases, core)
    finally:
        for kind, hook in reversed(hooked):
            _set_attribute(kind, _HOOK, hook)


def fill_class(cls: Any, state: tuple) -> None:
    body, registered = state
    for name, value in body.items():
        _set_attribute(cls, name, value)
    for kind in registered:
        abc.ABCMeta.register(cls, kind)


def make_enum(meta: Any, name: str, bases: tuple, core: dict, members: dict) -> type:
    body = meta.__prepare__(name, bases)
    for key, value in list(core.items()) + list(members.items()):
        body[key] = value
    return meta.__new__(meta, name, bases, body)


def fill_enum(cls: Any, state: tuple) -> None:
    body, members = state
    fill_class(cls, (body, ()))
    for name, attributes in members.items():
        cls._member_map_[name].__dict__.update(attributes)


def make_view(data: Any, form: Any, shape: Sequence[int]) -> memoryview:
    view = memoryview(data)
    return view if (form, tuple(shape)) == ("B", (len(data),)) else view.cast(form, list(shape))


def make_cached_function(function: Callable, maximum: int | None, typed: bool, attributes: dict) -> Any:
    cached = functools.lru_cache(maximum, typed)(function)
    cached.__dict__.update(attributes)
    return cached


def make_cached_property(function: Callable, attributes: dict) -> functools.cached_property:
    made = functools.cached_property(function)
    made.__dict__.update(attributes)
    return made


def make_weak(kind: str, items: Any) -> Any:
    return getattr(weakref, kind)(items)


def make_type_variable(name: str, constraints: tuple, bound: Any, covariant: bool, contravariant: bool) -> Any:
    made = typing.TypeVar(  # type: ignore[misc]
        name, *constraints, bound=bound, covariant=covariant, contravariant=contravariant
    )
    made.__module__ = "__main__"
    return made


# Snapshots refer to them by name.
BUILDERS = [value for name, value in globals().items() if name.startswith(("make_", "fill_", "import_module"))]
