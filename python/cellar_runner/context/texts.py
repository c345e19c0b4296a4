"""The texts that a value holds: its lines, or each value of its lists and dicts with its place."""

from __future__ import annotations

import datetime
import numbers
import operator
from typing import Any, Iterator

from ..pristine import BUILTINS as __builtins__
from ..values.reprs import guarded_repr, guarded_str, is_a, type_name

BLOCK = 1 << 16

_index = operator.index
_CONTAINERS = (list, tuple, dict)
_LEAVES = (numbers.Number, type(None), datetime.date, datetime.time, datetime.timedelta)


class Record(dict):
    """A dict whose keys can also be read as attributes."""

    __slots__ = ()

    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            message = "{} has {}; not {!r}"
            kind = type_name(type(self))
            raise AttributeError(message.format(kind, ", ".join(self), name)) from None


def one_text(value: object, function: str) -> str:
    """The value as a plain str; a TypeError says what the function expects."""
    if is_a(value, str):
        return str.__str__(value)
    message = "{}() reads one str, not {}".format(function, type_name(type(value)))
    raise TypeError(message + _advice(value, "pass one of its texts, or loop over them"))


def _advice(value, for_containers):
    if is_a(value, (bytes, bytearray)):
        return ": decode it first, as in value.decode()"
    if is_a(value, _CONTAINERS):
        return ": " + for_containers
    return ": make it a str first"


def whole_number(value: Any, name: str) -> int:
    """The value as an int; a TypeError names the argument."""
    try:
        return _index(value)
    except TypeError:
        message = "{} must be a whole number, not {}: use int(...) or //"
        raise TypeError(message.format(name, type_name(type(value)))) from None


def leaves(value: Any) -> Iterator[tuple[list, str]]:
    """(path, text) of every text and number in a value; dict keys are only in paths."""
    if not is_a(value, _CONTAINERS):
        yield [], _leaf(value, [])
        return
    path: list = []
    opened = [value]
    identities = {id(value)}
    entries = [_entries(value)]
    while entries:
        for key, item in entries[-1]:
            if not is_a(item, _CONTAINERS):
                yield path + [key], _leaf(item, path + [key])
            elif id(item) not in identities:
                path.append(key)
                opened.append(item)
                identities.add(id(item))
                entries.append(_entries(item))
                break
        else:
            entries.pop()
            identities.discard(id(opened.pop()))
            del path[-1:]


def _entries(container):
    return iter(container.items()) if is_a(container, dict) else enumerate(container)


def _leaf(value, path):
    if is_a(value, str):
        return str.__str__(value)
    if value is None or value is True or value is False:
        return "null" if value is None else "true" if value else "false"
    if is_a(value, _LEAVES):
        text = guarded_str(value)
        return guarded_repr(value) if text is None else text
    place = " at " + place_of(path) if path else ""
    message = "cannot read the text of a {}{}".format(type_name(type(value)), place)
    raise TypeError(message + _advice(value, ""))


def place_of(path: list) -> str:
    """A path as subscripts, such as [3]['title']."""
    return "".join("[{}]".format(guarded_repr(key)) for key in path)


def lines(text: str) -> Iterator[tuple[int, int, int]]:
    """(number, start, end) of each line, from 1, without its LF or CRLF."""
    number = start = 0
    while start < len(text):
        number += 1
        end, following = _line_end(text, start)
        yield number, start, end
        start = following


def _line_end(text, start):
    stop = text.find("\n", start)
    if stop < 0:
        return len(text), len(text)
    return (stop - 1 if stop > start and text[stop - 1] == "\r" else stop), stop + 1


def count_of_lines(text: str) -> int:
    """A last line without a line break counts too."""
    return text.count("\n") + (1 if text and not text.endswith("\n") else 0)


def line_at(text: str, number: int) -> str | None:
    to_skip = number - 1
    start = 0
    while to_skip > 0 and start < len(text):
        breaks = text.count("\n", start, start + BLOCK)
        if breaks >= to_skip:
            break
        to_skip -= breaks
        start += BLOCK
    for _ in range(to_skip):
        start = text.find("\n", start) + 1
        if start == 0:
            return None
    return text[start : _line_end(text, start)[0]] if start < len(text) else None
