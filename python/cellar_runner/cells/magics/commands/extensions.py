"""%load_ext: modules that add to a session."""

from __future__ import annotations

import importlib
from typing import Any

from ....pristine import BUILTINS as __builtins__
from ...ipython.loader import get_ipython
from ..dispatch import Commands
from ..errors import UsageError
from . import autoreload

_BUILT_IN = ("autoreload", "storemagic")


def load(commands: Commands, name: str, module: Any = None) -> str | None:
    """Loads an extension, from a module that is reloaded if one is given; returns why it cannot."""
    if name in commands.extensions:
        return "already loaded"
    if name in _BUILT_IN:
        commands.extensions[name] = None
        if name == "autoreload" and commands.reloader is None:
            commands.reloader = autoreload.Reloader(commands)
        return None
    commands.check("import " + name)
    module = importlib.import_module(name) if module is None else importlib.reload(module)
    if not hasattr(module, "load_ipython_extension"):
        return "no load function"
    module.load_ipython_extension(get_ipython())
    commands.extensions[name] = module
    return None


def load_ext(commands: Commands, rest: str) -> None:
    """%load_ext module"""
    name = _named(rest)
    result = load(commands, name)
    if result == "already loaded":
        print("The {0} extension is already loaded. To reload it, use:\n  %reload_ext {0}".format(name))
    elif result is not None:
        print("The {} module is not an IPython extension.".format(name))


def unload_ext(commands: Commands, rest: str) -> None:
    """%unload_ext module"""
    name = _named(rest)
    if name not in commands.extensions:
        print("The {} extension is not loaded.".format(name))
    elif not hasattr(commands.extensions[name], "unload_ipython_extension"):
        print("The {} extension doesn't define how to unload it.".format(name))
    else:
        commands.extensions.pop(name).unload_ipython_extension(get_ipython())


def reload_ext(commands: Commands, rest: str) -> None:
    """%reload_ext module"""
    name = _named(rest)
    module = commands.extensions.pop(name, None)
    if hasattr(module, "unload_ipython_extension"):
        module.unload_ipython_extension(get_ipython())
    if module is None:
        load_ext(commands, name)
    else:
        load(commands, name, module)


def _named(rest):
    if not rest.strip():
        raise UsageError("Missing module name.")
    return rest.strip()
