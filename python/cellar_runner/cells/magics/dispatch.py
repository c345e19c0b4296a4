"""What the magics of a cell do."""

from __future__ import annotations

import builtins
import sys
from importlib import import_module
from importlib.util import decode_source
from keyword import iskeyword
from typing import TYPE_CHECKING, Any, Callable, Mapping

from ...pristine import BUILTINS as __builtins__
from ...values.reprs import type_name
from .. import compiler
from . import rewriter
from .commands import shell, timing
from .errors import MagicUnavailable, UsageError
from .registry import ALIASES, ALTERNATIVES, CELLS, HOST_COMMANDS, LINE_NAMES, LINES, MIMES, REFUSED, SCOPED

if TYPE_CHECKING:
    import subprocess

    from ..interpreter import Interpreter
    from .commands.autoreload import Reloader
    from .commands.shell import SList

_PACKAGE = __name__.rpartition(".")[0] + ".commands"
_HOST_COMMAND = "%{} is a command of the host: use it outside the cell, in `cellar repl` or the library"
_WITHOUT_RELOADING = (["%autoreload", "0"], ["%autoreload", "off"])
_VERBATIM = "_ipython_magic_no_var_expand"
_builtin_names = vars(builtins)
_import_module = import_module
_frame = sys._getframe


class Commands:
    """The builtin that rewritten cells call."""

    timing = timing.Timing

    def __init__(self, interpreter: Interpreter) -> None:
        self.interpreter = interpreter
        # Registered functions by kind and name.
        self.functions: dict[str, dict[str, Callable]] = {"line": {}, "cell": {}}
        self._begun: list[tuple[float, float, float]] = []
        self.aliases = dict(ALIASES)
        # Names that a one-line cell may start with, without %.
        self.automatic = {*LINE_NAMES, *ALIASES}
        self.automagic = True
        self.background: list[subprocess.Popen] = []
        self.extensions: dict[str, Any] = {}
        self.folders: list[str] = []
        self.last_error: str | None = None
        self.pdb = False
        self.pprint = True
        self.reloader: Reloader | None = None
        self.settings: dict[tuple[str, str], Any] = {}
        self.stored: dict[str, Any] = {}
        self.xmode = "Context"

    def __repr__(self):
        return "<magics of this session>"

    @property
    def namespace(self) -> dict[str, Any]:
        return self.interpreter.namespace

    @property
    def is_diverted(self) -> bool:
        """Whether stdout is not the cell's own."""
        streams = self.interpreter.streams
        return streams is not None and sys.stdout is not streams[1]

    def bind(self, name: str, value: Any) -> None:
        self.namespace[name] = value

    def resolve(self, name: str) -> Any:
        return eval(name, self.namespace)

    def clock(self) -> int:
        self._begun.append(timing.clock())
        return len(self._begun)

    def timed(self, begun: int, value: Any) -> Any:
        """%time of an expression; clock() was called before it."""
        start = self._begun[begun - 1]
        del self._begun[begun - 1 :]
        timing.report(start)
        return value

    def before_cell(self, code: str) -> None:
        """Reloads modules that have changed."""
        if self._begun:
            del self._begun[:]
        # Otherwise a module that never finishes loading could not be switched off.
        if self.reloader is not None and code.split() not in _WITHOUT_RELOADING:
            self.reloader.check()

    def after_cell(self) -> None:
        """Notes the state of the modules that the cell imported."""
        if self.reloader is not None:
            self.reloader.note_states()

    def after_failure(self, error: BaseException) -> None:
        """Prints what IPython prints after an error."""
        try:
            if self._begun:
                timing.report(self._begun[0])
            if type_name(type(error)) == "UsageError":
                sys.stderr.write("UsageError: {}\n".format(error))
        except Exception:
            # the streams or the error are the user's
            pass

    def shell(self, command: str) -> None:
        """!command"""
        frame = _frame(1)
        self.run_shell(self.expand(command, frame.f_globals, frame.f_locals))

    def run_shell(self, command: str) -> None:
        install = shell.installs(command)
        if install is not None:
            shell.remedy(*install)
            return
        self.bind("_exit_code", shell.run(command, self.is_diverted))

    def lines(self, command: str) -> SList:
        """name = !command"""
        frame = _frame(1)
        return self.lines_of(self.expand(command, frame.f_globals, frame.f_locals))

    def lines_of(self, command: str) -> SList:
        found, code = shell.lines(command)
        self.bind("_exit_code", code)
        return found

    def help(self, name: str, marks: int) -> None:
        """name? and name??"""
        frame = _frame(1)
        if "*" in name:
            self._function("namespaces", "psearch")(self, name)
            return
        bare = name.lstrip("%")
        if name.startswith("%") or (bare not in self.namespace and self.has("line", name)):
            self._explain(name, bare)
            return
        about = self._function("inspection", "object_info")
        print(about(name, marks > 1, frame.f_globals, frame.f_locals))

    def _explain(self, name, bare):
        for kind in ("cell", "line") if name.startswith("%%") else ("line", "cell"):
            if self.has(kind, bare):
                place = LINES.get(bare) or SCOPED.get(bare)
                function = self.functions[kind].get(bare) or (place and self._function(*place))
                text = getattr(function, "__doc__", None)
                print(text or "%{} is a magic; it works here as in IPython.".format(bare))
                return
        print("Object `{}` not found.".format(name))

    def line(self, name: str, rest: str) -> Any:
        """%name rest"""
        frame = _frame(1)
        return self._line(name, rest, frame.f_globals, frame.f_locals)

    def run_line_magic(self, name: str, line: str, scope: Any = None) -> Any:
        """%name line, by name; `scope` is its global and local names."""
        globals_, locals_ = scope if type(scope) is tuple else (self.namespace, scope)
        return self._line(name, line, globals_, globals_ if locals_ is None else locals_)

    def run_cell_magic(self, name: str, line: str, body: str) -> Any:
        """%%name line, by name."""
        if rewriter.wrapped(name, line, body) is not None:
            return self.run_text("magic", "%%{} {}\n{}".format(name, line, body))
        return self._cell(name, line, body, self.namespace, self.namespace)

    def register(self, kind: str, function: Callable, name: str) -> None:
        for one in ("line", "cell") if kind == "line_cell" else (kind,):
            self.functions[one][name] = function
        if kind != "cell":
            self.automatic.add(name)

    def has(self, kind: str, name: str) -> bool:
        if name in self.functions[kind]:
            return True
        if kind == "cell":
            return name in CELLS
        return name in LINE_NAMES or name in self.aliases

    def is_magic(self, name: str) -> bool:
        """Whether a line that starts with this name is a magic without its %."""
        if not self.automagic or name not in self.automatic or iskeyword(name):
            return False
        if name in self.namespace:
            return type(self.namespace[name]).__name__ == "Macro"
        return name not in _builtin_names

    def _line(self, name, rest, globals_, locals_):
        function = self.functions["line"].get(name)
        if function is not None:
            return self._registered(function, rest, globals_, locals_)
        if name in SCOPED:
            scope = dict(globals_, **{key: locals_[key] for key in locals_ if type(key) is str})
            return self._function(*SCOPED[name])(self, rest, scope)
        if name == "time":
            with timing.Timing():
                exec(self.code_of(rest, "<timed exec>"), globals_, locals_)
            return None
        rest = self.expand(rest, globals_, locals_)
        if name in LINES:
            return self._function(*LINES[name])(self, rest)
        if name in self.aliases:
            return self.run_shell(self._function("aliasing", "command")(self.aliases[name], rest))
        macro = self.namespace.get(name)
        if type(macro).__name__ == "Macro" and not rest:
            return self.run_text(name, str(macro))
        raise self._unknown("line", name)

    def cell(self, name: str, rest: str, body: str) -> Any:
        """%%name rest, and the lines below it"""
        frame = _frame(1)
        return self._cell(name, rest, body, frame.f_globals, frame.f_locals)

    def _cell(self, name, rest, body, globals_, locals_):
        if not self.has("cell", name):
            raise self._unknown("cell", name)
        if not body:
            text = "%%{} is a cell magic, but the cell body is empty.".format(name)
            if self.has("line", name):
                text += " Did you mean the line magic %{} (single %)?".format(name)
            raise UsageError(text)
        function = self.functions["cell"].get(name)
        if function is not None:
            return self._registered(function, rest, globals_, locals_, body)
        if name in SCOPED:
            scope = self.namespace if name == "prun" else dict(self.namespace)
            return self._function(*SCOPED[name])(self, rest, scope, body)
        if name == "time":
            raise UsageError("Can't use statement directly after '%%time'!")
        rest = self.expand(rest, globals_, locals_)
        if name in MIMES:
            kind, mime = MIMES[name]
            body = body.strip() if kind == "SVG" else body
            shown = {"text/plain": "<IPython.core.display.{} object>".format(kind), mime: body}
            return self.interpreter.displays.display(shown, raw=True)
        if name in ("writefile", "file"):
            return self._function("scripts", "write_file")(rest, body)
        if name in ("sx", "system", "!"):
            return self._function("scripts", "lines")(self, rest, body)
        return self._function("scripts", "run")(self, name, rest, body)

    def _registered(self, function, rest, globals_, locals_, *body):
        if not getattr(function, _VERBATIM, False):
            rest = self.expand(rest, globals_, locals_)
        scope = {"local_ns": locals_} if getattr(function, "needs_local_scope", False) else {}
        return function(rest, *body, **scope)

    def expand(self, text: str, globals_: dict[str, Any], locals_: Mapping[str, Any]) -> str:
        """Replaces {expression} and $name by values; with a policy, names only."""
        return shell.expand(text, globals_, locals_, self._has_policy)

    @property
    def _has_policy(self):
        admission = self.interpreter.admission
        return admission is not None and admission.policy != "off"

    def check(self, text: str) -> None:
        """Raises PolicyViolation if the session's policy refuses this code."""
        if not self._has_policy:
            return
        admission = self.interpreter.admission
        if admission.policy == "restricted":
            raise MagicUnavailable("magics are not available with the policy 'restricted'")
        admission.admit(compiler.read(text, "<magic>", 0)[2], text)

    def code_of(self, source: Any, filename: str, mode: str = "exec") -> Any:
        """Compiles a text that a magic runs, after checking it."""
        if self._has_policy:
            source = decode_source(source) if type(source) is bytes else source
            self.check(source)
        return compile(source, filename, mode, 0, True)

    def run_text(self, label: str, text: str) -> Any:
        interpreter = self.interpreter
        cell = compiler.build(label, text, interpreter.flags, interpreter.sources, interpreter.admission, self)
        interpreter.flags = cell.flags
        return interpreter.value_of(cell)

    def _function(self, module, function):
        return getattr(_import_module("." + module, _PACKAGE), function)

    def _unknown(self, kind, name):
        if name in REFUSED:
            return MagicUnavailable("%{} is not available here; {}".format(name, ALTERNATIVES[name]))
        marks, other = ("%", "cell") if kind == "line" else ("%%", "line")
        what = "Line magic function" if kind == "line" else "Cell magic"
        text = "{} `{}{}` not found".format(what, marks, name)
        if self.has(other, name):
            marks = "%%" if other == "cell" else "%"
            text += " (But {} magic `{}{}` exists, did you mean that instead?)".format(other, marks, name)
        hint = _HOST_COMMAND.format(name) if name in HOST_COMMANDS else ALTERNATIVES.get(name) or _closest(name)
        return UsageError(text + ".", hint=hint)


def _closest(name):
    from difflib import get_close_matches

    near = get_close_matches(name, [*LINE_NAMES, *CELLS], 1)
    return "did you mean %{}?".format(near[0]) if near else None
