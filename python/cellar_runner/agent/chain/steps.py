"""A turn as a list of steps: calls of tools, names for values, and what is shown."""

from __future__ import annotations

import _ast
import builtins
from typing import Any, NamedTuple

from ...pristine import BUILTINS as __builtins__
from .calls import given, tool_of
from .expressions import PLAIN, RESULT, Names, Unsuitable
from .facts import ROOT, WRAPPERS, Catalogue
from .resources import Resource, resources

MOST_STEPS = 200
CALL, BIND, PRINT, SHOW = "call", "bind", "print", "show"

# Names under which the parts of a call are found by the code that makes it.
FUNCTION, POSITIONAL, NAMED = "function", "positional", "named"
CAPTURE = "capture arguments"

_print, _builtin_names = print, vars(builtins)


class Step(NamedTuple):
    kind: str
    number: int
    # The name that its value gets.
    target: str | None
    # The names that it reads, also deep in its arguments.
    names: frozenset[str]
    # What its value is made by; of a call, only its function and arguments.
    code: Any
    # Of calls only.
    chain_index: int = -1
    tool: str = ""
    is_read_only: bool = True
    is_built_in: bool = False
    # Whether its first argument is the name of the tool.
    is_wrapped: bool = False
    parameters: tuple[str, ...] = ()
    reads: tuple[Resource, ...] = ()
    writes: tuple[Resource, ...] = ()
    # Makes the call, in the line of the cell that it stands in.
    call_code: Any = None

    @property
    def label(self) -> str:
        return self.target or self.tool


def read_steps(tree: _ast.Module, catalogue: Catalogue, namespace: dict, filename: str) -> list[Step]:
    """The steps of a turn that consists of nothing else; raises Unsuitable otherwise."""
    return _Reader(catalogue, namespace, filename).read(tree.body)


class _Reader:
    def __init__(self, catalogue, namespace, filename):
        self._catalogue = catalogue
        self._filename = filename
        self._names = Names(namespace)
        # To bind one of these would change what the calls after it do.
        self._fixed = set(catalogue.functions).union(WRAPPERS, (ROOT, "print", "context"))
        taken = self._fixed.difference(("context",)).intersection(namespace)
        if taken:
            raise Unsuitable("the session has a variable of its own called {}".format(sorted(taken)[0]))
        if _builtin_names.get("print") is not _print:
            raise Unsuitable("the session has a print() of its own")
        self._steps: list[Step] = []
        self._calls = 0

    def read(self, body):
        if len(body) > MOST_STEPS:
            raise Unsuitable("it has more than {} statements".format(MOST_STEPS))
        for statement in body:
            is_last = statement is body[-1]
            kind = type(statement)
            if kind is _ast.Assign:
                self._assign(statement)
            elif kind is _ast.Expr:
                self._expression(statement.value, is_last, statement is body[0])
            elif kind is not _ast.Pass:
                raise Unsuitable("a statement is a {}".format(kind.__name__))
        return self._steps

    def _assign(self, statement):
        target = statement.targets[0]
        if len(statement.targets) != 1 or type(target) is not _ast.Name:
            raise Unsuitable("a result goes to more than one name")
        name, value = target.id, statement.value
        if name in self._fixed or name.startswith("__"):
            raise Unsuitable("{} is assigned to".format(name))
        if type(value) is _ast.Call:
            self._call(value, name)
            self._names.bind(name, RESULT)
            return
        used: set[str] = set()
        standing = self._names.examine(value, used)
        self._add(BIND, name, used, self._compiled(value))
        self._names.bind(name, standing, self._names.static(value))

    def _expression(self, value, is_last, is_first):
        if type(value) is _ast.Call:
            if type(value.func) is _ast.Name and value.func.id == "print":
                self._print(value)
            else:
                self._call(value, None)
        elif type(value) is _ast.Name and is_last:
            used: set[str] = set()
            self._names.examine(value, used)
            self._add(SHOW, None, used, self._compiled(value))
        elif not (type(value) is _ast.Constant and is_first and not is_last):
            raise Unsuitable("an expression is a {}".format(type(value).__name__))

    def _print(self, node):
        if node.keywords:
            raise Unsuitable("print() has options")
        used: set[str] = set()
        for argument in node.args:
            if self._names.examine(argument, used) < PLAIN:
                raise Unsuitable("a value of another class is printed")
        code = self._compiled(_placed(_ast.Tuple(elts=node.args, ctx=_ast.Load()), node))
        self._add(PRINT, None, used, code)

    def _call(self, node, target):
        found = tool_of(node, self._catalogue)
        if found is None or found.facts is None:
            raise Unsuitable("line {} calls what is no tool".format(node.lineno))
        if type(node.func) is _ast.Attribute and _depth(node.func) != found.tool.count(".") + 1:
            raise Unsuitable("line {} calls {} in another way".format(node.lineno, found.tool))
        used: set[str] = set()
        for argument in node.args + [one.value for one in node.keywords]:
            self._names.examine(argument, used)
        if any(one.arg is None for one in node.keywords):
            raise Unsuitable("arguments are unpacked")
        facts = found.facts
        known = given(found, self._names.static)
        self._add(
            CALL,
            target,
            used,
            self._compiled(_capturing(node)),
            chain_index=self._calls,
            tool=found.tool,
            is_read_only=facts.is_read_only,
            is_built_in=found.is_built_in,
            is_wrapped=type(node.func) is _ast.Name and not found.is_built_in,
            parameters=facts.parameters,
            reads=resources(facts.outside_reads(), known, facts),
            writes=resources(facts.outside_writes(), known, facts),
            call_code=self._compiled(_calling(node)),
        )
        self._calls += 1

    def _add(self, kind, target, used, code, **of_call):
        self._steps.append(Step(kind, len(self._steps), target, frozenset(used), code, **of_call))

    def _compiled(self, expression):
        return compile(_ast.Expression(body=expression), self._filename, "eval", 0, True)


def _depth(node):
    depth = 0
    while type(node) is _ast.Attribute:
        node, depth = node.value, depth + 1
    return depth


def _capturing(node):
    """`capture(function, *arguments)` in the place of a call."""
    capture = _placed(_ast.Name(id=CAPTURE, ctx=_ast.Load()), node)
    return _placed(_ast.Call(func=capture, args=[node.func] + node.args, keywords=node.keywords), node)


def _calling(node):
    """`function(*positional, **named)` in the place of a call."""
    function, positional, named = (
        _placed(_ast.Name(id=name, ctx=_ast.Load()), node) for name in (FUNCTION, POSITIONAL, NAMED)
    )
    everything = _placed(_ast.Starred(value=positional, ctx=_ast.Load()), node)
    keywords = [_placed(_ast.keyword(arg=None, value=named), node)]
    return _placed(_ast.Call(func=function, args=[everything], keywords=keywords), node)


def _placed(node, like):
    """With the place of another node, so that tracebacks name the line of the call."""
    for name in ("lineno", "col_offset", "end_lineno", "end_col_offset"):
        setattr(node, name, getattr(like, name))
    return node
