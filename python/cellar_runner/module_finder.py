"""Where modules are found: beside the notebook too, but never those of the runner.

`''`, the working folder, comes first on the search path as in plain Python. As in Jupyter, the
standard library comes before it all the same, so that a file such as random.py breaks nothing.
"""

from __future__ import annotations

import importlib
import os
import sys
import time
from _thread import get_ident
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

from .pristine import BUILTINS as __builtins__

HERE = ""
# The folder of the runner itself.
RUNNER = os.path.dirname(os.path.abspath(__file__)) + os.sep
LOOKED_AT = 5_000
# Longer than the time resolution of any file system.
YOUNG_SECONDS = 2

_find, _import_module = PathFinder.find_spec, importlib.import_module
_getcwd, _stat, _now = os.getcwd, os.stat, time.time
_cached: dict[str, Any] = sys.path_importer_cache
_modules: dict[str, Any] = sys.modules
_PACKAGES = ("site-packages", "dist-packages")


class Finder:
    """A finder on sys.meta_path, before Python's own that goes through the search path."""

    def __init__(self):
        # The search path before any cell, and the part of it that is the standard library.
        self._first = []
        self._library = []
        # The initial working folder.
        self.folder = None
        # Threads that import for the runner.
        self._owners = set()

    def __repr__(self):
        return "<finder of modules in the working folder>"

    def remember(self, path: list[str]) -> None:
        self._first = [entry for entry in path if entry]
        ends = [place for place, entry in enumerate(path) if entry.endswith(_PACKAGES)]
        self._library = [entry for entry in path[: ends[0] if ends else len(path)] if entry]

    @property
    def first(self) -> list[str]:
        return list(self._first)

    def find_spec(self, name: str, path: Any = None, target: object = None) -> ModuleSpec | None:
        if self._owners and get_ident() in self._owners:
            return self._find_own(name, path)
        if path is not None:
            _refresh_young_folders(path)
            return None
        search = sys.path
        if HERE not in search:
            return None
        # What was put first on purpose stays first.
        spec = _find(name, search[: search.index(HERE)] + self._library)
        if spec is not None and spec.loader is not None:
            return spec
        _refresh_young_folders((HERE,))
        return None

    def _find_own(self, name, path):
        spec = _find(name, self._first if path is None else path)
        if spec is None:
            raise ModuleNotFoundError("No module named {!r}".format(name), name=name)
        return spec

    def import_own(self, name: str) -> ModuleType:
        """Imports a module for the runner itself, by the search path that was there before any cell."""
        thread = get_ident()
        is_inner = thread in self._owners
        self._owners.add(thread)
        try:
            module = _import_module(name)
        finally:
            if not is_inner:
                self._owners.discard(thread)
        if self._is_of_work(_modules.get(name.partition(".")[0])):
            raise ImportError("{} is a module of the session's own".format(name))
        return module

    def _is_of_work(self, module):
        file = getattr(module, "__file__", None)
        if type(file) is not str or not _within(file):
            return False
        return not any(file.startswith(entry + os.sep) for entry in self._first)


def _refresh_young_folders(path):
    """Clears caches of folders that changed just now: their times may not show a file that came since."""
    for entry in path if type(path) in (list, tuple) else ():
        try:
            folder = entry or _getcwd()
            if entry != HERE and not _within(folder):
                continue
            if _now() - _stat(folder).st_mtime < YOUNG_SECONDS:
                _cached[folder].invalidate_caches()
        except (OSError, KeyError, AttributeError, TypeError):
            continue


def _within(path):
    folder = finder.folder
    return folder is not None and (path == folder or path.startswith(folder + os.sep))


finder = Finder()
import_own = finder.import_own


def search_path() -> list[str]:
    """The search path as it was before any cell."""
    return finder.first or sys.path


def install() -> None:
    """Before the first cell, in the working folder."""
    finder.folder = _getcwd()
    finder.remember(list(sys.path))
    if finder not in sys.meta_path:
        place = sys.meta_path.index(PathFinder) if PathFinder in sys.meta_path else 0
        sys.meta_path.insert(place, finder)
    if HERE not in sys.path:
        sys.path.insert(0, HERE)
    # Otherwise a module changed within a second would load its old bytecode.
    sys.dont_write_bytecode = True
    processes = _modules.get("multiprocessing.process")
    if processes is not None:
        # It was imported in another folder, where its processes would look for modules.
        processes.ORIGINAL_DIR = finder.folder


def exclude_workspace() -> None:
    """From now on no module in the working folder is found."""
    while HERE in sys.path:
        sys.path.remove(HERE)


class WorkspaceReachable:
    """Adds the workspace to the search path while a state is restored: its modules may be there."""

    def __enter__(self):
        self._added = None
        if finder.folder is not None and finder.folder not in sys.path:
            self._added = finder.folder
            sys.path.append(self._added)

    def __exit__(self, *_error):
        if self._added in sys.path:
            sys.path.remove(self._added)


def folder_with_module(name: str) -> str | None:
    """The folder of the workspace that has a module of this name, but is not on sys.path; or None."""
    waiting, seen = [finder.folder or _getcwd()], 0
    while waiting:
        folder = waiting.pop(0)
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    seen += 1
                    if seen > LOOKED_AT:
                        return None
                    is_folder = entry.is_dir(follow_symlinks=False)
                    if entry.name == (name if is_folder else name + ".py"):
                        return None if folder == _getcwd() else folder
                    if is_folder and not entry.name.startswith((".", "_")):
                        waiting.append(entry.path)
        except OSError:
            continue
    return None
