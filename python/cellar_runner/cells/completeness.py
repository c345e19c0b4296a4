"""Whether a text that is being typed can be run as a cell: Jupyter's is_complete_request."""

from __future__ import annotations

import _ast
import codeop
import warnings
from typing import Callable

from ..pristine import BUILTINS as __builtins__
from . import compiler
from .magics import rewriter
from .scanner import Scanner

INDENT = "    "
LONGEST_INDENT = 1024
_COMPOUND = tuple(
    getattr(_ast, name)
    for name in "If For While With Try TryStar Match FunctionDef ClassDef AsyncFor AsyncWith AsyncFunctionDef".split()
    if hasattr(_ast, name)
)
_LEAVING = ("return", "raise", "pass", "break", "continue")
_INVALID = (SyntaxError, ValueError, OverflowError, RecursionError, MemoryError)


def check(text: str, flags: int, is_magic: Callable[[str], bool] | None) -> dict:
    """The status, and for an incomplete text what its next line begins with. A blank line ends a block."""
    lines = text.split("\n")
    ends_blank = len(lines) > 1 and not lines[-1].strip()
    if text.lstrip().startswith("%%"):
        return {"status": "complete"} if ends_blank else {"status": "incomplete", "indent": ""}
    written = lines[:-1] if ends_blank else lines
    if written[-1].endswith("\\") and not _scanned(written).at_statement:
        return _incomplete(written)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            body = compiler.read(text, "<input>", flags, is_magic)[2].body
        except _INVALID:
            return _incomplete(written) if _wants_more(text, flags, ends_blank) else {"status": "invalid"}
    if body and not ends_blank and isinstance(body[-1], _COMPOUND):
        return _incomplete(written)
    return {"status": "complete"}


def _wants_more(text: str, flags: int, ends_blank: bool) -> bool:
    rewritten = rewriter.rewrite(text)
    source = text if rewritten is None else rewritten.text
    command = codeop.CommandCompiler()
    command.compiler.flags |= flags | _ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    try:
        if command(source, "<input>", "exec") is not None:
            return False
    except _INVALID:
        return False
    # After a blank line, only an open bracket or string needs more.
    return not ends_blank or not _scanned(source.split("\n")[:-1]).at_statement


def _scanned(lines: list[str]) -> Scanner:
    scanner = Scanner()
    for line in lines:
        scanner.feed(line)
    return scanner


def _incomplete(lines: list[str]) -> dict:
    return {"status": "incomplete", "indent": _next_indent(lines)[:LONGEST_INDENT]}


def _next_indent(lines: list[str]) -> str:
    scanner = _scanned(lines[:-1])
    last = lines[-1]
    indent = last[: len(last) - len(last.lstrip(" \t"))]
    spans = scanner.feed(last)
    if scanner.in_string:
        return ""
    code = "".join(last[start:end] for start, end in spans).strip()
    if not scanner.at_statement:
        return indent
    if code.endswith(":"):
        return indent + INDENT
    leaves = code.split(" ")[0] in _LEAVING
    return indent[: -len(INDENT)] if leaves and indent.endswith(INDENT) else indent
