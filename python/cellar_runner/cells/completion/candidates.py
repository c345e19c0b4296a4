"""What could stand at the cursor: names, attributes, keys, modules, magics and files."""

from __future__ import annotations

import builtins
import keyword
import os
import pkgutil
import re
import sys
from importlib.machinery import PathFinder, all_suffixes
from itertools import islice
from typing import Any

from ...pristine import BUILTINS as __builtins__
from ...values.reprs import exact, is_a
from ...values.static_lookup import Unknown, attribute_of, has_own_dir, names_of, value_of
from ...values.tables import is_of_library
from ..interpreter import Interpreter
from ..magics.registry import ALIASES, CELLS, LINE_NAMES
from . import time_limit

MATCH_LIMIT = 1_000
LENGTH_LIMIT = 200
# The most entries of a folder or keys of a dict that are read.
LOOK_LIMIT = 20_000
CODE_LIMIT = 1_000_000
LINE_LIMIT = 10_000
# For the whole request, which may read folders on slow disks.
SECONDS = 2.0
# For the code of one object.
OBJECT_SECONDS = 0.5

_builtin_names = vars(builtins)
_modules = sys.modules
_OWN_PACKAGE = __name__.partition(".")[0]
_NAME = re.compile(r"[^\W\d]\w*$|$")
_MAGIC = re.compile(r"^\s*(?:[\w, ]+=\s*)?(%{1,2}\w*)$")
_COMMAND = re.compile(r"^\s*(?:[\w, ]+=\s*)?(?:!|%(?:cd|run|load|loadpy|pycat|save|ls|ll|cat|cp|mv|rm|"
                      r"mkdir|rmdir|pushd)\s)")
_FROM = re.compile(r"^\s*from\s+([\w.]*)$")
_FROM_IMPORT = re.compile(r"^\s*from\s+([\w.]+)\s+import\s+\(?(?:[\w\s.,]*,)?\s*(\w*)$")
_IMPORT = re.compile(r"^\s*import\s+(?:[\w\s.,]*,)?\s*([\w.]*)$")
_SUFFIXES = frozenset(all_suffixes())
_OPENING = {")": "(", "]": "[", "}": "{"}


def complete(code: str, cursor: int, interpreter: Interpreter) -> dict[str, Any]:
    """The matches, and the range of characters that they replace."""
    before = code[:cursor]
    matches: list[str] = []
    start = cursor
    if len(before) <= CODE_LIMIT:
        completer = Completer(interpreter)
        try:
            if time_limit.is_available():
                matches, start = time_limit.within(SECONDS, lambda: completer.at(before, code[cursor:]))
            else:
                matches, start = completer.at(before, code[cursor:])
        except BaseException:
            # What an object's own code raises must not end the session.
            pass
    return {"matches": _bounded(matches), "start": start, "end": len(before)}


def _bounded(matches):
    shown = {exact(match) for match in matches if is_a(match, str)}
    fitting = (match for match in shown if 0 < len(match) <= LENGTH_LIMIT and match.isprintable())
    return sorted(fitting, key=_rank)[:MATCH_LIMIT]


def _rank(match):
    """Names with underscores come last."""
    bare = match.lstrip("%_")
    return (len(match) - len(match.lstrip("_")), bare.lower(), match)


class Completer:
    def __init__(self, interpreter):
        self._commands = interpreter.commands
        self._scopes = (interpreter.namespace, interpreter.builtins, _builtin_names)

    def at(self, before: str, after: str) -> tuple[list[str], int]:
        """The matches at the end of this text, and where they start."""
        line = before[before.rfind("\n") + 1 :]
        if len(line) > LINE_LIMIT:
            return [], len(before)
        magic = _MAGIC.match(line)
        if magic is not None:
            return self._magics(magic.group(1), line == before), len(before) - len(magic.group(1))
        if _COMMAND.match(line) is not None:
            word = re.findall(r"[^\s!\"']*$", line)[0]
            return _files(word), len(before) - len(word.rpartition("/")[2])
        opening = _scan(before)
        if opening is not None:
            return self._in_string(before, opening, after) if opening.group(1) else ([], len(before))
        modules = self._modules(line)
        if modules is not None:
            names, prefix = modules
        else:
            prefix = _NAME.findall(before)[0]
            names = self._names(before[: len(before) - len(prefix)], after)
        return [name for name in names if _fits(name, prefix)], len(before) - len(prefix)

    def _magics(self, typed, is_first_line):
        registered = self._commands.functions
        names = []
        if not typed.startswith("%%"):
            names += ["%" + name for name in [*LINE_NAMES, *ALIASES, *registered["line"]]]
        if is_first_line:
            names += ["%%" + name for name in [*CELLS, *registered["cell"]]]
        return [name for name in names if name.startswith(typed)]

    def _names(self, head, after):
        if head.endswith("."):
            value = self._value(_primary(head[:-1]))
            return [name for name in _attributes(value) if name.isidentifier()]
        if head.endswith("["):
            try:
                return _keys(self._value(_primary(head[:-1])), None, after) or self._globals()
            except Unknown:
                pass
        # After a value comes an operator.
        return [] if head.endswith((")", "]", "}", '"', "'")) else self._globals()

    def _globals(self):
        names = {*keyword.kwlist}
        for scope in self._scopes:
            names.update(name for name in list(scope) if is_a(name, str) and name.isidentifier())
        return names

    def _value(self, expression):
        return value_of(expression, self._scopes)

    def _in_string(self, before, opening, after):
        quote, typed, head = opening.group(1), before[opening.end() :], before[: opening.start()]
        if head.endswith("["):
            try:
                keys = _keys(self._value(_primary(head[:-1])), quote, after)
            except Unknown:
                keys = []
            if keys:
                return [key for key in keys if key.startswith(typed)], opening.end()
        if len(quote) == 3:
            return [], len(before)
        return _files(typed), len(before) - len(typed.rpartition("/")[2])

    def _modules(self, line):
        """Names and what is typed of them, where the line imports; else None."""
        named = _FROM_IMPORT.match(line)
        if named is not None:
            module, prefix = named.groups()
            return [*_names_in(module), *_submodules(module)], prefix
        named = _FROM.match(line) or _IMPORT.match(line)
        if named is None:
            return None
        parent, _, prefix = named.group(1).rpartition(".")
        return _submodules(parent), prefix


def _fits(name, prefix):
    if not name.startswith(prefix):
        return False
    return not name.startswith("_") or prefix.startswith("_")


def _attributes(value):
    names = {name for name in names_of(value) if is_a(name, str)}
    if has_own_dir(value):
        teller = attribute_of(type(value), "__dir__")
        names.update(name for name in _asked(lambda: teller(value)) if is_a(name, str))
    return names


def _asked(ask):
    """What an object's own code answers within the time limit."""
    if not time_limit.is_available():
        return ()
    try:
        return time_limit.within(OBJECT_SECONDS, lambda: list(islice(ask(), LOOK_LIMIT)))
    except BaseException:
        return ()


def _keys(value, quote, after):
    """Keys to type: of a dict, a DataFrame, or an object with _ipython_key_completions_."""
    if is_a(value, dict):
        keys = list(islice(dict.keys(value), LOOK_LIMIT))
    else:
        is_frame = is_of_library(value, "pandas", "DataFrame")
        teller = attribute_of(type(value), "keys" if is_frame else "_ipython_key_completions_")
        keys = _asked(lambda: teller(value))
    if quote is None:
        closing = "" if after.startswith("]") else "]"
        return [repr(key) + closing for key in keys if type(key) in (str, int)]
    closing = "" if after.startswith(quote[0]) else quote + ("" if after.startswith("]") else "]")
    plain = [key for key in keys if type(key) is str]
    return [key + closing for key in plain if "\\" not in key and quote[0] not in key]


def _files(typed):
    folder, _, prefix = typed.rpartition("/")
    names = []
    try:
        with os.scandir(os.path.expanduser(folder + "/") if "/" in typed else ".") as entries:
            for entry, _ in zip(entries, range(LOOK_LIMIT)):
                if entry.name.startswith(prefix) and entry.name.startswith(".") <= prefix.startswith("."):
                    names.append(entry.name + ("/" if entry.is_dir() else ""))
    except OSError:
        return []
    return [name for name in names if not re.search(r"[\"'\\]", name)]


def _submodules(parent):
    """The modules of a package, or all top-level ones; imports none of them."""
    if parent == "":
        return {*sys.builtin_module_names, *_modules_in(sys.path)} - {_OWN_PACKAGE}
    path = None
    name = ""
    for part in parent.split("."):
        name = name + "." + part if name else part
        loaded = _modules.get(name)
        if loaded is not None:
            try:
                path = list(islice(attribute_of(loaded, "__path__"), LOOK_LIMIT))
            except Unknown:
                return []
        else:
            spec = PathFinder.find_spec(name, path)
            if spec is None or spec.submodule_search_locations is None:
                return []
            path = list(spec.submodule_search_locations)
    return _modules_in(path)


def _modules_in(path):
    """As pkgutil.iter_modules, without looking into each folder."""
    names: set[str] = set()
    for folder in path:
        if not is_a(folder, str):
            continue
        if os.path.isfile(folder):
            names.update(each.name for each in pkgutil.iter_modules([folder]))
            continue
        try:
            with os.scandir(folder or ".") as entries:
                for entry, _ in zip(entries, range(LOOK_LIMIT)):
                    name, dot, rest = entry.name.partition(".")
                    if name.isidentifier() and (entry.is_dir() if not dot else dot + rest in _SUFFIXES):
                        names.add(name)
        except OSError:
            continue
    return names - {"__pycache__", "__init__", "__main__"}


def _names_in(module):
    loaded = _modules.get(module)
    return [] if loaded is None else _attributes(loaded)


_TOKEN = re.compile(r"#[^\n]*|(?:\b[rRbBuUfF]{1,2})?(\"\"\"|'''|\"|')")


def _scan(text):
    """The match of an open string (group 1 is its quote) or of a comment at the end of the text, or None."""
    at = 0
    while True:
        found = _TOKEN.search(text, at)
        if found is None:
            return None
        quote = found.group(1)
        if quote is None:
            if found.end() == len(text):
                return found
            at = found.end()
            continue
        line_end = "" if len(quote) == 3 else r"|(?=\n)"
        closing = re.compile(r"(?:\\[\s\S]|[^\\])*?(?:" + quote + line_end + ")")
        end = closing.match(text, found.end())
        if end is None:
            return found
        at = end.end()


def _primary(text):
    """The expression that ends the text, to which a dot or bracket after it would apply."""
    at = len(text)
    while at > 0:
        last = text[at - 1]
        if last.isalnum() or last in "_.":
            at -= 1
        elif last in _OPENING:
            at = _opening_of(text, at - 1)
        elif last in "\"'":
            at = max(0, text.rfind(last, 0, at - 1))
        else:
            break
    return text[at:]


def _opening_of(text, at):
    """Position of the matching opening bracket; strings in between are skipped."""
    depth = 0
    while at >= 0:
        character = text[at]
        if character in "\"'":
            at = text.rfind(character, 0, at)
            if at < 0:
                break
        elif character in _OPENING:
            depth += 1
        elif character in "([{":
            depth -= 1
            if depth == 0:
                return at
        at -= 1
    raise Unknown
