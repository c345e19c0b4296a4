"""The variables of a session by their names: %who, %whos, %reset, %xdel and their like."""

from __future__ import annotations

import builtins
import fnmatch
import gc
import re
import sys

from ....pristine import BUILTINS as __builtins__
from ....values.reprs import guarded_str, is_a, type_name
from ....values.tables import is_of_library
from ..dispatch import Commands
from ..errors import MagicUnavailable, UsageError
from ..options import parse_options

NAMES_IN_A_ROW = 9
SHOWN_TEXT = 50
END_OF_TEXT = 25
FOUND_NAMES = 1_000
_HIDDEN = frozenset("In Out get_ipython exit quit".split())
_COUNTED = (dict, list, tuple)
_KILOBYTE = 1024
_MEGABYTE = _KILOBYTE**2
_BIG_ARRAY = 100_000
_modules = sys.modules


def names_of(commands: Commands, kinds: str = "") -> list[str]:
    """The sorted names of variables, of these types if any are given."""
    given = commands.interpreter.builtins
    wanted = kinds.split()
    found = []
    for name, value in list(commands.namespace.items()):
        if type(name) is not str or name.startswith("_") or name in _HIDDEN:
            continue
        if name in given and given[name] is value:
            continue
        if not wanted or type_name(type(value)) in wanted:
            found.append(name)
    return sorted(found)


def who_ls(commands: Commands, rest: str) -> list[str]:
    """%who_ls [types]"""
    return names_of(commands, rest)


def who(commands: Commands, rest: str) -> None:
    """%who [types]"""
    names = _listed(commands, rest)
    for position, name in enumerate(names, 1):
        sys.stdout.write(name + "\t ")
        if position % NAMES_IN_A_ROW == 0:
            sys.stdout.write("\n")
    if names:
        sys.stdout.write("\n")


def _listed(commands, rest):
    names = names_of(commands, rest)
    if not names:
        print("No variables match your requested type." if rest else "Interactive namespace is empty.")
    return names


def whos(commands: Commands, rest: str) -> None:
    """%whos [types]"""
    names = _listed(commands, rest)
    if not names:
        return
    namespace = commands.namespace
    kinds = [type_name(type(namespace[name])) for name in names]
    left = max(map(len, names + ["Variable"])) + 3
    middle = max(map(len, kinds + ["Type"])) + 4
    header = "{:<{}}{:<{}}Data/Info".format("Variable", left, "Type", middle)
    print(header)
    print("-" * len(header))
    for name, kind in zip(names, kinds):
        row = "{:<{}}{:<{}}".format(name, left, kind, middle)
        print(row + _summary(namespace[name]))


def _summary(value):
    if is_a(value, _COUNTED):
        return "n={}".format(len(value))
    array = getattr(_modules.get("numpy"), "ndarray", None)
    if is_a(array, type) and type(value) is array:
        return _of_array(value)
    if is_of_library(value, "pandas", "DataFrame", "Series"):
        return "Shape: {}".format(value.shape)
    text = guarded_str(value)
    if text is None:
        return "<{}>".format(type_name(type(value)))
    text = text.replace("\n", "\\n")
    if len(text) < SHOWN_TEXT:
        return text
    return text[:END_OF_TEXT] + "<...>" + text[-END_OF_TEXT:]


def _of_array(value):
    shape = "x".join(map(str, value.shape))
    text = "{}: {} elems, type `{}`, {} bytes".format(shape, value.size, value.dtype, value.nbytes)
    if value.nbytes < _BIG_ARRAY:
        return text
    if value.nbytes < _MEGABYTE:
        return text + " ({} kb)".format(value.nbytes / _KILOBYTE)
    return text + " ({} Mb)".format(value.nbytes / _MEGABYTE)


def reset(commands: Commands, rest: str) -> None:
    """%reset -f [-s] [in] [out] [dhist] [array]"""
    options, rest = parse_options(rest, "sf", ("aggressive",))
    if "f" not in options:
        raise MagicUnavailable("%reset asks for a confirmation, which a sandboxed cell cannot give: use %reset -f")
    parts = rest.split()
    if not parts:
        for name in names_of(commands):
            del commands.namespace[name]
        commands.interpreter.history.outputs.clear()
        gc.collect()
    for part in parts:
        if part == "array":
            for name in names_of(commands):
                if is_of_library(commands.namespace[name], "numpy", "ndarray"):
                    del commands.namespace[name]
        elif part == "out":
            outputs = commands.interpreter.history.outputs
            print("Flushing output cache ({} entries)".format(len(outputs)))
            outputs.clear()
        elif part == "in":
            print("Flushing input history")
        elif part == "dhist":
            print("Flushing directory history")
            commands.interpreter.history.folders.clear()
        else:
            print("Don't know how to reset {}, please run `%reset?` for details".format(part))


def reset_selective(commands: Commands, rest: str) -> None:
    """%reset_selective -f pattern"""
    options, pattern = parse_options(rest, "f")
    if not pattern:
        print("No pattern pattern specified. Use %reset_selective -f pattern.")
        return
    if "f" not in options:
        raise MagicUnavailable("%reset_selective asks for a confirmation, which a sandboxed cell cannot give: use -f")
    try:
        matches = re.compile(pattern).search
    except re.error as error:
        raise UsageError("{!r} is not a pattern: {}".format(pattern, error)) from None
    for name in names_of(commands):
        if matches(name):
            del commands.namespace[name]


def xdel(commands: Commands, rest: str) -> None:
    """%xdel [-n] name: the name, and what else the session holds of the value"""
    options, name = parse_options(rest, "n")
    namespace = commands.namespace
    if name in ("__builtin__", "__builtins__"):
        raise ValueError("Not deleting namespace with a name like " + name)
    if name not in namespace:
        print("NameError: name '{}' is not defined".format(name))
        return
    value = namespace.pop(name)
    if "n" in options:
        return
    for names in (namespace, commands.interpreter.history.outputs):
        for other in [key for key, held in list(names.items()) if held is value]:
            del names[other]


def psearch(commands: Commands, rest: str) -> None:
    """%psearch pattern: names in the session, in a module or among the built-ins"""
    _options, rest = parse_options(rest, "acis*e*l")
    words = rest.split()
    if not words:
        raise UsageError("%psearch needs a pattern")
    pattern, kinds = words[0].rstrip("?"), words[1:]
    owner, dot, last = pattern.rpartition(".")
    if dot:
        try:
            subject = commands.resolve(owner)
        except Exception:
            return
        found = {name: getattr(subject, name, None) for name in dir(subject)}
    else:
        found = dict(vars(builtins))
        found.update((key, held) for key, held in commands.namespace.items() if type(key) is str)
    hidden = not last.startswith("_")
    shown = [
        owner + dot + name
        for name, value in sorted(found.items())
        if fnmatch.fnmatchcase(name.lower(), last.lower())
        and not (hidden and name.startswith("_"))
        and (not kinds or type_name(type(value)) in kinds)
    ]
    print("\n".join(shown[:FOUND_NAMES]))
