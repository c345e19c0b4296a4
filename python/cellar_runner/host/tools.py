"""Functions of the host's own, which cells call by their names. Loaded where a session has some."""

from __future__ import annotations

import inspect
from typing import Any, Callable

from ..errors import MODULE
from ..pristine import BUILTINS as __builtins__
from .bridge import Answer, Answers, Awaitable, Bridge, encoded, single
from .toolbox import OWN_NAMES, Toolbox

_Parameter = inspect.Parameter


class Fields(Awaitable, dict):
    """A dict that may be awaited."""

    __slots__ = ()
    __module__ = MODULE
    __hash__ = object.__hash__  # type: ignore[assignment]


_SHAPES: dict[type, Callable] = {str: Answer, list: Answers, dict: Fields}


def functions(service: Any, specs: list[dict]) -> dict[str, Callable]:
    """What cells get: the functions by name, and `tools` with all of them."""
    bridge = Bridge(service)
    own = {spec["name"]: _function(bridge, spec) for spec in specs if spec["name"] not in OWN_NAMES}
    service.toolbox = Toolbox(service, own, [spec["name"] for spec in specs])
    return dict(own, **service.toolbox.names())


def _function(bridge, spec):
    name, is_open = spec["name"], spec["open"]
    parameters = [(one["name"], one["required"]) for one in spec["parameters"]]
    names = [parameter for parameter, _ in parameters]
    optional = frozenset(parameter for parameter, required in parameters if not required)

    def tool(*positional, **named):
        fields = _fields(name, names, is_open, positional, named)
        # None is how Python says that nothing was given.
        given = {key: value for key, value in fields.items() if value is not None or key not in optional}
        return single(bridge, name, [encoded("what {} was given".format(name), given)], _shaped)

    tool.__name__ = tool.__qualname__ = name
    tool.__module__ = MODULE
    tool.__doc__ = spec["doc"]
    tool.__signature__ = _signature(parameters, is_open)  # type: ignore[attr-defined]
    return tool


def _fields(name, names, is_open, positional, named):
    takes = "{}() takes {}".format(name, ", ".join(names) or "arguments by name")
    if len(positional) > len(names):
        raise TypeError("{}, but {} were given without a name".format(takes, len(positional)))
    fields = dict(zip(names, positional))
    for key, value in named.items():
        if key in fields:
            raise TypeError("{}() was given {} twice".format(name, key))
        if not is_open and key not in names:
            raise TypeError("{}, and no {}".format(takes if names else name + "() takes nothing", key))
        fields[key] = value
    return fields


def _shaped(value):
    shape = _SHAPES.get(type(value))
    return value if shape is None else shape(value)


def _signature(parameters, is_open):
    """For help(); names that Python does not take can be given all the same, as `**{name: value}`."""
    listed, has_default = [], False
    kind: inspect._ParameterKind = _Parameter.POSITIONAL_OR_KEYWORD
    for name, required in parameters:
        if required and has_default:
            kind = _Parameter.KEYWORD_ONLY
        has_default = has_default or not required
        try:
            listed.append(_Parameter(name, kind, default=_Parameter.empty if required else None))
        except ValueError:
            continue
    if is_open:
        listed.append(_Parameter("fields", _Parameter.VAR_KEYWORD))
    try:
        return inspect.Signature(listed)
    except ValueError:
        return None
