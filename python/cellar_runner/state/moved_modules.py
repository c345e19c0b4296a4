"""Where the modules went that snapshots of earlier versions name.

Values that cells hold, such as matches, outputs of commands and errors, are of classes of the runner. Until
it had packages, all its modules lay beside each other.
"""

from __future__ import annotations

from ..pristine import BUILTINS as __builtins__

_ROOT = "cellar_runner."
# By package: the modules in it, as `old=new` where the name changed too.
_PACKAGES = {
    "agent": (
        "agent documents=files exploring=browse final findings journal=call_log lineage=provenance "
        "reserved_names results variables vocabulary=functions"
    ),
    "agent.search": "backtracking=python_re dialect=regex_syntax haystack=source hits ripgrep searching=grep",
    "cells": (
        "aliases=preloaded_names cell=compiler event_loop hints history interactive interpreter repairs "
        "scanner script sources tracebacks"
    ),
    "cells.completion": "completion=candidates time_limit",
    "cells.ipython": (
        "ipython=loader ipython_display=display ipython_magic=magic ipython_media=media "
        "ipython_parts=parts ipython_shell=shell ipython_shim=shim ipython_widgets=widgets"
    ),
    "cells.magics": "capturing commands=dispatch magic_names=registry magics=rewriter options usage=errors",
    "cells.magics.commands": (
        "aliasing autoreload extensions folders inputs inspection namespaces packages "
        "reference=inspection running scripts settings shell timing"
    ),
    "context": "context=incoming extraction matches sections sheet=mapped_text spilled texts toolbox",
    "host": "bridge host_tools=tools",
    "output": "capture displays figures formatters marks outlet=pump short_cells=inline streams",
    "values": (
        "excerpts layout=pretty_layout pretty pretty_types reprs static_values=static_lookup tables "
        "values=encoding"
    ),
}


def _paths():
    found = {"policy_report": "errors"}
    for package, names in _PACKAGES.items():
        for name in names.split():
            old, _, new = name.partition("=")
            found[old] = package + "." + (new or old)
    return {_ROOT + old: _ROOT + new for old, new in found.items()}


MOVED_MODULES = _paths()
