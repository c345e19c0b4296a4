"""Carries what arrives at a port of the session's loopback to the host's proxy, and back."""

from __future__ import annotations

import os
import select
import signal
import socket

from ..linux import syscalls

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Iterator

PORT = 3128
MOST_PAIRS = 64
BUFFER_BYTES = 1 << 16
MOST_RESTARTS = 100


class Relay:
    """Starts and restarts the relaying process, in init; without a way out there is none."""

    def __init__(self, egress: int | None, seccomp: syscalls.SeccompFilter) -> None:
        self._seccomp = seccomp
        self.pid: int | None = None
        self._egress: int = egress  # type: ignore[assignment]
        self._left = MOST_RESTARTS
        self._listener: socket.socket | None = None
        if egress is not None:
            # The port stays with init, so that no cell can take it while the relay is away.
            self._listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
            self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self._listener.bind(("127.0.0.1", PORT))
            self._listener.listen(MOST_PAIRS)
            self.ensure()

    def ended(self, pid: int) -> None:
        if pid == self.pid:
            self.pid = None

    def ensure(self) -> None:
        """Starts it where it does not run. A cell may end or stop it, but not for ever."""
        if self.pid is not None:
            os.kill(self.pid, signal.SIGCONT)
        if self.pid is not None or self._listener is None:
            return
        if not self._left:
            # Nobody answers there any more: better refused than left waiting.
            self._listener.close()
            self._listener = None
            return
        try:
            pid = syscalls.fork()
        except OSError:
            # Cells hold every place; with the end of one of them this is tried again.
            return
        if pid == 0:
            self._run_relay()
        self._left -= 1
        self.pid = pid

    def _run_relay(self):
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            listener: socket.socket = self._listener  # type: ignore[assignment]
            syscalls.close_all_except([listener.fileno(), self._egress])
            os.setsid()
            # Init may call more than the others of the session.
            self._seccomp.install()
            ProxyRelay(listener, "/proc/self/fd/%d" % self._egress).run()
        finally:
            os._exit(1)


class ProxyRelay:
    def __init__(self, listener: socket.socket, proxy: str) -> None:
        self._listener = listener
        self._proxy = proxy
        self._flows: list[Flow] = []
        listener.setblocking(False)

    def run(self) -> None:
        while True:
            self.turn(None)

    def turn(self, seconds: float | None) -> None:
        poll = select.poll()
        if len(self._flows) < MOST_PAIRS:
            poll.register(self._listener, select.POLLIN)
        waiting = {}
        for flow in self._flows:
            for connection, events in flow.interests():
                poll.register(connection, events)
                waiting[connection.fileno()] = flow, connection, events
        for descriptor, ready in poll.poll(None if seconds is None else seconds * 1000):
            if descriptor == self._listener.fileno():
                self._accept()
                continue
            flow, connection, events = waiting[descriptor]
            if not flow.is_over:
                # An error or a hang-up shows in whatever is tried next.
                flow.work(connection, ready if ready & events == ready else events)
        self._flows = [flow for flow in self._flows if not flow.is_over]

    def _accept(self):
        try:
            client, _ = self._listener.accept()
        except OSError:
            return
        partner = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        client.setblocking(False)
        partner.setblocking(False)
        try:
            partner.connect(self._proxy)
        except OSError:
            client.close()
            partner.close()
            return
        self._flows.append(Flow(client, partner))


class Flow:
    """Two connections and what is on its way between them, each way with a buffer of its own."""

    def __init__(self, client: socket.socket, partner: socket.socket) -> None:
        self.is_over = False
        self._other = {client: partner, partner: client}
        # What is still to be written to a connection, and those that have no more to say.
        self._outgoing = {client: bytearray(), partner: bytearray()}
        self._silent: set[socket.socket] = set()
        self._shut: set[socket.socket] = set()

    def interests(self) -> Iterator[tuple[socket.socket, int]]:
        """(connection, events) of those that can go on once the events come."""
        for connection, other in self._other.items():
            events = 0
            if connection not in self._silent and len(self._outgoing[other]) < BUFFER_BYTES:
                events |= select.POLLIN
            if self._outgoing[connection]:
                events |= select.POLLOUT
            if events:
                yield connection, events

    def work(self, connection: socket.socket, events: int) -> None:
        try:
            if events & select.POLLOUT:
                self._write(connection)
            if events & select.POLLIN:
                self._read(connection)
            self._pass_on_ends()
        except OSError:
            self._end()

    def _read(self, connection):
        buffer = self._outgoing[self._other[connection]]
        try:
            data = connection.recv(BUFFER_BYTES - len(buffer))
        except BlockingIOError:
            return
        if data:
            buffer += data
            self._write(self._other[connection])
        else:
            self._silent.add(connection)

    def _write(self, connection):
        buffer = self._outgoing[connection]
        if buffer:
            try:
                del buffer[: connection.send(buffer)]
            except BlockingIOError:
                pass

    def _pass_on_ends(self):
        for connection, other in self._other.items():
            if other in self._silent and not self._outgoing[connection] and connection not in self._shut:
                self._shut.add(connection)
                connection.shutdown(socket.SHUT_WR)
        if len(self._shut) == 2:
            self._end()

    def _end(self):
        self.is_over = True
        for connection in self._other:
            connection.close()
