"""What is known of an object: %pinfo, %pdoc, %pdef, %psource, %pfile."""

from __future__ import annotations

import inspect
import sys
from typing import TYPE_CHECKING

from ....pristine import BUILTINS as __builtins__
from ....values.reprs import cap
from ..inspect_name import TEXT_LIMIT, object_info

if TYPE_CHECKING:
    from ..dispatch import Commands

_MISSING = object()


def _found(commands, rest):
    name = rest.strip().rstrip("?")
    try:
        return name, commands.resolve(name)
    except Exception:
        print("Object `{}` not found.".format(name))
        return name, _MISSING


def pinfo(commands: Commands, rest: str) -> None:
    """%pinfo name"""
    print(object_info(rest.strip(), False, commands.namespace, commands.namespace))


def pinfo2(commands: Commands, rest: str) -> None:
    """%pinfo2 name"""
    print(object_info(rest.strip(), True, commands.namespace, commands.namespace))


def pdoc(commands: Commands, rest: str) -> None:
    """%pdoc name"""
    name, value = _found(commands, rest)
    if value is not _MISSING:
        text = inspect.getdoc(value)
        print(cap(text, TEXT_LIMIT) if text else "No documentation found for {}".format(name))


def pdef(commands: Commands, rest: str) -> None:
    """%pdef name"""
    name, value = _found(commands, rest)
    if value is _MISSING:
        return
    if not callable(value):
        print("Object is not callable.")
        return
    try:
        sys.stdout.write(" {}{} ".format(name, inspect.signature(value)))
    except (TypeError, ValueError):
        print("No definition header found for {}".format(name))


def psource(commands: Commands, rest: str) -> None:
    """%psource name"""
    name, value = _found(commands, rest)
    if value is _MISSING:
        return
    for subject in (value, type(value)):
        try:
            print(cap(inspect.getsource(subject), TEXT_LIMIT), end="")
            return
        except (OSError, TypeError):
            continue
    print("No source found for {}".format(name))


def pfile(commands: Commands, rest: str) -> None:
    """%pfile name"""
    name, value = _found(commands, rest)
    if value is _MISSING:
        return
    try:
        with open(inspect.getsourcefile(value) or "", encoding="utf-8") as source:
            print(cap(source.read(), TEXT_LIMIT), end="")
    except (OSError, TypeError):
        print("No file found for {}".format(name))


def tb(commands: Commands, _rest: str) -> None:
    """%tb: the last error again"""
    described = commands.last_error
    if described is None:
        print("No traceback available to show.")
    else:
        sys.stderr.write(described + "\n")
