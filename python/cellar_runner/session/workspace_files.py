"""Files that the host puts into the session's folder and gets out of it.

Cells may change anything there at any moment: each name is looked up in a folder that is held open,
and no link is followed.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from base64 import b64encode

from ..pristine import BUILTINS as __builtins__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterator

MAX_LISTED = 10_000
MAX_ENTRIES = 40_000
MAX_DEPTH = 64
# The host takes no longer path.
MAX_PATH_BYTES = 3072
# Each folder is reached from the root: so many steps take less than a second.
MAX_STEPS = 200_000
# So much text of paths one answer can carry, in units of UTF-16, which take up to six bytes each.
MAX_PATH_UNITS = 2_000_000
MAX_OPEN = 16
PIECE_BYTES = 1 << 20
TEMPORARY = ".incoming-"
# What a Date of JavaScript can hold, and a number without loss.
LONGEST_TIME_MS = 8_640_000_000_000_000
MOST_BYTES = 2**53 - 1

_BY_DESCRIPTOR = os.open in os.supports_dir_fd and os.scandir in os.supports_fd
_HAS_BLOCKS = hasattr(os.stat_result, "st_blocks") and sys.platform != "emscripten"
_CLOSED = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_NO_LINK = getattr(os, "O_NOFOLLOW", 0) | _CLOSED
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | _NO_LINK
_READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | _NO_LINK
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINK


class Folder:
    """One that is held open. Without descriptors of folders its path is checked instead."""

    def __init__(self, name: str, parent: Folder | None = None) -> None:
        if _BY_DESCRIPTOR:
            self._place: Any = os.open(name, _FOLDER, dir_fd=None if parent is None else parent._place)
            return
        self._place = name if parent is None else os.path.join(parent._place, name)
        mode = os.lstat(self._place).st_mode
        if not stat.S_ISDIR(mode):
            raise OSError(errno.ELOOP if stat.S_ISLNK(mode) else errno.ENOTDIR, "not a folder")

    def __enter__(self) -> Folder:
        return self

    def __exit__(self, *_: object) -> None:
        if _BY_DESCRIPTOR:
            os.close(self._place)

    def stat(self, name: str) -> os.stat_result:
        return self._call(os.stat, name, follow_symlinks=False)

    def open(self, name: str, flags: int) -> int:
        return self._call(os.open, name, flags, 0o600)

    def make(self, name: str) -> None:
        self._call(os.mkdir, name, 0o755)

    def unlink(self, name: str) -> None:
        self._call(os.unlink, name)

    def _call(self, work, name, *arguments, **options):
        if _BY_DESCRIPTOR:
            return work(name, *arguments, dir_fd=self._place, **options)
        return work(os.path.join(self._place, name), *arguments, **options)

    def move(self, name: str, folder: Folder, new_name: str) -> None:
        if _BY_DESCRIPTOR:
            os.rename(name, new_name, src_dir_fd=self._place, dst_dir_fd=folder._place)
        else:
            os.replace(os.path.join(self._place, name), os.path.join(folder._place, new_name))

    def names(self) -> Iterator[str]:
        with os.scandir(self._place) as entries:
            for entry in entries:
                yield entry.name


class _Transfer:
    """A file on its way; `left` bytes may still be read, or written. One that is written has an order."""

    def __init__(self, descriptor, left, order=None, temporary=None):
        self.descriptor, self.left, self.order, self.temporary = descriptor, left, order, temporary


def _answers_problems(work):
    """Makes an error of the system a part of the answer, by its name."""

    def method(files, params):
        try:
            return dict(work(files, params), done=True)
        except OSError as error:
            return {"done": False, "problem": errno.errorcode.get(error.errno or 0, "EIO")}
        except (MemoryError, ValueError):
            return {"done": False, "problem": "EIO"}

    return method


METHODS = ("list_files", "open_file", "read_file", "write_file", "close_file", "check_writable")


class Files:
    def __init__(self, root: str) -> None:
        self._root = root
        self._open: dict[int, _Transfer] = {}
        self._next = 1

    def list_files(self, _params: dict) -> dict:
        found: list[dict] = []
        length, is_whole = 0, True
        for path, about in self._walk():
            length += len(path.encode("utf-16-le", "surrogatepass")) // 2
            if about is None:
                is_whole = False
            elif len(found) == MAX_LISTED or length > MAX_PATH_UNITS:
                is_whole = False
                break
            else:
                found.append(_described(path, about))
        found.sort(key=lambda file: file["path"])
        return {"files": found, "cut": not is_whole}

    @_answers_problems
    def open_file(self, params: dict) -> dict:
        if len(self._open) >= MAX_OPEN:
            raise OSError(errno.EMFILE, "too many transfers")
        return (self._open_new if params["mode"] == "write" else self._open_there)(params)

    @staticmethod
    def check_writable(params: dict) -> dict:
        """Which of the paths this user may not write to, by their places in the list."""
        ways = ((path, os.W_OK | (os.X_OK if os.path.isdir(path) else 0)) for path in params["paths"])
        return {"refused": [place for place, way in enumerate(ways) if not os.access(*way)]}

    def _open_there(self, params):
        folder, name = self._parent(params["path"])
        with folder:
            descriptor = folder.open(name, _READ)
        about = os.fstat(descriptor)
        if not stat.S_ISREG(about.st_mode):
            os.close(descriptor)
            raise OSError(errno.EISDIR if stat.S_ISDIR(about.st_mode) else errno.ENXIO, "no file")
        size = min(about.st_size, MOST_BYTES)
        return {"file": self._keep(_Transfer(descriptor, size)), "bytes": size}

    def _open_new(self, params):
        free = self._free(params)
        temporary = TEMPORARY + os.urandom(8).hex()
        with Folder(self._root) as root:
            descriptor = root.open(temporary, _WRITE)
        return {"file": self._keep(_Transfer(descriptor, free, params, temporary)), "bytes": max(0, free)}

    def _free(self, params):
        """Bytes that may still come; those of the file that is replaced among them."""
        path, used, count = params["path"], 0, 0
        for entry, about in self._walk():
            if about is None:
                raise OSError(errno.ENFILE, "too much to count")
            count += 1
            used += _taken(about) if entry != path else 0
        if count + path.count("/") > params["max_files"]:
            raise OSError(errno.ENFILE, "too many files")
        return params["max_bytes"] - used

    def _keep(self, transfer):
        number = self._next
        self._next += 1
        self._open[number] = transfer
        return number

    def _transfer(self, params, writes):
        transfer = self._open.get(params["file"])
        if transfer is None or (transfer.order is not None) is not writes:
            raise OSError(errno.EBADF, "no such transfer")
        return transfer

    @_answers_problems
    def read_file(self, params: dict) -> dict:
        """What the file had when it was opened; what is added later is not read."""
        reading = self._transfer(params, False)
        data = os.read(reading.descriptor, min(PIECE_BYTES, reading.left))
        reading.left -= len(data)
        return {"data": b64encode(data).decode("ascii")}

    @_answers_problems
    def write_file(self, params: dict) -> dict:
        writing = self._transfer(params, True)
        for piece in params["attachments"]:
            writing.left -= len(piece)
            if writing.left < 0:
                raise OSError(errno.EDQUOT, "the folder may hold no more")
            view = memoryview(piece)
            while view:
                view = view[os.write(writing.descriptor, view) :]
        return {}

    @_answers_problems
    def close_file(self, params: dict) -> dict:
        transfer = self._open.pop(params["file"], None)
        if transfer is None:
            raise OSError(errno.EBADF, "no such transfer")
        if transfer.order is None:
            os.close(transfer.descriptor)
            return {}
        with Folder(self._root) as root:
            try:
                if hasattr(os, "fchmod"):
                    os.fchmod(transfer.descriptor, 0o644)
                os.close(transfer.descriptor)
                transfer.descriptor = None
                if params["keep"]:
                    self._place(root, transfer)
            finally:
                if transfer.descriptor is not None:
                    os.close(transfer.descriptor)
                _discard(root, transfer.temporary)
        return {}

    def _place(self, root, transfer):
        # Others may have come in meanwhile, by the host or by a cell.
        if self._free(transfer.order) < 0:
            raise OSError(errno.EDQUOT, "the folder may hold no more")
        folder, name = self._parent(transfer.order["path"], makes=True)
        with folder:
            root.move(transfer.temporary, folder, name)

    def _parent(self, path, makes=False):
        """(the folder in which it lies, held open, and its name there)."""
        *above, name = path.split("/")
        folder = Folder(self._root)
        for part in above:
            with folder as parent:
                folder = _child(parent, part, makes)
        return folder, name

    def _walk(self):
        """Yields (path, status) of all there is but what is on its way in; status None where more is left out."""
        incoming = {one.temporary for one in self._open.values()}
        # Names apart from what is above them: whole paths of all folders could be too much to hold.
        waiting, seen, steps = [("", "")], 0, 0
        while waiting:
            prefix = "".join(waiting.pop())
            steps += prefix.count("/") + 1
            if steps > MAX_STEPS:
                yield "", None
                return
            try:
                folder = self._parent(prefix + ".")[0]
            except OSError:
                # It was removed or replaced meanwhile, or is shut.
                continue
            with folder:
                for name in folder.names():
                    seen += 1
                    if seen > MAX_ENTRIES:
                        yield "", None
                        return
                    if not prefix and name in incoming:
                        continue
                    try:
                        about = folder.stat(name)
                    except OSError:
                        continue
                    if len(os.fsencode(prefix + name)) > MAX_PATH_BYTES:
                        yield "", None
                        continue
                    yield prefix + name, about
                    if stat.S_ISDIR(about.st_mode):
                        if prefix.count("/") < MAX_DEPTH - 1:
                            waiting.append((prefix, name + "/"))
                        else:
                            yield "", None


def _served(name):
    return lambda service, params: getattr(service.files, name)(params)


# For a service that has its Files as `files`.
SERVED = {name: _served(name) for name in METHODS}


def _child(parent, name, makes):
    try:
        return Folder(name, parent)
    except FileNotFoundError:
        if not makes:
            raise
    try:
        parent.make(name)
    except FileExistsError:
        pass
    return Folder(name, parent)


def _discard(root, name):
    try:
        root.unlink(name)
    except OSError:
        pass


def _taken(about):
    return about.st_blocks * 512 if _HAS_BLOCKS else about.st_size


def _described(path, about):
    modified = about.st_mtime_ns // 1_000_000
    return {
        "path": path,
        "bytes": min(about.st_size, MOST_BYTES),
        "modified": max(-LONGEST_TIME_MS, min(LONGEST_TIME_MS, modified)),
        "kind": _kind(about.st_mode),
    }


def _kind(mode):
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISDIR(mode):
        return "folder"
    return "link" if stat.S_ISLNK(mode) else "other"
