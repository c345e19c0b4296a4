"""The answer that FINAL(), FINAL_VAR() or SUBMIT() gives."""

from __future__ import annotations

import difflib
import types
from typing import Any

from ..host.bridge import Pending
from ..pristine import BUILTINS as __builtins__
from ..values import encoding
from ..values.reprs import cap, guarded_repr, is_a, qualified_name, text_of, type_name

ANSWER_CHARACTERS = 1_000_000
TEXT_CHARACTERS = 50_000
SHOWN_NAMES = 10

_near = difflib.get_close_matches
_LAZY = (types.GeneratorType, types.CoroutineType, types.AsyncGeneratorType, Pending, map, filter, zip)


def answer(value: Any, via: str, name: str | None = None) -> dict:
    """The answer as data, or a TypeError that says what to pass instead."""
    if is_a(value, types.ModuleType):
        raise TypeError("{}() takes an answer, not a module: pass what you found out".format(via))
    if is_a(value, (types.GeneratorType, map, filter, zip)):
        raise TypeError("{}() takes the items, not a {}: wrap it in list(...)".format(via, type_name(type(value))))
    if is_a(value, _LAZY):
        raise TypeError("{}() takes a finished result: await it first".format(via))
    if callable(value):
        what = "class" if is_a(value, type) else type_name(type(value))
        message = "{}() takes an answer, not a {}: call it and pass what it returns"
        raise TypeError(message.format(via, what))
    encoder = encoding.Encoder(ANSWER_CHARACTERS)
    encoded = encoder.encode(value, 0)
    is_text = is_a(encoded, str)
    return {
        "via": via,
        "name": name,
        "type": qualified_name(type(value)),
        "value": encoded,
        "text": None if is_text else text_of(value, TEXT_CHARACTERS),
        "loss": encoder.loss,
    }


def variable(name: Any, namespace: dict) -> Any:
    if not is_a(name, str):
        message = "FINAL_VAR() takes the name of a variable as text, not {}: write {}"
        advice = 'FINAL_VAR("result"), or FINAL(result)'
        raise TypeError(message.format(type_name(type(name)), advice))
    name = str.__str__(name)
    if name in namespace and not name.startswith("__"):
        return namespace[name]
    names = [one for one in namespace if is_a(one, str) and not one.startswith("_")]
    near = _near(name[:200], names, 3, 0.5)
    shown = cap(guarded_repr(name), 100)
    if near:
        advice = "did you mean {}?".format(" or ".join(near))
    elif names:
        advice = "you have " + ", ".join(names[-SHOWN_NAMES:])
    else:
        advice = "you have no variables yet"
    if not name.isidentifier():
        advice += " (FINAL() takes the answer itself)"
    raise NameError("there is no variable {}; {}".format(shown, advice))
