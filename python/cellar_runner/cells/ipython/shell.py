"""The object that `get_ipython()` gives: what libraries and notebooks use of a kernel's shell."""

from __future__ import annotations

import builtins
import sys
import types
from typing import Any, Callable

from ...output.figures import PYPLOT
from ...pristine import BUILTINS as __builtins__
from ...values.reprs import is_a
from ..interpreter import Interpreter
from . import loader
from .parts import (
    SHOW,
    Config,
    DisplayPublisher,
    EventManager,
    ExecutionInfo,
    ExecutionResult,
    ExtensionManager,
    Kernel,
    MagicsManager,
    rearrange,
)

LAST_EXPRESSION = "last_expr"

_builtin_names = vars(builtins)


class ZMQInteractiveShell:
    """The part of a kernel's shell that libraries use; they know it by this name."""

    __module__ = "ipykernel.zmqshell"
    _claimed_class = None
    colors = "NoColor"
    autocall = 0
    automagic = True
    has_readline = False
    exit_now = False
    InteractiveTB = None
    ast_node_interactivity = LAST_EXPRESSION

    def __init__(self, interpreter: Interpreter) -> None:
        self._interpreter = interpreter
        self.config = Config(IPKernelApp=Config())
        self.display_formatter = interpreter.displays.formatter
        self._display_pub = DisplayPublisher(interpreter.displays)
        self.events = EventManager(self)
        self.kernel = Kernel(self)
        self.magics_manager = MagicsManager(self)
        self.extension_manager = ExtensionManager(self)
        self.configurables = [self]
        self.input_transformers_cleanup: list = []
        self.input_transformers_post: list = []
        self.ast_transformers: list = []
        self.custom_exceptions: tuple = ()
        self.user_ns_hidden: dict[str, Any] = {}
        self.meta = Config()
        self.before_next: list[Callable[[], None]] = []
        self._running = ExecutionInfo("", True)

    @classmethod
    def initialized(cls) -> bool:
        return True

    @classmethod
    def instance(cls, *_arguments: Any, **_options: Any) -> ZMQInteractiveShell:
        return loader.get_ipython()

    @property  # type: ignore[misc]
    def __class__(self):
        return self._claimed_class or type(self)

    def __reduce__(self):
        return loader.get_ipython, ()

    def __repr__(self):
        return "<ipykernel.zmqshell.ZMQInteractiveShell object at 0x{:x}>".format(id(self))

    def impersonate(self, kind: type) -> None:
        """Claims to be an instance of the installed IPython's class."""
        names = {"__module__": "ipykernel.zmqshell"}
        self._claimed_class = type(kind)("ZMQInteractiveShell", (kind,), names)
        traitlets_loader = sys.modules.get("traitlets.config.loader")
        if traitlets_loader is not None:
            self.config = traitlets_loader.Config(self.config)

    def _find_my_config(self, config):
        return config

    @property
    def display_pub(self) -> Any:
        return self._interpreter.displays.publisher or self._display_pub

    @display_pub.setter
    def display_pub(self, publisher: Any) -> None:
        is_own = publisher is self._display_pub
        self._interpreter.displays.publisher = None if is_own else publisher

    @property
    def user_ns(self) -> dict[str, Any]:
        return self._interpreter.namespace

    user_global_ns = user_ns

    @property
    def user_module(self) -> types.ModuleType:
        return self._interpreter.main

    @property
    def execution_count(self) -> int:
        return self._interpreter.number

    @property
    def _commands(self):
        return self._interpreter.commands

    def run_line_magic(self, magic_name: str, line: str, _stack_depth: int = 1) -> Any:
        """%magic_name line, in the scope of the caller."""
        frame = sys._getframe(_stack_depth)
        return self._commands.run_line_magic(magic_name, line, (frame.f_globals, frame.f_locals))

    def run_cell_magic(self, magic_name: str, line: str, cell: str) -> Any:
        return self._commands.run_cell_magic(magic_name, line, cell)

    def magic(self, arg_s: str) -> Any:
        name, _, line = arg_s.strip().lstrip("%").partition(" ")
        return self.run_line_magic(name, line.strip(), 2)

    def find_magic(self, magic_name: str, magic_kind: str = "line") -> Callable | None:
        return self.magics_manager.magics[magic_kind].get(magic_name)

    def find_line_magic(self, magic_name: str) -> Callable | None:
        return self.find_magic(magic_name)

    def find_cell_magic(self, magic_name: str) -> Callable | None:
        return self.find_magic(magic_name, "cell")

    find_user_code = None

    def register_magic_function(self, func: Callable, magic_kind: str = "line", magic_name: str | None = None) -> None:
        name = magic_name or func.__name__
        if magic_kind not in ("line", "cell", "line_cell"):
            raise ValueError("magic_kind must be one of line, cell, line_cell")
        self._commands.register(magic_kind, func, name)

    def register_magics(self, *magic_objects: Any) -> None:
        for holder in magic_objects:
            if is_a(holder, type):
                holder = holder(shell=self)
            for kind, functions in holder.magics.items():
                for name, function in functions.items():
                    if is_a(function, str):
                        function = getattr(holder, function)
                    self.register_magic_function(function, kind, name)

    def system(self, cmd: str) -> None:
        self._commands.run_shell(cmd)

    system_piped = system_raw = system

    def getoutput(self, cmd: str, split: bool = True, depth: int = 0) -> list[str] | str:
        lines = self._commands.lines_of(cmd)
        return lines if split else lines.n

    def run_cell(
        self, raw_cell: str, store_history: bool = False, silent: bool = False, shell_futures: bool = True,
        cell_id: str | None = None,
    ) -> ExecutionResult:
        """Runs a text as a cell; shows values and errors, and returns them."""
        result = ExecutionResult(ExecutionInfo(raw_cell, store_history, silent), self.execution_count)
        try:
            value = self._interpreter.evaluate_nested(raw_cell)
            if value is not None and not silent:
                self._show(value)
            result.result = value
        except KeyboardInterrupt:
            raise
        except SyntaxError as error:
            result.error_before_exec = error
            self.showtraceback()
        except BaseException as error:
            result.error_in_exec = error
            self.showtraceback()
        return result

    def ev(self, expr: str) -> Any:
        return eval(expr, self.user_ns)

    def ex(self, cmd: str) -> None:
        exec(cmd, self.user_ns)

    def push(self, variables: Any, interactive: bool = True) -> None:
        """Binds the names of a dict, or the listed names of the caller."""
        if is_a(variables, dict):
            self.user_ns.update(variables)
            return
        frame = sys._getframe(1)
        names = variables.split() if is_a(variables, str) else variables
        for name in names:
            self.user_ns[name] = eval(name, frame.f_globals, frame.f_locals)

    def drop_by_id(self, variables: dict[str, Any]) -> None:
        for name, value in variables.items():
            if self.user_ns.get(name) is value:
                del self.user_ns[name]

    def showtraceback(self, exc_tuple: tuple | None = None, *_arguments: Any, **_options: Any) -> None:
        """Reports an exception as the error of the running cell, which continues."""
        error = exc_tuple[1] if exc_tuple else sys.exc_info()[1]
        if error is not None:
            self._interpreter.displays.report(error)

    showsyntaxerror = showindentationerror = showtraceback

    def show_usage_error(self, exc: object) -> None:
        sys.stderr.write("UsageError: {}\n".format(exc))

    def transform_cell(self, raw_cell: str) -> str:
        return raw_cell

    def _ignored(self, *_arguments: Any, **_options: Any) -> None:
        """Does nothing: the host ends sessions and reports errors, and there are no windows and no next input."""

    ask_exit = set_next_input = enable_gui = set_custom_exc = _ignored

    def enable_matplotlib(self, gui: str | None = None) -> tuple[str, str]:
        return "inline", "inline"

    def interactivity(self) -> Callable[[list], None] | None:
        """The function that changes which values a cell shows, or None for the default."""
        wanted = self.ast_node_interactivity
        if wanted == LAST_EXPRESSION:
            wanted = getattr(self._claimed_class, "ast_node_interactivity", wanted)
        if wanted == LAST_EXPRESSION or wanted not in ("all", "none", "last_expr_or_assign"):
            return None
        _builtin_names[SHOW] = self._show
        return lambda body: rearrange(body, wanted)

    def _show(self, value):
        if value is not None:
            _builtin_names["_"] = value
            self._interpreter.displays.show_result(value)

    def is_stopped_by(self, error: BaseException) -> bool:
        """Whether the host interrupted the cell; user code may raise anything else."""
        return self._interpreter.is_host_interrupt(error)

    def before_cell(self, code: str) -> None:
        waiting, self.before_next = self.before_next, []
        for function in waiting if is_a(waiting, list) else ():
            function()
        self._running = ExecutionInfo(code, True)
        self._trigger("pre_execute")
        self._trigger("pre_run_cell", self._running)

    def _trigger(self, event, *arguments):
        """Reports callbacks that fail; replaces an event manager that a cell broke."""
        try:
            self.events.trigger(event, *arguments)
        except BaseException as error:
            if self.is_stopped_by(error):
                raise
            self.events = EventManager(self)
            self.showtraceback()

    @property
    def has_end_callbacks(self) -> bool:
        try:
            callbacks = self.events.callbacks
            waiting = callbacks["post_execute"] + callbacks["post_run_cell"]
            # pyplot's own draws figures, which are shown and closed by then
            return any(getattr(function, "__module__", "") != PYPLOT for function in waiting)
        except Exception:
            # A cell replaced it: the error is reported when it is used.
            return True

    def after_cell(self, success: bool) -> None:
        result = ExecutionResult(self._running, self.execution_count)
        if not success:
            result.error_in_exec = Exception("the cell has failed")
        self._trigger("post_execute")
        self._trigger("post_run_cell", result)
