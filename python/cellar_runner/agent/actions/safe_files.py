"""file_write_safe() and log_append(): files of the session that are not lost by a slip."""

from __future__ import annotations

import datetime
import errno
import os
import re
import stat
from typing import Any

from ...pristine import BUILTINS as __builtins__
from ...values.reprs import is_a, type_name
from .folder import NEW, Folder, inside, write_all

LOG_FOLDER = "logs"
LONGEST_LOG = 1 << 20
LONGEST_CONTENT = 64 << 20

_now = datetime.datetime.now
_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,99}").fullmatch
_read, _seek, _fstat, _truncate = os.read, os.lseek, os.fstat, os.ftruncate
_split, _join = os.path.split, os.path.join
# A pipe in its place must not keep the session waiting.
_LOG = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_NONBLOCK", 0)


def write(path: Any, content: Any, backup: Any, workspace: str) -> str:
    """Replaces a file in one step; the old one is kept beside it."""
    target = inside(_path(path), workspace)
    data = _bytes(content)
    parent, name = _split(target)
    if not inside(parent, workspace, may_be_outside=True):
        raise IsADirectoryError("{} is a folder".format(target))
    with Folder(parent, workspace) as folder:
        mode = folder.mode(name)
        if mode is not None and stat.S_ISDIR(mode):
            raise IsADirectoryError("{} is a folder".format(target))
        kept = None
        if backup and mode is not None:
            kept = folder.free(name + _now().strftime(".bak.%Y%m%d_%H%M%S"))
            folder.keep(name, kept)
        temporary = folder.free(name + ".new")
        try:
            with folder.open(temporary, NEW) as descriptor:
                write_all(descriptor, data)
            folder.replace(temporary, name)
        except BaseException:
            folder.forget(temporary)
            raise
    told = "wrote {:,} bytes to {}".format(len(data), target)
    return told if kept is None else "{}; the old one is {}".format(told, _join(parent, kept))


def append(name: Any, text: Any, workspace: str) -> str:
    """Adds a line with the time to a log; the oldest half goes when it is full."""
    if not is_a(name, str) or _NAME(name) is None:
        raise ValueError("a log has a name of letters, digits, dots and dashes, not {!r}".format(name))
    if not is_a(text, str):
        raise TypeError("log_append() takes text, not {}".format(type_name(type(text))))
    # Not what a class of the cell's own makes of them.
    file, text = str.__str__(name) + ".log", str.__str__(text)
    line = "{} {}\n".format(_now().strftime("%Y-%m-%d %H:%M:%S"), text.rstrip("\n")).encode("utf-8", "replace")
    if len(line) > LONGEST_LOG // 4:
        raise ValueError("a log takes entries of up to {:,} bytes".format(LONGEST_LOG // 4))
    parent = inside(LOG_FOLDER, workspace)
    with Folder(parent, workspace) as folder:
        try:
            with folder.open(file, _LOG) as descriptor:
                _add(descriptor, line, file)
        except OSError as error:
            if error.errno not in (errno.ELOOP, errno.ENXIO, errno.EISDIR):
                raise
            raise _no_log(file) from None
    return _join(parent, file)


def _add(descriptor, line, file):
    status = _fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        raise _no_log(file)
    if status.st_size + len(line) > LONGEST_LOG:
        half = LONGEST_LOG // 2
        _seek(descriptor, max(0, status.st_size - half), os.SEEK_SET)
        old = _read(descriptor, half).partition(b"\n")[2]
        _truncate(descriptor, 0)
        line = old + line
    write_all(descriptor, line)


def _no_log(file):
    return PermissionError("{}/{} is a link or no file: remove it, or choose another name".format(LOG_FOLDER, file))


def _path(path):
    if not is_a(path, str) and not hasattr(path, "__fspath__"):
        raise TypeError("a path is text, not {}".format(type_name(type(path))))
    return os.fspath(path)


def _bytes(content):
    if is_a(content, str):
        content = str.__str__(content).encode("utf-8")
    if not is_a(content, (bytes, bytearray)):
        raise TypeError("the content is text or bytes, not {}".format(type_name(type(content))))
    if len(content) > LONGEST_CONTENT:
        raise ValueError("the content has {:,} bytes, more than {:,}".format(len(content), LONGEST_CONTENT))
    return bytes(content)
