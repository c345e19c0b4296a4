"""A preloaded process that forks heads for sessions on request. It never runs user code.

The zygote and the templates are such processes; the first process of a session asks one for its head.
"""

from __future__ import annotations

import gc
import json
import os
import select
import signal
import socket
from functools import partial

from ..linux import cgroups, children, fds, jail, shared_page, syscalls
from ..session import head_request

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable

    from ..protocol.channel import Channel

# The method by which the end of a session is reported to the host.
SESSION_EXITED = "exited"


class ForkServer:
    """Serves a channel to the host and a socket for requests of heads, until the channel ends."""

    def __init__(self, channel, requests, parents, seccomp, head, reparented_fork):
        self._channel = channel
        self._requests = requests
        self._parents = parents
        self._seccomp = seccomp
        self._head = head
        self._reparented_fork = reparented_fork
        self._home = os.open("/proc/self/ns/pid", os.O_RDONLY)

    def serve(self) -> None:
        wake = children.wake_descriptor()
        poll = select.poll()
        for descriptor in (self._channel.descriptor, self._requests.fileno(), wake):
            poll.register(descriptor, select.POLLIN)
        while True:
            for descriptor, _ in poll.poll():
                if descriptor == wake:
                    os.read(wake, 4096)
                    for pid, status in children.ended():
                        self._child_ended(pid, status)
                elif descriptor == self._requests.fileno():
                    self._receive_request()
                elif not self._listen():
                    return

    def _child_ended(self, pid, status):
        """Called when a child that is no head has ended."""

    def _listen(self):
        while True:
            message = self._channel.receive()
            if message is None:
                return False
            handler = self._methods.get(message.get("method"))
            if handler is not None:
                answer_request(self._channel, message, partial(handler, self))
            if not self._channel.has_input:
                return True

    _methods: dict = {}

    def _receive_request(self):
        """Takes a request for a head, or the supervisor's message that a session has ended."""
        data, descriptors = fds.receive_with_descriptors(self._requests, head_request.MAX_REQUEST_BYTES)
        message = json.loads(data.decode())
        if SESSION_EXITED in message:
            self._channel.notify(SESSION_EXITED, message[SESSION_EXITED])
            return
        try:
            self._fork_head(head_request.HeadRequest(message, descriptors))
        except OSError as error:
            # The init that asked sees it by the end of its link.
            os.write(2, ("no process could be started for the session: %s\n" % error).encode())
        finally:
            for descriptor in descriptors:
                os.close(descriptor)

    def _fork_head(self, request):
        request.namespaces.enter_pid_namespace()
        try:
            if self._reparented_fork.fork() == 0:
                children.run_child(self._run_head, request)
        finally:
            syscalls.enter(self._home, syscalls.CLONE_NEWPID)

    def _run_head(self, request):
        head = self._head
        self._reparented_fork.forget()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        if self._parents is not None:
            cgroups.enter(self._parents, request.session)
        jail.enter(request.limits, self._seccomp, request.namespaces, head.has_network)
        syscalls.close_all_except([fds.CONTEXT_FILE, request.board, *request.descriptors])
        os.setsid()
        gc.enable()
        request.announce()
        counted = self._parents is not None
        head.join_session(shared_page.SharedPage(request.board), request.limits["open_files"], hides_copies=counted)
        os.close(request.board)
        head.attach(request.orders, request.descriptors)
        head.prepare(request.warm_up)
        head.serve()


def request_socket_pair() -> tuple[socket.socket, socket.socket]:
    """(receiving end, sending end) of a socket for requests of heads."""
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)


def answer_request(channel: Channel, message: dict, handler: Callable[[dict], object]) -> None:
    try:
        result = handler(message["params"])
    except Exception as error:
        channel.report_error(message["id"], error)
        return
    channel.answer(message["id"], result)
