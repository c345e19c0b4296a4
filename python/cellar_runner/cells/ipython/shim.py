"""A small IPython for sessions that have none: its modules are made when they are imported."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, cast

from ...output import displays, formatters
from ...pristine import BUILTINS as __builtins__
from ...values.pretty import text_of
from ..magics.capturing import Diversion
from ..magics.errors import UsageError
from . import display, loader, magic, media, parts, shell
from .loader import get_ipython

VERSION = ".".join(map(str, loader.VERSION_INFO[:3]))


class StdinNotImplementedError(NotImplementedError):
    """A cell cannot ask for input."""


class capture_output:
    """Keep what is printed and shown within a `with` statement."""

    def __init__(self, stdout: bool = True, stderr: bool = True, display: bool = True) -> None:
        self._wanted = stdout, stderr, display

    def __enter__(self):
        self._diversion = Diversion(get_ipython()._interpreter.displays, *self._wanted)
        return self._diversion.captured

    def __exit__(self, *_error):
        self._diversion.end()


def pretty(obj: Any, *_arguments: Any, **_options: Any) -> str:
    return text_of(obj)


def pprint(obj: Any, *_arguments: Any, **_options: Any) -> None:
    print(text_of(obj))


def _display_classes():
    """The classes of display and media, which IPython has in two modules."""
    classes = {}
    for source, module in ((display, "IPython.core.display"), (media, "IPython.lib.display")):
        for name, value in vars(source).items():
            if isinstance(value, type) and value.__module__ == source.__name__:
                value.__module__ = "IPython.core.display" if name in ("Video", "ProgressBar") else module
            if getattr(value, "__module__", "") in ("IPython.core.display", "IPython.lib.display"):
                classes[name] = value
    return classes


def _everything():
    functions = {"display_" + name: display.display_as(mime) for name, mime in _MIMES.items()}
    return {**_display_classes(), **functions, **_DISPLAY_FUNCTIONS}


def _named(source, names):
    return {name: getattr(source, name) for name in names.split()}


def _on_demand(name):
    """A kernel has these submodules without an import."""
    if name in ("display", "core", "lib", "utils"):
        return import_module("IPython." + name)
    raise AttributeError("module 'IPython' has no attribute {!r}".format(name))


_MIMES = {
    **{name: "text/" + name for name in ("html", "markdown", "latex")},
    **{name: "application/" + name for name in ("json", "javascript", "pdf")},
    **{name: "image/" + name for name in ("png", "jpeg")},
    "pretty": "text/plain",
    "svg": "image/svg+xml",
}
_DISPLAY_FUNCTIONS = {
    **_named(display, "display update_display clear_output publish_display_data"),
    "DisplayHandle": displays.DisplayHandle,
}
_MAGIC = (
    "register_line_magic register_cell_magic register_line_cell_magic line_magic cell_magic line_cell_magic "
    "Magics magics_class needs_local_scope no_var_expand UsageError"
)
_PACKAGES = ("IPython", "IPython.core", "IPython.lib", "IPython.utils")
_MODULES = {
    "IPython": lambda: {
        "get_ipython": get_ipython,
        "InteractiveShell": shell.ZMQInteractiveShell,
        "version_info": loader.VERSION_INFO,
        "__version__": VERSION,
        "__getattr__": _on_demand,
    },
    "IPython.core": dict,
    "IPython.lib": dict,
    "IPython.utils": dict,
    "IPython.display": _everything,
    "IPython.core.display": _everything,
    "IPython.core.display_functions": lambda: _DISPLAY_FUNCTIONS,
    "IPython.core.displaypub": lambda: _named(parts, "DisplayPublisher"),
    "IPython.core.interactiveshell": lambda: {
        **_named(parts, "ExecutionInfo ExecutionResult DisplayPublisher"),
        "InteractiveShell": shell.ZMQInteractiveShell,
    },
    "IPython.core.getipython": lambda: {"get_ipython": get_ipython},
    "IPython.core.formatters": lambda: {
        **_named(formatters, "DisplayFormatter format_display_data MimebundleFormatter IPythonDisplayFormatter"),
        "BaseFormatter": formatters.Formatter,
        "PlainTextFormatter": formatters.PlainFormatter,
    },
    "IPython.core.magic": lambda: _named(magic, _MAGIC),
    "IPython.core.magic_arguments": lambda: _named(
        magic, "magic_arguments argument parse_argstring MagicArgumentParser"
    ),
    "IPython.core.error": lambda: {
        "UsageError": UsageError,
        "StdinNotImplementedError": StdinNotImplementedError,
    },
    "IPython.core.release": lambda: {"version": VERSION, "version_info": loader.VERSION_INFO},
    "IPython.lib.display": _everything,
    "IPython.lib.pretty": lambda: {"pretty": pretty, "pprint": pprint},
    "IPython.utils.capture": lambda: {"capture_output": capture_output},
    "IPython.utils.io": lambda: {"capture_output": capture_output},
}


class Finder:
    """Comes last on sys.meta_path, so an installed IPython wins."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if name not in _MODULES:
            return None
        return ModuleSpec(name, cast(Loader, self), is_package=name in _PACKAGES)

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        module.__dict__.update(_MODULES[module.__name__]())
        parent, _, name = module.__name__.rpartition(".")
        if parent:
            setattr(sys.modules[parent], name, module)
