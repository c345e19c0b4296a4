"""%run: a file or a notebook as a program, whose names come to the session."""

from __future__ import annotations

import glob
import os
import shlex
import sys
import types
from typing import Any

from ....pristine import BUILTINS as __builtins__
from ....values.reprs import guarded_str
from ..dispatch import Commands
from ..errors import MagicUnavailable
from ..options import parse_options
from . import timing

_LETTERS = "nidtN:b:pD:l:rs:T:em:G"
_KEPT = ("__name__", "__file__", "__builtins__", "__doc__", "__loader__", "__package__", "__spec__")
_modules = sys.modules


def run(commands: Commands, rest: str) -> None:
    """%run [-n -i -t -N count -e -m module] file [arguments]"""
    options, rest = parse_options(rest, _LETTERS)
    words = _words(rest)
    if "d" in options:
        raise MagicUnavailable("the debugger is not available in a sandboxed cell: leave out -d")
    if "m" in options:
        return _run_module(commands, options["m"], words)
    if not words:
        raise Exception("you must provide at least a filename.")
    path = found(words[0])
    if "G" not in options:
        words[1:] = [name for word in words[1:] for name in sorted(glob.glob(word)) or [word]]
    if path.lower().endswith((".ipynb", ".ipy")):
        return run_notebook(commands, path)
    if "p" in options:
        return _profiled(commands, options, path, words)
    if "t" not in options:
        return _run_file(commands, options, path, words)
    count = int(options.get("N") or 1)
    start = timing.clock()
    for _ in range(count):
        _run_file(commands, options, path, words)
    _tell_times(start, count)
    return None


def found(name: str) -> str:
    """The path of a file; its extension may be missing."""
    path = os.path.expanduser(name.strip("\"'"))
    for ending in ("", ".py", ".ipynb"):
        if os.path.isfile(path + ending):
            return os.path.abspath(path + ending)
    # the class that IPython raises
    raise Exception("File `{!r}` not found.".format(path))


def _words(rest):
    try:
        return shlex.split(rest)
    except ValueError:
        return rest.split()


def _run_file(commands, options, path, words):
    with open(path, "rb") as source:
        code = commands.code_of(source.read(), path)
    shared = "i" in options
    name = "__main__" if "n" not in options else os.path.splitext(os.path.basename(path))[0]
    module = types.ModuleType(name)
    namespace = commands.namespace if shared else module.__dict__
    before = {key: commands.namespace[key] for key in _KEPT if key in commands.namespace}
    main: Any = _modules.get("__main__")
    given = words[0] if words[0].endswith(".py") else words[0] + ".py"
    arguments, sys.argv = sys.argv, [given] + words[1:]
    folder = os.path.dirname(path)
    sys.path.insert(0, folder)
    namespace["__file__"] = path
    namespace["__name__"] = name
    namespace["__builtins__"] = commands.namespace.get("__builtins__", __builtins__)
    if not shared and name == "__main__":
        _modules["__main__"] = module
    try:
        exec(code, namespace)
    except SystemExit as ending:
        if ending.code and "e" not in options:
            commands.interpreter.displays.report(ending)
    except Exception as error:
        commands.interpreter.displays.report(error)
    finally:
        sys.argv = arguments
        if folder in sys.path:
            sys.path.remove(folder)
        _modules["__main__"] = main
        if not shared:
            mine = {key: value for key, value in namespace.items() if key not in _KEPT}
            commands.namespace.update(mine)
        for key in _KEPT:
            commands.namespace.pop(key, None)
        commands.namespace.update(before)


def run_notebook(commands: Commands, path: str) -> None:
    """Runs the code cells of a notebook in the session; shows no values."""
    namespace = commands.namespace
    before = namespace.get("__file__")
    namespace["__file__"] = path
    name = os.path.basename(path)
    try:
        for number, text in enumerate(_code_cells(path), 1):
            commands.run_text("{}:{}".format(name, number), text)
            commands.interpreter.displays.figures.flush()
    finally:
        if before is None:
            namespace.pop("__file__", None)
        else:
            namespace["__file__"] = before


def _code_cells(path):
    if path.lower().endswith(".ipy"):
        with open(path, encoding="utf-8") as source:
            return [source.read()]
    import json

    with open(path, encoding="utf-8") as source:
        try:
            notebook = json.load(source)
        except ValueError as error:
            raise ValueError(
                "{} is not a notebook: {}".format(os.path.basename(path), guarded_str(error))
            ) from None
    cells = notebook.get("cells") if isinstance(notebook, dict) else None
    if cells is None:
        sheets = notebook.get("worksheets", ()) if isinstance(notebook, dict) else ()
        cells = [cell for sheet in sheets for cell in sheet.get("cells", ())]
    texts = []
    for cell in cells:
        if cell.get("cell_type") == "code":
            text = cell.get("source", cell.get("input", ""))
            texts.append(text if isinstance(text, str) else "".join(text))
    return texts


def _run_module(commands, name, words):
    import runpy

    commands.check("import " + name)
    arguments, sys.argv = sys.argv, [name] + words
    main: Any = _modules.get("__main__")
    try:
        left = runpy.run_module(name, run_name="__main__", alter_sys=True)
    finally:
        sys.argv = arguments
        _modules["__main__"] = main
    mine = {key: value for key, value in left.items() if key not in _KEPT and key != "__cached__"}
    commands.namespace.update(mine)


def _profiled(commands, options, path, words):
    import cProfile
    import pstats

    with cProfile.Profile() as profile:
        _run_file(commands, options, path, words)
    stats = pstats.Stats(profile, stream=sys.stdout).strip_dirs()
    stats.sort_stats(options.get("s") or "time").print_stats()


def _tell_times(start, count):
    wall, user, system = (end - begin for end, begin in zip(timing.clock(), start))
    print("\nIPython CPU timings (estimated):")
    if count > 1:
        print("Total runs performed: {}".format(count))
        print("  Times  : {:>10s}   {:>10s}".format("Total", "Per run"))
        row = "  {:<7}: {:>10.2f} s, {:>10.2f} s."
        print(row.format("User", user, user / count))
        print(row.format("System", system, system / count))
    else:
        print("  User   : {:10.2f} s.".format(user))
        print("  System : {:10.2f} s.".format(system))
    print("Wall time: {:10.2f} s.".format(wall))
