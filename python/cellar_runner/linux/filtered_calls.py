"""Replaces standard functions whose system calls the filter refuses by others that it allows.

This is for ordinary code, and no part of the boundary: the filter holds whatever is called.
"""

from __future__ import annotations

import errno
import functools
import mmap
import os
import resource

SHARED_MEMORY = "/dev/shm"
_CLOSE_ON_EXEC = getattr(os, "MFD_CLOEXEC", 1)

_getpid = os.getpid


def install(counts_memory: bool) -> None:
    """Before other modules bind these names; `counts_memory` tells whether a control group does."""
    for name in ("sched_setaffinity", "sched_setparam", "sched_setscheduler"):
        if hasattr(os, name):
            setattr(os, name, _as_own(getattr(os, name), 0))
    os.setpriority = _as_own(os.setpriority, 1)
    if hasattr(resource, "prlimit"):
        resource.prlimit = _as_own(resource.prlimit, 0)
    if not counts_memory:
        mmap.mmap = _mapping_files(mmap.mmap)  # type: ignore[misc]
        if hasattr(os, "memfd_create"):
            os.memfd_create = _memory_file


def _as_own(function, place):
    """The filter knows the caller as 0 only, for it cannot know its pid."""

    @functools.wraps(function)
    def call(*args):
        if len(args) > place and args[place] == _getpid():
            args = args[:place] + (0,) + args[place + 1 :]
        try:
            return function(*args)
        except PermissionError as error:
            if len(args) > place and args[place] != 0:
                text = "in this sandbox a process can change itself only"
                raise PermissionError(error.errno, text) from None
            raise

    return call


def _memory_file(name, flags=_CLOSE_ON_EXEC):
    """A file without a name in /dev/shm, whose size is bounded, in the place of one outside of it."""
    file = _nameless()
    os.set_inheritable(file, not flags & 1)
    return file


def _nameless():
    return os.open(SHARED_MEMORY, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600)


def _mapping_files(original):
    class Mapping(original):  # type: ignore[misc, valid-type]
        """Memory that is shared with forks lies in /dev/shm, where its size is bounded."""

        def __new__(cls, fileno, length, *args, **kwargs):
            if fileno != -1 or length <= 0 or not _is_shared(args, kwargs):
                return original.__new__(cls, fileno, length, *args, **kwargs)
            if args:
                args = (args[0] & ~mmap.MAP_ANONYMOUS,) + args[1:]
            elif "flags" in kwargs:
                kwargs["flags"] &= ~mmap.MAP_ANONYMOUS
            file = _sized(length)
            try:
                return original.__new__(cls, file, length, *args, **kwargs)
            finally:
                os.close(file)

    Mapping.__name__ = Mapping.__qualname__ = original.__name__
    Mapping.__module__ = original.__module__
    return Mapping


def _is_shared(args, kwargs):
    flags = args[0] if args else kwargs.get("flags", mmap.MAP_SHARED)
    access = args[2] if len(args) > 2 else kwargs.get("access", mmap.ACCESS_DEFAULT)
    return bool(flags & mmap.MAP_SHARED) and access != mmap.ACCESS_COPY


def _sized(length):
    status = os.statvfs(SHARED_MEMORY)
    left = status.f_bavail * status.f_frsize
    if length > left:
        text = (
            "%d bytes of shared memory do not fit into /dev/shm, which has %d left;"
            " memory that is not shared has flags=MAP_PRIVATE | MAP_ANONYMOUS"
        )
        raise OSError(errno.ENOMEM, text % (length, left))
    file = _nameless()
    try:
        os.ftruncate(file, length)
    except OSError:
        os.close(file)
        raise
    return file
