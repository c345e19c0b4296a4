"""The parts of the shell that `get_ipython()` gives."""

from __future__ import annotations

from typing import Any, Callable

from ...pristine import BUILTINS as __builtins__
from ...values.reprs import is_a

SHOW = "__cellar_show__"
EVENTS = ("pre_execute", "pre_run_cell", "post_execute", "post_run_cell", "shell_initialized")


class Config(dict):
    """Sections that are created when they are read."""

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return self.setdefault(name, Config())

    def __setattr__(self, name, value):
        self[name] = value


class EventManager:
    def __init__(self, shell):
        self.shell = shell
        self.callbacks: dict[str, list] = {name: [] for name in EVENTS}

    def register(self, event: str, function: Callable) -> None:
        if not callable(function):
            raise TypeError("Need a callable, got {!r}".format(function))
        if function not in self.callbacks[event]:
            self.callbacks[event].append(function)

    def unregister(self, event: str, function: Callable) -> None:
        if function not in self.callbacks[event]:
            raise ValueError(
                "Function {!r} is not registered as a {} callback".format(function, event)
            )
        self.callbacks[event].remove(function)

    def trigger(self, event: str, *arguments: Any, **options: Any) -> None:
        for function in list(self.callbacks[event]):
            try:
                function(*arguments, **options)
            except BaseException as error:
                if self.shell.is_stopped_by(error):
                    raise
                print("Error in callback {} (for {}):".format(function, event))
                self.shell.showtraceback()


class DisplayPublisher:
    is_publishing = False

    def __init__(self, displays):
        self._displays = displays

    def publish(
        self, data: dict, metadata: dict | None = None, source: object = None, *,
        transient: Any = None, update: bool = False, **_options: Any,
    ) -> None:
        shown_as = transient.get("display_id") if is_a(transient, dict) else None
        self._displays.publish(data, metadata, display_id=shown_as, update=update)

    def clear_output(self, wait: bool = False) -> None:
        self._displays.clear_output(wait)


class ExecutionInfo:
    def __init__(self, raw_cell, store_history=False, silent=False):
        self.raw_cell = raw_cell
        self.transformed_cell = raw_cell
        self.store_history = store_history
        self.silent = silent
        self.shell_futures = True
        self.cell_id = None


class ExecutionResult:
    def __init__(self, info, execution_count=None):
        self.info = info
        self.execution_count = execution_count
        self.error_before_exec = None
        self.error_in_exec = None
        self.result = None

    @property
    def success(self) -> bool:
        return self.error_before_exec is None and self.error_in_exec is None

    def raise_error(self) -> None:
        if self.error_before_exec is not None:
            raise self.error_before_exec
        if self.error_in_exec is not None:
            raise self.error_in_exec


class Kernel:
    """Libraries take a shell without a kernel for a terminal."""

    session = None
    iopub_socket = None

    def __init__(self, shell):
        self.shell = shell

    def get_parent(self, channel: str | None = None) -> dict:
        return {}


class MagicsManager:
    def __init__(self, shell):
        self.shell = shell
        self.magics = shell._commands.functions
        self.register = shell.register_magics
        self.register_function = shell.register_magic_function


class ExtensionManager:
    def __init__(self, shell):
        self.shell = shell

    @property
    def loaded(self) -> set[str]:
        return set(self.shell._commands.extensions)

    def load_extension(self, module_str: str) -> str | None:
        from ..magics.commands.extensions import load

        return load(self.shell._commands, module_str)


def rearrange(body: list, wanted: str) -> None:
    """Changes which values of a cell are shown, as ast_node_interactivity asks."""
    import ast

    if not body:
        return
    last = body[-1]
    if wanted == "none":
        if type(last) is ast.Expr:
            body.append(ast.copy_location(ast.Pass(), last))
    elif wanted == "all":
        for statement in body[:-1]:
            if type(statement) is ast.Expr:
                call = ast.Call(ast.Name(SHOW, ast.Load()), [statement.value], [])
                statement.value = ast.fix_missing_locations(ast.copy_location(call, statement))
    else:
        targets = getattr(last, "targets", None) or [getattr(last, "target", None)]
        if type(last) in (ast.Assign, ast.AugAssign, ast.AnnAssign) and type(targets[0]) is ast.Name:
            value = ast.Name(targets[0].id, ast.Load())
            shown = ast.Expr(ast.copy_location(value, last))
            body.append(ast.copy_location(shown, last))
