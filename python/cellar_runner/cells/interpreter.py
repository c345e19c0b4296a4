"""Runs cells in one namespace that stays, and reports how each of them ended."""

from __future__ import annotations

import builtins
import os
import sys
import types
import warnings
from typing import TYPE_CHECKING, Any

from ..errors import is_final_exit
from ..output.displays import Displays
from ..pristine import BUILTINS as __builtins__
from ..state.kept_classes import KeptClasses
from ..values.reprs import is_a
from . import compiler, interactive
from .event_loop import EventLoop
from .history import History
from .ipython import loader
from .magics import rewriter
from .magics.dispatch import Commands
from .script import exit_code_of
from .sources import Sources
from .tracebacks import Tracebacks

if TYPE_CHECKING:
    from .ipython.shell import ZMQInteractiveShell

RECURSION_FLOOR = 1000
# How Python before 3.12 reports that there is no memory for a frame.
NO_FRAME = ("error return without exception set",)

_modules = sys.modules
_builtin_names = vars(builtins)
_eval = eval
_getpid = os.getpid
_exit = os._exit
_gettrace, _settrace = sys.gettrace, sys.settrace
_getprofile, _setprofile = sys.getprofile, sys.setprofile
_getlimit, _setlimit = sys.getrecursionlimit, sys.setrecursionlimit
# None before Python 3.12.
_monitoring: Any = getattr(sys, "monitoring", None)
_MONITORING_TOOLS = 6
_arguments_of = BaseException.__dict__["args"].__get__


def _nothing():
    return 0


class Interpreter:
    def __init__(self, display):
        self.main = types.ModuleType("__main__")
        self.namespace = self.main.__dict__
        self.namespace["__builtins__"] = builtins
        self.streams = None
        self.enter = _nothing
        self.leave = _nothing
        # Separates earlier output from later output; returns the number of the barrier.
        self.add_barrier = _nothing
        # The current or last cell.
        self.number = 0
        self._ipython = None
        # The error of a display in this cell, which continued, and its barrier.
        self._unshown = None
        self._unshown_at = 0
        self._nested = 0
        # Frees the memory that is reserved for reporting a MemoryError.
        self.free_reserve = _nothing
        # Set again before every cell.
        self.builtins = {}
        # Checks every cell before it runs.
        self.admission: Any = None
        # Gives what runs in the place of a cell's code, or None.
        self.planned: Any = None
        self.flags = 0
        self.sources = Sources()
        self.first_path = tuple(sys.path)
        # Whether cells may reach a network; if not, network errors get a hint.
        self.network = False
        # Advice for variables that a restored session lost.
        self.lost_names: dict[str, str] = {}
        self._tracebacks = Tracebacks(self)
        self._loop = EventLoop()
        self.displays = Displays(display)
        self.displays.report = self._keep_unshown
        self.kept_classes = KeptClasses()
        self._figures = self.displays.figures
        self.commands = Commands(self)
        self._install()
        self.history = History(self.namespace)

    @property
    def ipython(self) -> ZMQInteractiveShell:
        if self._ipython is None:
            from .ipython.shell import ZMQInteractiveShell

            self._ipython = ZMQInteractiveShell(self)
            loader.impersonate_installed(self._ipython)
        return self._ipython

    def _install(self):
        _modules["__main__"] = self.main
        interactive.install(self.displays.display, self.kept_classes.function())
        loader.install(self)
        sys.displayhook = self._show_value
        self.sources.patch_inspect()
        warnings.filterwarnings("default", category=DeprecationWarning, module="__main__")
        warnings.filterwarnings("ignore", message=".*is non-interactive, and thus cannot be shown")

    def run(self, number: int, code: str) -> dict[str, Any]:
        """Runs one cell; returns status, error, result and exit_code."""
        outcome: Any = None
        late: BaseException | None = None
        # user code also runs after a cell's own code, in a __repr__ or a background thread
        if _getlimit() < RECURSION_FLOOR:
            _setlimit(RECURSION_FLOOR)
        if _gettrace() is not None:
            _settrace(None)
        while True:
            try:
                if outcome is None and late is None:
                    outcome = self._attempt(number, code)
                self.leave()
                break
            except KeyboardInterrupt as error:
                late = error
            except BaseException as error:
                if late is not None or outcome is not None:
                    raise
                late = error
        if late is not None:
            outcome = self._late_outcome(late)
            late = None
        return outcome

    def is_host_interrupt(self, error: BaseException) -> bool:
        return is_a(error, KeyboardInterrupt) and self._tracebacks.interrupted_by_host(error)

    def rebuild_event_loop(self) -> None:
        """For a copy restored by fork: the event loop's descriptors were closed."""
        self._loop.rebuild()

    def _attempt(self, number, code):
        try:
            code = self._prepare(number, code)
            cell = self._build(number, code)
            planned = None if self.planned is None else self.planned(code, "<cell {}>".format(number))
            outcome = self._ok(self.value_of(cell) if planned is None else planned())
        except BaseException as error:
            outcome = self._failure(error)
        self._finish_output(outcome)
        return outcome

    def _prepare(self, number, code):
        """Resets the session and returns the text to run."""
        self.number = number
        self._unshown = None
        self._reset()
        self.enter()
        if self.admission is not None:
            code = self.admission.prepare(code, self)
        self.commands.before_cell(code)
        if self._ipython is not None:
            self._ipython.before_cell(code)
        return code

    def _finish_output(self, outcome):
        """Shows open figures and calls the callbacks, after the value or the error."""
        self.commands.after_cell()
        if self.admission is not None:
            self.admission.report(outcome)
        shell = self._ipython
        if self._unshown is not None and outcome["status"] == "ok":
            outcome["end_seq"] = self._unshown_at
        if self._figures.are_open() or (shell is not None and shell.has_end_callbacks):
            self._end(outcome)
            try:
                self._figures.flush()
                if shell is not None:
                    shell.after_cell(outcome["error"] is None)
            except KeyboardInterrupt:
                raise
            except BaseException as error:
                self._keep_unshown(error)
        if self._unshown is not None:
            unshown, self._unshown = self._unshown, None
            if outcome["status"] == "ok":
                outcome["status"] = "error"
                outcome["error"] = self._tracebacks.describe(unshown)
        self._flush()

    def _end(self, outcome):
        """Marks where the value or the error comes among the outputs."""
        if "end_seq" not in outcome:
            self._flush()
            outcome["end_seq"] = self.add_barrier()

    def _keep_unshown(self, error):
        if self._unshown is None and not is_final_exit(error):
            self._flush()
            self._unshown, self._unshown_at = error, self.add_barrier()

    def _reset(self):
        """Undoes what an earlier cell did to modules, streams and builtins."""
        namespace = self.namespace
        _modules["__main__"] = self.main
        namespace["__name__"] = "__main__"
        namespace["__builtins__"] = builtins
        # one registry for all cells would silence a warning on the same line of a later cell
        namespace.pop("__warningregistry__", None)
        if self.lost_names:
            for name in [name for name in self.lost_names if name in namespace]:
                del self.lost_names[name]
        if self.streams is not None:
            if self.streams[0].closed:
                self.streams = (open(os.devnull),) + tuple(self.streams[1:])
            sys.stdin, sys.stdout, sys.stderr = self.streams
            vars(sys).update(__stdin__=sys.stdin, __stdout__=sys.stdout, __stderr__=sys.stderr)
        _builtin_names[rewriter.BUILTIN] = self.commands
        _builtin_names.update(self.builtins)
        for repair in (self._loop.reset, self._figures.watch):
            try:
                repair()
            except Exception:
                # the user broke asyncio or matplotlib: cells that use it will fail
                continue

    def _flush(self):
        for stream in self.streams[1:] if self.streams else (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except KeyboardInterrupt:
                raise
            except BaseException:
                continue

    def _build(self, number, code):
        self.history.begin(number, code)
        shown_by = None if self._ipython is None else self._ipython.interactivity()
        cell = compiler.build(number, code, self.flags, self.sources, self.admission, self.commands, shown_by)
        self.flags = cell.flags
        return cell

    def value_of(self, cell: compiler.Cell) -> Any:
        """Runs a compiled cell; returns its value, or None where it shows none."""
        if cell.uses_asyncio:
            self._loop.attach()
        if cell.wrapper is None:
            value = self._execute(cell)
        else:
            with cell.wrapper(self.commands) as wrapper:
                value = self._execute(cell)
                if wrapper.hides_value:
                    wrapper.take(value if cell.shows_value else None)
                    value = None
        return value if cell.shows_value else None

    def _execute(self, cell):
        pid = _getpid()
        try:
            if cell.in_loop:
                return self._loop.run(self._steps(cell, pid))
            value = None
            for code in cell.codes:
                value = _eval(code, self.namespace)
            return value
        except MemoryError:
            # Now: in some Pythons a `finally` that runs out of memory never ends.
            self.free_reserve()
            raise
        finally:
            # no call to a Python function before these: the limit may be nearly reached
            if _getlimit() < RECURSION_FLOOR:
                _setlimit(RECURSION_FLOOR)
            if _gettrace() is not None:
                _settrace(None)
            if _getprofile() is not None:
                _setprofile(None)
            if _monitoring is not None:
                for tool in range(_MONITORING_TOOLS):
                    if _monitoring.get_tool(tool) is not None:
                        _monitoring.set_events(tool, 0)
            if _getpid() != pid:
                self._exit_fork(sys.exc_info()[1])

    async def _steps(self, cell, pid):
        value = None
        try:
            for code in cell.codes:
                value = _eval(code, self.namespace)
                if code.co_flags & compiler.COROUTINE:
                    value = await value
            return value
        except MemoryError:
            self.free_reserve()
            raise
        finally:
            if _getpid() != pid:
                self._exit_fork(sys.exc_info()[1])

    def _exit_fork(self, error):
        """Ends a child that user code forked, as at the end of a script."""
        code = 0
        try:
            if is_a(error, SystemExit):
                code = exit_code_of(error)[0]
            elif error is not None:
                code = 1
                sys.stderr.write(self._tracebacks.describe(error)["traceback"] + "\n")
            self._flush()
        finally:
            _exit(code & 0xFF)

    def _show_value(self, value):
        """sys.displayhook"""
        if value is not None:
            self.history.keep(value)
            self.displays.show_result(value)

    def evaluate_nested(self, code: str) -> Any:
        """Runs a text as a cell within a cell."""
        self._nested += 1
        return self.value_of(self._build("{}.{}".format(self.number, self._nested), code))

    def _ok(self, value):
        outcome: dict = {"status": "ok", "error": None, "result": None, "exit_code": None}
        if value is not None:
            try:
                data, metadata = self.displays.bundle(value)
            finally:
                self.history.keep(value)
            apart = self._unshown is not None
            outcome["result"] = self.displays.result(value, data, metadata, apart)
        return outcome

    def _failure(self, error):
        starved = is_a(error, SystemError) and _arguments_of(error) == NO_FRAME
        if starved or is_a(error, MemoryError):
            self.free_reserve()
        if is_final_exit(error):
            return self._ok(None)
        status, exit_code = "error", None
        self.commands.after_failure(error)
        described = self._tracebacks.describe(error, self._loop.awaited)
        self.commands.last_error = described["traceback"]
        if starved:
            described["type"] = "MemoryError"
        if self.is_host_interrupt(error):
            status = "interrupted"
            described["type"] = "KeyboardInterrupt"
        elif is_a(error, SystemExit):
            exit_code, described["message"] = exit_code_of(error)
            described["type"] = "SystemExit"
        return {"status": status, "error": described, "result": None, "exit_code": exit_code}

    def _late_outcome(self, error):
        """The outcome when an interrupt came while it was made; calls no user code."""
        if is_a(error, MemoryError):
            self.free_reserve()
        described = self._tracebacks.bare(error)
        interrupted = is_a(error, KeyboardInterrupt)
        status = "interrupted" if interrupted else "error"
        return {"status": status, "error": described, "result": None, "exit_code": None}
