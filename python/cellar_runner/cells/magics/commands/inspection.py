"""What is known of an object: `name?`, %pinfo, %pdoc, %pdef, %psource, %pfile."""

from __future__ import annotations

import inspect
import sys
from typing import Any, Mapping

from ....pristine import BUILTINS as __builtins__
from ....values.reprs import cap, qualified_name, text_of
from ..dispatch import Commands

VALUE_LIMIT = 500
TEXT_LIMIT = 20_000
_MISSING = object()


def object_info(name: str, with_source: bool, globals_: dict[str, Any], locals_: Mapping[str, Any]) -> str:
    """Signature, type, value and documentation of a dotted name, or its source."""
    try:
        value = eval(name, globals_, locals_)
    except Exception:
        return "Object `{}` not found.".format(name)
    parts = []
    if callable(value):
        try:
            parts.append("Signature: {}{}".format(name, inspect.signature(value)))
        except (TypeError, ValueError):
            pass
    parts.append("Type: " + qualified_name(type(value)))
    if not callable(value):
        parts.append("Value: " + text_of(value, VALUE_LIMIT))
    source = _source(value) if with_source else None
    if source is not None:
        parts.append("Source:\n" + source.rstrip())
    else:
        parts.append("Docstring:\n" + (inspect.getdoc(value) or "<no docstring>"))
    return cap("\n".join(parts), TEXT_LIMIT)


def _source(value):
    for subject in (value, type(value)):
        try:
            return inspect.getsource(subject)
        except (OSError, TypeError):
            continue
    return None


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
    if value is not _MISSING:
        source = _source(value)
        print("No source found for {}\n".format(name) if source is None else cap(source, TEXT_LIMIT), end="")


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
    if commands.last_error is None:
        print("No traceback available to show.")
    else:
        sys.stderr.write(commands.last_error + "\n")
