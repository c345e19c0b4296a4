"""Removes Python's access to JavaScript objects: one more layer behind a wall, the only one without."""

from __future__ import annotations

import sys

from ..pristine import BUILTINS as __builtins__

_SCRIPT_MODULES = ("js", "pyodide_js")
_PACKAGES = ("pyodide", "_pyodide")


def close() -> None:
    """After this no module leads to an object of JavaScript."""
    kind = sys.modules["pyodide.ffi"].JsProxy
    sys.modules["_pyodide._importhook"].jsfinder.jsproxies.clear()
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] in _SCRIPT_MODULES:
            del sys.modules[name]
        elif name.partition(".")[0] in _PACKAGES:
            namespace = vars(module)
            for proxy in [key for key, value in namespace.items() if isinstance(value, kind)]:
                del namespace[proxy]
