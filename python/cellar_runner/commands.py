"""What the magics of a cell do."""

from __future__ import annotations

import os
import sys

from . import shell, timing
from .pristine import BUILTINS as __builtins__
from .reference import reference_text
from .values import describe

_NOTHING = frozenset(
    "matplotlib load_ext reload_ext unload_ext autoreload config reset_selective colors xmode gui "
    "precision doctest_mode logstart logstop logon logoff automagic pdb aimport".split()
)
_NOTED = {"autoreload": "modules are not reloaded by themselves here: use importlib.reload(module)"}
_SHELL_ALIASES = frozenset("ls ll cat cp mv rm mkdir rmdir head tail less more man".split())
_MIMES = {
    "html": "text/html",
    "HTML": "text/html",
    "javascript": "application/javascript",
    "js": "application/javascript",
    "latex": "text/latex",
    "markdown": "text/markdown",
    "svg": "image/svg+xml",
    "SVG": "image/svg+xml",
}
_HOST = "a command of the host: use it outside the cell ({} in `cellar repl`, or the library)"
_INSTEAD = {
    "debug": "print the values instead",
    "lprun": "use cProfile.run(code)",
    "prun": "use cProfile.run(code)",
    "memit": "use tracemalloc",
    "mprun": "use tracemalloc",
    "load": "use open(path).read()",
    "loadpy": "use open(path).read()",
    "store": "variables already live on between cells",
    "save": "use %%writefile",
    "edit": "use %%writefile",
    "pylab": "import numpy as np and matplotlib.pyplot as plt",
    "sql": "use sqlite3 or pandas.read_sql",
    "sx": "use lines = !command",
    "system": "use !command",
    "bg": "use subprocess.Popen",
    "notebook": "use !command",
}
_HOST_COMMANDS = frozenset("undo checkpoint checkpoints vars restore fork".split())


class MagicUnavailable(RuntimeError):
    """A magic that has no meaning here."""


class UsageError(ValueError):
    """A magic that was given the wrong arguments."""


class Commands:
    """Bound to the builtin that rewritten cells call."""

    clock = staticmethod(timing.clock)
    timing = timing.Timing

    def __init__(self, interpreter):
        self._interpreter = interpreter

    def __repr__(self):
        return "<magics of this session>"

    @property
    def _namespace(self):
        return self._interpreter.namespace

    def bind(self, name, value):
        """Bind a name in the user's namespace."""
        self._namespace[name] = value

    def divert_displays(self, outputs):
        """Collect displays in a list; gives the function that ends this."""
        return self._interpreter.displays.divert(outputs)

    def flush_figures(self):
        """Show the figures that are open."""
        self._interpreter.displays.figures.flush()

    def timed(self, start, value):
        """%time of an expression: the clock was read before it."""
        timing.report(start)
        return value

    def shell(self, command):
        """!command"""
        frame = sys._getframe(1)
        self._shell(shell.expand(command, frame.f_globals, frame.f_locals))

    def _shell(self, command):
        install = shell.installs(command)
        if install is not None:
            shell.remedy(*install)
            return
        streams = self._interpreter.streams
        diverted = streams is not None and sys.stdout is not streams[1]
        self.bind("_exit_code", shell.run(command, diverted))

    def lines(self, command):
        """name = !command"""
        frame = sys._getframe(1)
        found, code = shell.lines(shell.expand(command, frame.f_globals, frame.f_locals))
        self.bind("_exit_code", code)
        return found

    def help(self, name, marks):
        """name? and name??"""
        frame = sys._getframe(1)
        if name.startswith("%"):
            name = name.lstrip("%")
            self._known(name, "%" + name)
            print("%{} is a magic; it works here as in IPython.".format(name))
            return
        print(reference_text(name, marks > 1, frame.f_globals, frame.f_locals))

    def line(self, name, rest):
        """%name rest"""
        frame = sys._getframe(1)
        if name in ("timeit", "time"):
            return getattr(self, "_" + name)(rest, None, frame)
        rest = shell.expand(rest, frame.f_globals, frame.f_locals)
        if name in _NOTHING:
            if name in _NOTED:
                sys.stderr.write(_NOTED[name] + "\n")
            return None
        if name in ("pip", "conda", "mamba", "uv"):
            return self._packages(name, rest)
        if name in _SHELL_ALIASES:
            return self._shell("ls -l " + rest if name == "ll" else name + " " + rest)
        return self._known(name, "%" + name)(self, rest)

    def cell(self, name, rest, body):
        """%%name rest, and the lines below it"""
        if name in _MIMES:
            self._interpreter.displays.display({_MIMES[name]: body}, raw=True)
            return None
        if name == "timeit":
            return self._timeit(rest, body, sys._getframe(1))
        if name in ("writefile", "file"):
            return self._writefile(rest, body)
        program = _PROGRAMS.get(name)
        if name == "script" and rest:
            program = rest.split()
        if program is None:
            raise _unavailable("%%" + name, name)
        code = shell.script([sys.executable] if program == "python" else program, body)
        self.bind("_exit_code", code)
        if code:
            sys.stderr.write("%%{} ended with exit code {}\n".format(name, code))
        return None

    def _known(self, name, shown):
        action = _ACTIONS.get(name)
        if action is None:
            raise _unavailable(shown, name)
        return action

    def _packages(self, tool, rest):
        install = shell.installs(tool + " " + rest)
        if install is not None:
            return shell.remedy(*install)
        if rest.split()[:1] not in (["list"], ["freeze"]):
            raise MagicUnavailable("%{} {} is not available here".format(tool, rest).rstrip())
        import importlib.metadata

        found = importlib.metadata.distributions()
        names = {item.metadata["Name"]: item.version for item in found}
        print("\n".join("{}=={}".format(*pair) for pair in sorted(names.items(), key=str)))
        return None

    def _time(self, rest, _body, frame):
        start = timing.clock()
        try:
            exec(rest, frame.f_globals, frame.f_locals)
        finally:
            timing.report(start)

    def _timeit(self, rest, body, frame):
        options, rest = _timeit_options(rest)
        statement, setup = (rest, None) if body is None else (body, rest)
        if not statement.strip():
            raise UsageError("%timeit needs a statement")
        scope = dict(frame.f_globals)
        scope.update(frame.f_locals)
        taken = timing.measure(statement, setup, scope, options.get("n"), options.get("r"))
        if "q" not in options:
            print(taken)
        return taken if "o" in options else None

    def _writefile(self, rest, body):
        words = rest.split()
        append = "-a" in words or "--append" in words
        paths = [word.strip("\"'") for word in words if word not in ("-a", "--append")]
        if len(paths) != 1:
            raise UsageError("%%writefile [-a] path")
        path = os.path.expanduser(paths[0])
        verb = "Appending to" if append else "Overwriting" if os.path.exists(path) else "Writing"
        with open(path, "a" if append else "w", encoding="utf-8") as target:
            target.write(body if body.endswith("\n") else body + "\n")
        print(verb, path)

    def _who(self, _rest):
        names = [entry["name"] for entry in describe(self._namespace)]
        print("   ".join(names) or "no variables yet")

    def _whos(self, _rest):
        described = describe(self._namespace)
        rows = [(entry["name"], entry["type"], entry["text"]) for entry in described]
        rows.insert(0, ("Variable", "Type", "Value"))
        widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
        for row in rows:
            print("{:<{}}   {:<{}}   {}".format(row[0], widths[0], row[1], widths[1], row[2]))

    def _pwd(self, _rest):
        return os.getcwd()

    def _cd(self, rest):
        os.chdir(os.path.expanduser(rest.strip("\"'") or "~"))
        print(os.getcwd())

    def _env(self, rest):
        if not rest:
            return dict(os.environ)
        name, separator, value = rest.partition("=")
        if not separator:
            name, separator, value = rest.partition(" ")
        if not separator:
            if name not in os.environ:
                raise UsageError("no environment variable " + name)
            return os.environ[name]
        os.environ[name.strip()] = value.strip()
        print("env: {}={}".format(name.strip(), value.strip()))
        return None

    def _run(self, rest):
        import shlex

        words = shlex.split(rest)
        while words and words[0].startswith("-"):
            words.pop(0)
        if not words:
            raise UsageError("%run path [arguments]")
        path = os.path.abspath(os.path.expanduser(words[0]))
        with open(path, "rb") as source:
            code = compile(source.read(), path, "exec", 0, True)
        arguments, sys.argv = sys.argv, words
        before = self._namespace.get("__file__")
        self._namespace["__file__"] = path
        try:
            exec(code, self._namespace)
        finally:
            sys.argv = arguments
            self._namespace.pop("__file__", None)
            if before is not None:
                self._namespace["__file__"] = before

    def _reset(self, _rest):
        namespace = self._namespace
        for name in [name for name in namespace if not name.startswith("__")]:
            del namespace[name]

    def _history(self, _rest):
        for number, text in list(self._interpreter.sources.texts.items()):
            print("# cell {}\n{}".format(number, text))

    def _lsmagic(self, _rest):
        lines = sorted(set(_ACTIONS) | {"time", "timeit", "pip"} | _SHELL_ALIASES)
        cells = sorted(set(_PROGRAMS) | set(_MIMES) | {"time", "timeit", "capture", "writefile"})
        print("lines: " + " ".join("%" + name for name in lines))
        print("cells: " + " ".join("%%" + name for name in cells))


_PROGRAMS = {
    "bash": ["bash"],
    "sh": ["/bin/sh"],
    "!": ["/bin/sh"],
    "python": "python",
    "python3": "python",
    "perl": ["perl"],
    "ruby": ["ruby"],
}
_ACTIONS = {
    "who": Commands._who,
    "who_ls": Commands._who,
    "whos": Commands._whos,
    "pwd": Commands._pwd,
    "cd": Commands._cd,
    "env": Commands._env,
    "set_env": Commands._env,
    "run": Commands._run,
    "reset": Commands._reset,
    "history": Commands._history,
    "hist": Commands._history,
    "lsmagic": Commands._lsmagic,
}


def _unavailable(shown, name):
    if name in _HOST_COMMANDS:
        return MagicUnavailable("{} is {}".format(shown, _HOST.format(shown)))
    instead = _INSTEAD.get(name)
    if instead is None:
        from difflib import get_close_matches

        known = list(_ACTIONS) + list(_PROGRAMS) + ["time", "timeit", "capture", "writefile"]
        near = get_close_matches(name, known, 1)
        mark = shown[: len(shown) - len(name)]
        instead = "did you mean {}{}?".format(mark, near[0]) if near else "write it as plain Python"
    return MagicUnavailable("{} is not available here; {}".format(shown, instead))


def _timeit_options(rest):
    """The options before the statement, and the statement."""
    options = {}
    while rest.startswith("-") and len(rest) > 1 and rest[1].isalpha():
        flag, rest = rest[1], rest[2:]
        if flag in "nrtp":
            rest = rest.lstrip()
            digits = len(rest) - len(rest.lstrip("0123456789"))
            if digits:
                options[flag] = int(rest[:digits])
                rest = rest[digits:]
        else:
            options[flag] = True
        rest = rest.lstrip()
    return options, rest
