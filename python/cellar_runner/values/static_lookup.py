"""Looks at objects without running their code: no properties, no __getattr__, no __getitem__."""

from __future__ import annotations

import ast
import types
from typing import Any, Iterable, Mapping

from ..pristine import BUILTINS as __builtins__
from .reprs import is_a

_mro = type.__dict__["__mro__"].__get__
_class_dict = type.__dict__["__dict__"].__get__
_module_dict = vars(types.ModuleType)["__dict__"].__get__
_MISSING = object()
# What C code reads out of an object; everything else with a __get__ may run Python.
_READ_BY_C = (types.MemberDescriptorType, types.GetSetDescriptorType)
_PLAIN_DIRS = tuple(_class_dict(kind)["__dir__"] for kind in (object, type, types.ModuleType))
# An empty value stands in for a literal.
_LITERALS = {
    ast.List: list,
    ast.ListComp: list,
    ast.Dict: dict,
    ast.DictComp: dict,
    ast.Set: set,
    ast.SetComp: set,
    ast.Tuple: tuple,
    ast.JoinedStr: str,
}


class Unknown(Exception):
    """The value cannot be told without running code."""


def value_of(expression: str, scopes: Iterable[Mapping[str, Any]]) -> Any:
    """The value of an expression of names, attributes, constant subscripts and literals."""
    try:
        tree = ast.parse(expression.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise Unknown from None
    return _evaluate(tree.body, scopes)


def _evaluate(node, scopes):
    kind = type(node)
    if kind is ast.Constant:
        return node.value
    if kind in _LITERALS:
        return _LITERALS[kind]()
    if kind is ast.Name:
        for scope in scopes:
            if node.id in scope:
                return scope[node.id]
    elif kind is ast.Attribute:
        return attribute_of(_evaluate(node.value, scopes), node.attr)
    elif kind is ast.Subscript:
        return _element(_evaluate(node.value, scopes), node.slice)
    raise Unknown


def _element(container, index):
    # Python 3.8 wraps it.
    index = index.value if type(index).__name__ == "Index" else index
    if type(container) not in (list, tuple, dict):
        raise Unknown
    try:
        return container[ast.literal_eval(index)]
    except (ValueError, TypeError, LookupError):
        raise Unknown from None


def attribute_of(value: Any, name: str) -> Any:
    """An attribute; Unknown if code would have to compute it."""
    if is_a(value, types.ModuleType):
        found = _module_dict(value).get(name, _MISSING)
    else:
        found = _static(value, name)
    if found is _MISSING:
        raise Unknown
    kind = type(found)
    if kind in _READ_BY_C and not is_a(value, type):
        return found.__get__(value, type(value))
    if kind in (staticmethod, classmethod):
        return found.__func__
    is_function = kind in (types.FunctionType, types.BuiltinFunctionType, types.MethodType)
    if not is_function and any("__get__" in _class_dict(base) for base in _mro(kind)):
        if kind in (types.MethodDescriptorType, types.WrapperDescriptorType):
            return found
        raise Unknown
    return found


def _static(value, name):
    """As inspect.getattr_static, which calls metaclasses."""
    by_class = _looked_up(type(value), name)
    own = _looked_up(value, name) if is_a(value, type) else dict.get(_own_dict(value), name, _MISSING)
    is_first = any("__set__" in _class_dict(base) for base in _mro(type(by_class)))
    return by_class if own is _MISSING or is_first else own


def _looked_up(kind, name):
    for base in _mro(kind):
        if name in _class_dict(base):
            return _class_dict(base)[name]
    return _MISSING


def names_of(value: Any) -> set:
    if is_a(value, types.ModuleType):
        return set(_module_dict(value))
    names = set()
    for base in _mro(value if is_a(value, type) else type(value)):
        names.update(_class_dict(base))
    if not is_a(value, type):
        names.update(list(dict.keys(_own_dict(value))))
    return names


def _own_dict(value):
    descriptor = _looked_up(type(value), "__dict__")
    if type(descriptor) is not types.GetSetDescriptorType:
        return {}
    try:
        own = descriptor.__get__(value, type(value))
    except (AttributeError, TypeError):
        return {}
    return own if is_a(own, dict) else {}


def has_own_dir(value: Any) -> bool:
    """Whether dir() of it would run the user's code."""
    if is_a(value, types.ModuleType) and "__dir__" in _module_dict(value):
        return True
    own = _looked_up(type(value), "__dir__")
    return not any(own is plain for plain in (*_PLAIN_DIRS, _MISSING))
