"""The state of a session outside its variables: search path, working folder, random numbers."""

from __future__ import annotations

import os
import random
import sys
from typing import Any, Sequence

from ..pristine import BUILTINS as __builtins__
from ..values.reprs import exact, is_a

WORKSPACE = "/workspace"
PATHS_KEPT = 100

_modules = sys.modules
_getcwd, _chdir = os.getcwd, os.chdir


def paths(first_path: Sequence[str]) -> dict[str, Any]:
    """Entries added to sys.path, before and after the first, and the folder in the workspace."""
    before: list[str] = []
    after: list[str] = []
    added = before
    for entry in [exact(entry) for entry in list(sys.path) if is_a(entry, str)]:
        if entry in first_path:
            added = after
        else:
            added.append(entry)
    return {"before": before[:PATHS_KEPT], "after": after[:PATHS_KEPT], "folder": _folder()}


def _folder():
    try:
        folder = exact(_getcwd())
    except OSError:
        return None
    return folder if folder.startswith(WORKSPACE + os.sep) else None


def restore_paths(kept: dict[str, Any]) -> list[str]:
    """Returns warnings."""
    known = [entry for entry in sys.path if is_a(entry, str)]
    sys.path[:0] = [entry for entry in kept["before"] if entry not in known]
    sys.path.extend(entry for entry in kept["after"] if entry not in known)
    folder = kept["folder"]
    if folder is None:
        return []
    try:
        _chdir(folder)
        return []
    except OSError:
        return ["the folder {} no longer exists".format(folder)]


def random_states() -> list[tuple[str, Any]]:
    """(name, state) of the global random generators."""
    found: list[tuple[str, Any]] = []
    for name, read in (("random", lambda: random.getstate()), ("numpy", lambda: _modules["numpy"].random.get_state())):
        try:
            found.append((name, read()))
        except BaseException:
            # It is not loaded, or a cell broke it.
            continue
    return found


def set_random_state(name: str, state: Any) -> None:
    if name == "random":
        random.setstate(state)
    elif "numpy" in _modules:
        _modules["numpy"].random.set_state(state)
