"""IPython's lines as Python calls; used only on cells that are not valid Python as they are."""

from __future__ import annotations

import re

from .pristine import BUILTINS as __builtins__
from .scanner import Scanner
from .timing import Capturing, Timing

BUILTIN = "__cellar__"

_ASSIGNED = re.compile(
    r"^(?P<indent>\s*)(?P<target>[^=!%\"'#()]+?)=\s*(?P<mark>!!?|%)(?P<rest>.+)$"
)
_MAGIC = re.compile(r"^(?P<indent>\s*)%(?P<name>[A-Za-z_]\w*)(?:\s+(?P<rest>.*))?$")
_SHELL = re.compile(r"^(?P<indent>\s*)(?P<mark>!!?)(?P<rest>.+)$")
_NAME = r"(?P<name>%{0,2}[\w.]+)(?:\(.*\))?"
_HELP_BEFORE = re.compile(r"^(?P<indent>\s*)(?P<marks>\?\??)\s*" + _NAME + r"\s*;?\s*$")
_HELP_AFTER = re.compile(r"^(?P<indent>\s*)" + _NAME + r"\s*(?P<marks>\?\??)\s*;?\s*$")
_CELL_MAGIC = re.compile(
    r"^\s*%%(?P<name>!|[A-Za-z_]\w*)[ \t]*(?P<rest>[^\n]*)(?:\n(?P<body>.*))?\Z", re.S
)

_AROUND = {"time": Timing, "capture": Capturing}


class Rewritten:
    """The Python text of a cell with magics, and what surrounds its run."""

    __slots__ = ("text", "around")

    def __init__(self, text, around=None):
        self.text = text
        self.around = around


def rewrite(text):
    """The cell as Python, or None if it holds no magic."""
    cell_magic = _CELL_MAGIC.match(text)
    if cell_magic is not None:
        return _rewrite_cell(text, cell_magic)
    rewritten = _rewrite_lines(text)
    return None if rewritten is None else Rewritten(rewritten)


def _rewrite_cell(text, found):
    name, rest, body = found.group("name"), found.group("rest").strip(), found.group("body") or ""
    if name not in _AROUND or (name == "time" and rest):
        return Rewritten(_call("cell", name, rest, body))
    # blank lines in place of the magic keep the body's line numbers
    above = text.count("\n", 0, len(text) - len(body))
    text = "\n" * above + body
    around = _AROUND[name]
    return Rewritten(_rewrite_lines(text) or text, lambda commands: around(commands, rest))


def _rewrite_lines(text):
    scanner = Scanner()
    lines = text.split("\n")
    changed = False
    position = 0
    while position < len(lines):
        line = lines[position]
        if scanner.at_statement and any(mark in line for mark in "!%?"):
            last = position
            joined = line
            while joined.endswith("\\") and _starts_magic(line) and last + 1 < len(lines):
                last += 1
                joined = joined[:-1] + lines[last].lstrip()
            replaced = _rewrite_line(joined)
            if replaced is not None:
                lines[position] = replaced
                for used in range(position + 1, last + 1):
                    lines[used] = ""
                changed = True
                position = last + 1
                continue
        scanner.feed(line)
        position += 1
    return "\n".join(lines) if changed else None


def _starts_magic(line):
    return line.lstrip()[:1] in ("!", "%") or _ASSIGNED.match(line) is not None


def _rewrite_line(line):
    found = _HELP_BEFORE.match(line) or _HELP_AFTER.match(line)
    if found is not None:
        return found.group("indent") + _call("help", found.group("name"), len(found.group("marks")))
    found = _MAGIC.match(line)
    if found is not None:
        return found.group("indent") + _magic(found.group("name"), found.group("rest") or "")
    found = _SHELL.match(line)
    if found is not None:
        method = "shell" if found.group("mark") == "!" else "lines"
        return found.group("indent") + _call(method, found.group("rest").strip())
    found = _ASSIGNED.match(line)
    if found is None:
        return None
    start = found.group("indent") + found.group("target") + "= "
    rest = found.group("rest").strip()
    if found.group("mark") != "%":
        return start + _call("lines", rest)
    name, _, rest = rest.partition(" ")
    return start + _magic(name, rest) if name.isidentifier() else None


def _magic(name, rest):
    rest = rest.strip()
    if name == "time" and rest:
        # written out, so that await and local names work in it
        return _timed(rest)
    return _call("line", name, rest)


def _timed(statement):
    for form in ("{0}.timed({0}.clock(), ({1}\n))", "with {0}.timing(): {1}"):
        text = form.format(BUILTIN, statement)
        if _compiles(text):
            return text.replace("\n", "")
    return _call("line", "time", statement)


def _compiles(text):
    wrapped = "async def cell():\n " + text
    try:
        compile(wrapped, "<magic>", "exec", 0, True)
        return True
    except (SyntaxError, ValueError):
        return False


def _call(method, *arguments):
    return "{}.{}({})".format(BUILTIN, method, ", ".join(map(repr, arguments)))
