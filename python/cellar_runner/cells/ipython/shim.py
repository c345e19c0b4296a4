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
    """Nobody can answer a prompt."""


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
    """The text of an object."""
    return text_of(obj)


def pprint(obj: Any, *_arguments: Any, **_options: Any) -> None:
    """Print the text of an object."""
    print(text_of(obj))


def _public(*sources):
    names: dict[str, object] = {}
    for source in sources:
        found = vars(source) if not isinstance(source, dict) else source
        names.update((name, value) for name, value in found.items() if not name.startswith("_"))
    return names


def _display_functions():
    names = "display update_display clear_output publish_display_data"
    found = {name: getattr(display, name) for name in names.split()}
    return dict(found, DisplayHandle=displays.DisplayHandle)


def _everything():
    kinds = {}
    for source in (display, media):
        for name, value in vars(source).items():
            is_class = isinstance(value, type) and value.__module__.startswith("IPython.")
            if is_class or name.startswith("display_"):
                kinds[name] = value
    return dict(kinds, **_display_functions())


def _formatters():
    names = "DisplayFormatter format_display_data MimebundleFormatter IPythonDisplayFormatter"
    found = {name: getattr(formatters, name) for name in names.split()}
    return dict(found, BaseFormatter=formatters.Formatter, PlainTextFormatter=formatters.PlainFormatter)


def _shell():
    names = "ExecutionInfo ExecutionResult DisplayPublisher"
    found = {name: getattr(parts, name) for name in names.split()}
    return dict(found, InteractiveShell=shell.ZMQInteractiveShell)


def _top():
    return {
        "get_ipython": get_ipython,
        "InteractiveShell": shell.ZMQInteractiveShell,
        "version_info": loader.VERSION_INFO,
        "__version__": VERSION,
        "__getattr__": _on_demand,
    }


def _on_demand(name):
    """Submodules are there without being imported, as in a kernel."""
    if name in ("display", "core", "lib", "utils"):
        return import_module("IPython." + name)
    raise AttributeError("module 'IPython' has no attribute {!r}".format(name))


_PACKAGES = ("IPython", "IPython.core", "IPython.lib", "IPython.utils")
_MODULES = {
    "IPython": _top,
    "IPython.core": dict,
    "IPython.lib": dict,
    "IPython.utils": dict,
    "IPython.display": _everything,
    "IPython.core.display": _everything,
    "IPython.core.display_functions": _display_functions,
    "IPython.core.displaypub": lambda: {"DisplayPublisher": parts.DisplayPublisher},
    "IPython.core.interactiveshell": _shell,
    "IPython.core.getipython": lambda: {"get_ipython": get_ipython},
    "IPython.core.formatters": _formatters,
    "IPython.core.magic": lambda: _public(magic.MAGIC),
    "IPython.core.magic_arguments": lambda: _public(magic.ARGUMENTS),
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
    """The last of the finders: where nobody else knows IPython, it does."""

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
