"""Takes apart what pickle cannot: functions and classes of cells, and what they are made of."""

from __future__ import annotations

import abc
import enum
import functools
import marshal
import sys
import types
import typing
import weakref
from typing import Any

from ..pristine import BUILTINS as __builtins__
from ..values.reprs import is_a
from . import builders, library_reducers, lost_variables
from .kept_classes import Postponed

HEAP_TYPE = 1 << 9
IMMUTABLE_TYPE = 1 << 8

_modules = sys.modules
_dump_code = marshal.dumps
_members_of = type.__dict__["__dict__"].__get__
_bases_of = type.__dict__["__bases__"].__get__
_flags_of = type.__dict__["__flags__"].__get__
_name_of = type.__dict__["__name__"].__get__
_qualname_of = type.__dict__["__qualname__"].__get__
_module_of = type.__dict__["__module__"].__get__
_FunctionType, _ModuleType = types.FunctionType, types.ModuleType
_OWN_DESCRIPTORS = (types.MemberDescriptorType, types.GetSetDescriptorType)
_CACHED = type(functools.lru_cache(None)(int))
_BUILTIN_TYPES = {
    id(kind): name for name, kind in vars(types).items() if type(kind) is type
}
# Needed to create a class; the rest is set afterwards and may refer to the class.
_CORE = (
    "__module__",
    "__qualname__",
    "__slots__",
    "__orig_bases__",
    "__firstlineno__",
    "__static_attributes__",
)
_DROPPED = ("__dict__", "__weakref__", "_abc_impl", "__annotate_func__", "__annotations_cache__")
_ENUM_OWN = frozenset(
    "_member_names_ _member_map_ _member_type_ _value2member_map_ _unhashable_values_"
    " _unhashable_values_map_ _hashable_values_ __new__ _flag_mask_ _all_bits_ _singles_mask_"
    " _inverted_ __reduce_ex__".split()
)
_SLOTS = ("__qualname__", "__module__", "__doc__", "__defaults__", "__kwdefaults__")


def is_importable(value: Any, module: Any, qualname: Any) -> bool:
    """Whether a module other than __main__ has this very value under its name."""
    if not is_a(module, str) or not is_a(qualname, str) or module == "__main__":
        return False
    found = _modules.get(module)
    if not is_a(found, _ModuleType):
        return False
    try:
        for part in qualname.split("."):
            found = getattr(found, part)
    except Exception:
        return False
    return found is value


class Reducers:
    """Chooses for each class how its values are pickled."""

    def __init__(self, namespace, note, kept_classes=None):
        self._namespace = namespace
        self._note = note
        self._kept_classes = kept_classes
        # Objects of keep() come last: their load functions use what comes before.
        self.postpones = bool(kept_classes)
        self._kinds = {}
        self._table = {
            _FunctionType: self._function,
            _ModuleType: self._module,
            types.CodeType: lambda code: (builders.make_code, (_dump_code(code),)),
            types.CellType: _cell,
            types.MethodType: lambda method: (types.MethodType, (method.__func__, method.__self__)),
            staticmethod: lambda wrapper: (staticmethod, (wrapper.__func__,)),
            classmethod: lambda wrapper: (classmethod, (wrapper.__func__,)),
            property: lambda made: (property, (made.fget, made.fset, made.fdel, made.__doc__)),
            functools.cached_property: _cached_property,
            _CACHED: _cached_function,
            memoryview: _view,
            types.MappingProxyType: lambda proxy: (types.MappingProxyType, (dict(proxy),)),
            typing.TypeVar: _type_variable,
            weakref.WeakKeyDictionary: _weak_items,
            weakref.WeakValueDictionary: _weak_items,
            weakref.WeakSet: lambda members: (builders.make_weak, ("WeakSet", list(members))),
        }

    def __call__(self, value):
        """A pickle reduction, or NotImplemented for pickle's default."""
        kind = type(value)
        known = self._kinds.get(id(kind))
        if known is None:
            # Keeps the class alive, so that no other gets its id.
            known = self._kinds[id(kind)] = (kind, self._choose(kind))
        return NotImplemented if known[1] is None else known[1](value)

    def _choose(self, kind):
        self._note(_module_of(kind), None)
        for exact in self._table:
            if exact is kind:
                return self._table[exact]
        if issubclass(kind, type):
            return self._class
        kept = self._kept_classes.for_type(kind) if self._kept_classes else None
        if kept is not None:
            return lambda value: self._reduce_kept(kept, value)
        return library_reducers.for_type(kind) or lost_variables.by_type(kind)

    def _reduce_kept(self, kept, value):
        if self.postpones:
            raise Postponed
        return kept.reduce(value)

    def _function(self, function):
        module = function.__module__
        if is_importable(function, module, function.__qualname__):
            self._note(module, None)
            return NotImplemented
        code = function.__code__
        self._note(None, code.co_filename)
        home = function.__globals__
        if home is not self._namespace:
            name = dict.get(home, "__name__")
            owner = _modules.get(name) if type(name) is str else None
            if is_a(owner, _ModuleType) and owner.__dict__ is home:
                self._note(name, None)
                home = name
        slots = {name: getattr(function, name) for name in _SLOTS}
        slots["__annotations__"] = _annotations(function)
        if getattr(function, "__type_params__", ()):
            slots["__type_params__"] = function.__type_params__
        made = (_dump_code(code), home, function.__name__, function.__closure__)
        state = (dict(function.__dict__), slots)
        return builders.make_function, made, state, None, None, builders.fill_function

    def _module(self, module):
        name = module.__name__
        if type(name) is str and _modules.get(name) is module and module.__spec__ is not None:  # type: ignore[union-attr]
            self._note(name, None)
            return builders.import_module, (name,)
        advice = "import it from a file in /workspace instead"
        raise lost_variables.LostVariable(module, "a module that was made at run time", advice)

    def _class(self, cls):
        builtin = _BUILTIN_TYPES.get(id(cls))
        if builtin is not None and not is_importable(cls, _module_of(cls), _qualname_of(cls)):
            return getattr, (types, builtin)
        module = _module_of(cls)
        by_value = _flags_of(cls) & HEAP_TYPE and not _flags_of(cls) & IMMUTABLE_TYPE
        if not by_value or is_importable(cls, module, _qualname_of(cls)):
            self._note(module if is_a(module, str) else None, None)
            return NotImplemented
        self._note(None, cls)
        members = dict(_members_of(cls))
        if issubclass(type(cls), enum.EnumMeta):
            return _enumeration(cls, members)
        core = {name: members.pop(name) for name in _CORE if name in members}
        core["__qualname__"] = _qualname_of(cls)
        registered = _registered(cls) if issubclass(type(cls), abc.ABCMeta) else []
        made = (type(cls), _name_of(cls), _bases_of(cls), core)
        state = (_body(cls, members), registered)
        return builders.make_class, made, state, None, None, builders.fill_class


def _annotations(thing):
    try:
        return thing.__annotations__
    except (NameError, AttributeError, TypeError):
        return {}


def _body(cls, members):
    body = {}
    for name, value in members.items():
        own = is_a(value, _OWN_DESCRIPTORS) and value.__objclass__ is cls
        if not own and name not in _DROPPED:
            body[name] = value
    if "__annotate_func__" in members:
        body["__annotations__"] = _annotations(cls)
    return body


def _registered(cls):
    found = [reference() for reference in abc._get_dump(cls)[0]]  # type: ignore[attr-defined]
    return [kind for kind in found if kind is not None]


def _enumeration(cls, members):
    names = list(cls._member_map_)
    values = {name: cls._member_map_[name]._value_ for name in names}
    core = {"__module__": _module_of(cls), "__qualname__": _qualname_of(cls)}
    body = {
        name: value
        for name, value in _body(cls, members).items()
        if name not in _ENUM_OWN and name not in values and name not in core
    }
    attributes = {}
    for name in names:
        own = dict(cls._member_map_[name].__dict__)
        own.pop("__objclass__", None)
        attributes[name] = own
    made = (type(cls), _name_of(cls), _bases_of(cls), core, values)
    return builders.make_enum, made, (body, attributes), None, None, builders.fill_enum


def _cell(cell):
    try:
        content = cell.cell_contents
    except ValueError:
        return builders.make_cell, ()
    return builders.make_cell, (), (content,), None, None, builders.fill_cell


def _cached_property(value):
    attributes = dict(value.__dict__)
    attributes.pop("lock", None)
    return builders.make_cached_property, (attributes.pop("func"), attributes)


def _cached_function(cached):
    attributes = dict(cached.__dict__)
    if is_importable(cached, attributes.get("__module__"), attributes.get("__qualname__")):
        return NotImplemented
    function = cached.__wrapped__
    if is_importable(cached, function.__module__, function.__qualname__):
        return NotImplemented
    maximum = cached.cache_info().maxsize
    typed = cached.cache_parameters()["typed"] if hasattr(cached, "cache_parameters") else False
    return builders.make_cached_function, (function, maximum, typed, attributes)


def _view(view):
    data = view.tobytes()
    if not view.readonly:
        data = bytearray(data)
    return builders.make_view, (data, view.format, view.shape)


def _type_variable(variable):
    name = variable.__name__
    if is_importable(variable, variable.__module__, name):
        return getattr, (_modules[variable.__module__], name)
    parts = (variable.__constraints__, variable.__bound__)
    variance = (variable.__covariant__, variable.__contravariant__)
    return builders.make_type_variable, (name,) + parts + variance


def _weak_items(mapping):
    return builders.make_weak, (type(mapping).__name__, dict(mapping.items()))
