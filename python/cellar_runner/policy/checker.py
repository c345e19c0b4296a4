"""Reads a cell before it runs and names everything in it that the policy refuses.

This is guidance for the one who writes the cell. What keeps a session in are its walls.
"""

from __future__ import annotations

import _ast
import sys
from typing import Any, Mapping

from ..cells import compiler
from ..cells.magics.rewriter import BUILTIN as MAGIC
from ..pristine import BUILTINS as __builtins__
from . import rules, strings
from .calls import Calls, inside
from .modules import Modules, refused_name
from .report import Report
from .scopes import Bindings, children

NAME_LIMIT = 80

_Module = type(sys)
_NOT_GIVEN = object()
_Name, _Attribute, _Constant, _Call = _ast.Name, _ast.Attribute, _ast.Constant, _ast.Call


def check(source: str, filename: str = "<cell>", names: Mapping[str, Any] | None = None) -> list[dict]:
    """Every violation of a cell; `names` are the variables of earlier cells."""
    try:
        _shown, text, tree, _wrapper = compiler.read(source, filename, 0)
    except (RecursionError, MemoryError):
        return [_syntax(1, 1, "the code is too deeply nested", rules.NESTING_HINT)]
    except (SyntaxError, ValueError) as error:
        line, column = getattr(error, "lineno", None), getattr(error, "offset", None)
        message = getattr(error, "msg", None) or str(error)
        return [_syntax(line or 1, max(column or 1, 1), message, rules.SYNTAX_HINT)]
    return check_tree(tree, text, names)


def check_tree(tree: Any, text: str, names: Mapping[str, Any] | None = None) -> list[dict]:
    return Inspection(text, names).violations(tree)


def _syntax(line, column, message, hint):
    return {"line": line, "column": column, "rule": "syntax", "message": message, "hint": hint}


class Inspection:
    def __init__(self, text, names, is_nested=False):
        self._report = Report(text)
        self._names = names
        self._is_nested = is_nested
        self._modules = Modules(names)
        self._suspects = []
        self._calls = Calls(self._report, self._modules, names, self._check_code)
        self._seen = self._calls.reported

    def violations(self, tree: Any, checks: dict | None = None) -> list[dict]:
        """All violations; `checks` limits them to some node types."""
        checks = _CHECKS if checks is None else checks
        nodes = self._nodes(tree)
        for node in nodes:
            if type(node) in _IMPORTS:
                self._modules.bind(node)
        # the last statement comes first among the nodes
        for node in reversed(nodes):
            if type(node) in _ASSIGNMENTS:
                self._calls.remember(node)
                if type(node) in _ALIASES:
                    self._modules.bind_alias(node)
        for node in nodes:
            one = checks.get(type(node))
            if one is not None:
                one(self, node)
        if self._suspects:
            self._check_suspects(tree)
        return self._report.violations()

    def _refuse(self, node, kind, name, hint, message="{} is refused"):
        self._report.add(node, kind + name, message.format(name), hint)

    def _nodes(self, tree):
        """All nodes from the outside in, without docstrings."""
        nodes, waiting = [], [tree]
        while waiting:
            node = waiting.pop()
            nodes.append(node)
            if type(node) is _ast.Expr and type(node.value) is _Constant:
                continue
            waiting += children(node)
        return nodes

    def _check_import(self, node):
        if type(node) is _ast.Import:
            for alias in node.names:
                self._refuse_import(_place(alias, node), rules.refused_import(alias.name))
                self._check_bound(node, alias.asname)
            return
        if node.level or not node.module:
            return
        refused = rules.refused_import(node.module)
        if refused is not None:
            self._refuse_import(node, refused)
            return
        for alias in node.names:
            place = _place(alias, node)
            self._refuse_import(place, refused_name(node.module, alias.name))
            self._check_bound(place, alias.asname)

    def _refuse_import(self, node, refused):
        if refused is not None:
            name = refused[0][:NAME_LIMIT]
            self._refuse(node, "import.", name, refused[1], "importing {} is refused")

    def _check_attribute(self, node):
        name = node.attr
        if name in rules.ATTRIBUTES:
            if not _is_inherited(node):
                message = "the attribute {} is refused".format(name)
                self._report.add_attribute(node, name, message, rules.ATTRIBUTES[name])
            return
        if node in self._seen:
            return
        base = node.value
        if type(base) is not _Name and not (
            name.startswith("_") or name in rules.MODULES or name in rules.LAST_STEPS or name == "open"
        ):
            return
        path = self._modules.path(base)
        if path is None:
            return
        refused = refused_name(path, name)
        if refused is not None:
            message = "{} of the module {} is refused".format(name[:NAME_LIMIT], path[:NAME_LIMIT])
            self._report.add_attribute(node, refused[0][:NAME_LIMIT], message, refused[1])

    def _check_name(self, node):
        name = node.id
        if type(node.ctx) is not _ast.Load:
            self._check_bound(node, name)
        elif name in rules.FIXED_NAMES:
            if node not in self._seen:
                self._refuse_name(node)
        elif name in rules.CALLS or name in rules.MODULES or name in rules.CARRIED_CALLS:
            self._suspects.append(node)

    def _check_bound(self, node, name):
        if name in rules.FIXED_NAMES:
            self._refuse(node, "name.", name, rules.CALLS[name], "the name {} is refused")

    def _refuse_name(self, node):
        name = node.id
        if name in rules.CARRIED_CALLS:
            self._refuse(node, "call.", name, rules.CARRIED_CALLS[name])
        elif name in rules.CALLS:
            kind = "name." if name in rules.FIXED_NAMES and name != "__import__" else "call."
            self._refuse(node, kind, name, rules.CALLS[name])
        else:
            self._refuse(node, "name.", name, rules.MODULES[name], "the module {} is refused")

    def _check_suspects(self, tree):
        bindings = Bindings(tree)
        for node in self._suspects:
            name = node.id
            mild = name in rules.MILD_CALLS or name not in rules.CALLS
            if bindings.is_own(node) or (mild and name in bindings.anywhere):
                continue
            given = _NOT_GIVEN if self._names is None else self._names.get(name, _NOT_GIVEN)
            if name in rules.CALLS:
                if given is _NOT_GIVEN or given is __builtins__.get(name):  # type: ignore[attr-defined]
                    self._refuse_name(node)
            elif type(given) is _Module:
                if rules.refused_import(str(given.__dict__.get("__name__"))) is not None:
                    self._refuse_name(node)
            elif name in rules.CARRIED_CALLS:
                if _is_of_library(given) or (given is _NOT_GIVEN and self._modules.has_star):
                    self._refuse_name(node)
            elif given is _NOT_GIVEN and name in rules.CARRIED:
                if self._names is None or self._modules.has_star:
                    self._refuse_name(node)

    def _check_assignment(self, node):
        """__match_args__ names attributes that patterns read."""
        if any(type(target) is _Name and target.id == "__match_args__" for target in node.targets):
            for part in inside(node.value):
                self._check_matched(part, part.value if type(part) is _Constant else None)

    def _check_matched(self, node, name):
        if type(name) is str and name in rules.ATTRIBUTES:
            message = "the attribute {} is refused in patterns too"
            self._refuse(node, "attribute.", name, rules.ATTRIBUTES[name], message)

    def _check_definition(self, node):
        if node.name in rules.METHODS:
            self._refuse(node, "attribute.", node.name, rules.ATTRIBUTES[node.name], "defining {} is refused")
        self._check_binding(node)

    def _check_binding(self, node):
        for name in getattr(node, "names", None) or [getattr(node, field, None) for field in ("name", "rest", "arg")]:
            self._check_bound(node, name)
        self._check_annotation(node)

    def _check_annotation(self, node):
        for annotation in (getattr(node, "annotation", None), getattr(node, "returns", None)):
            if annotation is not None:
                self._calls.check_annotation(annotation)

    def _check_pattern(self, node):
        for name, pattern in zip(node.kwd_attrs, node.kwd_patterns):
            self._check_matched(pattern, name)

    def _check_constant(self, node):
        if type(node.value) is str and node not in self._seen:
            self._check_text(node, node.value)

    def _check_text(self, node, text, assembled=False):
        name = strings.name_in_format(text)
        if name is not None:
            message = "a format field reaches for {}".format(name)
            self._report.add(node, "format.attribute", message, rules.FORMAT_HINT)
            return
        name = strings.name_in_text(text, assembled)
        if name is not None:
            self._refuse(node, "string.", name, rules.STRING_HINT, "the name {} in a string is refused")

    def _check_sum(self, node):
        if node in self._seen:
            return
        if type(node.op) is not _ast.Add:
            self._check_made(node)
            return
        texts = strings.runs(node)
        below = node
        while type(below) is _ast.BinOp and type(below.op) is _ast.Add:
            self._seen.add(below)
            below = below.left
        for text in texts:
            self._check_text(node, text, True)

    def _check_made(self, node):
        """A text that is joined, sliced, repeated or formatted."""
        if node in self._seen:
            return
        text = strings.text_of(node)
        if text is not None:
            self._check_text(node, text, True)

    def _check_subscript(self, node):
        key = strings.text_of(node.slice)
        if key is None:
            if type(node.slice) is _ast.Slice:
                self._check_made(node)
            return
        key = strings.normalised(key)
        stored_data = type(node.ctx) is not _ast.Load and key in rules.DATA_KEYS
        if key.startswith("__") and (key in rules.ATTRIBUTES or key in rules.CALLS) and not stored_data:
            hint = rules.ATTRIBUTES.get(key) or rules.CALLS[key]
            self._seen.update(inside(node.slice))
            self._refuse(node.slice, "subscript.", key, hint, "the key {} is refused")
        elif key in rules.MODULES and type(node.value) is _Attribute and node.value.attr == "modules":
            message = "reaching for the module {} is refused".format(key)
            self._report.add(node, "subscript.modules", message, rules.MODULES[key])

    def _check_call(self, node):
        called = node.func
        if type(called) is _Attribute and type(called.value) is _Name and called.value.id == MAGIC:
            self._check_magic(node)
            return
        name = self._calls.name_of(called)
        self._calls.check(node, name)
        if name in ("join", "replace", "decode", "lower", "upper", "swapcase", "strip"):
            self._check_made(node)

    def _check_given(self, node):
        self._calls.check(node, self._calls.name_of(node.func), True)

    def _check_code(self, node, text, below):
        """Reports code in a text at the place of its call."""
        if self._is_nested:
            return
        try:
            tree = compiler.read(text, "<text>", 0)[2]
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return
        for one in Inspection(text, self._names, True).violations(tree):
            line = node.lineno + one["line"] - 1 + below
            self._report.add_at(line, one["column"], one["rule"], one["message"], one["hint"])

    def _check_magic(self, node):
        self._seen.update((node.func, node.func.value))
        method = node.func.attr
        texts: list = [argument.value for argument in node.args if type(argument) is _Constant]
        name = texts[0] if method in ("line", "cell") and texts and type(texts[0]) is str else ""
        if method in ("timed", "timing", "clock", "help") or name in rules.HARMLESS_MAGICS:
            return
        if method == "line" and name in rules.IMPORT_MAGICS:
            self._check_code(node, "import " + texts[1], 0)
        elif name in rules.CODE_MAGICS:
            for below, text in enumerate(texts[1:]):
                self._check_code(node, _without_options(text) if not below else text, below)
        elif name in _FILE_MAGICS:
            self._refuse(node, "magic.", name, rules.MAGIC_HINT, "the magic %{} is refused")
        else:
            message = "shell commands and magics are refused"
            self._report.add(node, "shell", message, rules.SHELL_HINT)


_FILE_MAGICS = frozenset("writefile file run cd env set_env pwd reset history hist python".split())


def _without_options(text):
    """%timeit -n 10 code"""
    words = text.split()
    while words and words[0].startswith("-"):
        words = words[2:] if len(words[0]) == 2 and words[1:] and words[1].isdigit() else words[1:]
    return " ".join(words)


def _place(alias, statement):
    return alias if hasattr(alias, "lineno") else statement


def _is_inherited(node):
    """super().__setattr__, which a class may pass on to the one above it."""
    if node.attr not in ("__setattr__", "__delattr__"):
        return False
    base = node.value
    return type(base) is _Call and type(base.func) is _Name and base.func.id == "super"


def _is_of_library(value):
    return type(value) in (type, type(children)) and value.__module__ != "__main__"


_IMPORTS = (_ast.Import, _ast.ImportFrom)
_ALIASES = (_ast.Assign, _ast.NamedExpr)
_ASSIGNMENTS = _ALIASES + (_ast.AnnAssign, _ast.AugAssign)
_CHECKS = {
    getattr(_ast, kind): check
    for check, kinds in (
        (Inspection._check_import, "Import ImportFrom"),
        (Inspection._check_assignment, "Assign"),
        (Inspection._check_attribute, "Attribute"),
        (Inspection._check_name, "Name"),
        (Inspection._check_constant, "Constant"),
        (Inspection._check_made, "JoinedStr"),
        (Inspection._check_sum, "BinOp"),
        (Inspection._check_subscript, "Subscript"),
        (Inspection._check_call, "Call"),
        (Inspection._check_definition, "FunctionDef AsyncFunctionDef ClassDef"),
        (Inspection._check_binding, "Global Nonlocal ExceptHandler MatchAs MatchStar MatchMapping arg"),
        (Inspection._check_annotation, "AnnAssign"),
        (Inspection._check_pattern, "MatchClass"),
    )
    for kind in kinds.split()
    if hasattr(_ast, kind)
}
# Checked before a restricted cell runs; guards check the rest while it runs.
ARGUMENT_CHECKS = {
    _ast.Call: Inspection._check_given,
    _ast.FunctionDef: Inspection._check_annotation,
    _ast.arg: Inspection._check_annotation,
    _ast.AnnAssign: Inspection._check_annotation,
}
