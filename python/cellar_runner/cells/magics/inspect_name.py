"""What `name?` and `name??` print."""

from __future__ import annotations

import inspect
from typing import Any, Mapping

from ...pristine import BUILTINS as __builtins__
from ...values.reprs import cap, qualified_name, text_of

VALUE_LIMIT = 500
TEXT_LIMIT = 20_000


def object_info(name: str, with_source: bool, globals_: dict[str, Any], locals_: Mapping[str, Any]) -> str:
    """Signature, type, value and documentation of a dotted name, or its source."""
    try:
        value = eval(name, globals_, locals_)
    except Exception:
        return "Object `{}` not found.".format(name)
    parts = []
    if callable(value):
        try:
            parts.append("Signature: {}{}".format(name, inspect.signature(value)))
        except (TypeError, ValueError):
            pass
    parts.append("Type: " + qualified_name(type(value)))
    if not callable(value):
        parts.append("Value: " + text_of(value, VALUE_LIMIT))
    source = _source(value) if with_source else None
    if source is not None:
        parts.append("Source:\n" + source)
    else:
        parts.append("Docstring:\n" + (inspect.getdoc(value) or "<no docstring>"))
    return cap("\n".join(parts), TEXT_LIMIT)


def _source(value):
    for subject in (value, type(value)):
        try:
            return inspect.getsource(subject).rstrip()
        except (OSError, TypeError):
            continue
    return None
