"""One pickler and one unpickler for all variables, so that what they share stays shared."""

from __future__ import annotations

import builtins
import dataclasses
import pickle
import struct
from typing import Any

from ..module_finder import import_own
from ..pristine import BUILTINS as __builtins__
from . import builders, kept_classes, library_reducers
from .file_writer import LimitExceeded
from .moved_modules import MOVED_MODULES

PROTOCOL = 5
# Smaller buffers stay in the pickle: an index entry would cost more than a copy.
SMALL_BUFFER = 1 << 16

_Pickler, _Unpickler = pickle.Pickler, pickle.Unpickler
_UnpicklingError = pickle.UnpicklingError
_GET, _FRAME = 0x68, 0x95
_DATACLASS_MARKS = "MISSING KW_ONLY _FIELD _FIELD_CLASSVAR _FIELD_INITVAR _HAS_DEFAULT_FACTORY".split()
_number = struct.Struct("<I").pack


def cloud_pickler() -> Any:
    try:
        Pickler = import_own("cloudpickle").Pickler
        return Pickler if issubclass(Pickler, _Pickler) else None
    except KeyboardInterrupt:
        raise
    except BaseException:
        return None


def plain_pickler() -> Any:
    return _Pickler


def external_objects(interpreter: Any) -> dict[str, Any]:
    """Objects that are never written, but found again by name when a snapshot is read."""
    found = {
        "namespace": interpreter.namespace,
        "builtins": vars(builtins),
        "main": interpreter.main,
        "load": library_reducers.load,
        "load kept": kept_classes.load,
        "getattr": getattr,
    }
    for builder in builders.BUILDERS:
        found["builder:" + builder.__name__] = builder
    # Sentinels are compared by identity.
    for name in _DATACLASS_MARKS:
        if hasattr(dataclasses, name):
            found["dataclasses:" + name] = getattr(dataclasses, name)
    for name in ("display", "input", "exit", "quit", "keep"):
        if hasattr(builtins, name):
            found["builtin:" + name] = getattr(builtins, name)
    for name, value in interpreter.builtins.items():
        found["builtin:" + name] = value
    for name, stream in zip(("stdin", "stdout", "stderr"), interpreter.streams or ()):
        found["stream:" + name] = stream
    return found


class VariableWriter:
    """Pickles values one after the other; a value that fails leaves no trace."""

    def __init__(self, base, file_writer, pickle_writer, external, reduce):
        self._file_writer = file_writer
        self._pickle_writer = pickle_writer
        self._taken = []
        self.buffers = []
        # A subclass has a __dict__, where pickle finds the reducer without a call.
        kind = type("StatePickler", (base,), {})
        self._pickler = kind(pickle_writer, PROTOCOL, buffer_callback=self._take_buffer)
        self._pickler.reducer_override = reduce
        distinct = {id(value): name for name, value in reversed(list(external.items()))}
        self.anchors = list(distinct.values())
        self._pickler.memo = {
            id(external[name]): (number, external[name]) for number, name in enumerate(self.anchors)
        }

    def _take_buffer(self, buffer):
        try:
            view = buffer.raw()
        except BufferError:
            return True
        if view.nbytes < SMALL_BUFFER:
            return True
        self._taken.append(view)
        return False

    def dump(self, value: Any) -> tuple[list[int], int]:
        """([start, memo size before it, buffers before it], bytes)."""
        wrapper = [value]
        start, first = self._pickle_writer.length, len(self.buffers)
        self._pickle_writer.begin()
        self._taken = []
        try:
            self._pickler.dump(wrapper)
            noted = self._number_of(wrapper)
        except LimitExceeded:
            raise
        except BaseException:
            self._pickle_writer.roll_back()
            memo = self._pickler.memo.copy()
            if id(wrapper) in memo:
                first = memo[id(wrapper)][0]
                self._pickler.memo = {key: note for key, note in memo.items() if note[0] < first}
            raise
        self._pickle_writer.keep()
        for view in self._taken:
            self.buffers.append(self._file_writer.send_view(view))
        size = self._pickle_writer.length - start + sum(view.nbytes for view in self._taken)
        self._taken = []
        return [start, noted, first], size

    def _number_of(self, wrapper):
        """Its number in the memo, which pickling it again tells."""
        said = self._pickle_writer.capture(lambda: self._pickler.dump(wrapper))
        place = 11 if said[2] == _FRAME else 2
        if said[place] == _GET:
            return said[place + 1]
        return int.from_bytes(said[place + 1 : place + 5], "little")


class _Buffers:
    def __init__(self, file_reader, entries):
        self._file_reader = file_reader
        self._entries = entries
        self.position = 0

    def __iter__(self):
        return self

    def __next__(self):
        if self.position >= len(self._entries):
            raise StopIteration
        self.position += 1
        return self._file_reader.buffer(self._entries[self.position - 1])


class _StateUnpickler(_Unpickler):  # type: ignore[misc, valid-type]
    """Its first memo entries come as persistent values."""

    seeds: dict = {}

    def find_class(self, module, name):
        return super().find_class(MOVED_MODULES.get(module, module), name)

    def persistent_load(self, number):
        if number not in self.seeds:
            raise _UnpicklingError("the snapshot refers to an object that this session does not have")
        return self.seeds[number]


class VariableReader:
    """Unpickles values one after the other; a failure costs only values that share its parts."""

    def __init__(self, file_reader, pickle_reader, entries, names, external, total):
        self._pickle_reader = pickle_reader
        self._buffers = _Buffers(file_reader, entries)
        self._total = total
        known = {number: external[name] for number, name in enumerate(names) if name in external}
        self._begin(known, len(names))

    def _begin(self, known, noted):
        """A new unpickler whose memo has these objects, and continues at `noted`."""
        self._unpickler = _StateUnpickler(self._pickle_reader, buffers=self._buffers)
        parts = [b"J%bQr%b0" % (_number(number), _number(number)) for number in known]
        parts.append(b"N")
        # Missing ones get numbers that are not used.
        missing = noted - len(known)
        parts += [b"r" + _number(self._total + extra) for extra in range(missing)]
        parts.append(b".")
        content = b"".join(parts)
        self._pickle_reader.before = b"\x80\x05\x95" + len(content).to_bytes(8, "little") + content
        self._unpickler.seeds = known
        self._unpickler.load()
        self._unpickler.seeds = {}

    def load(self, record: list[int], noted_after: int) -> Any:
        self._pickle_reader.position, noted, self._buffers.position = record
        try:
            return self._unpickler.load()[0]
        except BaseException:
            memo = self._unpickler.memo.copy()
            known = {number: value for number, value in memo.items() if number < noted}
            self._begin(known, noted_after)
            raise
