"""IPython's lines as Python calls; used only on cells that are not valid Python as they are."""

from __future__ import annotations

import re
from contextlib import ExitStack
from typing import Any, Callable, NamedTuple

from ...pristine import BUILTINS as __builtins__
from ..scanner import Scanner
from .capturing import Capturing
from .commands.timing import Timing

BUILTIN = "__cellar__"

_HELPED = r"(?P<name>%{0,2}(?!\d)[\w*]+(?:\.[\w*]+|\[-?\d+\])*)"
_MAGIC = re.compile(r"%(?P<name>%?[A-Za-z_][^\s(\[{]*)\s*(?P<rest>.*)$", re.S)
_HELP_BEFORE = re.compile(r"(?P<marks>\?\??)\s*" + _HELPED + r"\s*;?\s*$")
_HELP_AFTER = re.compile(_HELPED + r"(?:\(.*\))?\s*(?P<marks>\?\??)\s*;?\s*$")
_HELP_LAST = re.compile(_HELPED + r"(?P<marks>\?\??)\s*;?\s*$")
_CELL_MAGIC = re.compile(
    r"^\s*%%(?P<name>!|[A-Za-z_][^\s?]*)(?:[ \t]+(?P<rest>[^\n]*))?[ \t]*(?:\n(?P<body>.*))?\Z", re.S
)
_SIGNS = re.compile(
    r"""\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|(?P<comment>\#)|(?P<open>[(\[{])|(?P<close>[)\]}])"""
    r"|(?P<assign>(?<![=!<>+\-*/%&|^@:~])=(?!=))"
)
_AUTOMATIC = re.compile(r"(?P<name>[^\W\d]\w*)(?P<rest>(?:[ \t].*)?)\Z")
_CALLED = re.compile(r"(?P<mark>[,;/])(?P<name>[^\W\d][\w.]*)\s*(?P<rest>.*)$")

_WRAPPERS = {"time": Timing, "capture": Capturing}


class Rewritten(NamedTuple):
    """A cell with magics as Python, and what makes the context manager in which it runs."""

    text: str
    wrapper: Any = None


class Nested(ExitStack):
    """One wrapper inside another: %%capture above %%time."""

    def __init__(self, outer, inner):
        super().__init__()
        self._wrappers = outer, inner
        self.hides_value = outer.hides_value or inner.hides_value
        self.take = inner.take if inner.hides_value else getattr(outer, "take", None)

    def __enter__(self):
        for wrapper in self._wrappers:
            self.enter_context(wrapper)
        return self


def rewrite(text: str, is_magic: Callable[[str], bool] | None = None) -> Rewritten | None:
    """The cell as Python, or None if it has no magic; `is_magic` knows those without %."""
    cell_magic = _CELL_MAGIC.match(text)
    if cell_magic is not None:
        return _rewrite_cell(text, cell_magic)
    rewritten = _rewrite_lines(text)
    if rewritten is None and is_magic is not None:
        rewritten = automatic(text, is_magic)
    return None if rewritten is None else Rewritten(rewritten)


def automatic(text: str, is_magic: Callable[[str], bool]) -> str | None:
    """A one-line cell that starts with a magic's name, as Python; or None."""
    found = _AUTOMATIC.match(text.strip())
    if found is None or not is_magic(found.group("name")):
        return None
    rest = found.group("rest").strip()
    if rest[:1] in ("=", ","):
        return None
    return text[: len(text) - len(text.lstrip("\n"))] + _magic(found.group("name"), rest)


def _rewrite_cell(text, found):
    name, rest = found.group("name"), (found.group("rest") or "").strip()
    body = found.group("body") or ""
    # blank lines in place of the magic keep the body's line numbers
    above = text.count("\n", 0, len(text) - len(body))
    rewritten = wrapped(name, rest, "\n" * above + body)
    if rewritten is None:
        if body and not body.endswith("\n"):
            body += "\n"
        rewritten = Rewritten(_call("cell", name, rest, body))
    return rewritten


def wrapped(name: str, rest: str, body: str) -> Rewritten | None:
    """The body of %%time or %%capture with its wrapper; None for other cell magics."""
    if name not in _WRAPPERS or (name == "time" and rest) or not body.strip("\n"):
        return None
    deeper = rewrite(body) or Rewritten(body)

    def wrap(commands):
        outer = _WRAPPERS[name](commands, rest)
        return outer if deeper.wrapper is None else Nested(outer, deeper.wrapper(commands))

    return Rewritten(deeper.text, wrap)


def _rewrite_lines(text):
    scanner = Scanner()
    lines = text.split("\n")
    changed = False
    position = 0
    while position < len(lines):
        line = lines[position]
        if scanner.at_statement and (
            any(mark in line for mark in "!%?") or line.lstrip()[:1] in (",", ";", "/")
        ):
            last = position
            joined = line
            is_magic = line.lstrip()[:1] in ("!", "%") or _assigned(line) is not None
            while joined.endswith("\\") and is_magic and last + 1 < len(lines):
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


def _assigned(line):
    """(the text up to =, the magic after it) of an assignment from a magic, or None."""
    depth = 0
    for sign in _SIGNS.finditer(line):
        kind = sign.lastgroup
        if kind == "comment":
            return None
        if kind == "open":
            depth += 1
        elif kind == "close":
            depth -= 1
        elif kind == "assign" and depth == 0:
            rest = line[sign.end() :].strip()
            if rest[:1] in ("!", "%") and line[: sign.start()].strip():
                return line[: sign.end()], rest
            return None
    return None


def _rewrite_line(line):
    bare = line.lstrip(" \t")
    indent = line[: len(line) - len(bare)]
    if bare[:1] != "!":
        found = _HELP_BEFORE.match(bare) or _HELP_AFTER.match(bare)
        if found is None and bare.rstrip(" \t;").endswith("?") and not _comment(bare):
            found = _HELP_LAST.search(bare)
        if found is not None:
            return indent + _call("help", found.group("name"), len(found.group("marks")))
    found = _MAGIC.match(bare)
    if found is not None:
        return indent + _magic(found.group("name"), found.group("rest"))
    if bare[:1] == "!":
        lines = bare[:2] == "!!"
        command = bare[2 if lines else 1 :].strip()
        return indent + _call("lines" if lines else "shell", command) if command else None
    found = _CALLED.match(bare)
    if found is not None:
        return indent + _called(**found.groupdict())
    found = _assigned(line)
    if found is None:
        return None
    start, rest = found
    if rest[0] == "!":
        return start + " " + _call("lines", rest.lstrip("!").strip())
    found = _MAGIC.match(rest)
    return start + " " + _magic(found.group("name"), found.group("rest")) if found else None


def _called(mark, name, rest):
    """,f a b and ;f a b and /f a, b"""
    if mark == ",":
        return "{}({})".format(name, ", ".join(map(repr, rest.split())))
    if mark == ";":
        return "{}({!r})".format(name, rest.strip())
    return "{}({})".format(name, ", ".join(rest.split()))


def _magic(name, rest):
    rest = rest.strip()
    if name == "time" and rest:
        # written out, so that await and local names work in it
        return _timed(rest)
    return _call("line", name, rest)


def _timed(statement):
    comment = _comment(statement)
    if comment:
        statement = statement[: len(statement) - len(comment)].rstrip()
    for form in ("{0}.timed({0}.clock(), ({1}\n))", "with {0}.timing(): {1}"):
        text = form.format(BUILTIN, statement)
        try:
            compile("async def cell():\n " + text, "<magic>", "exec", 0, True)
            return text.replace("\n", "")
        except (SyntaxError, ValueError):
            continue
    return _call("line", "time", statement)


def _comment(line):
    for sign in _SIGNS.finditer(line):
        if sign.lastgroup == "comment":
            return line[sign.start() :]
    return ""


def _call(method, *arguments):
    return "{}.{}({})".format(BUILTIN, method, ", ".join(map(repr, arguments)))
