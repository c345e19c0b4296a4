"""The bytes of an archive: a file, which is open only while it is read, or bytes in memory."""

from __future__ import annotations

import io
import os
import stat
from typing import Any

from ..pristine import BUILTINS as __builtins__
from ..values.reprs import guarded_repr, is_a, type_name
from .limits import MOST_NESTING, ArchiveError, shown

_open, _close, _fspath, _lseek, _read = os.open, os.close, os.fspath, os.lseek, os.read
_fstat: Any = os.fstat
_pread: Any = getattr(os, "pread", None)
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_BYTES = (bytes, bytearray, memoryview)


class Source:
    """Reads at a position, so that sessions which were forked do not move each other's place."""

    def __init__(self, given):
        self._descriptor: Any = None
        self._users = 0
        self.depth = 0
        self.data: bytes | None = None
        self.path = ""
        if is_a(given, _BYTES):
            self.data = bytes(given)
            self.depth = getattr(given, "depth", 0)
            self.name = getattr(given, "name", "") or "bytes"
            self.size = len(self.data)
        else:
            self.path = _path(given)
            self.name = os.path.basename(self.path) or self.path
            self._stamp: Any = None
            with self:
                status = _fstat(self._descriptor)
                self.size, self._stamp = status.st_size, (status.st_size, status.st_mtime_ns)
        if self.depth > MOST_NESTING:
            message = "{} is the {}th archive within an archive: at most {} are opened"
            raise ArchiveError(message.format(shown(self.name), self.depth, MOST_NESTING))

    def given(self) -> Any:
        """What opens the same archive again."""
        return self.path if self.data is None else self.data

    def __enter__(self):
        if self.data is None and self._descriptor is None:
            self._descriptor = _opened(self.path)
            status = _fstat(self._descriptor)
            problem = None
            if not stat.S_ISREG(status.st_mode):
                problem = "{} is not a file".format(shown(self.path))
            elif self._stamp not in (None, (status.st_size, status.st_mtime_ns)):
                problem = "{0} has changed since it was opened: archive_open({0}) again".format(shown(self.path))
            if problem is not None:
                self._release()
                raise ArchiveError(problem)
        self._users += 1
        return self

    def __exit__(self, *_):
        self._users -= 1
        if self._users == 0:
            self._release()

    def _release(self):
        if self._descriptor is not None:
            descriptor, self._descriptor = self._descriptor, None
            _close(descriptor)

    def read_at(self, position: int, count: int) -> bytes:
        if self.data is not None:
            return self.data[position : position + count]
        if self._descriptor is None:
            with self:
                return self.read_at(position, count)
        parts, count = [], min(count, max(0, self.size - position))
        while count > 0:
            if _pread is None:
                _lseek(self._descriptor, position, os.SEEK_SET)
                part = _read(self._descriptor, count)
            else:
                part = _pread(self._descriptor, count, position)
            if not part:
                break
            parts.append(part)
            position, count = position + len(part), count - len(part)
        return b"".join(parts)

    def file(self) -> SourceFile:
        return SourceFile(self)


class SourceFile(io.RawIOBase):
    """A source as zipfile and others want it."""

    def __init__(self, source):
        super().__init__()
        self._source, self._position = source, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = 0) -> int:
        position = offset + (0, self._position, self._source.size)[whence]
        if position < 0:
            raise OSError("a position before the start of the file")
        self._position = position
        return position

    def read(self, size: int | None = -1) -> bytes:
        left = max(0, self._source.size - self._position)
        data = self._source.read_at(self._position, left if size is None or size < 0 else min(size, left))
        self._position += len(data)
        return data

    def readall(self) -> bytes:
        return self.read()

    def readinto(self, buffer: Any) -> int:
        data = self.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)


def _path(given):
    try:
        path = _fspath(given)
    except TypeError:
        message = "archive_open() takes a path or bytes, not {}"
        raise TypeError(message.format(type_name(type(given)))) from None
    path = os.fsdecode(path) if is_a(path, bytes) else str.__str__(path)
    if not path or "\0" in path or "\n" in path or len(path) > 4096:
        message = "{} is not a path: archive_open() takes a path, or the bytes of an archive"
        raise ValueError(message.format(guarded_repr(path[:100])))
    return os.path.abspath(path)


def _opened(path):
    try:
        return _open(path, _FLAGS)
    except FileNotFoundError:
        message = "no such file: {}; list_dir({}) shows what is there"
        raise FileNotFoundError(message.format(shown(path), shown(os.path.dirname(path)))) from None
    except OSError as error:
        kind = type(error)
        raise kind(error.errno, "cannot read {}: {}".format(shown(path), error.strerror)) from None
