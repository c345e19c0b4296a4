"""The system calls that Python does not offer, through ctypes."""

from __future__ import annotations

import ctypes
import fcntl
import mmap
import os
import platform
import random
import signal
import socket
import struct
import sys

CLONE_NEWNS = 0x00020000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000
CLONE_PARENT = 0x00008000
CLONE_CHILD_CLEARTID = 0x00200000
CLONE_CHILD_SETTID = 0x01000000

MS_RDONLY = 1
MS_NOSUID = 2
MS_NODEV = 4
MS_NOEXEC = 8
MS_REMOUNT = 32
MS_NOATIME = 1024
MS_NODIRATIME = 2048
MS_BIND = 4096
MS_REC = 16384
MS_PRIVATE = 1 << 18
MS_RELATIME = 1 << 21
MS_STRICTATIME = 1 << 24
# As statvfs tells it; the other flags have the same numbers there.
ST_RELATIME = 4096
MNT_DETACH = 2

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_CAPBSET_DROP = 24
PR_SET_NO_NEW_PRIVS = 38
PR_GET_TID_ADDRESS = 40
PR_CAP_AMBIENT = 47
PR_CAP_AMBIENT_CLEAR_ALL = 4

SECCOMP_SET_MODE_FILTER = 1
LAST_CAPABILITY = 63
CAPABILITY_VERSION_3 = 0x20080522

_ARM = platform.machine() in ("aarch64", "arm64")
_SYS_CLONE = 220 if _ARM else 56
_SYS_CAPSET = 91 if _ARM else 126
_SYS_SECCOMP = 277 if _ARM else 317
_SYS_MEMFD_CREATE = 279 if _ARM else 319
_SYS_PIDFD_SEND_SIGNAL, _SYS_PIDFD_OPEN, _SYS_PIDFD_GETFD = 424, 434, 438

_MFD_CLOEXEC, _MFD_ALLOW_SEALING = 1, 2
_ADD_SEALS, _SEAL_SIZE = 1033, 0x1 | 0x2 | 0x4

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long
_libc.mount.argtypes = [ctypes.c_char_p] * 3 + [ctypes.c_ulong, ctypes.c_char_p]
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
_libc.umount2.argtypes = [ctypes.c_char_p, ctypes.c_int]
_libc.prctl.argtypes = [ctypes.c_int] + [ctypes.c_ulong] * 4
# PyDLL keeps the interpreter lock, which a raw clone must hold for the child to own it.
_locked = ctypes.PyDLL(None)
_locked.syscall.restype = ctypes.c_long
# Bound before a cell can replace it.
_running_frames = sys._current_frames


def _checked(result, what):
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, "%s: %s" % (what, os.strerror(number)))
    return result


def _bytes(text):
    return None if text is None else os.fsencode(text)


def unshare(flags: int) -> None:
    _checked(_libc.unshare(flags), "unshare")


def enter(namespace: int, kind: int) -> None:
    """Moves this process, or for a pid namespace its children to come, into a namespace."""
    _checked(_libc.setns(namespace, kind), "setns")


def shared_page() -> int:
    """A nameless file of one page, to be mapped by several processes; its size cannot change."""
    flags = ctypes.c_uint(_MFD_CLOEXEC | _MFD_ALLOW_SEALING)
    file = _libc.syscall(_SYS_MEMFD_CREATE, b"cellar", flags)
    if file < 0:
        # Where nobody counts such files the filter refuses them. No cell can open this one either.
        file = os.open("/dev/shm", os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600)
        os.ftruncate(file, mmap.PAGESIZE)
        return file
    os.ftruncate(file, mmap.PAGESIZE)
    fcntl.fcntl(file, _ADD_SEALS, _SEAL_SIZE)
    return file


def map_page(file: int) -> ctypes.Array:
    """The page of such a file as a buffer. Python's own mapping would keep the file open."""
    shown = mmap.PROT_READ | mmap.PROT_WRITE
    address = _libc.mmap(None, mmap.PAGESIZE, shown, mmap.MAP_SHARED, file, 0)
    if address == ctypes.c_void_p(-1).value:
        _checked(-1, "mmap")
    return (ctypes.c_char * mmap.PAGESIZE).from_address(address)


def mount(source: str | None, target: str, kind: str | None = None, flags: int = 0, data: str | None = None) -> None:
    result = _libc.mount(_bytes(source), _bytes(target), _bytes(kind), flags, _bytes(data))
    _checked(result, "mount " + target)


def unmount(target: str) -> None:
    _checked(_libc.umount2(_bytes(target), MNT_DETACH), "umount " + target)


def prctl(option: int, first: int = 0, second: int = 0) -> None:
    return _checked(_libc.prctl(option, first, second, 0, 0), "prctl %d" % option)


def drop_capabilities() -> None:
    """Empties the bounding, ambient, permitted, effective and inheritable sets."""
    for capability in range(LAST_CAPABILITY + 1):
        if _libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) < 0:
            break
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL)
    header = struct.pack("=Ii", CAPABILITY_VERSION_3, 0)
    _checked(_libc.syscall(_SYS_CAPSET, header, bytes(24)), "capset")


class SeccompFilter:
    """A BPF program kept ready, so that installing it is one call."""

    def __init__(self, program: bytes) -> None:
        self._program = ctypes.create_string_buffer(program, len(program))
        self._header = ctypes.create_string_buffer(
            struct.pack("@HP", len(program) // 8, ctypes.addressof(self._program))
        )

    def install(self) -> None:
        prctl(PR_SET_NO_NEW_PRIVS, 1)
        header = ctypes.c_void_p(ctypes.addressof(self._header))
        result = _libc.syscall(_SYS_SECCOMP, SECCOMP_SET_MODE_FILTER, 0, header)
        _checked(result, "seccomp")


def thread_id_address() -> int:
    """Where the C library keeps the thread's id; 0 when the kernel does not tell."""
    address = ctypes.c_void_p(0)
    if _libc.prctl(PR_GET_TID_ADDRESS, ctypes.addressof(address), 0, 0, 0) < 0:
        return 0
    return address.value or 0


def raw_clone(flags: int) -> int:
    """fork() with clone flags; the child's thread id is kept right for the C library.

    In a process with one thread nothing that the interpreter renews after a fork is in use, and the
    hooks that modules have registered for forks do not run: they reset what a copy must keep, such
    as random numbers. Measured: they wrote 1.6 MB of pages in every copy, which cost more than the fork.
    """
    address = thread_id_address()
    if not address:
        raise OSError("the kernel does not tell the thread id's address")
    flags |= CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID | signal.SIGCHLD
    tid, zero = ctypes.c_void_p(address), ctypes.c_void_p(0)
    tail = (zero, zero, tid) if _ARM else (zero, tid, zero)
    api, threaded = ctypes.pythonapi, has_threads()
    if threaded:
        api.PyOS_BeforeFork()
    pid = _locked.syscall(_SYS_CLONE, ctypes.c_long(flags), zero, *tail)
    if threaded and pid == 0:
        api.PyOS_AfterFork_Child()
    elif threaded:
        api.PyOS_AfterFork_Parent()
    return checked_pid(pid)


def has_threads() -> bool:
    """A preloaded library may have started some. A copy without them would wait for them."""
    return len(_running_frames()) > 1


def checked_pid(pid: int) -> int:
    if pid < 0:
        raise BlockingIOError("clone failed: too many processes or too little memory")
    return pid


def fork() -> int:
    # With threads only a fork of the interpreter's own lets none of them be waited for in the copy.
    return _plain_fork() if has_threads() else raw_clone(0)


def _plain_fork():
    """os.fork(), but its hooks do not change the random numbers."""
    state = random.getstate()
    pid = os.fork()
    if pid == 0:
        random.setstate(state)
    return pid


def sibling_fork() -> int:
    """A fork whose child belongs to our parent, so that user code never waits for it."""
    return raw_clone(CLONE_PARENT)


def open_process(pid: int) -> int:
    """A descriptor of a process, which never means another one, as its number may."""
    return _checked(_libc.syscall(_SYS_PIDFD_OPEN, ctypes.c_int(pid), ctypes.c_uint(0)), "pidfd_open")


def take_descriptor(pid: int, number: int) -> int:
    """A descriptor of another process, as one of our own."""
    process = open_process(pid)
    try:
        arguments = ctypes.c_int(process), ctypes.c_int(number), ctypes.c_uint(0)
        return _checked(_libc.syscall(_SYS_PIDFD_GETFD, *arguments), "pidfd_getfd")
    finally:
        os.close(process)


def kill_process(descriptor: int) -> None:
    arguments = ctypes.c_int(descriptor), ctypes.c_int(signal.SIGKILL), ctypes.c_void_p(0), ctypes.c_uint(0)
    _checked(_libc.syscall(_SYS_PIDFD_SEND_SIGNAL, *arguments), "pidfd_send_signal")


def write_kernel_file(directory: int | None, name: str, text: str) -> None:
    """Writes to one of the kernel's files, which must be there."""
    descriptor = os.open(name, os.O_WRONLY, dir_fd=directory)
    try:
        os.write(descriptor, text.encode())
    except OSError as error:
        raise type(error)(error.errno, "%s: %s" % (name, os.strerror(error.errno or 0))) from None
    finally:
        os.close(descriptor)


def try_kernel_file(directory: int | None, name: str, text: str) -> None:
    """The same for a file that older kernels, or those without the feature, do not have."""
    try:
        write_kernel_file(directory, name, text)
    except OSError:
        pass


def raise_loopback() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        up_and_running = 0x1 | 0x40
        fcntl.ioctl(probe, 0x8914, struct.pack("16sh14x", b"lo", up_and_running))


def close_all_except(kept: list[int]) -> None:
    """Closes every descriptor from 3 on that is not in `kept`."""
    low = 3
    for descriptor in sorted(kept):
        if descriptor >= low:
            os.closerange(low, descriptor)
            low = descriptor + 1
    os.closerange(low, 65536)
