"""Whether an answer was written down before its author saw any output: a constant in the code."""

from __future__ import annotations

import _ast

from ..cells import compiler
from ..pristine import BUILTINS as __builtins__
from .tree_walk import walk

_FINISHING = ("FINAL", "SUBMIT")
_SHOWING = ("print", "FINAL", "FINAL_VAR", "SUBMIT")
_WORDS = ("FINAL", "SUBMIT", "answer")
_CONSTANT = (
    _ast.Constant, _ast.Tuple, _ast.List, _ast.Set, _ast.Dict, _ast.UnaryOp, _ast.BinOp, _ast.JoinedStr,
    _ast.FormattedValue, _ast.Starred, _ast.operator, _ast.unaryop, _ast.expr_context,
)  # fmt: skip
_UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)


def is_literal(codes: list[str]) -> bool:
    """Whether all that the last of these cells answers with are constants that the cells wrote down.

    Names count where one of the cells binds them once, to a constant, and none does more than show them.
    """
    if not codes or not any(word in codes[-1] for word in _WORDS):
        return False
    try:
        trees = [tree for tree in (_tree(code) for code in codes[:-1]) if tree is not None]
        last = _tree(codes[-1])
        if last is None:
            return False
        names = _constant_names(trees + [last])
        answers = [_answer(node, names) for node in walk(last)]
    except _UNREADABLE:
        return False
    given = [answer for answer in answers if answer is not None]
    return bool(given) and all(given)


def _tree(code):
    """None for a cell that is not Python, which did not run either."""
    try:
        return compiler.read(code, "<cell>", 0)[2]
    except _UNREADABLE:
        return None


def _answer(node, names):
    """Whether a node answers with constants; None for one that does not answer."""
    if _calls(node, _FINISHING):
        given = _arguments(node)
        return bool(given) and all(_is_constant(one, names) for one in given)
    if _calls(node, ("FINAL_VAR",)):
        given = _arguments(node)
        return len(given) == 1 and type(given[0]) is _ast.Constant and given[0].value in names
    if _assigns_answer(node):
        return _is_constant(node.value, names)
    return None


def _constant_names(trees):
    """Names that are bound once, at the outermost level and to a constant, and else only shown."""
    bound: dict[str, _ast.Name] = {}
    harmless = set()
    used: list[str] = []
    for tree in trees:
        for statement in tree.body:
            if type(statement) is _ast.Assign and len(statement.targets) == 1:
                target = statement.targets[0]
                if type(target) is _ast.Name and _is_constant(statement.value, ()):
                    bound.setdefault(target.id, target)
        for node in walk(tree):
            if _calls(node, _SHOWING):
                shown = _arguments(node)
            elif _assigns_answer(node) or type(node) is _ast.Expr:
                shown = [node.value]
            else:
                continue
            for one in shown:
                harmless.update(_shown_names(one))
    known = set(map(id, bound.values()))
    for tree in trees:
        for node in walk(tree):
            if type(node) is not _ast.Name:
                used += _names_in_fields(node)
            elif id(node) not in known and id(node) not in harmless:
                used.append(node.id)
    return set(bound).difference(used)


def _shown_names(expression):
    """The identities of the names in an expression that does nothing but show them."""
    nodes = list(walk(expression))
    if all(isinstance(node, _CONSTANT) or type(node) is _ast.Name for node in nodes):
        return [id(node) for node in nodes if type(node) is _ast.Name]
    return []


def _names_in_fields(node):
    """What an import, a definition, a pattern or `global` binds or names."""
    if isinstance(node, (_ast.Attribute, _ast.keyword, _ast.Constant)):
        return
    for field in node._fields:
        value = getattr(node, field, None)
        for one in value if type(value) is list else (value,):
            if type(one) is str:
                yield one.split(".")[0]


def _assigns_answer(node):
    if type(node) is not _ast.Assign:
        return False
    return any(_is_answer(target) for target in node.targets)


def _is_answer(target):
    if type(target) is _ast.Subscript and type(target.value) is _ast.Name:
        # Before Python 3.9 an index is wrapped.
        key = getattr(target.slice, "value", None)
        return target.value.id == "answer" and getattr(key, "value", key) == "content"
    return type(target) is _ast.Name and target.id == "answer"


def _is_constant(expression, names):
    return all(
        node.id in names if type(node) is _ast.Name else isinstance(node, _CONSTANT) for node in walk(expression)
    )


def _calls(node, names):
    return type(node) is _ast.Call and type(node.func) is _ast.Name and node.func.id in names


def _arguments(call):
    return call.args + [keyword.value for keyword in call.keywords]
