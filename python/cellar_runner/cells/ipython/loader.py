"""`get_ipython()` and the module IPython: there from the start, and loaded when they are used."""

from __future__ import annotations

import builtins
import sys
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import TYPE_CHECKING

from ...output.figures import ImportWatcher
from ...pristine import BUILTINS as __builtins__

if TYPE_CHECKING:
    from ..interpreter import Interpreter
    from .shell import ZMQInteractiveShell

NAME = "IPython"
KERNEL_SHELL = "ipykernel.zmqshell"
INTERACTIVE_SHELL = "IPython.core.interactiveshell"
# The IPython that is imitated; libraries check its version.
VERSION_INFO = (9, 18, 0, "")
_TOLD = ("__path__", "__version__", "__all__")

_modules = sys.modules


def get_ipython() -> ZMQInteractiveShell:
    return vars(builtins)["get_ipython"]()


# Snapshots of earlier versions refer to the shell by this name.
current = get_ipython


def impersonate_installed(shell: ZMQInteractiveShell) -> None:
    """Makes the shell an instance of the installed IPython's class, if that is loaded."""
    real = getattr(_modules.get(INTERACTIVE_SHELL), "InteractiveShell", None)
    if real is not None and real is not type(shell):
        shell.impersonate(real)


def install(interpreter: Interpreter) -> None:
    """Gives cells `get_ipython`, and libraries a module IPython."""

    def get_ipython():
        """The shell of this session."""
        return interpreter.ipython

    vars(builtins)["get_ipython"] = get_ipython
    _modules.setdefault(KERNEL_SHELL, _kernel_shell())
    if INTERACTIVE_SHELL in _modules:
        # a preloaded library imported it
        _patch_installed()
        _watch_widgets(interpreter)
    spec = getattr(_modules.get(NAME), "__spec__", None)
    if spec is None or spec.loader is None:
        _modules[NAME] = _placeholder(get_ipython, interpreter)


def _kernel_shell():
    """Libraries tell a notebook from a terminal by this module."""

    def load(name):
        if name != "ZMQInteractiveShell":
            raise AttributeError("module {!r} has no attribute {!r}".format(KERNEL_SHELL, name))
        from .shell import ZMQInteractiveShell

        return ZMQInteractiveShell

    module = ModuleType(KERNEL_SHELL, "Where a kernel's shell is defined.")
    vars(module).update(__spec__=ModuleSpec(KERNEL_SHELL, None), __getattr__=load)
    return module


def _watch_widgets(interpreter):
    from . import widgets

    if widgets.MODULE in _modules:
        widgets.connect(interpreter)
        return
    sys.meta_path.insert(0, ImportWatcher(widgets.MODULE, lambda: widgets.connect(interpreter)))


def _placeholder(get_ipython, interpreter):
    """A kernel has IPython loaded; here its first use loads it."""
    module = ModuleType(NAME, "IPython, which is loaded when it is used.")
    spec = ModuleSpec(NAME, None, is_package=True)

    def load(name):
        # code that walks through all modules reads such names
        if name.startswith("__") and name not in _TOLD:
            raise AttributeError("module {!r} has no attribute {!r}".format(NAME, name))
        if _modules.get(NAME) is module:
            # ipywidgets uses it first
            _watch_widgets(interpreter)
        return getattr(_loaded(module), name)

    vars(module).update(__spec__=spec, __getattr__=load, get_ipython=get_ipython, version_info=VERSION_INFO)
    return module


def _loaded(placeholder: ModuleType) -> ModuleType:
    """The installed IPython, or the shim."""
    if _modules.get(NAME) is not placeholder:
        return import_module(NAME)
    if PathFinder.find_spec(NAME) is None:
        from .shim import Finder

        if not any(type(finder) is Finder for finder in sys.meta_path):
            sys.meta_path.append(Finder())
    else:
        sys.meta_path.insert(0, ImportWatcher(INTERACTIVE_SHELL, _connect_shell))
    del _modules[NAME]
    try:
        return import_module(NAME)
    except BaseException:
        _modules[NAME] = placeholder
        raise


def _connect_shell():
    _patch_installed()
    impersonate_installed(get_ipython())


def _patch_installed():
    real = _modules[INTERACTIVE_SHELL].InteractiveShell
    real.initialized = classmethod(lambda _kind: True)
    real.instance = classmethod(lambda _kind, *_arguments, **_options: get_ipython())
