"""Reads a snapshot into a session."""

from __future__ import annotations

import functools
import gc
import sys
import warnings
from typing import Any

from .. import module_finder
from ..pristine import BUILTINS as __builtins__
from ..values.reprs import guarded_str, is_a, type_name
from . import file_writer, libraries, lost_variables, process_state
from .file_reader import FileReader, PickleReader
from .file_writer import Refused
from .pickling import VariableReader, cloud_pickler, external_objects

LISTED = 10_000
WARNINGS = 64
# Deep enough for long chains; a cell may have set a limit that overflows the stack.
RECURSION = 5_000

_getlimit, _setlimit = sys.getrecursionlimit, sys.setrecursionlimit
_PYTHON = "%d.%d" % sys.version_info[:2]
_MISTAKES = (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError)


def read(descriptor: int, interpreter: Any) -> dict[str, Any]:
    """Reads the variables of a snapshot into a session; returns a report."""
    file_reader = FileReader(descriptor)
    namespace = interpreter.namespace
    before = dict(namespace)
    limit, collects = _getlimit(), gc.isenabled()
    _setlimit(RECURSION)
    # Nothing that is created now is garbage.
    gc.disable()
    try:
        _check(file_reader.index)
        with NoWarnings():
            return _Restore(file_reader, interpreter).run()
    except BaseException as error:
        namespace.clear()
        namespace.update(before)
        if not is_a(error, _MISTAKES):
            raise
        text = "the index of the snapshot is damaged: {}".format(type_name(type(error)))
        raise Refused(text) from None
    finally:
        _setlimit(limit)
        if collects:
            gc.enable()


class NoWarnings:
    """Hides the warnings of libraries about pickling."""

    def __enter__(self):
        try:
            self._kept: warnings.catch_warnings | None = warnings.catch_warnings()
            self._kept.__enter__()
            warnings.simplefilter("ignore")
        except Exception:
            # A cell broke the warnings module.
            self._kept = None

    def __exit__(self, *error):
        if self._kept is not None:
            self._kept.__exit__(*error)


def _check(index):
    """Refuses what this Python cannot read."""
    name, version = index["implementation"], index["python"]
    if (name, version) != (sys.implementation.name, _PYTHON):
        raise Refused(
            "the snapshot was written by {} {} and cannot be read by {} {}: run the session with "
            "the Python it was written with, or run its cells again".format(
                name, version, sys.implementation.name, _PYTHON
            )
        )
    pickler, _, compression = index["codec"].partition("+")
    if pickler not in ("pickle", "cloudpickle") or compression not in ("zlib", "lz4"):
        raise Refused("the snapshot was written as {}, which this version does not know".format(index["codec"]))
    for library, there in (("cloudpickle", cloud_pickler), ("lz4", file_writer.lz4_block)):
        if library in (pickler, compression) and there() is None:
            text = "the snapshot was written as {0}, but {1} is not installed: cellar install {1}"
            raise Refused(text.format(index["codec"], library))


class _Restore:
    def __init__(self, file_reader, interpreter):
        self._file_reader = file_reader
        self._interpreter = interpreter
        self._namespace = interpreter.namespace
        index = self._index = file_reader.index
        self._lost = {}
        pickle_reader = PickleReader(file_reader, index["stream"])
        external = external_objects(interpreter)
        names, buffers, total = index["anchors"], index["buffers"], index["end"][1]
        self._reader = VariableReader(file_reader, pickle_reader, buffers, names, external, total)

    def run(self):
        index = self._index
        self._interpreter.flags |= index["flags"]
        notes = process_state.restore_paths(index["places"])
        for number, text in index["sources"]:
            if number not in self._interpreter.sources.texts:
                self._interpreter.sources.add(number, text)
        variables, handlers, states = index["variables"], index.get("handlers", []), index["states"]
        records = variables + handlers + states
        bounds = [record[1] for _, record in records][1:] + [index["end"][1]]
        without = dict(index.get("without", {}))
        with module_finder.WorkspaceReachable():
            for (name, record), noted in zip(variables, bounds):
                error = self._load(record, noted, functools.partial(self._namespace.__setitem__, name))
                if error is not None:
                    self._lost[name] = _failure(error)
            for (name, record), noted in zip(handlers, bounds[len(variables) :]):
                error = self._load(record, noted, lambda parts: self._interpreter.kept_classes.add(*parts))
                if error is not None:
                    without[name] = _failure(error)[0]
            for (name, record), noted in zip(states, bounds[len(variables) + len(handlers) :]):
                # If this fails, for example without numpy, the new session keeps its own state.
                self._load(record, noted, functools.partial(process_state.set_random_state, name))
        restored = self._in_order()
        for name, reason in without.items():
            notes.append("keep({}) has to be called again: {}".format(name, reason))
        notes += libraries.differences(index["libraries"])
        for name, (reason, advice) in index["lost"].items():
            if name not in self._namespace:
                self._lost[name] = (reason, advice)
        self._remember()
        lost = [
            {"name": name, "reason": lost_variables.short(reason), "advice": lost_variables.short(advice)}
            for name, (reason, advice) in self._lost.items()
        ]
        told = [lost_variables.short(note) for note in notes[:WARNINGS]]
        return {"restored": restored[:LISTED], "lost": lost[:LISTED], "warnings": told}

    def _load(self, record, noted, use):
        """Passes a value to `use`; returns the error if that fails, unless the file is damaged."""
        try:
            use(self._reader.load(record, noted))
            return None
        except (KeyboardInterrupt, MemoryError):
            raise
        except BaseException as error:
            if self._file_reader.damage is not None:
                raise self._file_reader.damage from None
            return error

    def _in_order(self):
        """Variables in the order in which they were first assigned."""
        restored = [name for name in self._index["order"] if name not in self._lost]
        for name in restored:
            if name in self._namespace:
                self._namespace[name] = self._namespace.pop(name)
        return restored

    def _remember(self):
        remembered = self._interpreter.lost_names
        remembered.update(self._index["lost_before"])
        for name, (_, advice) in self._lost.items():
            remembered[name] = advice
        for name in [name for name in remembered if name in self._namespace]:
            del remembered[name]


def _failure(error):
    if is_a(error, lost_variables.LostVariable):
        return error.reason, error.advice
    text = guarded_str(error) or ""
    if is_a(error, ModuleNotFoundError) and is_a(error.name, str):
        top = error.name.partition(".")[0]
        advice = "packages are added from outside: cellar install {}"
        return "the library {} is not installed".format(top), advice.format(libraries.distribution_of(top))
    if "Memo value not found" in text or (is_a(error, KeyError) and text.isdigit()):
        return (
            "it shares a part with a variable that could not be restored",
            "run the cell that made it again",
        )
    reason = "{}: {}".format(type_name(type(error)), text)
    return reason, "run the cell that made it again"
