"""Writes the variables of a session, each of them kept or lost with a reason."""

from __future__ import annotations

import sys
import types
from typing import Any, Callable

from ..pristine import BUILTINS as __builtins__
from ..values.reprs import exact, guarded_str, is_a, qualified_name, type_name
from . import file_writer, libraries, lost_variables, process_state
from .file_writer import FORMAT, Refused
from .kept_classes import Postponed
from .pickling import VariableWriter, cloud_pickler, external_objects, plain_pickler
from .reducers import Reducers
from .restore import RECURSION, NoWarnings, read

NAME_LIMIT = 512
LISTED = 10_000
SOURCES_KEPT = 4_000_000
LARGE_CONTEXT = 40 << 20
SHOWN_LARGEST = 3

__all__ = ["Refused", "TooLarge", "Unserializable", "codec_here", "read", "write"]

_modules = sys.modules
_getlimit, _setlimit, _size_of = sys.getrecursionlimit, sys.setrecursionlimit, sys.getsizeof
_NOT_KEPT = frozenset(
    "__name__ __doc__ __package__ __loader__ __spec__ __builtins__ __file__ __annotations__"
    " __annotate__ __conditional_annotations__ __warningregistry__ __private_data__"
    " _ __ ___".split()
)
_FUNCTIONS = (types.FunctionType, types.BuiltinFunctionType)


class TooLarge(Exception):
    """The state takes more bytes than allowed."""


class Unserializable(Exception):
    """A variable cannot be kept, and all were wanted."""


def codec_here() -> str:
    pickler = "pickle" if cloud_pickler() is None else "cloudpickle"
    return pickler + ("+zlib" if file_writer.lz4_block() is None else "+lz4")


def write(
    interpreter: Any, sink: Callable[[Any], Any], max_bytes: int, private: bool = True, strict: bool = False,
    codec: str | None = None,
) -> dict[str, Any]:
    """Writes a snapshot to `sink` in pieces; returns its manifest."""
    snapshot = _Snapshot(interpreter, sink, max_bytes, codec or codec_here())
    limit, main = _getlimit(), _modules.get("__main__")
    _setlimit(RECURSION)
    # __main__ of a new session is empty, so nothing may be pickled as a reference to it.
    _modules["__main__"] = types.ModuleType("__main__")
    try:
        with NoWarnings():
            return snapshot.write(private, strict)
    finally:
        _modules["__main__"] = main  # type: ignore[assignment]
        _setlimit(limit)


class _Snapshot:
    def __init__(self, interpreter, sink, max_bytes, codec):
        self._interpreter = interpreter
        self._namespace = interpreter.namespace
        self._max_bytes = max_bytes
        self._codec = codec
        pickler, _, compression = codec.partition("+")
        base = cloud_pickler() if pickler == "cloudpickle" else plain_pickler()
        self._file_writer = file_writer.FileWriter(sink, max_bytes, compression)
        self._pickle_writer = file_writer.PickleWriter(self._file_writer)
        self._modules = set()
        self._definitions = {}
        self._kept_classes = interpreter.kept_classes
        self._reduce = Reducers(self._namespace, self._note, self._kept_classes)
        external = external_objects(interpreter)
        self._writer = VariableWriter(base, self._file_writer, self._pickle_writer, external, self._reduce)
        self._variables = []
        self._kept = []
        self._lost = {}
        self._omitted = 0
        self._start = 0

    def _note(self, module, definition):
        """Remembers which modules and cells the values need."""
        if is_a(module, str):
            self._modules.add(exact(module))
        if definition is not None:
            self._definitions[id(definition)] = definition

    def write(self, private, strict):
        names = self._names(private)
        current = None
        try:
            later = []
            for current in names:
                try:
                    self._write_variable(current, strict)
                except Postponed:
                    later.append(current)
            self._reduce.postpones = False
            for current in later:
                self._write_variable(current, strict)
            current = None
            handlers, without = self._write_handlers()
            states = self._write_states()
            end, _ = self._writer.dump(None)
            self._pickle_writer.finish()
            self._file_writer.finish(self._index(states, end, handlers, without))
        except file_writer.LimitExceeded:
            raise TooLarge(self._too_large(names, current)) from None
        return self._manifest(names)

    def _names(self, private):
        """Modules, classes and functions come first."""
        names = []
        for name, value in list(self._namespace.items()):
            if type(name) is not str or name in _NOT_KEPT:
                continue
            if not private and name.startswith("_"):
                continue
            if not 0 < len(name) <= NAME_LIMIT or exact(name) != name:
                self._omitted += 1
            else:
                names.append((_rank(value), name))
        names.sort(key=lambda pair: pair[0])
        return [name for _, name in names]

    def _write_variable(self, name, strict):
        value = self._namespace.get(name)
        self._start = self._pickle_writer.length
        entry = {"name": name, "type": _type_of(value), "kept": True}
        dumped, loss = self._dump(value, name, strict)
        if loss is None:
            record, entry["size"] = dumped
            self._kept.append([name, record])
        else:
            entry.update(kept=False, reason=loss.reason, advice=loss.advice)
            self._lost[name] = [loss.reason, loss.advice]
        self._variables.append(entry)

    def _dump(self, value, name="", strict=False):
        """(what dump() returns, None), or (None, the loss) for a value that cannot be written."""
        try:
            if name == "context" and type(value) is str and _size_of(value) >= LARGE_CONTEXT:
                advice = "initialize the session with the context again"
                raise lost_variables.LostVariable(value, "the context is too large for a snapshot", advice)
            return self._writer.dump(value), None
        except (file_writer.LimitExceeded, Postponed):
            raise
        except BaseException as error:
            if self._file_writer.is_broken:
                raise
            loss = _loss(value, error)
            if strict:
                raise Unserializable(_refusal(name, error, loss)) from None
            return None, loss

    def _write_handlers(self):
        """The classes of keep(): records by name, and reasons for those that fail."""
        records, without = [], {}
        for kept in self._kept_classes:
            dumped, loss = self._dump((kept.kind, kept.save, kept.load))
            if loss is None:
                records.append([kept.name, dumped[0]])
            else:
                without[kept.name] = loss.reason
        return records, without

    def _write_states(self):
        """If a cell replaced a generator by one that cannot be written, the new session has its own."""
        written = [(name, self._dump(state)[0]) for name, state in process_state.random_states()]
        return [[name, dumped[0]] for name, dumped in written if dumped is not None]

    def _index(self, states, end, handlers, without):
        order = {name: number for number, name in enumerate(self._namespace)}
        earlier = self._interpreter.lost_names
        return {
            "python": "%d.%d" % sys.version_info[:2],
            "implementation": sys.implementation.name,
            "codec": self._codec,
            "libraries": libraries.versions(self._modules),
            "anchors": self._writer.anchors,
            "variables": self._kept,
            "order": sorted((name for name, _ in self._kept), key=order.get),  # type: ignore[arg-type]
            "handlers": handlers,
            "without": without,
            "states": states,
            "end": end,
            "stream": self._pickle_writer.entries,
            "buffers": self._writer.buffers,
            "lost": self._lost,
            "lost_before": {
                name: advice for name, advice in earlier.items() if name not in self._namespace
            },
            "sources": self._sources(),
            "flags": self._interpreter.flags,
            "places": process_state.paths(self._interpreter.first_path),
        }

    def _sources(self):
        """The sources of the cells that define functions and classes."""
        sources = self._interpreter.sources
        files = set()
        for definition in self._definitions.values():
            if is_a(definition, str):
                files.add(definition)
                continue
            try:
                files.add(sources.file_of_class(definition))
            except BaseException:
                # Attributes of a class may run any code.
                continue
        kept, room = [], SOURCES_KEPT
        for number, text in reversed(list(sources.texts.items())):
            if "<cell {}>".format(number) in files and len(text) <= room:
                room -= len(text)
                kept.append([number, text])
        return kept[::-1]

    def _manifest(self, names):
        return {
            "format": FORMAT,
            "python": "%d.%d.%d" % sys.version_info[:3],
            "codec": self._codec,
            "libraries": libraries.versions(self._modules),
            "variables": self._variables[:LISTED],
            "omitted": self._omitted + max(0, len(names) - LISTED),
        }

    def _too_large(self, names, current):
        sizes = {entry["name"]: entry.get("size", 0) for entry in self._variables}
        for name in names:
            if name not in sizes:
                sizes[name] = _estimate(self._namespace.get(name))
        if current is not None:
            sizes[current] = max(sizes[current], self._pickle_writer.length - self._start)
        largest = sorted(sizes, key=sizes.__getitem__, reverse=True)[:SHOWN_LARGEST]
        shown = ", ".join("{} ({})".format(name, _megabytes(sizes[name])) for name in largest)
        text = (
            "the state is larger than the {} allowed (about {} before compression); the largest "
            "variables are {}: delete what is not needed, write it to files in /workspace, "
            "or raise stateMaxSizeMb"
        )
        total = sum(sizes.values())
        return text.format(_megabytes(self._max_bytes), _megabytes(total), shown or "unknown")


def _rank(value):
    if is_a(value, types.ModuleType):
        return 0
    if is_a(value, type):
        return 1
    return 2 if is_a(value, _FUNCTIONS) else 3


def _type_of(value):
    return "module" if is_a(value, types.ModuleType) else qualified_name(type(value))


def _loss(value, error):
    try:
        return lost_variables.by_error(value, error)
    except BaseException as other:
        # Raised by the value's own code, which is not called again.
        return lost_variables.LostVariable(value, type_name(type(other)), lost_variables.GENERAL)


def _refusal(name, error, loss):
    text = str(error) if is_a(error, lost_variables.LostVariable) else guarded_str(error)
    return "{} (variable '{}'): {}".format(lost_variables.short(text or loss.reason), name, loss.advice)


def _estimate(value):
    try:
        return max(0, int(_size_of(value)))
    except BaseException:
        return 0


def _megabytes(count):
    return "{:,.1f} MB".format(count / (1 << 20))
