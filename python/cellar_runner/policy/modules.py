"""Which names of a cell are modules, and what must not be taken from them."""

from __future__ import annotations

import _ast
import sys
from typing import Any

from ..pristine import BUILTINS as __builtins__
from . import rules

LONGEST_CHAIN = 50

# Python before 3.10 has no list of the standard library.
_FURTHER = "asyncio bz2 codecs email gzip lzma platform tarfile tokenize unittest zipfile".split()
_STANDARD = frozenset(getattr(sys, "stdlib_module_names", _FURTHER)) | rules.COMPUTING
_Module = type(sys)


class Modules:
    """The dotted paths of names that are modules, by the imports of this cell and earlier ones."""

    def __init__(self, names):
        self._names = names
        self._paths = {}
        self.has_star = False

    def bind(self, node: Any) -> None:
        if type(node) is _ast.Import:
            for alias in node.names:
                path = alias.name if alias.asname else alias.name.partition(".")[0]
                self._paths[alias.asname or path] = path
        elif node.module and not node.level:
            for alias in node.names:
                self.has_star = self.has_star or alias.name == "*"
                self._paths[alias.asname or alias.name] = node.module + "." + alias.name

    def bind_alias(self, node: Any) -> None:
        """r = random makes a module of r."""
        path = self.path(node.value)
        if path is None:
            return
        for target in node.targets if type(node) is _ast.Assign else [node.target]:
            if type(target) is _ast.Name:
                self._paths.setdefault(target.id, path)

    def path(self, node: Any) -> str | None:
        """The dotted path of an expression that starts with a module, or None."""
        steps: list[str] = []
        while type(node) is _ast.Attribute and len(steps) < LONGEST_CHAIN:
            steps.append(node.attr)
            node = node.value
        if type(node) is not _ast.Name:
            return None
        path = self.path_of(node.id)
        return path and ".".join([path] + steps[::-1])

    def path_of(self, name: str) -> str | None:
        path = self._paths.get(name)
        if path is not None:
            return path
        if self._names is None:
            return name if name in rules.COMPUTING else None
        value = self._names.get(name)
        return str(value.__dict__.get("__name__")) if type(value) is _Module else None


def refused_name(module: str, name: str) -> tuple[str, str] | None:
    """(name, hint) if the name must not be taken from this module, or None."""
    if name == "*":
        return (module, rules.MODULES[module]) if module in rules.MEMBERS else None
    return rules.refused_member(module, name) or _carried(module, name)


def _carried(module, name):
    bare = name.lstrip("_")
    if module.partition(".")[0] not in _STANDARD:
        return (name, rules.MODULES[bare]) if bare in rules.CARRIED else None
    if name in rules.MODULES:
        return name, rules.MODULES[name]
    if name.startswith("_") and not name.startswith("__") and name not in rules.TUPLE_NAMES:
        return name, rules.MODULES.get(bare, rules.PRIVATE_HINT)
    return (name, rules.CALLS[name]) if name == "open" else None
