"""State outside the variables of a session: which of it a call touches, and whether two calls meet there."""

from __future__ import annotations

import os
import re
from typing import Any, Mapping, NamedTuple

from ...pristine import BUILTINS as __builtins__
from .facts import EVERYTHING, ToolFacts

FILE = "file"
LONGEST_VALUE = 4096
# The value of an argument that only the call itself will tell.
UNKNOWN = object()

_placeholders = re.compile(r"\{(\w+)\}")
_realpath, _join = os.path.realpath, os.path.join


class Resource(NamedTuple):
    """`value` is None where it is unknown, which means all of the kind."""

    kind: str
    value: str | None
    is_prefix: bool = False


class Given(NamedTuple):
    """The arguments of a call by name, as far as they are known; `is_whole`: there are no others."""

    arguments: Mapping[str, Any]
    is_whole: bool


def resources(templates: tuple[str, ...], given: Given, facts: ToolFacts) -> tuple[Resource, ...]:
    found = (_filled(template, given, facts) for template in templates)
    return tuple(one for one in found if one is not None)


def meet(one: Resource, other: Resource) -> bool:
    if EVERYTHING in (one.kind, other.kind):
        return True
    if one.kind != other.kind:
        return False
    if one.value is None or other.value is None or one.value == other.value:
        return True
    return _covers(one, other.value) or _covers(other, one.value)


def _covers(one, value):
    if one.is_prefix and value.startswith(one.value):
        return True
    # A folder is touched with what lies in it.
    return one.kind == FILE and value.startswith(one.value.rstrip("/") + "/")


def _filled(template, given, facts):
    """The resource that a template stands for in a call; None if the call does not touch it."""
    kind, separator, rest = template.partition(":")
    if "{" in kind:
        # Without a kind, nothing tells it apart from anything else.
        return Resource(EVERYTHING, None)
    if not separator or not rest:
        return Resource(kind, None)
    is_prefix = rest.endswith("*")
    parts, end = [], 0
    for place in _placeholders.finditer(rest):
        name = place.group(1)
        fallback = facts.defaults.get(name, UNKNOWN) if given.is_whole else UNKNOWN
        value = given.arguments.get(name, fallback)
        if value is None:
            return None
        text = _text(value)
        if text is None:
            return Resource(kind, None)
        parts += [rest[end : place.start()], text]
        end = place.end()
    value = "".join(parts) + (rest[end:-1] if is_prefix else rest[end:])
    if kind == FILE:
        value = _path(value, facts.folder)
    return Resource(kind, value, is_prefix)


def _text(value):
    if type(value) is str and len(value) <= LONGEST_VALUE:
        return value
    return str(value) if type(value) is int and value.bit_length() <= 64 else None


def _path(value, folder):
    """Without links, so that two names of a file are seen to be one."""
    if "\0" in value or value.startswith("~"):
        return None
    try:
        return _realpath(_join(folder, value))
    except (OSError, ValueError):
        return None
