"""Makes a cell look like a script to itself (sys.argv, __file__), and gives its exit code."""

from __future__ import annotations

import os
import sys
from typing import Any, Sequence

from ..pristine import BUILTINS as __builtins__
from ..values.reprs import cap, guarded_str, is_a
from .tracebacks import MESSAGE_LIMIT

_code_of = SystemExit.__dict__["code"].__get__


def become_script(namespace: dict[str, Any], argv: Sequence[str], code: str) -> None:
    """Gives a cell the argv, __name__ and __file__ of a script."""
    sys.argv = list(argv)
    namespace.pop("__file__", None)
    name = os.path.basename(argv[0])
    if not name or name in ("-", "-c"):
        return
    try:
        path = os.path.join(os.getcwd(), name)
        namespace["__file__"] = path
        # Spawned processes read it.
        with open(path, "x", encoding="utf-8") as file:
            file.write(code)
    except OSError:
        # It exists already or cannot be written: the name alone will do.
        pass


def exit_code_of(error: BaseException) -> tuple[int, str]:
    """(code, message) with which Python would exit."""
    code = _code_of(error)
    if code is None:
        return 0, ""
    if is_a(code, int):
        code = int.__index__(code)
        return (code, str(code)) if code.bit_length() < 32 else (255, "255")
    return 1, cap(guarded_str(code) or "", MESSAGE_LIMIT)
