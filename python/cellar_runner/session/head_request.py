"""How the init of a session gets a head from the zygote or from a template.

The request carries the namespaces to enter and the descriptors of the head. The head sends its pid on its
link once it is behind the wall. When the link ends without that, no head was made.
"""

from __future__ import annotations

import errno
import json
import os
import select
import socket
import struct
import time

from ..linux import fds, jail

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..linux.shared_page import SharedPage

HEAD_PID = struct.Struct("=i")
TIMEOUT_SECONDS = 60
RETRY_SECONDS = 0.005
YIELD_SECONDS = 0.0001
MAX_REQUEST_BYTES = 16384
# How many descriptors a head gets, and which of them is the link on which it sends its pid.
HEAD_DESCRIPTORS, LINK = 8, 1


class HeadRequests:
    """Makes requests, in init."""

    def __init__(self, descriptor: int, namespaces: jail.Namespaces, board: SharedPage, request: dict) -> None:
        self._descriptor = descriptor
        self._namespaces = namespaces
        self._board = board
        self._template = request

    def ask(self, orders: dict, descriptors: list[int], link: socket.socket, host: int) -> int:
        """The pid of a new head, which has the descriptors. Exits when the host goes away meanwhile."""
        data = json.dumps(dict(self._template, orders=orders)).encode()
        deadline = time.monotonic() + TIMEOUT_SECONDS
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
        reply = b""
        if ready:
            reply = link.recv(HEAD_PID.size, socket.MSG_DONTWAIT)
        if len(reply) != HEAD_PID.size:
            raise OSError("no process could be started for the session")
        return HEAD_PID.unpack(reply)[0]

    def _send(self, data, descriptors, deadline):
        with socket.socket(fileno=os.dup(self._descriptor)) as connection:
            while True:
                try:
                    fds.send_with_descriptors(connection, data, descriptors)
                    return
                except OSError as error:
                    # Many sessions at once: what is under way to the other side is bounded.
                    if error.errno != errno.ETOOMANYREFS or time.monotonic() > deadline:
                        raise
                    time.sleep(RETRY_SECONDS)


class HeadRequest:
    """One request, as the process that forks the head reads it."""

    def __init__(self, request: dict, descriptors: list[int]) -> None:
        self.session = request["session"]
        self.limits = request["limits"]
        self.warm_up = request["warm_up"]
        self.orders = request["orders"]
        after = 1 + jail.Namespaces.COUNT
        if len(descriptors) != after + HEAD_DESCRIPTORS:
            raise OSError("a request for a head came with %d descriptors" % len(descriptors))
        self.board, self.descriptors = descriptors[0], descriptors[after:]
        self.namespaces = jail.Namespaces(descriptors[1:after])

    def announce(self) -> None:
        """Sends the pid, once the middle process is gone and init is the parent."""
        while os.getppid() != 1:
            time.sleep(YIELD_SECONDS)
        os.write(self.descriptors[LINK], HEAD_PID.pack(os.getpid()))
