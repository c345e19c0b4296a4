"""Carries what arrives at a port of the session's loopback to the host's proxy, and back."""

import os
import selectors
import signal
import socket

from ..linux import syscalls

PORT = 3128
MOST_PAIRS = 64
BUFFER_BYTES = 1 << 16
MOST_RESTARTS = 100


class Relay:
    """Starts and restarts the relaying process, in init; without a way out there is none."""

    def __init__(self, egress):
        self.pid: int | None = None
        self._egress = egress
        self._left = MOST_RESTARTS
        self._listener: socket.socket | None = None
        if egress is not None:
            self._listen()
            self.ensure()

    def _listen(self):
        """The port stays with init, so that no cell can take it while the relay is away."""
        self._listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._listener.bind(("127.0.0.1", PORT))
        self._listener.listen(MOST_PAIRS)

    def ended(self, pid):
        if pid == self.pid:
            self.pid = None

    def ensure(self):
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
            syscalls.close_all_except([self._listener.fileno(), self._egress])  # type: ignore[union-attr]
            os.setsid()
            ProxyRelay(self._listener, "/proc/self/fd/%d" % self._egress).run()
        finally:
            os._exit(1)


class ProxyRelay:
    """Accepts connections and connects each to the proxy."""

    def __init__(self, listener, proxy):
        self._listener = listener
        self._proxy = proxy
        self._selector = selectors.DefaultSelector()
        self._pairs = 0
        self._accepts = False
        listener.setblocking(False)

    def run(self):
        while True:
            self.turn(None)

    def turn(self, timeout):
        self._set_accepting(self._pairs < MOST_PAIRS)
        for key, events in self._selector.select(timeout):
            if key.data is None:
                self._accept()
                continue
            flow = key.data
            if not flow.is_over:
                flow.work(key.fileobj, events)
                if flow.is_over:
                    self._pairs -= 1

    def _set_accepting(self, accepts):
        if accepts and not self._accepts:
            self._selector.register(self._listener, selectors.EVENT_READ)
        elif self._accepts and not accepts:
            self._selector.unregister(self._listener)
        self._accepts = accepts

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
        self._pairs += 1
        Flow(self._selector, client, partner)


class Flow:
    """Two connections and what is on its way between them, each way with a buffer of its own."""

    def __init__(self, selector, client, partner):
        self.is_over = False
        self._selector = selector
        self._other = {client: partner, partner: client}
        # What is still to be written to a connection, and those that have no more to say.
        self._outgoing = {client: bytearray(), partner: bytearray()}
        self._silent = set()
        self._shut = set()
        self._interest = {client: 0, partner: 0}
        self._arrange()

    def work(self, connection, events):
        try:
            if events & selectors.EVENT_WRITE:
                self._write(connection)
            if events & selectors.EVENT_READ:
                self._read(connection)
            self._arrange()
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

    def _arrange(self):
        """Passes on the end of either side, and listens for what can go on."""
        for connection, other in self._other.items():
            if other in self._silent and not self._outgoing[connection]:
                if connection not in self._shut:
                    self._shut.add(connection)
                    connection.shutdown(socket.SHUT_WR)
        if len(self._shut) == 2:
            self._end()
            return
        for connection, other in self._other.items():
            events = 0
            if connection not in self._silent and len(self._outgoing[other]) < BUFFER_BYTES:
                events |= selectors.EVENT_READ
            if self._outgoing[connection]:
                events |= selectors.EVENT_WRITE
            self._listen(connection, events)

    def _listen(self, connection, events):
        before, self._interest[connection] = self._interest[connection], events
        if before == events:
            return
        if not events:
            self._selector.unregister(connection)
        elif before:
            self._selector.modify(connection, events, self)
        else:
            self._selector.register(connection, events, self)

    def _end(self):
        self.is_over = True
        for connection in self._other:
            self._listen(connection, 0)
            connection.close()
