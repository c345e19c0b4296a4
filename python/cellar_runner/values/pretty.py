"""The text of a cell's value as IPython writes it, within bounds."""

from __future__ import annotations

import sys
from typing import Any

from ..pristine import BUILTINS as __builtins__
from .pretty_layout import MAX_ITEMS, MAX_WIDTH, Full, Layout
from .pretty_types import PRINTERS, as_repr, by_default
from .reprs import TEXT_LIMIT, cap, exact, is_a
from .reprs import text_of as on_one_line

# How much more than the limit is written, since the end of the text is shown too.
_PAST_LIMIT = 4
_SMALL_LENGTH = 30
_SMALL_DEPTH = 4
_INT_BITS = 300
_LIBRARY = "IPython.lib.pretty"
_PRECISION = "Precision must be int or format string, not {!r}"

_modules = sys.modules
_type_dict = type.__dict__["__dict__"].__get__
_type_mro = type.__dict__["__mro__"].__get__
_type_module = type.__dict__["__module__"].__get__
_type_name = type.__dict__["__name__"].__get__
_TEXTS = frozenset((str, bytes, bytearray))
_ATOMS = frozenset((bool, type(None), complex))
_CONTAINERS = frozenset((list, tuple, dict))


class _Settings:
    float_format = "%r"


_settings = _Settings()


def set_precision(text: object) -> str:
    """Digits or a %-format for floats, '' for the default; returns the format in use."""
    text = "" if text is None else str(text).strip()
    digits = None
    if "%" in text:
        try:
            text % 3.14159
        except Exception:
            raise ValueError(_PRECISION.format(text)) from None
        chosen = text
    elif text:
        try:
            digits = int(text)
        except ValueError:
            raise ValueError(_PRECISION.format(text)) from None
        if digits < 0:
            raise ValueError("int precision must be non-negative, not {}".format(digits))
        chosen = "%.{}f".format(digits)
    else:
        digits, chosen = 8, "%r"
    numpy = _modules.get("numpy")
    if numpy is not None and digits is not None:
        numpy.set_printoptions(precision=digits)
    _settings.float_format = chosen
    return chosen


def text_of(
    value: Any, limit: int = TEXT_LIMIT, asked: Any = None, max_width: int = MAX_WIDTH, max_seq_length: int = MAX_ITEMS
) -> str:
    """The text/plain of a value, at most about `limit` characters; what its methods raise passes.

    asked: an object with type_printers, deferred_printers and singleton_printers, which hold
    functions of a value, the printer and whether the value is being written already.
    """
    kind = type(value)
    if max_seq_length >= _SMALL_LENGTH and not _is_asked(asked):
        if kind in _ATOMS or (kind is int and value.bit_length() < _INT_BITS):
            return repr(value)
        if kind in _TEXTS:
            return on_one_line(value, limit)
        if kind in _CONTAINERS and _is_small(value, kind, _SMALL_DEPTH):
            text = repr(value)
            if len(text) <= max_width:
                return exact(text)
    printer = Printer(limit * _PAST_LIMIT, asked, max_width, max_seq_length)
    try:
        printer.pretty(value)
        printer.flush()
    except Full:
        text = exact(printer.written())[:limit]
        return text + "\n... the rest is left out: this is more than {:,} characters ...".format(limit)
    return cap(exact(printer.written()), limit)


def _is_asked(asked):
    return asked is not None and bool(
        asked.type_printers or asked.deferred_printers or asked.singleton_printers
    )


def _float(value):
    return repr(value) if _settings.float_format == "%r" else _settings.float_format % value


def _write_float(value, p, cycle):
    p.text(_settings.float_format % value)


def _is_small(value, kind, depth):
    """Whether a value is simple enough to be written as its repr if that fits on a line."""
    if len(value) > _SMALL_LENGTH or not depth:
        return False
    if kind is dict:
        for key in value:
            if type(key) is not str and type(key) is not int:
                return False
        value = value.values()
    for item in value:
        kind = type(item)
        if kind is str:
            if len(item) > MAX_WIDTH:
                return False
        elif kind is int:
            if item.bit_length() > _INT_BITS:
                return False
        elif kind is float:
            if _settings.float_format != "%r":
                return False
        elif kind not in _ATOMS and not (
            kind in _CONTAINERS and _is_small(item, kind, depth - 1)
        ):
            return False
    return True


_PRINTERS = dict(PRINTERS)
_PRINTERS[float] = _write_float


class Printer(Layout):
    """Passed to `_repr_pretty_` methods and registered functions."""

    verbose = False

    def __init__(self, room, asked=None, max_width=MAX_WIDTH, max_seq_length=MAX_ITEMS):
        super().__init__(room, max_width, "\n", max_seq_length)
        self.stack = []
        library = _modules.get(_LIBRARY)
        types, named, single = {}, {}, {}
        if asked is not None:
            types, named = asked.type_printers, asked.deferred_printers
            single = asked.singleton_printers
        self.type_pprinters = _merged(_PRINTERS, library, "_type_pprinters", types)
        self.deferred_pprinters = _merged({}, library, "_deferred_type_pprinters", named)
        self.singleton_pprinters = _merged({}, library, "_singleton_pprinters", single)
        self._is_plain = self.type_pprinters is _PRINTERS and not self.singleton_pprinters

    @property
    def output(self) -> Printer:
        """The stream, for methods that bypass the layout."""
        return self

    def pretty(self, obj: Any) -> None:
        kind = type(obj)
        if self._is_plain:
            if kind is str:
                self._atom(repr(obj) if len(obj) <= self.room else on_one_line(obj, self.room), 2)
                return
            if kind is float:
                self._atom(_float(obj), 1)
                return
            if kind in _ATOMS or (kind is int and obj.bit_length() < _INT_BITS):
                self._atom(repr(obj), 2)
                return
        identity = id(obj)
        stack = self.stack
        cycle = identity in stack
        stack.append(identity)
        self.begin_group()
        try:
            self._printer_of(obj, kind)(obj, self, cycle)
        finally:
            self.end_group()
            stack.pop()

    def _atom(self, text, groups):
        """Write what has no parts. Its groups matter only where the line is full: then they are
        among those from which one to break is chosen."""
        if not self._waiting or self.output_width + self.buffer_width + len(text) <= self.max_width:
            self.text(text)
            return
        for _ in range(groups):
            self.begin_group()
        self.text(text)
        for _ in range(groups):
            self.end_group()

    def _printer_of(self, obj, kind):
        singleton = self.singleton_pprinters.get(id(obj))
        if singleton is not None:
            return singleton
        types, deferred = self.type_pprinters, self.deferred_pprinters
        for cls in _type_mro(_class_of(obj, kind)):
            if cls in types:
                return types[cls]
            name = (_type_module(cls), _type_name(cls))
            if name in deferred:
                return deferred[name]
            members = _type_dict(cls)
            if "_repr_pretty_" in members:
                method = cls._repr_pretty_
                if callable(method):
                    return method
            if cls is not object and "__repr__" in members and callable(cls.__repr__):
                return as_repr
        return by_default

    def _enumerate(self, sequence):
        """As enumerate, but writes an ellipsis after the most that is shown."""
        most = self.max_seq_length
        for position, item in enumerate(sequence):
            if most and position >= most:
                self.text(",")
                self.breakable()
                self.text("...")
                return
            yield position, item


def _class_of(obj, kind):
    """What the object says it is: proxies claim another class."""
    try:
        claimed = obj.__class__
    except KeyboardInterrupt:
        raise
    except BaseException:
        return kind
    return claimed if is_a(claimed, type) else kind


def _merged(own, library, name, asked):
    """Our printers, overridden by those of libraries, then by those of the session."""
    added = {}
    if library is not None:
        for key, function in dict(getattr(library, name, ())).items():
            if getattr(function, "__module__", None) != _LIBRARY:
                added[key] = function
    added.update(asked)
    if not added:
        return own
    merged = dict(own)
    merged.update(added)
    return merged
