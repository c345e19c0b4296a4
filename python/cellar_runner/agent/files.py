"""Files that an agent's functions read: only regular ones, with any content."""

from __future__ import annotations

import codecs
import difflib
import os
import stat
from typing import Any, Iterable, Iterator

from ..pristine import BUILTINS as __builtins__
from ..values.reprs import cap, guarded_repr, is_a, type_name

BLOCK = 1 << 18
LOOKED_AT = 8192
SHOWN_PATH = 300
LONGEST_PATH = 4096

_open, _close, _read, _fstat, _lseek = os.open, os.close, os.read, os.fstat, os.lseek
_scan, _fspath, _lstat, _stat = os.scandir, os.fspath, os.lstat, os.stat
_getcwd, _split = os.getcwd, os.path.split
_near = difflib.get_close_matches
_decoder_of = codecs.getincrementaldecoder
_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOCTTY", 0)


def path_of(path: Any, function: str) -> str:
    """The path as an absolute str, or an error that shows how to call the function."""
    try:
        path = _fspath(path)
    except TypeError:
        message = "{}() takes a path as text, not {}"
        raise TypeError(message.format(function, type_name(type(path)))) from None
    if is_a(path, bytes):
        path = os.fsdecode(path)
    path = str.__str__(path)
    if len(path) > LONGEST_PATH or "\n" in path:
        message = "{}() takes the path of a file, not a text: use search_context(pattern, text=...) for a text"
        raise ValueError(message.format(function))
    if not path or "\0" in path:
        raise ValueError("{} is not a path".format(guarded_repr(path)[:SHOWN_PATH]))
    is_absolute = path.startswith("/") or os.name == "nt"
    return path if is_absolute else "{}/{}".format(_getcwd(), path)


class Document:
    def __init__(self, path, function):
        self.path = path_of(path, function)
        self.descriptor = self._opened()
        try:
            self.status = _fstat(self.descriptor)
            if not stat.S_ISREG(self.status.st_mode):
                raise _not_a_file(self.path, self.status.st_mode)
            head = _read(self.descriptor, LOOKED_AT)
        except BaseException:
            _close(self.descriptor)
            raise
        self.encoding = next((name for mark, name in _MARKS if head.startswith(mark)), "utf-8")
        self.is_binary = self.encoding != "utf-16" and b"\0" in head
        self.head = head

    def _opened(self):
        try:
            return _open(self.path, _FLAGS)
        except FileNotFoundError:
            raise FileNotFoundError(_missing(self.path)) from None
        except OSError as error:
            kind = type(error)
            text = "cannot read {}: {}".format(_shown(self.path), error.strerror)
            raise kind(error.errno, text) from None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        _close(self.descriptor)

    def pieces(self) -> Iterator[str]:
        _lseek(self.descriptor, 0, os.SEEK_SET)
        decoder = _decoder_of(self.encoding)("replace")
        while True:
            data = _read(self.descriptor, BLOCK)
            yield decoder.decode(data, not data)
            if not data:
                return

    def text(self, start: int, length: int) -> str:
        return between(self.pieces(), start, length)

    def refuse_binary(self) -> None:
        if self.is_binary:
            message = "{} is not text, it begins with {}: read it with open(path, 'rb')"
            raise ValueError(message.format(_shown(self.path), self.head[:8]))


def between(pieces: Iterable[str], start: int, length: int) -> str:
    """Part of a text that comes in pieces."""
    kept, left = [], length
    for piece in pieces:
        if start >= len(piece):
            start -= len(piece)
            continue
        part = piece[start : start + left]
        start = 0
        kept.append(part)
        left -= len(part)
        if left <= 0:
            break
    return kept[0] if len(kept) == 1 else "".join(kept)


def kind_of(mode: int) -> str:
    kinds = (
        (stat.S_ISREG, "file"),
        (stat.S_ISDIR, "folder"),
        (stat.S_ISLNK, "link"),
        (stat.S_ISFIFO, "pipe"),
        (stat.S_ISSOCK, "socket"),
    )
    return next((name for is_one, name in kinds if is_one(mode)), "device")


def status_of(path: str) -> tuple[os.stat_result, bool]:
    """(status, whether it is a broken link)."""
    try:
        return _stat(path), False
    except FileNotFoundError:
        try:
            return _lstat(path), True
        except OSError:
            raise FileNotFoundError(_missing(path)) from None


def _shown(path):
    return cap(guarded_repr(path), SHOWN_PATH)


def _not_a_file(path, mode):
    if stat.S_ISDIR(mode):
        return IsADirectoryError("{0} is a folder: list_dir({0}) shows what is in it".format(_shown(path)))
    return ValueError("{} is a {}, not a file".format(_shown(path), kind_of(mode)))


def _missing(path):
    """The error for a missing file, with similar names."""
    folder, name = _split(path)
    message = "no such file: {}".format(_shown(path))
    try:
        with _scan(folder) as entries:
            names = [entry.name for _, entry in zip(range(1000), entries)]
    except OSError:
        return message + "; the folder {} does not exist either".format(_shown(folder))
    near = _near(name[:200], names, 3, 0.6)
    if near:
        return message + "; did you mean {}?".format(" or ".join(guarded_repr(one) for one in near))
    return message + "; list_dir({}) shows what is there".format(_shown(folder))
