"""A folder of the workspace, held open: what happens to its path meanwhile leads nowhere else."""

from __future__ import annotations

import contextlib
import os
from typing import Any, Iterator

from ...pristine import BUILTINS as __builtins__

NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL
BLOCK = 1 << 20

_open, _close, _read, _write = os.open, os.close, os.read, os.write
_mkdir, _makedirs, _stat = os.mkdir, os.makedirs, os.stat
_link, _replace, _unlink = getattr(os, "link", None), os.replace, os.unlink
_realpath, _join, _separator = os.path.realpath, os.path.join, os.sep
_WHOLE = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_FILE = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_HOLDS = {os.open, os.mkdir, os.stat, _link, os.rename, os.unlink} <= os.supports_dir_fd


def inside(path: str, workspace: str, may_be_outside: bool = False) -> str:
    """The path in the workspace, links resolved; empty if it may be outside, and is."""
    root = _realpath(workspace)
    target = _realpath(_join(root, path))
    if target == root or target.startswith(root + _separator):
        return target
    if may_be_outside:
        return ""
    raise PermissionError("{} is outside of {}".format(target, root))


class Folder:
    """`path` has no links, as `inside()` gives it; the folders that are missing are made."""

    def __init__(self, path: str, workspace: str) -> None:
        root = _realpath(workspace)
        self._path = path
        self._held: dict[str, int] = {}
        parts = [part for part in path[len(root) :].split(_separator) if part]
        if not _HOLDS:
            _makedirs(path, exist_ok=True)
            return
        descriptor = _open(root, _WHOLE)
        try:
            for part in parts:
                descriptor = _entered(descriptor, part)
        except BaseException:
            _close(descriptor)
            raise
        self._held = {"dir_fd": descriptor}

    def __enter__(self) -> Folder:
        return self

    def __exit__(self, *_error: object) -> None:
        for descriptor in self._held.values():
            _close(descriptor)
        self._held = {}

    def mode(self, name: str) -> int | None:
        """Of the file or link itself; None if there is none."""
        try:
            return _stat(self._at(name), follow_symlinks=False, **self._held).st_mode
        except FileNotFoundError:
            return None

    def free(self, name: str) -> str:
        """The name, or one like it that nothing has."""
        number, made = 1, name
        while self.mode(made) is not None:
            number += 1
            made = "{}_{}".format(name, number)
        return made

    @contextlib.contextmanager
    def open(self, name: str, flags: int) -> Iterator[int]:
        """A descriptor of the file; a link in its place is an error."""
        descriptor = _open(self._at(name), flags | _FILE, 0o644, **self._held)
        try:
            yield descriptor
        finally:
            _close(descriptor)

    def keep(self, name: str, other: str) -> None:
        """The file under another name too, or a copy of it."""
        try:
            _link(self._at(name), self._at(other), follow_symlinks=False, **self._both())  # type: ignore[misc]
        except (OSError, NotImplementedError, TypeError):
            with self.open(name, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)) as old, self.open(other, NEW) as new:
                for block in iter(lambda: _read(old, BLOCK), b""):
                    write_all(new, block)

    def replace(self, name: str, other: str) -> None:
        _replace(self._at(name), self._at(other), **self._both())

    def forget(self, name: str) -> None:
        with contextlib.suppress(OSError):
            _unlink(self._at(name), **self._held)

    def _at(self, name):
        return name if self._held else _join(self._path, name)

    def _both(self) -> dict[str, Any]:
        held = self._held.get("dir_fd")
        return {} if held is None else {"src_dir_fd": held, "dst_dir_fd": held}


def write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[_write(descriptor, view) :]


def _entered(descriptor, part):
    """The folder below; the one above is closed."""
    with contextlib.suppress(FileExistsError):
        _mkdir(part, dir_fd=descriptor)
    below = _open(part, _WHOLE, dir_fd=descriptor)
    _close(descriptor)
    return below
