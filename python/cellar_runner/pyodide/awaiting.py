"""Puts `await` before calls that the host answers, at the top of a cell, where nothing else can wait."""

from __future__ import annotations

import _ast

from ..host.bridge import Pending
from ..pristine import BUILTINS as __builtins__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import AbstractSet, Any

    from ..cells.interpreter import Interpreter
    from ..policy.admission import Admission

# The built-ins whose answers come from the host; its tools are added by name.
ANSWERED = frozenset("llm_query llm_query_batched rlm_query rlm_query_batched llm_call llm_batch".split())
HELPER = "__cellar_settled__"
# What is given to these is awaited by them, many at a time.
_GATHERING = frozenset("gather wait wait_for as_completed ensure_future create_task shield".split())
_FUNCTIONS = (_ast.FunctionDef, _ast.AsyncFunctionDef, _ast.Lambda)
_COMPREHENSIONS = (_ast.ListComp, _ast.SetComp, _ast.DictComp, _ast.GeneratorExp)


async def settled(value: Any) -> Any:
    """The answer of a call; what a function of the cell's own gave stays what it is."""
    return await value if type(value) is Pending else value


class AwaitingAdmission:
    """Wraps the admission of a session, and rewrites the tree that it admits."""

    def __init__(self, admission: Admission | None, names: AbstractSet[str]) -> None:
        self._admission = admission
        self._names = names

    def prepare(self, code: str, interpreter: Interpreter) -> str:
        return code if self._admission is None else self._admission.prepare(code, interpreter)

    def admit(self, tree: _ast.Module, text: str) -> _ast.Module:
        if self._admission is not None:
            tree = self._admission.admit(tree, text)
        if any(name in text for name in self._names):
            try:
                _AwaitRewriter(self._names).visit(tree, True)
            except RecursionError:
                # Too deeply nested: its calls say that they must be awaited.
                return tree
        return tree

    def report(self, outcome: dict[str, Any]) -> None:
        if self._admission is not None:
            self._admission.report(outcome)


class _AwaitRewriter:
    def __init__(self, names):
        self._names = names

    def visit(self, node, can_wait):
        """The node to take the place of this one."""
        kind = type(node)
        if kind is _ast.Call:
            return self._call(node, can_wait)
        if kind is _ast.Await and self._is_answered(node.value):
            self._parts(node.value, can_wait)
        elif kind in _FUNCTIONS:
            self._function(node, can_wait)
        elif kind is _ast.ClassDef:
            self._lists(node, ("decorator_list", "bases", "keywords"), can_wait)
            self._lists(node, ("body",), False)
        elif kind in _COMPREHENSIONS:
            self._comprehension(node, can_wait)
        elif kind is _ast.AnnAssign:
            self._parts(node, can_wait, ("annotation",))
        elif kind.__name__ != "TypeAlias":
            self._parts(node, can_wait)
        return node

    def _is_answered(self, node):
        return type(node) is _ast.Call and type(node.func) is _ast.Name and node.func.id in self._names

    def _call(self, node, can_wait):
        gathers = getattr(node.func, "attr", getattr(node.func, "id", None)) in _GATHERING
        self._parts(node, can_wait and not gathers)
        if not can_wait or not self._is_answered(node):
            return node
        helper = _placed(_ast.Name(id=HELPER, ctx=_ast.Load()), node.func)
        waiting = _placed(_ast.Call(func=helper, args=[node], keywords=[]), node)
        return _placed(_ast.Await(value=waiting), node)

    def _function(self, node, can_wait):
        """Decorators and defaults belong to what stands around it."""
        if type(node) is not _ast.Lambda:
            self._lists(node, ("decorator_list",), can_wait)
        self._lists(node.args, ("defaults", "kw_defaults"), can_wait)
        if type(node) is _ast.Lambda:
            node.body = self.visit(node.body, False)
        else:
            self._lists(node, ("body",), type(node) is _ast.AsyncFunctionDef)

    def _comprehension(self, node, can_wait):
        """A generator is read by who cannot wait; what it runs over is read here."""
        first = node.generators[0]
        first.iter = self.visit(first.iter, can_wait)
        inside = can_wait and type(node) is not _ast.GeneratorExp
        self._parts(node, inside, ("generators",))
        for generator in node.generators:
            self._parts(generator, inside, ("iter",) if generator is first else ())

    def _parts(self, node, can_wait, left_out=()):
        for field in node._fields:
            if field in left_out:
                continue
            value = getattr(node, field, None)
            if type(value) is list:
                self._lists(node, (field,), can_wait)
            elif isinstance(value, _ast.AST):
                setattr(node, field, self.visit(value, can_wait))

    def _lists(self, node, fields, can_wait):
        for field in fields:
            parts = getattr(node, field, None) or []
            for at, part in enumerate(parts):
                if isinstance(part, _ast.AST):
                    parts[at] = self.visit(part, can_wait)


def _placed(node, like):
    """With the place of another node, so that tracebacks name the line of the call."""
    for name in ("lineno", "col_offset", "end_lineno", "end_col_offset"):
        setattr(node, name, getattr(like, name))
    return node
