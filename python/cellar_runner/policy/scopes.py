"""Tells the names that a cell binds itself from those of the builtins they hide."""

from __future__ import annotations

import _ast
from typing import Any

from ..pristine import BUILTINS as __builtins__

_FUNCTIONS = (_ast.FunctionDef, _ast.AsyncFunctionDef)
_COMPREHENSIONS = (_ast.ListComp, _ast.SetComp, _ast.DictComp, _ast.GeneratorExp)
_LOOPS = (_ast.For, _ast.AsyncFor)
_SCOPES = _FUNCTIONS + _COMPREHENSIONS + (_ast.ClassDef, _ast.Lambda)


def children(node: Any) -> list:
    found = []
    for field in node._fields:
        value = getattr(node, field, None)
        if type(value) is list:
            found += [item for item in value if isinstance(item, _ast.AST)]
        elif isinstance(value, _ast.AST):
            found.append(value)
    return found


class Bindings:
    """The names that a cell certainly binds."""

    def __init__(self, tree):
        self.anywhere = set()
        self._deleted = set()
        self._certain: dict[str, tuple[int, int]] = {}
        self._scope_of = {}
        for statement in tree.body:
            for name in _bound_by(statement):
                self._certain.setdefault(name, _end_of_binding(statement))
        self._walk(tree)

    def is_own(self, node: Any) -> bool:
        """Whether this name certainly refers to what the cell bound."""
        if node.id in self._scope_of[node]:
            return True
        place = self._certain.get(node.id)
        at = (node.lineno, node.col_offset)
        return place is not None and place < at and node.id not in self._deleted

    def _walk(self, tree):
        # Each node with the names that the scopes around it bind.
        waiting: list[tuple[Any, set[str]]] = [(tree, set())]
        while waiting:
            node, scope = waiting.pop()
            kind = type(node)
            if kind is _ast.Name:
                if type(node.ctx) is _ast.Load:
                    self._scope_of[node] = scope
                else:
                    self.anywhere.add(node.id)
                    if type(node.ctx) is _ast.Del:
                        self._deleted.add(node.id)
                continue
            if kind in _FUNCTIONS or kind is _ast.Lambda:
                waiting += self._function(node, scope)
                continue
            self.anywhere.update(_named(node))
            if kind in _COMPREHENSIONS:
                inner = scope | _stored([part.target for part in node.generators])
                first = node.generators[0]
                waiting.append((first.iter, scope))
                waiting += [(part, inner) for part in [first.target] + first.ifs]
                waiting += [(part, inner) for part in children(node) if part is not first]
                continue
            if kind in _LOOPS:
                waiting += [(part, scope) for part in [node.target, node.iter] + node.orelse]
                scope = scope | _stored([node.target])
                waiting += [(part, scope) for part in node.body]
                continue
            waiting += [(child, scope) for child in children(node)]

    def _function(self, node, scope):
        arguments = node.args
        named = getattr(arguments, "posonlyargs", []) + arguments.args + arguments.kwonlyargs
        named += [part for part in (arguments.vararg, arguments.kwarg) if part is not None]
        bound = {argument.arg for argument in named}
        self.anywhere.update(bound)
        body = node.body
        if type(node) is _ast.Lambda:
            body = [body]
        else:
            self.anywhere.add(node.name)
            bound |= _bound_below(body)
        outside = [argument.annotation for argument in named] + arguments.defaults
        outside += arguments.kw_defaults + getattr(node, "decorator_list", [])
        outside.append(getattr(node, "returns", None))
        inner = scope | bound
        return [(part, scope) for part in outside if part is not None] + [(part, inner) for part in body]


def _named(node):
    """Names that a node binds without a Name node."""
    kind = type(node)
    if kind in (_ast.Import, _ast.ImportFrom):
        return [alias.asname or alias.name.partition(".")[0] for alias in node.names]
    if kind in _FUNCTIONS or kind is _ast.ClassDef:
        return [node.name]
    if kind.__name__ in ("ExceptHandler", "MatchAs", "MatchStar") and node.name:
        return [node.name]
    if kind.__name__ == "MatchMapping" and node.rest:
        return [node.rest]
    return []


def _stored(nodes):
    found, waiting = set(), list(nodes)
    while waiting:
        node = waiting.pop()
        if type(node) is _ast.Name:
            if type(node.ctx) is _ast.Store:
                found.add(node.id)
        elif type(node) not in _SCOPES:
            waiting += children(node)
    return found


def _bound_by(statement):
    """The names that are certainly bound after a statement."""
    kind = type(statement)
    if kind is _ast.Assign:
        return _stored(statement.targets)
    if kind is _ast.AnnAssign:
        return _stored([statement.target]) if statement.value is not None else ()
    if kind in (_ast.With, _ast.AsyncWith):
        return _stored([item.optional_vars for item in statement.items if item.optional_vars])
    return _named(statement)


def _end_of_binding(statement):
    """Where the names of a statement start to be bound."""
    if type(statement) in _FUNCTIONS:
        first = statement.body[0]
        return first.lineno, first.col_offset - 1
    return statement.end_lineno, statement.end_col_offset - 1


def _bound_below(body):
    """The local names of a function body."""
    found, outer, waiting = set(), set(), list(body)
    while waiting:
        node = waiting.pop()
        kind = type(node)
        if kind is _ast.Name:
            if type(node.ctx) is not _ast.Load:
                found.add(node.id)
            continue
        if kind in (_ast.Global, _ast.Nonlocal):
            outer.update(node.names)
            continue
        found.update(_named(node))
        if kind not in _SCOPES:
            waiting += children(node)
    return found - outer
