"""The calls of tools in the tree of a cell: never in its comments, nor in its texts."""

from __future__ import annotations

import _ast
import json
from typing import Any, Callable, NamedTuple

from ...pristine import BUILTINS as __builtins__
from ..tree_walk import walk
from .facts import ROOT, WRAPPERS, Catalogue, ToolFacts
from .resources import UNKNOWN, Given

LONGEST_JSON = 100_000

_decode = json.JSONDecoder().decode


class FoundCall(NamedTuple):
    """`facts` is None if the name is computed, or if no tool has it."""

    node: _ast.Call
    tool: str
    facts: ToolFacts | None
    is_built_in: bool = False
    is_dynamic: bool = False


def find_calls(tree: _ast.Module, catalogue: Catalogue) -> list[FoundCall]:
    """All of them, in the order of the source."""
    calls = (tool_of(node, catalogue) for node in walk(tree) if type(node) is _ast.Call)
    found = [one for one in calls if one is not None]
    return sorted(found, key=lambda one: (one.node.lineno, one.node.col_offset))


def tool_of(node: _ast.Call, catalogue: Catalogue) -> FoundCall | None:
    """The tool that a call is of; None if it is of something else."""
    function = node.func
    if type(function) is _ast.Name:
        if function.id in WRAPPERS:
            return _wrapped(node, function.id, catalogue)
        facts = catalogue.functions.get(function.id)
        return None if facts is None else FoundCall(node, function.id, facts, is_built_in=True)
    path: list[str] = []
    while type(function) is _ast.Attribute:
        path.insert(0, function.attr)
        function = function.value
    if type(function) is not _ast.Name or function.id != ROOT:
        return None
    # What follows the name of a tool is one of its ways to be called.
    for end in range(len(path), 0, -1):
        name = ".".join(path[:end])
        if name in catalogue.tools:
            return FoundCall(node, name, catalogue.tools[name])
    return None


def _wrapped(node, wrapper, catalogue):
    first = node.args[0] if node.args else _keyword(node, "name")
    if type(first) is not _ast.Constant or type(first.value) is not str:
        return FoundCall(node, wrapper + "(dynamic)", None, is_dynamic=True)
    return FoundCall(node, first.value, catalogue.tools.get(first.value))


def _keyword(node, name):
    return next((one.value for one in node.keywords if one.arg == name), None)


def given(found: FoundCall, static: Callable[[Any], Any]) -> Given:
    """The arguments of a call by name, as far as `static` knows the values of their nodes."""
    node, positional = found.node, list(found.node.args)
    arguments: dict[str, Any] = {}
    is_whole = all(one.arg is not None for one in node.keywords)
    for one in node.keywords:
        if one.arg is not None:
            arguments[one.arg] = static(one.value)
    if type(node.func) is _ast.Name and node.func.id in WRAPPERS:
        if not positional:
            arguments.pop("name", None)
        named = positional[1:] + [one.value for one in node.keywords if one.arg in ("args", "json")]
        if node.func.id != "TOOL" and len(named) == 1:
            return _content(named[0], static)
        return Given(arguments, is_whole and not named)
    parameters = () if found.facts is None else found.facts.parameters
    arguments.update(zip(parameters, map(static, positional)))
    return Given(arguments, is_whole and len(positional) <= len(parameters))


def _content(node, static):
    """The arguments that are given as a dict, or as the text of one in JSON."""
    if type(node) is _ast.Dict:
        keys = [static(key) if key is not None else UNKNOWN for key in node.keys]
        values = map(static, node.values)
        return Given(
            {key: value for key, value in zip(keys, values) if type(key) is str},
            all(type(key) is str for key in keys),
        )
    text = static(node)
    if type(text) is str and len(text) <= LONGEST_JSON:
        try:
            content = _decode(text)
        except (ValueError, RecursionError):
            content = None
        if type(content) is dict:
            return Given(content, True)
    return Given({}, False)
