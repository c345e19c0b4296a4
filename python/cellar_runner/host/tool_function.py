"""A function of Python's with the signature, the types and the text of a tool of the host."""

from __future__ import annotations

import inspect
from typing import Any, Callable

from ..module_finder import import_own
from ..pristine import BUILTINS as __builtins__
from .argument_types import mismatch
from .bridge import Pending

# Kept, since a cell may replace those of the module.
_Parameter, _Signature = inspect.Parameter, inspect.Signature


def made_of(toolbox: Any, spec: dict) -> Callable:
    """Calls the tool through the toolbox."""
    name, parameters = spec["name"], spec["parameters"]
    own_name = name.rpartition(".")[2]
    names = [one["name"] for one in parameters]
    signature = spec["signature"]

    def fields(positional, named):
        if len(positional) > len(names):
            raise _wrong(signature, "{} values without a name".format(len(positional)))
        given = dict(zip(names, positional))
        for key, value in named.items():
            if key in given:
                raise _wrong(signature, "{} twice".format(key))
            if key not in names and not spec["open"]:
                raise _wrong(signature, "{}, which it does not take".format(key))
            given[key] = value
        for one in parameters:
            key = one["name"]
            if key in given and given[key] is None and not one["required"]:
                # None is how Python says that nothing was given.
                del given[key]
            if key in given:
                problem = mismatch(one["schema"], given[key])
                if problem is not None:
                    raise _wrong(signature, "for {} {}".format(key, problem))
            elif one["required"]:
                raise _wrong(signature, "no {}".format(key))
        return given

    def tool(*positional, **named):
        value = toolbox.call("TOOL", name, fields(positional, named))
        if not spec["table"]:
            return value
        if isinstance(value, Pending):
            return Pending(name, _awaited_table(value), lambda arrived: arrived)
        return _table(value)

    async def later(*positional, **named):
        given = fields(positional, named)
        value = await toolbox.workers.awaited(lambda: toolbox.call("TOOL", name, given))
        return _table(value) if spec["table"] else value

    def order(positional, named):
        """(name, arguments, what makes the result of the value) of a call, for those that make several at once."""
        return name, fields(positional, named), _table if spec["table"] else _same

    tool.order = order  # type: ignore[attr-defined]
    tool.__name__ = tool.__qualname__ = own_name
    tool.__doc__ = spec["doc"]
    tool.__signature__ = _signature(spec)  # type: ignore[attr-defined]
    later.__doc__ = "The same, to be awaited: several run at once with asyncio.gather."
    tool.aio = later  # type: ignore[attr-defined]
    return tool


def _same(value):
    return value


def _wrong(signature, what):
    return TypeError("{} was given {}".format(signature, what))


def _signature(spec):
    """For help() and completion; names that Python does not take can be given as `**{name: value}`."""
    listed: list[inspect.Parameter] = []
    kind: Any = _Parameter.POSITIONAL_OR_KEYWORD
    has_default = False
    for one in spec["parameters"]:
        if one["required"] and has_default:
            kind = _Parameter.KEYWORD_ONLY
        has_default = has_default or not one["required"]
        default = _Parameter.empty if one["required"] else _Shown(one["fallback"])
        annotation = _Shown(one["type"]) if one["type"] else _Parameter.empty
        try:
            listed.append(_Parameter(one["name"], kind, default=default, annotation=annotation))
        except ValueError:
            continue
    if spec["open"]:
        listed.append(_Parameter("fields", _Parameter.VAR_KEYWORD))
    try:
        return _Signature(listed)
    except ValueError:
        return None


class _Shown:
    """A default or a type, as the host writes it."""

    def __init__(self, text):
        self._text = text

    def __repr__(self):
        return self._text


def _table(value):
    """A DataFrame of rows, or the rows where pandas is not there."""
    try:
        pandas = import_own("pandas")
    except ImportError:
        return value
    if isinstance(value, dict) and isinstance(value.get("rows"), list):
        return pandas.DataFrame(value["rows"], columns=value.get("columns"))
    return pandas.DataFrame(value) if isinstance(value, list) else value


async def _awaited_table(pending):
    return _table(await pending)
