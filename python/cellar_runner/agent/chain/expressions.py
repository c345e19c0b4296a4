"""Which expressions can be evaluated early, late or in another order without anyone noticing."""

from __future__ import annotations

import _ast
from typing import Any

from ...host.bridge import Answer, Answers
from ...pristine import BUILTINS as __builtins__
from ...values.reprs import is_a
from ..results import Piece, Result
from .resources import LONGEST_VALUE, UNKNOWN

# What may be done with a value: only pass it on; use operators on it; read its attributes too.
OPAQUE, PLAIN, RESULT = 0, 1, 2
CHECKED_ITEMS = 2_000
CHECKED_DEPTH = 4
# Deeper ones are left to the compiler.
MOST_DEPTH = 50

_SCALARS = (str, int, float, bool, bytes, complex, type(None))
_CONTAINERS = (list, tuple, set, frozenset, dict)
_OPERATORS = (_ast.Add, _ast.Sub, _ast.Mult, _ast.Div, _ast.FloorDiv, _ast.Mod)
_SIGNS = (_ast.USub, _ast.UAdd, _ast.Not)
# Before Python 3.9 an index is wrapped.
_INDEX = getattr(_ast, "Index", None)


class Unsuitable(Exception):
    """The reason why a turn is no chain of calls."""


class Names:
    """The names that expressions may use: variables of the session, and what the turn has bound so far."""

    def __init__(self, namespace: dict) -> None:
        self._namespace = namespace
        self._bound: dict[str, int] = {}
        self._static: dict[str, Any] = {}

    def bind(self, name: str, standing: int, static: Any = UNKNOWN) -> None:
        self._bound[name] = standing
        self._static[name] = static

    def standing(self, name: str) -> int:
        if name in self._bound:
            return self._bound[name]
        if name not in self._namespace:
            raise Unsuitable("{} is not a variable".format(name))
        return _standing_of(self._namespace[name])

    def static(self, node: Any) -> Any:
        """The value that a node has for certain, or UNKNOWN."""
        kind = type(node)
        if kind is _ast.Constant:
            return node.value
        if kind is _ast.Name:
            if node.id in self._bound:
                return self._static[node.id]
            value = self._namespace.get(node.id, UNKNOWN)
            return value if type(value) in _SCALARS else UNKNOWN
        if kind is _ast.BinOp and type(node.op) is _ast.Add:
            return _joined([self.static(node.left), self.static(node.right)])
        if kind is _ast.JoinedStr:
            return _joined([self.static(part) for part in node.values])
        if kind is _ast.FormattedValue and node.conversion == -1 and node.format_spec is None:
            value = self.static(node.value)
            return str(value) if type(value) is int and value.bit_length() <= 64 else value
        return UNKNOWN

    def examine(self, node: Any, used: set[str], depth: int = 0) -> int:
        """What may be done with the value of an expression, whose names are added to `used`."""
        if depth > MOST_DEPTH:
            raise Unsuitable("an argument is nested too deep")
        kind = type(node)
        if kind is _ast.Constant:
            return PLAIN
        if kind is _ast.Name:
            used.add(node.id)
            return self.standing(node.id)
        if kind in (_ast.List, _ast.Tuple):
            return min([self.examine(item, used, depth + 1) for item in node.elts] + [PLAIN])
        if kind is _ast.Set:
            return self._plain(node.elts, used, depth)
        if kind is _ast.Dict:
            self._plain(node.keys, used, depth)
            return min([self.examine(item, used, depth + 1) for item in node.values] + [PLAIN])
        if kind is _ast.JoinedStr:
            return self._plain(node.values, used, depth)
        if kind is _ast.FormattedValue:
            return self._plain([node.value] + ([node.format_spec] if node.format_spec else []), used, depth)
        if kind is _ast.BinOp and type(node.op) in _OPERATORS:
            return self._plain([node.left, node.right], used, depth)
        if kind is _ast.UnaryOp and type(node.op) in _SIGNS:
            return self._plain([node.operand], used, depth)
        if kind is _ast.Subscript:
            self._plain(_index_parts(node.slice), used, depth)
            standing = self.examine(node.value, used, depth + 1)
            return self._at_least(PLAIN, standing, "an item of a value of another class")
        if kind is _ast.Attribute and not node.attr.startswith("_"):
            standing = self.examine(node.value, used, depth + 1)
            return self._at_least(RESULT, standing, "an attribute of what is no result of this turn")
        raise Unsuitable("an argument is a {}".format(kind.__name__))

    def _plain(self, nodes, used, depth):
        for node in nodes:
            self._at_least(PLAIN, self.examine(node, used, depth + 1), "an operation on a value of another class")
        return PLAIN

    @staticmethod
    def _at_least(least, standing, what):
        if standing < least:
            raise Unsuitable("an argument is {}".format(what))
        return standing


def _index_parts(index):
    if _INDEX is not None and type(index) is _INDEX and hasattr(index, "value"):
        index = index.value
    if type(index) is _ast.Slice:
        return [part for part in (index.lower, index.upper, index.step) if part is not None]
    return [index]


def _joined(parts):
    if all(type(part) is str for part in parts) and sum(map(len, parts)) <= LONGEST_VALUE:
        return "".join(parts)
    return UNKNOWN


def _standing_of(value):
    """Classes of the cell's own have operators of their own, which may do anything."""
    if is_a(value, (Result, Piece)):
        return RESULT
    items = CHECKED_ITEMS
    waiting = [(value, 0)]
    while waiting:
        value, depth = waiting.pop()
        kind = type(value)
        if kind in _SCALARS or kind in (Answer, Piece):
            continue
        items -= len(value) if kind in _CONTAINERS or kind is Answers else items + 1
        if items < 0 or depth > CHECKED_DEPTH:
            return OPAQUE
        if kind is dict:
            waiting += [(item, depth + 1) for pair in value.items() for item in pair]
        else:
            waiting += [(item, depth + 1) for item in value]
    return PLAIN
