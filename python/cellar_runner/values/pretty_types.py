"""How the values of Python's own types are written, as IPython does it."""

from __future__ import annotations

import collections
import datetime
import inspect
import os
import re
import types
from itertools import islice
from typing import Any

from ..pristine import BUILTINS as __builtins__
from .reprs import INT_BITS_LIMIT, exact, is_a

_UNQUALIFIED = (None, "builtins", "exceptions", "__builtin__")
_FLAGS = "TEMPLATE IGNORECASE LOCALE MULTILINE DOTALL UNICODE VERBOSE DEBUG".split()
_type_dict = type.__dict__["__dict__"].__get__
_type_mro = type.__dict__["__mro__"].__get__
_signature = inspect.signature


def as_repr(obj: Any, p: Any, cycle: bool) -> None:
    """The value's own repr, with its lines indented."""
    if is_a(obj, int) and int.bit_length(obj) > INT_BITS_LIMIT:
        p.text("<int of {:,} bits>".format(int.bit_length(obj)))
        return
    # a subclass of str may lie about itself
    text = exact(repr(obj))
    lines = (text if len(text) <= p.room else text[: p.room + 1]).splitlines()
    p.begin_group()
    for number, line in enumerate(lines):
        if number:
            p.break_()
        p.text(line)
    p.end_group()


def by_default(obj: Any, p: Any, cycle: bool) -> None:
    kind = type(obj)
    if getattr(kind, "__repr__", None) is not object.__repr__:
        as_repr(obj, p, cycle)
        return
    p.begin_group(1, "<")
    p.pretty(kind)
    p.text(" at 0x{:x}".format(id(obj)))
    if cycle:
        p.text(" ...")
    p.end_group(1, ">")


def _open(p, start, items, write):
    """Writes the items of a group, which the caller ends."""
    p.begin_group(len(start), start)
    for number, item in p._enumerate(items):
        if number:
            p.text(",")
            p.breakable()
        write(item)


def _sequence(start, end):
    def write(obj, p, cycle):
        if cycle:
            p.text(start + "..." + end)
            return
        _open(p, start, obj, p.pretty)
        if is_a(obj, tuple) and len(obj) == 1:
            p.text(",")
        p.end_group(len(start), end)

    return write


def _sorted(items):
    items = list(items)
    for key in (None, str):
        try:
            return sorted(items, key=key)
        except KeyboardInterrupt:
            raise
        except Exception:
            continue
    return items


def _set(start, end):
    write_items = _sequence(start, end)

    def write(obj, p, cycle):
        if not cycle and len(obj) == 0:
            p.text(type(obj).__name__ + "()")
        else:
            many = p.max_seq_length and len(obj) >= p.max_seq_length
            write_items(obj if cycle or many else _sorted(obj), p, cycle)

    return write


def _mapping(start, end):
    def write(obj, p, cycle):
        if cycle:
            p.text("{...}")
            return

        def write_pair(key):
            p.pretty(key)
            p.text(": ")
            p.pretty(obj[key])

        _open(p, start, obj.keys(), write_pair)
        p.end_group(len(start), end)

    return write


class _Raw:
    __slots__ = ("_text",)

    def __init__(self, text):
        self._text = text

    def _repr_pretty_(self, p, cycle):
        p.text(self._text)


class _Call:
    """A call as source: name(argument, name=argument)."""

    __slots__ = ("_arguments", "_name", "_named")

    def __init__(self, name, arguments=(), named=None):
        self._name, self._arguments, self._named = name, arguments, named or {}

    def _repr_pretty_(self, p, cycle):
        opening = self._name + "("
        p.begin_group(len(opening), opening)
        arguments = [("", argument) for argument in self._arguments]
        arguments += [(name + "=", argument) for name, argument in self._named.items()]
        for number, (name, argument) in enumerate(arguments):
            if number:
                p.text(",")
                p.breakable()
            if name:
                p.begin_group(len(name), name)
            p.pretty(argument)
            if name:
                p.end_group(len(name))
        p.end_group(len(opening), ")")


_DOTS = (_Raw("..."),)


def _first(items, p):
    """The items that are shown, plus one if there are more."""
    most = p.max_seq_length
    return list(islice(items, most + 1) if most else items)


def _constructed(parts):
    def write(obj, p, cycle):
        name = type(obj).__name__
        if cycle:
            p.pretty(_Call(name, _DOTS))
            return
        p.pretty(_Call(name, *parts(obj, p)))

    return write


def _parts_of_deque(obj, p):
    named = {} if obj.maxlen is None else {"maxlen": obj.maxlen}
    return (_first(obj, p),), named


def _parts_of_counter(obj, p):
    most = p.max_seq_length
    common = obj.most_common(most + 1 if most and len(obj) > most else None)
    return ((dict(common),) if common else (),)


def _namespace(obj, p, cycle):
    p.pretty(_Call("namespace", _DOTS) if cycle else _Call("namespace", (), dict(obj.__dict__)))


def _super(obj, p, cycle):
    p.begin_group(8, "<super: ")
    p.pretty(obj.__thisclass__)
    p.text(",")
    p.breakable()
    p.pretty(obj.__self__)
    p.end_group(8, ">")


def _pattern(obj, p, cycle):
    literal = repr(obj.pattern)
    literal = "rb" + literal[1:] if literal.startswith("b") else "r" + literal
    arguments = [_Raw(literal.replace("\\\\", "\\"))]
    if obj.flags:
        names = ["re." + name for name in _FLAGS if obj.flags & getattr(re, name, 0)]
        arguments.append(_Raw("|".join(names)))
    p.pretty(_Call("re.compile", arguments))


def _type(obj, p, cycle):
    for kind in _type_mro(type(obj)):
        if "__repr__" in _type_dict(kind):
            if kind is not type:
                as_repr(obj, p, cycle)
                return
            break
    try:
        module = obj.__module__
    except Exception:
        module = None
    try:
        name = obj.__qualname__
        if not is_a(name, str):
            raise TypeError
    except Exception:
        name = obj.__name__
        if not is_a(name, str):
            name = "<unknown type>"
    p.text(name if module in _UNQUALIFIED else "{}.{}".format(module, name))


def _function(obj, p, cycle):
    name = getattr(obj, "__qualname__", None) or obj.__name__
    module = obj.__module__
    if module and module not in _UNQUALIFIED:
        name = "{}.{}".format(module, name)
    try:
        name += str(_signature(obj))
    except ValueError:
        pass
    p.text("<function {}>".format(name))


def _exception(obj, p, cycle):
    kind = type(obj)
    name = getattr(kind, "__qualname__", kind.__name__)
    if kind.__module__ not in _UNQUALIFIED:
        name = "{}.{}".format(kind.__module__, name)
    p.pretty(_Call(name, tuple(getattr(obj, "args", ()))))


PRINTERS = {
    tuple: _sequence("(", ")"),
    list: _sequence("[", "]"),
    dict: _mapping("{", "}"),
    set: _set("{", "}"),
    frozenset: _set("frozenset({", "})"),
    super: _super,
    type(re.compile("")): _pattern,
    type: _type,
    types.FunctionType: _function,
    types.BuiltinFunctionType: _function,
    types.SimpleNamespace: _namespace,
    BaseException: _exception,
    type(os.environ): _mapping("environ{", "}"),
    types.MappingProxyType: _mapping("mappingproxy({", "})"),
    collections.defaultdict: _constructed(lambda obj, p: ((obj.default_factory, dict(_first(obj.items(), p))),)),
    collections.OrderedDict: _constructed(lambda obj, p: ((_first(obj.items(), p),) if len(obj) else (),)),
    collections.deque: _constructed(_parts_of_deque),
    collections.Counter: _constructed(_parts_of_counter),
    collections.UserList: _constructed(lambda obj, p: ((obj.data,),)),
}
for _kind in (int, float, str, bytes, types.MethodType, slice, range):
    PRINTERS[_kind] = as_repr
PRINTERS[datetime.datetime] = PRINTERS[datetime.timedelta] = as_repr
