"""The cells that ran, by their numbers: %history, %rerun, %macro, %save and their like."""

from __future__ import annotations

import os
import re

from ....pristine import BUILTINS as __builtins__
from ....values.reprs import guarded_repr, type_name
from ..dispatch import Commands
from ..errors import UsageError
from ..options import parse_options, unquoted
from .running import found

_RANGE = re.compile(r"(?P<first>\d+)(?:(?P<sign>[-:])(?P<last>\d+)?)?\Z")
_SESSION = re.compile(r"[~\d]+/")


def _chosen(commands, words):
    """[(number, text)] of ranges such as 1-3 and 5, or of all cells."""
    sources = commands.interpreter.sources.texts
    texts = {number: text for number, text in sources.items() if type(number) is int}
    if not words:
        return list(texts.items())
    chosen = []
    for word in words:
        found_range = _RANGE.match(word)
        if found_range is None:
            raise UsageError("{!r} is neither a cell's number nor a range such as 1-3".format(word))
        first = int(found_range.group("first"))
        last = first
        if found_range.group("sign"):
            given = found_range.group("last")
            last = max(texts, default=0) if given is None else int(given)
            # 1:3 leaves the last one out, 1-3 does not
            last -= 1 if given is not None and found_range.group("sign") == ":" else 0
        chosen += [(number, texts[number]) for number in range(first, last + 1) if number in texts]
    return chosen


def history(commands: Commands, rest: str) -> None:
    """%history [-n] [-g pattern] [-f file] [-l count] [ranges]"""
    options, rest = parse_options(rest, "noptgl:uf:", ())
    words = [word for word in rest.split() if not _SESSION.match(word)]
    if "g" in options:
        wanted = re.compile(".*".join(map(re.escape, (rest or "*").split("*"))), re.S)
        chosen = [pair for pair in _chosen(commands, []) if wanted.search(pair[1])]
    elif "l" in options:
        chosen = _chosen(commands, [])[-int(options["l"]) :]
    else:
        chosen = _chosen(commands, words)
    lines = []
    for number, text in chosen:
        if "n" in options:
            text = "{:>4}:{}{}".format(number, "\n" if "\n" in text else " ", text)
        lines.append(text)
    if "f" in options:
        with open(os.path.expanduser(options["f"]), "w", encoding="utf-8") as target:
            target.write("\n".join(lines) + "\n")
        return
    print("\n".join(lines))


def rerun(commands: Commands, rest: str) -> None:
    """%rerun [-l count] [-g pattern] [ranges]: the last cell if none is named"""
    options, rest = parse_options(rest, "l:g:")
    # the newest one is the cell that asks
    earlier = _chosen(commands, [])[:-1]
    if "l" in options:
        chosen = earlier[-int(options["l"]) :]
    elif "g" in options:
        chosen = [pair for pair in earlier if options["g"] in pair[1]][-1:]
    else:
        chosen = _chosen(commands, rest.split()) if rest else earlier[-1:]
    if not chosen:
        print("No lines in history match specification")
        return
    text = "\n".join(text for _number, text in chosen)
    print("=== Executing: ===\n" + text + "\n=== Output: ===")
    commands.run_text("rerun", text)


class Macro:
    """Cells under a name; run when it is alone on a line."""

    def __init__(self, value):
        self.value = value if value.endswith("\n") else value + "\n"

    def __str__(self):
        return self.value

    def __repr__(self):
        return "IPython.macro.Macro({!r})".format(self.value)

    def __add__(self, other):
        return Macro(self.value + (other.value if isinstance(other, Macro) else str(other)))


def macro(commands: Commands, rest: str) -> list[str] | None:
    """%macro [-q] name ranges"""
    options, rest = parse_options(rest, "rq")
    words = rest.split()
    if not words:
        return sorted(key for key, held in commands.namespace.items() if isinstance(held, Macro))
    if len(words) == 1:
        raise UsageError("%macro insufficient args; usage '%macro name n1-n2 n3-4...")
    made = Macro("\n".join(text for _number, text in _chosen(commands, words[1:])))
    commands.bind(words[0], made)
    commands.automatic.add(words[0])
    if "q" not in options:
        print("Macro `{0}` created. To execute, type its name (without quotes).".format(words[0]))
        print("=== Macro contents: ===\n" + made.value, end="")
    return None


def save(commands: Commands, rest: str) -> None:
    """%save [-f] [-a] file ranges"""
    options, rest = parse_options(rest, "fra")
    words = rest.split()
    if not words:
        raise UsageError("%save needs the name of a file, and ranges")
    path = os.path.expanduser(unquoted(words[0]))
    if not path.endswith((".py", ".ipy")):
        path += ".py"
    text = "\n".join(text for _number, text in _chosen(commands, words[1:])) + "\n"
    if os.path.exists(path) and "f" not in options and "a" not in options:
        raise UsageError("{} exists: use %save -f to replace it".format(path))
    with open(path, "a" if "a" in options else "w", encoding="utf-8") as target:
        target.write(text if "a" in options else "# coding: utf-8\n" + text)
    print("The following commands were written to file `{}`:\n{}".format(path, text), end="")


def load(_commands: Commands, rest: str) -> None:
    """%load file: a notebook would put it into the cell; nothing is run"""
    _options, rest = parse_options(rest, "yns:r:")
    _content(rest)


def _content(rest):
    name = unquoted(rest)
    if not name:
        raise UsageError("%load needs the name of a file")
    if name.startswith(("http://", "https://", "ftp://")):
        from urllib.request import urlopen

        with urlopen(name) as answer:
            return answer.read().decode("utf-8", "replace")
    try:
        path = found(name)
    except Exception:
        text = "'{}' was not found in history, as a file, url, nor in the user namespace."
        raise ValueError(text.format(name)) from None
    with open(path, encoding="utf-8") as source:
        return source.read()


def pycat(_commands: Commands, rest: str) -> None:
    """%pycat file"""
    print(_content(rest), end="")


def recall(commands: Commands, rest: str) -> None:
    """%recall [range]: a notebook would put the text into the next cell"""
    _chosen(commands, rest.split())


def store(commands: Commands, rest: str) -> None:
    """%store [name]; %store -r [name]: values that outlive %reset"""
    options, rest = parse_options(rest, "drz")
    words = rest.split()
    stored = commands.stored
    if "z" in options:
        stored.clear()
    elif "d" in options:
        stored.pop(words[0] if words else "", None)
    elif "r" in options:
        for name in words or list(stored):
            if name in stored:
                commands.bind(name, stored[name])
            else:
                print("no stored variable or alias " + name)
    elif not words:
        print("Stored variables and their in-db values:")
        for name in sorted(stored):
            print("{:<15} -> {:.50}".format(name, guarded_repr(stored[name])))
    else:
        for name in words:
            if name not in commands.namespace:
                raise UsageError("Unknown variable '{}'".format(name))
            stored[name] = commands.namespace[name]
            print("Stored '{}' ({})".format(name, type_name(type(stored[name]))))


def notebook(commands: Commands, rest: str) -> None:
    """%notebook file: the cells so far as a notebook"""
    import json

    path = os.path.expanduser(unquoted(rest))
    if not path:
        raise UsageError("%notebook needs the name of a file")
    cells = [
        {
            "cell_type": "code",
            "execution_count": number,
            "metadata": {},
            "outputs": [],
            "source": text.splitlines(True),
        }
        for number, text in _chosen(commands, [])
    ]
    made = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 4}
    with open(path, "w", encoding="utf-8") as target:
        json.dump(made, target, indent=1)
