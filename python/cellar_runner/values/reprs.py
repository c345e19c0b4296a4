"""Text of values: plain repr where it is small, a bounded form where it would be huge."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from typing import Any

from ..pristine import BUILTINS as __builtins__

TEXT_LIMIT = 50_000
ELEMENT_LIMIT = 10_000
SHOWN_ELEMENTS = 1_000
SHOWN_STRING = 2_000
MAX_DEPTH = 20
NAME_LIMIT = 200
INT_BITS_LIMIT = 1_000_000

_type_name = type.__dict__["__name__"].__get__
_type_qualname = type.__dict__["__qualname__"].__get__
_type_module = type.__dict__["__module__"].__get__
_ATOMS = frozenset((float, bool, complex, type(None)))
_TEXTS = frozenset((str, bytes, bytearray))
_DICT_VIEWS: tuple = (type({}.keys()), type({}.values()), type({}.items()))

# keyed by the __repr__ in force: a subclass with its own __repr__ is not one of these
_BRACKETS: dict[Any, Any] = {
    list.__repr__: ("[", "]", list.__iter__, list.__len__),
    tuple.__repr__: ("(", ")", tuple.__iter__, tuple.__len__),
    set.__repr__: ("{", "}", set.__iter__, set.__len__),
    frozenset.__repr__: ("{", "}", frozenset.__iter__, frozenset.__len__),
    dict.__repr__: ("{", "}", dict.items, dict.__len__),
    defaultdict.__repr__: ("{", "}", dict.items, dict.__len__),
    OrderedDict.__repr__: ("{", "}", dict.items, dict.__len__),
    deque.__repr__: ("[", "]", deque.__iter__, deque.__len__),
}
for _view in _DICT_VIEWS:
    _BRACKETS[_view.__repr__] = ("[", "]", _view.__iter__, _view.__len__)
_UNNAMED = frozenset((list, tuple, set, dict))


def is_a(value: object, kind: Any) -> bool:
    """isinstance without calling the value's __class__, which may lie or raise."""
    return issubclass(type(value), kind)


def type_name(kind: type) -> str:
    """The class's own name, whatever its metaclass claims."""
    return exact(_type_name(kind))[:NAME_LIMIT] or "<unnamed>"


def qualified_name(kind: type) -> str:
    """module.qualname, without the module for builtins and cells."""
    name = exact(_type_qualname(kind))[:NAME_LIMIT] or "<unnamed>"
    module = _type_module(kind)
    if not is_a(module, str) or module in ("builtins", "__main__"):
        return name
    return exact(module)[:NAME_LIMIT] + "." + name


def exact(text: str) -> str:
    """A plain str without lone surrogates."""
    text = str.__str__(text)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        text = text.encode("utf-8", "backslashreplace").decode("utf-8")
    return text


def cap(text: str, limit: int = TEXT_LIMIT) -> str:
    """Head and tail of a long text, with a note about what is missing."""
    if len(text) <= limit:
        return text
    tail = limit // 4
    head = limit - tail
    left_out = len(text) - head - tail
    return "{}\n... {:,} characters left out ...\n{}".format(text[:head], left_out, text[-tail:])


def guarded_str(value: object) -> str | None:
    """str(value), or None if it fails; KeyboardInterrupt passes."""
    try:
        return exact(str(value))
    except KeyboardInterrupt:
        raise
    except BaseException:
        return None


def _failed(value, error):
    reason = type_name(type(error))
    detail = guarded_str(error)
    if detail:
        reason += ": " + cap(detail, 200)
    return "<{} object; its __repr__ raised {}>".format(type_name(type(value)), reason)


def guarded_repr(value: Any) -> str:
    """repr(value), or a note that it fails; KeyboardInterrupt passes."""
    if type(value) is int and value.bit_length() > INT_BITS_LIMIT:
        return "<int of {:,} bits>".format(value.bit_length())
    try:
        return exact(repr(value))
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        if is_a(value, int) and is_a(error, ValueError):
            return "<int of {:,} bits>".format(int.bit_length(value))
        return _failed(value, error)


def text_of(value: Any, limit: int = TEXT_LIMIT) -> str:
    """The text/plain of a value, at most about `limit` characters."""
    kind = type(value)
    if kind in _ATOMS:
        return repr(value)
    if (kind in _TEXTS or kind.__repr__ in _BRACKETS) and _oversized(value):
        parts: list[str] = []
        _write(value, parts, [limit], 0)
        return cap("".join(parts), limit)
    return cap(guarded_repr(value), limit)


def _oversized(value):
    elements = ELEMENT_LIMIT
    characters = 20 * TEXT_LIMIT
    stack = [value]
    while stack:
        item = stack.pop()
        kind = type(item)
        if kind in _TEXTS:
            characters -= len(item)
            if characters < 0:
                return True
            continue
        bracket = _BRACKETS.get(kind.__repr__)
        if bracket is None:
            continue
        elements -= bracket[3](item)
        if elements < 0:
            return True
        stack.extend(bracket[2](item))
    return False


def _write(value, parts, room, depth):
    """Appends a bounded text of value; room[0] is the number of characters left."""
    kind = type(value)
    bracket = _BRACKETS.get(kind.__repr__)
    if bracket is not None and kind not in _TEXTS:
        _write_container(value, kind, bracket, parts, room, depth)
        return
    if kind in _TEXTS and len(value) > SHOWN_STRING:
        shown = room[0] if depth == 0 else SHOWN_STRING
        text = "{}... {:,} more".format(exact(repr(value[:shown])), len(value) - shown)
    else:
        text = cap(guarded_repr(value), SHOWN_STRING)
    room[0] -= len(text)
    parts.append(text)


def _write_container(value, kind, bracket, parts, room, depth):
    opening, closing, iterate, length = bracket
    if kind not in _UNNAMED:
        opening, closing = type_name(kind) + "(" + opening, closing + ")"
    parts.append(opening)
    size = length(value)
    if depth >= MAX_DEPTH or room[0] <= 0:
        parts.append("..." + closing)
        return
    pairs = iterate is dict.items
    written = 0
    for item in iterate(value):
        if written >= SHOWN_ELEMENTS or room[0] <= 0:
            break
        if written:
            parts.append(", ")
        if pairs:
            _write(item[0], parts, room, depth + 1)
            parts.append(": ")
            item = item[1]
        _write(item, parts, room, depth + 1)
        room[0] -= 2
        written += 1
    if written < size:
        parts.append(", ... {:,} more".format(size - written))
    parts.append(closing)
