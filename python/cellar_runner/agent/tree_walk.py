"""Walking the tree of a cell's code."""

from __future__ import annotations

import _ast
from typing import Any, Iterator

from ..pristine import BUILTINS as __builtins__

_AST = _ast.AST


def walk(node: Any) -> Iterator[Any]:
    """The node and all below it; not `ast.walk`, which a cell could have replaced."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        yield node
        for field in node._fields:
            value = getattr(node, field, None)
            if isinstance(value, _AST):
                waiting.append(value)
            elif type(value) is list:
                waiting += [one for one in value if isinstance(one, _AST)]
