"""Imports the libraries that sessions share, and names those that are not there."""

from __future__ import annotations

import builtins
import importlib
import os
import sys
import time
import types

THREADED = ("polars",)


def _import(name):
    if name == "matplotlib":
        os.makedirs(os.environ.get("MPLCONFIGDIR", "/tmp/mpl"), exist_ok=True)
        importlib.import_module(name).use("Agg")
    elif name == "pandas":
        # pandas asks on import whether it is in a notebook, and shows wide tables accordingly.
        builtins.get_ipython = lambda: types.SimpleNamespace(kernel=None)  # type: ignore[attr-defined]
        try:
            importlib.import_module(name)
        finally:
            del builtins.get_ipython  # type: ignore[attr-defined]
    else:
        importlib.import_module(name)


def preload(names: list[str]) -> tuple[dict[str, str], dict[str, str], float]:
    """(what was loaded with its version, what was not and why, seconds)."""
    started = time.monotonic()
    loaded, absent = {}, {}
    # Imported by others on the side, these start threads, which a fork does not survive.
    hidden = [name for name in THREADED if name not in names and name not in sys.modules]
    for name in hidden:
        sys.modules[name] = None  # type: ignore[assignment]
    for name in names:
        top = name.partition(".")[0]
        if top in absent:
            continue
        try:
            _import(name)
        except BaseException as error:  # a broken package must not end the zygote
            absent[top] = "%s: %s" % (type(error).__name__, error)
            continue
        version = getattr(sys.modules[top], "__version__", None)
        if isinstance(version, str):
            loaded[top] = version
    for name in hidden:
        del sys.modules[name]
    _warm_up()
    return loaded, absent, time.monotonic() - started


def _warm_up():
    """Runs what first uses pay for, once for all sessions."""
    pandas = sys.modules.get("pandas")
    if pandas is not None:
        frame = pandas.DataFrame({"k": [1, 2, 1], "v": [1.0, 2.0, 3.0]})
        frame.groupby("k").v.mean()
        repr(frame)
        frame.to_html()
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None:
        import io

        figure = pyplot.figure()
        figure.subplots().plot([0, 1])
        figure.savefig(io.BytesIO(), format="png")
        pyplot.close(figure)
        # They hold open files, which no copy of this process has.
        clear = getattr(getattr(sys.modules["matplotlib.font_manager"], "_get_font", None), "cache_clear", None)
        if clear is not None:
            clear()
