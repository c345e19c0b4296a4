"""One cell, from its text to code objects."""

from __future__ import annotations
import __future__ as _future

import _ast
import re
from typing import TYPE_CHECKING, Any, Callable, NamedTuple

from ..pristine import BUILTINS as __builtins__
from . import repairs
from .magics import rewriter

if TYPE_CHECKING:
    from .magics.dispatch import Commands
    from .sources import Sources

_ONLY_AST = _ast.PyCF_ONLY_AST
_AWAIT = _ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
COROUTINE = 0x80
_FUTURE_FLAGS = 0
for _name in _future.all_feature_names:
    _FUTURE_FLAGS |= getattr(_future, _name).compiler_flag

# longer texts are rarely one expression, and would be parsed twice
_SHORT = 10_000
# more lines; or what the compiler may warn of and then refuse as an expression: it must not warn twice
_doubtful = re.compile(r"[\n\\]|\d[A-Za-z_]|yield").search

# without a running loop these fail; a cell that starts its own loop must not be run inside one
_NEEDS_LOOP = ("create_task", "ensure_future", "get_running_loop", "TaskGroup")
_BRINGS_LOOP = (".run(", "run_until_complete", "run_forever", "Runner(")


class Cell(NamedTuple):
    codes: list
    flags: int
    wrapper: Callable | None
    in_loop: bool
    uses_asyncio: bool
    shows_value: bool


def read(
    text: str, filename: str, flags: int, is_magic: Callable[[str], bool] | None = None
) -> tuple[str, str, _ast.Module, Callable | None]:
    """(text to show, text that runs, its tree, its wrapper); SyntaxError if no repair helps."""
    text = _as_lines(text)
    flags |= _AWAIT
    try:
        return text, text, parse(text, filename, flags), None
    except (SyntaxError, ValueError) as error:
        return _repair(text, filename, flags, error, is_magic)


def build(
    number: int | str, text: str, flags: int, sources: Sources, admission: Any = None,
    commands: Commands | None = None, shown_by: Callable[[list], None] | None = None,
) -> Cell:
    """Parse, repair where needed, check by `admission`, and compile; `commands` know the magics."""
    filename = "<cell {}>".format(number)
    given = _as_lines(text)
    sources.add(number, given)
    if admission is None and shown_by is None:
        code = _expression(given, filename, flags | _AWAIT)
        if code is not None:
            names = code.co_names
            if names and commands is not None and names[0] in commands.automatic:
                rewritten = rewriter.automatic(given, commands.is_magic)
                code = (rewritten and _expression(rewritten, filename, flags | _AWAIT)) or code
            return _cell(given, [code], flags, None, True)
    is_magic = None if commands is None else commands.is_magic
    shown, text, tree, wrapper = read(given, filename, flags, is_magic)
    flags |= _AWAIT
    if shown is not given:
        sources.add(number, shown)
    if admission is not None:
        tree = admission.admit(tree, text)
    codes = []
    body = tree.body
    if shown_by is not None:
        shown_by(body)
    shows_value = bool(body) and type(body[-1]) is _ast.Expr
    last: Any = body.pop() if shows_value else None
    if body:
        codes.append(compile(tree, filename, "exec", flags, True))
        flags |= codes[0].co_flags & _FUTURE_FLAGS
    if last is not None:
        expression = _ast.Expression(body=last.value)
        codes.append(compile(expression, filename, "eval", flags, True))
        shows_value = not (";" in text and _silenced(text, last))
    return _cell(text, codes, flags, wrapper, shows_value)


def _cell(text, codes, flags, wrapper, shows_value):
    uses_asyncio = "asyncio" in text
    in_loop = any(code.co_flags & COROUTINE for code in codes) or (
        uses_asyncio
        and any(word in text for word in _NEEDS_LOOP)
        and not any(word in text for word in _BRINGS_LOOP)
    )
    return Cell(codes, flags & _FUTURE_FLAGS, wrapper, in_loop, uses_asyncio, shows_value)


def _expression(text, filename, flags):
    """Compiles a one-line expression directly, which is faster than through a tree."""
    if len(text) > _SHORT or _doubtful(text):
        return None
    try:
        return compile(text, filename, "eval", flags, True)
    except (SyntaxError, ValueError):
        return None


def _as_lines(text):
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if text.startswith("In ["):
        # a pasted prompt is a valid annotation, but never intended
        text = repairs.without_prompts(text)
    return text


def parse(text: str, filename: str, flags: int = _AWAIT) -> _ast.Module:
    return compile(text, filename, "exec", flags | _ONLY_AST, True)


def _silenced(text, expression):
    """Whether a semicolon follows the last expression."""
    lines = text.split("\n")[expression.end_lineno - 1 :]
    lines[0] = lines[0].encode("utf-8")[expression.end_col_offset :].decode("utf-8")
    return "\n".join(lines).lstrip(" \t\n)").startswith(";")


def _repair(text, filename, flags, error, is_magic):
    """Tries what models really paste, from the most to the least likely."""
    reported = _unreadable(text, filename) or error
    if reported is not error:
        raise reported from None
    for candidate in repairs.candidates(text):
        if candidate is not text:
            try:
                return candidate, candidate, parse(candidate, filename, flags), None
            except (SyntaxError, ValueError):
                pass
        rewritten = rewriter.rewrite(candidate, is_magic)
        if rewritten is None:
            continue
        try:
            tree = parse(rewritten.text, filename, flags)
            return candidate, rewritten.text, tree, rewritten.wrapper
        except (SyntaxError, ValueError) as rest:
            # the magics are fine, so what is still wrong is the mistake to report
            reported = rest
    raise reported.with_traceback(None) from None


def _unreadable(text, filename):
    """A SyntaxError that names a null byte or lone surrogate, or None."""
    position = text.find("\0")
    what = "a null byte"
    if position < 0:
        try:
            text.encode("utf-8")
            return None
        except UnicodeEncodeError as error:
            position = error.start
            what = "a lone surrogate (U+{:04X})".format(ord(text[position]))
    line = text.count("\n", 0, position) + 1
    column = position - (text.rfind("\n", 0, position) + 1) + 1
    message = "the source contains {} at column {}".format(what, column)
    return SyntaxError(message, (filename, line, None, None))
