"""Memory for a large string that forks need not copy, not even its page table.

The pages come from a file that is sealed against writing, mapped privately and read-only under the
string. A process that writes there anyway crashes alone.
"""

from __future__ import annotations

import ctypes
import fcntl
import mmap
import os

from ..linux import fds, syscalls

# The C library gives strings of this size their own mapping, unmapped as a whole.
SMALLEST = 40 << 20
MAP_FIXED = 0x10
HUGE_PAGE = 2 << 20
MADV_COLLAPSE = 25
_SEALS = 0x1 | 0x2 | 0x4 | 0x8
_ADD_SEALS = 1033
_OWN_MAPPING = 2
_FLAGS = syscalls.MS_NOSUID | syscalls.MS_NODEV | syscalls.MS_NOEXEC

_libc = ctypes.CDLL(None, use_errno=True)
_mmap = _libc.mmap
_mmap.restype = ctypes.c_void_p
_mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
_madvise = _libc.madvise
_madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]


class SealedMemory:
    """Files without a name that can be sealed; whoever has one open can change its owner's marks."""

    def new(self) -> int:
        return os.memfd_create("context", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)

    def read_only(self, file: int) -> int:
        fcntl.fcntl(file, _ADD_SEALS, _SEALS)
        return file


class ReadOnlyMount:
    """A file system of this process's own, handed out through a mount that lets nothing be changed.

    Sessions that share a file must not leave each other marks on it: mode, times, attributes.
    """

    _inside, _outside = "/tmp", "/dev/shm"

    def __init__(self):
        syscalls.unshare(syscalls.CLONE_NEWNS)
        syscalls.mount(None, "/", None, syscalls.MS_REC | syscalls.MS_PRIVATE)
        # No bound of its own: what it holds is the template's memory, which is bounded as that.
        syscalls.mount("tmpfs", self._inside, "tmpfs", _FLAGS, "size=0,mode=755")
        syscalls.mount(self._inside, self._outside, None, syscalls.MS_BIND)
        read_only = syscalls.MS_BIND | syscalls.MS_REMOUNT | syscalls.MS_RDONLY | _FLAGS
        syscalls.mount(None, self._outside, None, read_only)

    def new(self) -> int:
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        return os.open(os.path.join(self._inside, "context"), flags, 0o444)

    def read_only(self, file: int) -> int:
        os.close(file)
        name = os.path.join(self._outside, "context")
        file = os.open(name, os.O_RDONLY | os.O_CLOEXEC)
        os.unlink(os.path.join(self._inside, "context"))
        return file


class MappedTexts:
    """Maps strings onto files and remembers the last one, whose file can be kept open for programs to read."""

    def __init__(self, new_store=SealedMemory):
        self._new_store = new_store
        self._store = None
        self._last = None

    def create(self, text: str, address: int, size: int) -> MappedText | None:
        """A MappedText for the characters of a new string; None where it cannot be mapped."""
        self._close_last()
        if size < SMALLEST or not _has_own_mapping(text):
            return None
        try:
            if self._store is None:
                self._store = self._new_store()
            self._last = MappedText(address, size, self._store)
        except (OSError, AttributeError):
            # A kernel or an interpreter that has no such files.
            return None
        return self._last

    def keep_file(self, text: object) -> Backing | None:
        """The Backing of the string that was mapped last, if it is ASCII; None for another one."""
        mapped_text = self._last
        if mapped_text is None or type(text) is not str or not text.isascii() or not mapped_text.is_under(text):
            self._close_last()
            return None
        fds.open_descriptor_range()
        fds.place(mapped_text.file, fds.CONTEXT_FILE)
        return Backing(text, mapped_text.lead)

    def _close_last(self):
        if self._last is not None:
            os.close(self._last.file)
            self._last = None


class Backing:
    """The file whose bytes are those of a string, after a first line that does not count."""

    def __init__(self, text, lead):
        self._text = text
        self.lead = lead
        self._identity = _identity()

    def descriptor_for(self, value: object) -> int | None:
        """The open file, as long as it is this string's and no cell has closed it."""
        if value is not self._text or _identity() != self._identity:
            return None
        return fds.CONTEXT_FILE

    def open_anew(self) -> None:
        """With an offset of its own: what one session does to a shared one, the others see."""
        fds.open_descriptor_range()
        path = "/proc/self/fd/%d" % fds.CONTEXT_FILE
        fds.place(os.open(path, os.O_RDONLY | os.O_CLOEXEC), fds.CONTEXT_FILE)


def collapse() -> None:
    """Gathers the pages of the file into huge ones, which programs can read about twice as fast.

    It takes a while, so it is for a process of its own; a kernel that does not know how does nothing.
    """
    size = os.fstat(fds.CONTEXT_FILE).st_size // HUGE_PAGE * HUGE_PAGE
    room = _mmap(None, size + HUGE_PAGE, 0, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
    place = -(-room // HUGE_PAGE) * HUGE_PAGE
    flags = mmap.MAP_PRIVATE | MAP_FIXED
    if _mmap(place, size, mmap.PROT_READ, flags, fds.CONTEXT_FILE, 0) == place:
        _madvise(place, size, MADV_COLLAPSE)


def _identity():
    try:
        status = os.fstat(fds.CONTEXT_FILE)
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_size


def _has_own_mapping(text):
    """As the GNU C library notes in front of what it hands out."""
    if not hasattr(_libc, "gnu_get_libc_version"):
        return False
    note = ctypes.c_size_t.from_address(id(text) - ctypes.sizeof(ctypes.c_size_t))
    return bool(note.value & _OWN_MAPPING)


class MappedText:
    """Writes the bytes of a string to a file in order, and maps the file under the string in the end.

    The file begins with a page of which only the end is the string's, and goes on to its last byte.
    """

    def __init__(self, address, size, store):
        self._start = self._at = address
        self._end = address + size
        self._first = -(-address // mmap.PAGESIZE) * mmap.PAGESIZE
        self._last = (address + size) // mmap.PAGESIZE * mmap.PAGESIZE
        self._store = store
        self.file = store.new()
        # How many bytes precede the string, the last of them a line break.
        self.lead = mmap.PAGESIZE - (self._first - address)

    def is_under(self, text: str) -> bool:
        return id(text) < self._start < id(text) + mmap.PAGESIZE

    def put(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            if self._first <= self._at < self._last:
                part = view[: self._last - self._at]
            else:
                part = view if self._at >= self._last else view[: self._first - self._at]
                ctypes.memmove(self._at, bytes(part), len(part))
            part = part[: os.pwrite(self.file, part, self._at - self._start + self.lead)]
            self._at += len(part)
            view = view[len(part) :]

    def finish(self) -> None:
        """Maps the file under the string; what was not put is zero."""
        size = self._last - self._first
        os.pwrite(self.file, b"\0" * (self.lead - 1) + b"\n", 0)
        os.ftruncate(self.file, self._end - self._start + self.lead)
        self.file = self._store.read_only(self.file)
        flags = mmap.MAP_PRIVATE | MAP_FIXED
        place = _mmap(self._first, size, mmap.PROT_READ, flags, self.file, mmap.PAGESIZE)
        if place != self._first:
            raise MemoryError("the context's memory cannot be mapped")
