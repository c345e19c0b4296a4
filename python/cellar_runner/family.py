"""What the processes of one session share: descriptor numbers, passing descriptors, interrupts."""

import array
import mmap
import os
import resource
import socket
import struct

from . import linux

# Above what `open` hands out, so that user code meets the runner's descriptors only on purpose.
CHANNEL, LINK, OUT, ERR, SPARE, ALARM, OUT_READER, ERR_READER = range(1100, 1108)
WAKE, LAST_PID = 1108, 1109
# The file of a large context; unlike the others it goes with every copy.
SHEET = CHANNEL - 1
DESCRIPTOR_CEILING = 1110

MAX_DESCRIPTORS_PER_MESSAGE = 20
MAX_MESSAGE_BYTES = 16384


def socket_pair():
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)


def send_with_descriptors(connection, data, descriptors, flags=0):
    rights = array.array("i", descriptors)
    connection.sendmsg([data], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)], flags)


def receive_with_descriptors(connection, most=MAX_MESSAGE_BYTES):
    """(data, descriptors); empty data at the end of the stream."""
    space = socket.CMSG_LEN(MAX_DESCRIPTORS_PER_MESSAGE * array.array("i").itemsize)
    data, ancillary, _, _ = connection.recvmsg(most, space, socket.MSG_CMSG_CLOEXEC)
    descriptors = array.array("i")
    for level, kind, payload in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            usable = len(payload) - len(payload) % descriptors.itemsize
            descriptors.frombytes(payload[:usable])
    return data, list(descriptors)


def open_descriptor_range():
    """Lets this process place descriptors at the runner's high numbers."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def close_descriptor_range(soft):
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    ceiling = min(hard, max(soft, DESCRIPTOR_CEILING))
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, ceiling), ceiling))


def place(descriptor, number):
    """Moves a descriptor to a fixed number, not inherited by programs."""
    os.dup2(descriptor, number, inheritable=False)
    os.close(descriptor)


class Board:
    """A page shared by init and the heads, with a slot of a few words for each branch.

    The step that was interrupted; whether nothing but the head can write to the output pipes, so
    that a short cell's output need not pass through init; the cell that runs under that rule; and
    the newest process that init has made itself, which is no stranger.
    """

    _slot = struct.Struct("=QQQQQ")
    _word = struct.Struct("=Q")
    _pair = struct.Struct("=QQ")

    def __init__(self, file=None):
        self.file = linux.shared_page() if file is None else file
        self._page = linux.map_page(self.file)
        last = mmap.PAGESIZE - self._slot.size
        self._free = list(range(0, last + 1, self._slot.size))

    def take(self):
        """A slot that no living branch has, emptied; None when there is none."""
        if not self._free:
            return None
        slot = self._free.pop(0)
        self._slot.pack_into(self._page, slot, 0, 0, 0, 0, 0)
        return slot

    def give_back(self, slot):
        self._free.append(slot)

    def interrupt(self, slot, step):
        self._word.pack_into(self._page, slot, step)

    def interrupted(self, slot):
        return self._word.unpack_from(self._page, slot)[0]

    def set_quiet(self, slot, quiet):
        self._word.pack_into(self._page, slot + 8, int(quiet))

    def is_quiet(self, slot):
        return bool(self._word.unpack_from(self._page, slot + 8)[0])

    def set_known(self, slot, pid):
        self._word.pack_into(self._page, slot + 32, pid)

    def known(self, slot):
        return self._word.unpack_from(self._page, slot + 32)[0]

    def set_cell(self, slot, step, max_output):
        self._pair.pack_into(self._page, slot + 16, step, max_output)

    def cell(self, slot):
        """(step, max_output) of an unmarked cell; step 0 when there is none."""
        return self._pair.unpack_from(self._page, slot + 16)
