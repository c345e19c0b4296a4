"""Settings of a session: %matplotlib, %config, %precision, %xmode and their like."""

from __future__ import annotations

import ast
import sys
import warnings
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from ....pristine import BUILTINS as __builtins__
from ....values import pretty
from ...ipython.loader import get_ipython
from ..dispatch import Commands
from ..errors import MagicUnavailable, UsageError
from .namespaces import names_of

_BACKENDS = (
    "agg auto cairo gtk3 gtk3agg gtk3cairo gtk4 gtk4agg gtk4cairo inline macosx nbagg notebook osx "
    "pdf pgf ps qt qt5 qt5agg qt5cairo qt6 qtagg qtcairo svg template tk tkagg tkcairo webagg wx "
    "wxagg wxcairo"
).split()
_QUIET_BACKENDS = frozenset("agg auto inline nbagg notebook pdf pgf ps svg template cairo".split())
_MODES = ("Plain", "Context", "Verbose", "Minimal", "Docs", "Doctest")
_SECTIONS: dict[str, dict[str, object]] = {
    "InlineBackend": {
        "close_figures": True,
        "figure_format": "",
        "figure_formats": {"png"},
        "print_figure_kwargs": {"bbox_inches": "tight"},
        "rc": {},
    },
    "InteractiveShell": {"ast_node_interactivity": "last_expr", "autocall": 0, "automagic": True},
    "IPCompleter": {"greedy": False, "use_jedi": True},
    "HistoryManager": {},
}
_SHELLS = ("InteractiveShell", "ZMQInteractiveShell", "TerminalInteractiveShell")


def matplotlib(_commands: Commands, rest: str) -> None:
    """%matplotlib [backend]: figures are always shown inline"""
    words = rest.split()
    if words[:1] in (["-l"], ["--list"]):
        print("Available matplotlib backends: {}".format(_BACKENDS))
        return
    if not words:
        print("Using matplotlib backend: inline")
        return
    name = words[0].strip("\"'")
    if name.lower() not in _BACKENDS and not name.startswith("module://"):
        if name not in ("widget", "ipympl") or find_spec("ipympl") is None:
            raise RuntimeError("{!r} is not a recognised GUI loop or backend name".format(name))
    elif name.lower() not in _QUIET_BACKENDS:
        sys.stderr.write("there are no windows in a sandbox: figures are shown inline\n")


def pylab(commands: Commands, rest: str) -> None:
    """%pylab [--no-import-all] [backend]: the names of numpy and matplotlib"""
    words = rest.split()
    backends = [word for word in words if not word.startswith("-")]
    print(
        "%pylab is deprecated, use %matplotlib inline and import the required libraries.\n"
        "Populating the interactive namespace from numpy and matplotlib"
    )
    numpy, library, mlab, pyplot, everything = map(
        import_module,
        "numpy matplotlib matplotlib.mlab matplotlib.pyplot matplotlib.pylab".split(),
    )
    names = {"np": numpy, "numpy": numpy, "plt": pyplot, "pyplot": pyplot}
    names.update(mlab=mlab, pylab=everything, matplotlib=library)
    if "--no-import-all" not in words:
        for module in (everything, numpy):
            public = getattr(module, "__all__", None) or dir(module)
            names.update((name, getattr(module, name)) for name in public if name[:1] != "_")
        clobbered = sorted(name for name in names_of(commands) if name in names)
        clobbered = [name for name in clobbered if commands.namespace[name] is not names[name]]
        if clobbered:
            text = "pylab import has clobbered these variables: {}\n"
            advice = "`%matplotlib` prevents importing * from pylab and numpy"
            warnings.warn(text.format(clobbered) + advice, stacklevel=2)
    commands.namespace.update(names)
    matplotlib(commands, backends[0] if backends else "inline")


def config(commands: Commands, rest: str) -> Any:
    """%config; %config Section; %config Section.name; %config Section.name = value"""
    rest = rest.strip()
    if not rest:
        print("Available objects for config:")
        for section in sorted(_SECTIONS):
            print("    " + section)
        return None
    left, equals, right = rest.partition("=")
    section, dot, name = left.strip().partition(".")
    if not equals:
        return _shown(commands, section, name)
    if not dot or not name.isidentifier() or not section.isidentifier():
        raise UsageError("Invalid config statement: {!r}, should be `Class.trait = value`".format(rest))
    value = _value(commands, right.strip())
    commands.settings[section, name] = value
    if section == "InlineBackend":
        commands.interpreter.displays.figures.configure(name, value)
        if name in ("figure_format", "figure_formats"):
            formats = {value} if isinstance(value, str) else set(value)
            commands.settings[section, "figure_formats"] = formats
    if section in _SHELLS:
        if name == "automagic":
            commands.automagic = bool(value)
        else:
            setattr(get_ipython(), name, value)
    return None


def _shown(commands, section, name):
    if section not in _SECTIONS and section not in _SHELLS:
        raise UsageError("Invalid config statement: {!r}, should be `Class.trait = value`".format(section))
    known = dict(_SECTIONS.get(section, {}))
    known.update((key[1], value) for key, value in commands.settings.items() if key[0] == section)
    if name:
        if name not in known:
            raise AttributeError("{!r} has no setting {!r}".format(section, name))
        return known[name]
    print("{} options\n{}".format(section, "-" * (len(section) + 8)))
    for key in sorted(known):
        print("{}.{}\n    Current: {!r}".format(section, key, known[key]))
    return None


def _value(commands, text):
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return eval(commands.code_of(text, "<config>", "eval"), commands.namespace)


def precision(_commands: Commands, rest: str) -> str:
    """%precision [digits or format]"""
    return pretty.set_precision(rest)


def xmode(commands: Commands, rest: str) -> None:
    """%xmode [mode]: tracebacks stay as they are here"""
    wanted = rest.strip().capitalize()
    if not wanted:
        wanted = _MODES[(_MODES.index(commands.xmode) + 1) % len(_MODES)]
    if wanted not in _MODES:
        text = "Error changing user exception modes.\nUnrecognized mode in FormattedTB: <{}>\nValid modes: {}"
        warnings.warn(text.format(wanted, list(_MODES)), stacklevel=2)
        return
    commands.xmode = wanted
    print("Exception reporting mode: " + wanted)


def colors(_commands: Commands, rest: str) -> None:
    """%colors theme: there are no colours here"""
    if not rest.strip():
        raise UsageError("%colors: you must specify a color theme. See '%colors?'.")


def _switched(now, rest):
    word = rest.strip().lower()
    if word in ("on", "1", "true"):
        return True
    if word in ("off", "0", "false"):
        return False
    return not now


def pdb(commands: Commands, rest: str) -> None:
    """%pdb [on | off]: has no effect in a sandbox"""
    if rest.strip().lower() not in ("", "on", "off", "0", "1"):
        print("Incorrect argument. Use on/1, off/0, or nothing for a toggle.")
        return
    commands.pdb = _switched(commands.pdb, rest)
    print("Automatic pdb calling has been turned", "ON" if commands.pdb else "OFF")


def automagic(commands: Commands, rest: str) -> None:
    """%automagic [on | off]"""
    commands.automagic = _switched(commands.automagic, rest)
    print("\n" + automagic_state(commands))


def automagic_state(commands: Commands) -> str:
    if commands.automagic:
        return "Automagic is ON, % prefix IS NOT needed for line magics."
    return "Automagic is OFF, % prefix IS needed for line magics."


def pprint(commands: Commands, rest: str) -> None:
    """%pprint [on | off]"""
    commands.pprint = _switched(commands.pprint, rest)
    print("Pretty printing has been turned", "ON" if commands.pprint else "OFF")


def gui(_commands: Commands, rest: str) -> None:
    """%gui: there are no windows in a sandbox"""
    if rest.strip() not in ("", "inline", "none", "asyncio"):
        raise MagicUnavailable("%gui {}: there are no windows in a sandbox".format(rest.strip()))


def nothing(_commands: Commands, _rest: str) -> None:
    """Accepted, and without effect."""
