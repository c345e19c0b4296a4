"""The descriptor numbers of a session's processes, and how descriptors pass between processes."""

from __future__ import annotations

import array
import fcntl
import os
import resource
import socket

# Above what `open` hands out, so that user code meets the runner's descriptors only on purpose.
CHANNEL, LINK, OUT, ERR, SPARE, ALARM, OUT_READER, ERR_READER = range(1100, 1108)
WAKE, LAST_PID = 1108, 1109
# The file of a large context; unlike the others it goes with every copy.
CONTEXT_FILE = CHANNEL - 1
# It leads nowhere, and stands for what a copy cannot hold.
DEAD = CHANNEL - 2
DESCRIPTOR_CEILING = 1110

MAX_DESCRIPTORS_PER_MESSAGE = 20
MAX_MESSAGE_BYTES = 16384
_F_SETPIPE_SZ = 1031


def socket_pair() -> tuple[socket.socket, socket.socket]:
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)


def send_with_descriptors(connection: socket.socket, data: bytes, descriptors: list[int], flags: int = 0) -> None:
    rights = array.array("i", descriptors)
    connection.sendmsg([data], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)], flags)


def receive_with_descriptors(
    connection: socket.socket, most: int = MAX_MESSAGE_BYTES, flags: int = 0
) -> tuple[bytes, list[int]]:
    """(data, descriptors); empty data at the end of the stream."""
    space = socket.CMSG_LEN(MAX_DESCRIPTORS_PER_MESSAGE * array.array("i").itemsize)
    data, ancillary, _, _ = connection.recvmsg(most, space, socket.MSG_CMSG_CLOEXEC | flags)
    descriptors = array.array("i")
    for level, kind, payload in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            usable = len(payload) - len(payload) % descriptors.itemsize
            descriptors.frombytes(payload[:usable])
    return data, list(descriptors)


def enlarge(pipe: int) -> None:
    """Lets a pipe hold a mebibyte: C code that prints with the interpreter lock held blocks when it is full."""
    try:
        fcntl.fcntl(pipe, _F_SETPIPE_SZ, 1 << 20)
    except OSError:
        pass


def open_descriptor_range() -> None:
    """Lets this process place descriptors at the runner's high numbers."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def close_descriptor_range(soft: int) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    ceiling = min(hard, max(soft, DESCRIPTOR_CEILING))
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, ceiling), ceiling))


def place(descriptor: int, number: int) -> None:
    """Moves a descriptor to a fixed number, not inherited by programs."""
    if descriptor == number:
        os.set_inheritable(number, False)
        return
    os.dup2(descriptor, number, inheritable=False)
    os.close(descriptor)


def place_all(descriptors: list[int], first: int) -> None:
    """Moves descriptors to the numbers from `first` on. Some may have them: a cell can take all others."""
    waiting = list(descriptors)
    for number in range(first, first + len(descriptors)):
        descriptor = waiting.pop(0)
        if number in waiting:
            waiting[waiting.index(number)] = os.dup(number)
        place(descriptor, number)
