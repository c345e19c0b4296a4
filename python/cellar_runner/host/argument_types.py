"""Whether a value fits a JSON Schema, as far as its type goes. The host checks the rest."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MAX_ITEMS = 1000
MAX_DEPTH = 8

_NAMES = {
    "string": "a str",
    "integer": "an int",
    "number": "a number",
    "boolean": "a bool",
    "array": "a list",
    "object": "a dict",
    "null": "None",
}


def mismatch(schema: Any, value: object, depth: int = 0) -> str | None:
    """What is wrong, in words that follow "for NAME", or None."""
    if not isinstance(schema, dict) or depth > MAX_DEPTH:
        return None
    for key in ("anyOf", "oneOf"):
        choices = schema.get(key)
        if isinstance(choices, list) and choices:
            found = [mismatch(choice, value, depth + 1) for choice in choices]
            return None if None in found else found[0]
    allowed = schema.get("enum")
    if isinstance(allowed, list) and value not in allowed:
        return "{!r}; it must be one of {}".format(value, ", ".join(map(repr, allowed[:20])))
    kinds = schema.get("type")
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if isinstance(kinds, list) and not any(_is_kind(kind, value) for kind in kinds):
        wanted = " or ".join(_NAMES.get(kind, str(kind)) for kind in kinds)
        return "{}; it must be {}".format(_described(value), wanted)
    items = schema.get("items")
    if isinstance(items, dict) and isinstance(value, (list, tuple)):
        for position, item in enumerate(value[:MAX_ITEMS]):
            problem = mismatch(items, item, depth + 1)
            if problem is not None:
                return "item {}: {}".format(position, problem)
    return None


def _is_kind(kind, value):
    if kind == "string":
        return isinstance(value, str)
    if kind == "boolean":
        return isinstance(value, bool)
    if kind == "integer":
        # Such as numpy's integers.
        return hasattr(value, "__index__") and not isinstance(value, bool)
    if kind == "number":
        return hasattr(value, "__float__") and not isinstance(value, (bool, str))
    if kind == "array":
        return isinstance(value, (list, tuple)) or hasattr(value, "tolist")
    if kind == "object":
        return isinstance(value, dict)
    return value is None if kind == "null" else True


def _described(value):
    text = repr(value)
    kind = type(value).__name__
    return "{} of type {}".format(text if len(text) <= 60 else text[:59] + "\u2026", kind)
