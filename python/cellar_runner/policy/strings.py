"""Texts that a cell writes out or puts together, and the refused names in them."""

from __future__ import annotations

import _ast
import re
from itertools import groupby
from posixpath import normpath as _normalised_path
from typing import Any

from ..module_finder import import_own
from ..pristine import BUILTINS as __builtins__
from .rules import ATTRIBUTES, CARRIED, DATA_KEYS, FIXED_NAMES, SYSTEM_FOLDERS

LONGEST = 300
DEEPEST = 20

_FIELD = re.compile(r"\{([^{}!:]*)")
_STEP = re.compile(r"[.\[]\s*['\"]?(\w+)")
_WORD = re.compile(r"(\.?)\b([A-Za-z_]\w*)")
_PATH = re.compile(r"\w+(?:\.\w+)+\Z")
_CHAIN = re.compile(r"[A-Za-z_]\w*(?:\s*\.\s*[A-Za-z_]\w*)+")

_Constant, _Name, _Joined = _ast.Constant, _ast.Name, _ast.JoinedStr
_Formatted = _ast.FormattedValue
_BinOp, _Call, _Attribute, _Subscript = _ast.BinOp, _ast.Call, _ast.Attribute, _ast.Subscript


def normalised(text: str) -> str:
    """The text as Python normalises identifiers."""
    if text.isascii():
        return text
    return import_own("unicodedata").normalize("NFKC", text)


def text_of(node: Any, depth: int = 0, known: dict[str, str] | None = None) -> str | None:
    """The text of a constant expression, or None; `known` maps names to texts."""
    kind = type(node)
    if kind is _Constant:
        value = node.value
        return value if type(value) is str and len(value) <= LONGEST else None
    if kind is _Name:
        return _short(known[node.id]) if known and node.id in known else None
    if depth > DEEPEST:
        return None
    if kind.__name__ == "Index":
        return text_of(node.value, depth, known)
    if kind is _Joined:
        return _together(node.values, depth, known)
    if kind is _Formatted:
        return text_of(node.value, depth + 1, known) if node.format_spec is None else None
    if kind is _BinOp:
        return _operation(node, depth + 1, known)
    if kind is _Subscript:
        return _slice(node, depth + 1, known)
    if kind is _Call and not node.keywords:
        return _result(node, depth + 1, known)
    return None


def _together(nodes, depth, known, between=""):
    parts = [text_of(node, depth + 1, known) for node in nodes[:LONGEST]]
    return None if None in parts else _short(between.join(parts))


def _short(text):
    return text if len(text) <= LONGEST else None


def _operation(node, depth, known):
    left, right = node.left, node.right
    kind = type(node.op)
    if kind is _ast.Add:
        return _together((left, right), depth, known)
    text = text_of(left, depth, known)
    if text is None:
        return None
    if kind is _ast.Mult and type(right) is _Constant and type(right.value) is int:
        return _short(text * max(0, min(right.value, LONGEST)))
    if kind is _ast.Mod:
        parts = right.elts if type(right) is _ast.Tuple else [right]
        values = [text_of(part, depth, known) for part in parts]
        if None not in values and text.count("%s") == text.count("%") == len(values):
            return _short(text % tuple(values))
    return None


def _slice(node, depth, known):
    bounds = node.slice
    text = text_of(node.value, depth, known)
    if text is None or type(bounds) is not _ast.Slice:
        return None
    numbers: list[int | None] = []
    for part in (bounds.lower, bounds.upper, bounds.step):
        sign = 1
        if type(part) is _ast.UnaryOp and type(part.op) is _ast.USub:
            sign, part = -1, part.operand
        if part is None:
            numbers.append(None)
        elif type(part) is _Constant and type(part.value) is int:
            numbers.append(sign * part.value)
        else:
            return None
    return text[slice(*numbers)] if numbers[2] != 0 else None


def _result(node, depth, known):
    """Of chr(95), ''.join([...]), 'x'.replace('a', 'b') and similar calls."""
    called, arguments = node.func, node.args
    if type(called) is _ast.Name:
        if called.id == "chr" and len(arguments) == 1 and type(arguments[0]) is _Constant:
            number = arguments[0].value
            return chr(number) if type(number) is int and 0 <= number < 0x110000 else None
        if called.id == "str" and len(arguments) == 1:
            return text_of(arguments[0], depth, known)
        return None
    if type(called) is not _Attribute:
        return None
    if called.attr == "decode" and type(called.value) is _Constant:
        data = called.value.value
        return data.decode("latin-1") if type(data) is bytes and len(data) <= LONGEST else None
    text = text_of(called.value, depth, known)
    if text is None:
        return None
    if called.attr == "join" and len(arguments) == 1:
        parts = arguments[0]
        listed = type(parts) in (_ast.List, _ast.Tuple)
        return _together(parts.elts, depth, known, text) if listed else None
    values: list[Any] = [text_of(argument, depth, known) for argument in arguments[:3]]
    if None in values:
        return None
    if called.attr == "replace" and len(values) == 2:
        return _short(text.replace(*values))
    if called.attr in ("lower", "upper", "swapcase", "strip", "casefold") and not values:
        return _METHODS[called.attr](text)
    return None


_METHODS = {name: getattr(str, name) for name in "lower upper swapcase strip casefold".split()}


def runs(node: Any) -> list[str]:
    """The adjacent constant texts of `a + 'b' + 'c'`, joined."""
    leaves, waiting = [], [node]
    while waiting:
        part = waiting.pop()
        if type(part) is _BinOp and type(part.op) is _ast.Add:
            waiting += [part.right, part.left]
        else:
            leaves.append(text_of(part))
    known = [list(run) for is_unknown, run in groupby(leaves, lambda text: text is None) if not is_unknown]
    return ["".join(run[-LONGEST:]) for run in known if len(run) > 1]  # type: ignore[arg-type]


def name_in_text(text: str, assembled: bool = False) -> str | None:
    """The refused name that a text is, or reaches by a dotted path; or None."""
    if "__" not in text and text.isascii() or len(text) > LONGEST:
        return None
    text = normalised(text)
    if text in ATTRIBUTES or text in FIXED_NAMES:
        return text if assembled or text not in DATA_KEYS else None
    if _PATH.match(text):
        return next((step for step in text.split(".") if step in ATTRIBUTES), None)
    return None


def name_in_format(text: str) -> str | None:
    """The refused name in a replacement field such as {0.__class__}, or None."""
    if "{" not in text:
        return None
    for field in _FIELD.findall(text):
        if "." in field or "[" in field:
            for step in _STEP.findall(normalised(field)):
                if step in ATTRIBUTES:
                    return step
    return None


def name_in_code(text: str) -> str | None:
    """The refused name in a text that is used as a path or as code; or None."""
    for dot, word in _WORD.findall(normalised(text[: 100 * LONGEST])):
        if word in ATTRIBUTES or word in FIXED_NAMES or (dot and word in CARRIED):
            return word
    return None


def chains(text: str) -> list[list[str]]:
    """Dotted names in an expression, as lists of parts."""
    found = _CHAIN.findall(normalised(text[: 100 * LONGEST]))
    return [[step.strip() for step in chain.split(".")] for chain in found]


def system_folder(text: str) -> str | None:
    """The system folder that a path leads into, or None."""
    if len(text) > LONGEST:
        return None
    if text.startswith("file://"):
        text = text[len("file://") :]
    if not text.startswith(("/", "..")):
        return None
    path = _normalised_path("/workspace/" + text if text.startswith("..") else text).lstrip("/")
    first = path.partition("/")[0]
    return "/" + first if first in SYSTEM_FOLDERS and path != "dev/null" else None
