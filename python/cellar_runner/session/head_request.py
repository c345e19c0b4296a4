"""How the first process of a session gets a head from the preloaded interpreter.

The request carries the namespaces to enter and what the head is to have; the head says its pid on
its link when it is behind the wall. When the link ends without that, there is none.
"""

import errno
import json
import os
import select
import socket
import struct
import time

from ..linux import fds, jail

BORN = struct.Struct("=i")
PATIENCE_SECONDS = 60
RETRY_SECONDS = 0.005
YIELD_SECONDS = 0.0001
MAX_ORDER_BYTES = 16384
# The descriptors of a generation, and which of them the head says on that it is there.
BELONGINGS, LINK = 8, 1


class Births:
    """The asking side."""

    def __init__(self, descriptor, namespaces, board, order):
        self._descriptor = descriptor
        self._namespaces = namespaces
        self._board = board
        self._order = order

    def ask(self, orders, descriptors, link, host):
        """The pid of a new head, which has the descriptors. When the host goes meanwhile, so does this."""
        data = json.dumps(dict(self._order, orders=orders)).encode()
        deadline = time.monotonic() + PATIENCE_SECONDS
        self._send(data, [self._board.file, *self._namespaces.descriptors, *descriptors], deadline)
        for descriptor in descriptors:
            os.close(descriptor)
        poll = select.poll()
        poll.register(link, select.POLLIN)
        # Not for what it says: what a cell has left running may have stopped the head on its way.
        poll.register(host, select.POLLRDHUP)
        ready = dict(poll.poll(max(0, deadline - time.monotonic()) * 1000))
        if host in ready:
            os._exit(0)
        word = b""
        if ready:
            word = link.recv(BORN.size, socket.MSG_DONTWAIT)
        if len(word) != BORN.size:
            raise OSError("no process could be started for the session")
        return BORN.unpack(word)[0]

    def _send(self, data, descriptors, deadline):
        with socket.socket(fileno=os.dup(self._descriptor)) as door:
            while True:
                try:
                    fds.send_with_descriptors(door, data, descriptors)
                    return
                except OSError as error:
                    # Many sessions at once: what is under way to the other side is bounded.
                    if error.errno != errno.ETOOMANYREFS or time.monotonic() > deadline:
                        raise
                    time.sleep(RETRY_SECONDS)


class Order:
    """One request, on the other side."""

    def __init__(self, order, descriptors):
        self.session = order["session"]
        self.limits = order["limits"]
        self.rehearse = order["rehearse"]
        self.orders = order["orders"]
        after = 1 + jail.Namespaces.COUNT
        if len(descriptors) != after + BELONGINGS:
            raise OSError("not all descriptors have come")
        self.board, self.belongings = descriptors[0], descriptors[after:]
        self.namespaces = jail.Namespaces(descriptors[1:after])

    def announce(self):
        """When the middle process is gone, and the first process of the session is the parent."""
        while os.getppid() != 1:
            time.sleep(YIELD_SECONDS)
        os.write(self.belongings[LINK], BORN.pack(os.getpid()))
