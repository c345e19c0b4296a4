"""file_write_safe() and log_append(): files of the session that are not lost by a slip."""

from __future__ import annotations

import datetime
import os
import re
from typing import Any

from ...pristine import BUILTINS as __builtins__
from ...values.reprs import is_a, type_name

LOG_FOLDER = "logs"
LONGEST_LOG = 1 << 20
LONGEST_CONTENT = 64 << 20

_open, _now = open, datetime.datetime.now
_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,99}").fullmatch


def write(path: Any, content: Any, backup: Any, workspace: str) -> str:
    """Replaces a file in one step; the old one is kept beside it."""
    target = _inside(path, workspace)
    data = _bytes(content)
    if os.path.isdir(target):
        raise IsADirectoryError("{} is a folder".format(target))
    os.makedirs(os.path.dirname(target), exist_ok=True)
    kept = None
    if backup and os.path.exists(target):
        kept = _free(target + _now().strftime(".bak.%Y%m%d_%H%M%S"))
        os.link(target, kept)
    temporary = _free(target + ".new")
    try:
        with _open(temporary, "xb") as file:
            file.write(data)
        os.replace(temporary, target)
    finally:
        if os.path.exists(temporary):
            os.unlink(temporary)
    told = "wrote {:,} bytes to {}".format(len(data), target)
    return told if kept is None else "{}; the old one is {}".format(told, kept)


def append(name: Any, text: Any, workspace: str) -> str:
    """Adds a line with the time to a log; the oldest half goes when it is full."""
    if not is_a(name, str) or _NAME(name) is None:
        raise ValueError("a log has a name of letters, digits, dots and dashes, not {!r}".format(name))
    if not is_a(text, str):
        raise TypeError("log_append() takes text, not {}".format(type_name(type(text))))
    path = os.path.join(_inside(LOG_FOLDER, workspace), name + ".log")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    line = "{} {}\n".format(_now().strftime("%Y-%m-%d %H:%M:%S"), text.rstrip("\n")).encode("utf-8", "replace")
    if len(line) > LONGEST_LOG // 4:
        raise ValueError("a log takes entries of up to {:,} bytes".format(LONGEST_LOG // 4))
    old = b""
    if os.path.isfile(path) and os.path.getsize(path) + len(line) > LONGEST_LOG:
        with _open(path, "rb") as file:
            file.seek(-LONGEST_LOG // 2, os.SEEK_END)
            old = file.read().partition(b"\n")[2]
        os.unlink(path)
    with _open(path, "ab") as file:
        file.write(old + line)
    return path


def _inside(path, workspace):
    """The path in the workspace, links resolved."""
    if not is_a(path, str) and not hasattr(path, "__fspath__"):
        raise TypeError("a path is text, not {}".format(type_name(type(path))))
    root = os.path.realpath(workspace)
    target = os.path.realpath(os.path.join(root, os.fspath(path)))
    if target != root and not target.startswith(root + os.sep):
        raise PermissionError("{} is outside of {}".format(target, root))
    return target


def _bytes(content):
    if is_a(content, str):
        content = str.__str__(content).encode("utf-8")
    if not is_a(content, (bytes, bytearray)):
        raise TypeError("the content is text or bytes, not {}".format(type_name(type(content))))
    if len(content) > LONGEST_CONTENT:
        raise ValueError("the content has {:,} bytes, more than {:,}".format(len(content), LONGEST_CONTENT))
    return bytes(content)


def _free(path):
    number, made = 1, path
    while os.path.lexists(made):
        number += 1
        made = "{}_{}".format(path, number)
    return made
