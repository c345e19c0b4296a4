"""%load_ext: modules that add to a session."""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING

from ....pristine import BUILTINS as __builtins__
from ...ipython.loader import get_ipython
from ..errors import UsageError
from . import autoreload

if TYPE_CHECKING:
    from ..dispatch import Commands

_BUILT_IN = ("autoreload", "storemagic")


def load_ext(commands: Commands, rest: str) -> None:
    """%load_ext module"""
    name = rest.strip()
    if not name:
        raise UsageError("Missing module name.")
    if name in commands.extensions:
        print(
            "The {0} extension is already loaded. To reload it, use:\n  %reload_ext {0}".format(name)
        )
        return
    _load(commands, name, importlib.import_module)


def _load(commands, name, take):
    if name in _BUILT_IN:
        commands.extensions[name] = None
        if name == "autoreload" and commands.reloader is None:
            commands.reloader = autoreload.Reloader(commands)
        return
    commands.check("import " + name)
    module = take(name)
    load = getattr(module, "load_ipython_extension", None)
    if load is None:
        print("The {} module is not an IPython extension.".format(name))
        return
    load(get_ipython())
    commands.extensions[name] = module


def unload_ext(commands: Commands, rest: str) -> None:
    """%unload_ext module"""
    name = rest.strip()
    if not name:
        raise UsageError("Missing module name.")
    if name not in commands.extensions:
        print("The {} extension is not loaded.".format(name))
        return
    module = commands.extensions[name]
    unload = getattr(module, "unload_ipython_extension", None)
    if unload is None:
        print("The {} extension doesn't define how to unload it.".format(name))
        return
    unload(get_ipython())
    del commands.extensions[name]


def reload_ext(commands: Commands, rest: str) -> None:
    """%reload_ext module"""
    name = rest.strip()
    if not name:
        raise UsageError("Missing module name.")
    if name not in commands.extensions:
        load_ext(commands, name)
        return
    module = commands.extensions[name]
    unload = getattr(module, "unload_ipython_extension", None)
    if unload is not None:
        unload(get_ipython())
    is_loaded = name in sys.modules
    _load(commands, name, (lambda _name: importlib.reload(module)) if is_loaded else importlib.import_module)
