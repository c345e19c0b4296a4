"""The names by which cells reach earlier ones, as IPython has them: _, _2, In, Out and their kin."""

from __future__ import annotations

import builtins
import os
import re
import sys
from collections import deque
from typing import Any

from ..pristine import BUILTINS as __builtins__
from ..values.reprs import is_a

# The most values and bytes in Out; sizes are estimates.
KEPT_VALUES = 1_000
KEPT_BYTES = 64 << 20
# Later inputs are not recorded, so that late restored sessions stay cheap.
KEPT_INPUTS = 100_000
LONGEST_INPUT = 2_000_000
_SAMPLE = 50
_UNKNOWN = 1_000

_modules = sys.modules
_names = vars(builtins)
_size_of = object.__sizeof__
_numbered = re.compile(r"\b_(i?)([1-9][0-9]{0,8})\b").finditer
_NUMBERS = frozenset((int, float, bool, type(None)))
_SIZED = frozenset((str, bytes, list, tuple, dict, set))
_UNDERS = ("_", "__", "___")


class History:
    """What the cells of one session were, and what their last lines gave.

    The names are among the builtins: so they are no variables of the user's, who may
    still give them a meaning of their own.
    """

    def __init__(self, namespace):
        self._namespace = namespace
        self.inputs = [""]
        self.outputs = {}
        self.folders = []
        self._number = 0
        self._last_inputs = ("", "", "")
        self._values = ("", "", "")
        # Our value of `_`; gettext and doctest set their own.
        self._given = ""
        self._sizes: deque[tuple[int, int]] = deque()
        self._bytes_kept = 0
        self._bound = set()
        self._is_published = False
        for name in _UNDERS:
            _names.pop(name, None)
        self._publish()

    def begin(self, number: int | str, code: str) -> None:
        """Records a cell; nested texts have a string for a number and no history."""
        if type(number) is not int:
            return
        self._number = number
        if not number:
            return
        if not self._is_published:
            self._publish()
            self._is_published = True
            self.folders.append(_folder())
        if len(code) > LONGEST_INPUT:
            code = ""
        inputs = self.inputs
        if number < KEPT_INPUTS:
            inputs.extend([""] * (number + 1 - len(inputs)))
            inputs[number] = code
        first, second, _ = self._last_inputs
        _names["_i"], _names["_ii"], _names["_iii"] = self._last_inputs
        self._last_inputs = (code, first, second)
        if "_" in code:
            self._bind(code)

    def keep(self, value: Any) -> None:
        """Records the value that a cell shows; leaves `_` alone where it has another meaning."""
        number = self._number
        outputs = self.outputs
        if not number or value is outputs:
            return
        size = _estimated_bytes(value)
        first, second, _ = self._values
        self._values = (value, first, second)
        variables = self._namespace
        is_shadowed = "_" in variables or "__" in variables or "___" in variables
        if _names.get("_", self._given) is self._given and not is_shadowed:
            self._given = value
            _names["_"], _names["__"], _names["___"] = self._values
        if size > KEPT_BYTES:
            # still reachable as `_` until the next value
            self._values = ("", first, second)
            return
        outputs[number] = value
        self._sizes.append((number, size))
        self._bytes_kept += size
        while self._bytes_kept > KEPT_BYTES or len(self._sizes) > KEPT_VALUES:
            self._drop()

    def _drop(self):
        number, size = self._sizes.popleft()
        self._bytes_kept -= size
        self.outputs.pop(number, None)
        name = "_{}".format(number)
        if name in self._bound:
            self._bound.discard(name)
            _names.pop(name, None)

    def _publish(self):
        _names.update(
            In=self.inputs, Out=self.outputs, _ih=self.inputs, _oh=self.outputs, _dh=self.folders
        )
        _names["_i"] = _names["_ii"] = _names["_iii"] = ""
        _names["_"] = _names["__"] = _names["___"] = ""

    def _bind(self, code):
        """Binds only the numbered names that the cell mentions."""
        if "_dh" in code:
            from pathlib import Path

            self.folders[:] = map(Path, self.folders)
        for found in _numbered(code):
            name, number = found.group(), int(found.group(2))
            if found.group(1):
                if number < len(self.inputs):
                    _names[name] = self.inputs[number]
            elif number in self.outputs:
                _names[name] = self.outputs[number]
                self._bound.add(name)


def _folder():
    try:
        return os.getcwd()
    except OSError:
        return os.sep


def _estimated_bytes(value: Any) -> int:
    """About how many bytes a value holds, hardly calling its own methods."""
    kind: Any = type(value)
    try:
        if kind in _NUMBERS or kind is str or kind is bytes:
            return kind.__sizeof__(value)
        if kind is list or kind is tuple or kind is dict or kind is set:
            return kind.__sizeof__(value) + _sampled(value, kind)
        return _array(value, kind)
    except KeyboardInterrupt:
        raise
    except BaseException:
        return _UNKNOWN


def _sampled(value, kind):
    seen = total = 0
    for item in value.values() if kind is dict else value:
        if seen >= _SAMPLE:
            break
        seen += 1
        item_kind: Any = type(item)
        if item_kind in _NUMBERS:
            total += 32
        elif item_kind in _SIZED:
            total += item_kind.__sizeof__(item)
        else:
            total += _array(item, item_kind)
    return total * len(value) // seen if seen else 0


def _array(value, kind):
    for module, name in (("numpy", "ndarray"), ("pandas", "DataFrame"), ("pandas", "Series")):
        library = _modules.get(module)
        base: Any = getattr(library, name, None) if library is not None else None
        if is_a(base, type) and issubclass(kind, base):
            if name == "ndarray":
                whole = base.base.__get__(value)
                return base.nbytes.__get__(whole if is_a(whole, base) else value)
            return 16 * int(value.size)
    if kind.__module__ in ("builtins", "__main__"):
        return _size_of(value)
    size = getattr(value, "nbytes", None)
    return size if type(size) is int and size > 0 else _UNKNOWN
