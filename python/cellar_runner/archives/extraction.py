"""archive_extract(): members as files in one folder, and nowhere else."""

from __future__ import annotations

import os
import stat
from typing import Any

from ..pristine import BUILTINS as __builtins__
from ..values.reprs import is_a
from .archive import Archive
from .containers.members import Entry
from .limits import EXTRACT_BYTES, ArchiveError, Meter, amount, shown
from .results import Extracted

_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_CREATE |= getattr(os, "O_BINARY", 0)
LONGEST_PART = 255

_open, _close, _write, _replace, _unlink, _mkdir = os.open, os.close, os.write, os.replace, os.unlink, os.mkdir
_lstat, _makedirs, _realpath = os.lstat, os.makedirs, os.path.realpath


def extract(archive: Archive, names: Any, folder: str) -> Extracted:
    """All members, of which unsafe ones are left out with the reason, or those named, of which none may be unsafe."""
    chosen = _chosen(archive, names)
    work = _Extraction(archive, _folder(folder))
    for entry in chosen:
        try:
            work.plan(entry)
        except ArchiveError as error:
            if names is not None:
                raise
            work.refused.append((entry.address, _reason(error)))
    work.run(is_strict=names is not None)
    return Extracted(work.written, work.folder, work.count, work.refused)


def _chosen(archive, names):
    if names is None:
        return list(archive._members.entries)
    given = [names] if is_a(names, (str, int)) else list(names)
    return [archive.entry(name) for name in given]


def _folder(folder):
    path = os.path.abspath(os.fspath(folder))
    try:
        _makedirs(path, exist_ok=True)
    except OSError as error:
        message = "the folder {} cannot be made: {}; name another one with to=..."
        raise ArchiveError(message.format(shown(path), error.strerror)) from None
    return _realpath(path)


class _Extraction:
    def __init__(self, archive, folder):
        self.archive, self.folder = archive, folder
        self.written: list[str] = []
        self.refused: list[tuple[str, str]] = []
        self.count = 0
        self._members = archive._members
        self._places: dict[int, list[str]] = {}
        self._files: list[Entry] = []
        self._taken: set[str] = set()

    def plan(self, entry: Entry) -> None:
        is_text = entry.kind == "text"
        parts = safe_parts(entry.name + (".txt" if is_text and not entry.name.endswith(".txt") else ""))
        if entry.kind == "folder":
            self._enter(parts, entry)
            return
        self.archive.readable(entry)
        parts[-1] = self._free(parts, entry)
        self._places[entry.number] = parts
        self._files.append(entry)

    def _free(self, parts, entry):
        """A file name that no member before has."""
        name = parts[-1]
        stem, dot, ending = name.rpartition(".")
        number = 1
        while "/".join(parts[:-1] + [name]) in self._taken:
            number += 1
            name = "{} ({}){}{}".format(stem or ending, number, dot if stem else "", ending if stem else "")
            if number > 1000:
                raise ArchiveError("{} has too many copies".format(shown(entry)))
        self._taken.add("/".join(parts[:-1] + [name]))
        return name

    def run(self, is_strict: bool) -> None:
        declared = sum(entry.size or 0 for entry in self._files)
        if declared > EXTRACT_BYTES:
            message = "the files say that they hold {}, but at most {} are extracted at once: name some of them"
            raise ArchiveError(message.format(amount(declared), amount(EXTRACT_BYTES)))
        for entry, blocks in self._contents():
            try:
                self._write(entry, blocks)
            except ArchiveError as error:
                if is_strict or self.count >= EXTRACT_BYTES:
                    raise
                self.refused.append((entry.address, _reason(error)))

    def _contents(self):
        if not self._members.is_document:
            return self._members.passage(self._files, lambda entry: Meter(entry.address, EXTRACT_BYTES - self.count))
        return ((entry, self._document(entry)) for entry in self._files)

    def _document(self, entry):
        if entry.kind != "text":
            yield from self._members.blocks(entry, Meter(entry.address, EXTRACT_BYTES - self.count))
            return
        yield self._members.text(entry, Meter(entry.address)).encode("utf-8", "backslashreplace")

    def _enter(self, parts, entry):
        """Makes the folders on the way; none of them may be a link."""
        path = self.folder
        for part in parts:
            path = "{}/{}".format(path, part)
            try:
                _mkdir(path, 0o755)
            except FileExistsError:
                if not stat.S_ISDIR(_lstat(path).st_mode):
                    message = "{} would be written through {}, which is not a folder"
                    raise ArchiveError(message.format(shown(entry), shown(path))) from None
            except OSError as error:
                raise ArchiveError("{} cannot be made: {}".format(shown(path), error.strerror)) from None
        return path

    def _write(self, entry, blocks):
        parts = self._places[entry.number]
        folder = self._enter(parts[:-1], entry)
        path = "{}/{}".format(folder, parts[-1])
        # Written beside and moved, so that what is half written, or a link there, is never the result.
        beside = "{}/.{}.{}.part".format(folder, entry.number, os.getpid())
        try:
            descriptor = _open(beside, _CREATE, 0o644)
            try:
                size = 0
                for block in blocks:
                    view = memoryview(block)
                    while view:
                        view = view[_write(descriptor, view) :]
                    size += len(block)
                    self.count += len(block)
            finally:
                _close(descriptor)
            _replace(beside, path)
        except OSError as error:
            _forget(beside)
            raise ArchiveError("{} cannot be written: {}".format(shown(path), error.strerror)) from None
        except BaseException:
            _forget(beside)
            raise
        self.written.append(path)


def safe_parts(name: str) -> list[str]:
    """The parts of a member's name, if they lead to a place inside of any folder."""
    parts = [part for part in name.split("/") if part not in ("", ".")]
    problem = ""
    if name.startswith(("/", "\\")) or (len(name) > 1 and name[1] == ":" and name[0].isalpha()):
        problem = "its name is absolute"
    elif ".." in parts or ".." in name.replace("\\", "/").split("/"):
        problem = "its name leads out of the folder"
    elif any(ord(letter) < 32 or ord(letter) == 127 for letter in name):
        problem = "its name has control characters"
    elif not parts:
        problem = "it has no name"
    elif any(len(part.encode("utf-8", "surrogatepass")) > LONGEST_PART for part in parts) or len(parts) > 100:
        problem = "its name is too long for a file"
    if problem:
        raise ArchiveError(
            "{} is not extracted: {}; archive_file() reads it without writing it".format(shown(name), problem)
        )
    return parts


def _reason(error):
    return str(error).partition(" is not extracted: ")[2].partition(";")[0] or str(error)


def _forget(path):
    try:
        _unlink(path)
    except OSError:
        pass
