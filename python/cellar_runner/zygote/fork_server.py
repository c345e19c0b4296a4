"""Makes heads for the first processes of sessions. What does so is preloaded and never runs user code."""

import gc
import json
import os
import select
import signal
import socket

from ..linux import cgroups, children, fds, jail, syscalls
from ..linux.reparented_fork import Fostering
from ..protocol import channel as wire
from ..session import board, head_request

EXITED = "exited"


class Cradle:
    """Serves one channel, and whoever asks for a head, until the channel ends."""

    def __init__(self, channel, asked, parents, seccomp, head):
        self._channel = channel
        self._asked = asked
        self._parents = parents
        self._seccomp = seccomp
        self._head = head
        self._fostering = Fostering()
        self._home = os.open("/proc/self/ns/pid", os.O_RDONLY)

    def serve(self):
        wake = children.wake_descriptor()
        poll = select.poll()
        for descriptor in (self._channel.descriptor, self._asked.fileno(), wake):
            poll.register(descriptor, select.POLLIN)
        while True:
            for descriptor, _ in poll.poll():
                if descriptor == wake:
                    os.read(wake, 4096)
                    for pid, status in children.ended():
                        self._mourn(pid, status)
                elif descriptor == self._asked.fileno():
                    self._hear()
                elif not self._listen():
                    return

    def _mourn(self, pid, status):
        """A child that is no head has ended."""

    def _listen(self):
        while True:
            message = self._channel.receive()
            if message is None:
                return False
            handler = self._methods.get(message.get("method"))
            if handler is not None:
                obey(self._channel, message, lambda params: handler(self, params))
            if not self._channel.has_input:
                return True

    _methods = {}

    def _hear(self):
        """A request for a head, or the warden's word that a session has ended."""
        data, descriptors = fds.receive_with_descriptors(self._asked, head_request.MAX_ORDER_BYTES)
        message = json.loads(data.decode())
        if EXITED in message:
            self._channel.notify(EXITED, message[EXITED])
            return
        try:
            self._bear(head_request.Order(message, descriptors))
        except OSError as error:
            # Who asked sees it by the end of its link.
            os.write(2, ("no process could be started for the session: %s\n" % error).encode())
        finally:
            for descriptor in descriptors:
                os.close(descriptor)

    def _bear(self, order):
        order.namespaces.take_children()
        try:
            if self._fostering.fork() == 0:
                children.become(self._run_head, order)
        finally:
            syscalls.enter(self._home, syscalls.CLONE_NEWPID)

    def _run_head(self, order):
        head = self._head
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        if self._parents is not None:
            cgroups.enter(self._parents, order.session)
        jail.move_in(order.limits, self._seccomp, order.namespaces, head.has_network)
        syscalls.close_all_except([fds.SHEET, order.board, *order.belongings])
        os.setsid()
        gc.enable()
        order.announce()
        counted = self._parents is not None
        head.move_in(board.Board(order.board), order.limits["open_files"], hides_copies=counted)
        os.close(order.board)
        head.adopt(order.orders, order.belongings)
        head.prepare(order.rehearse)
        head.serve()


def asking_pair():
    """(where requests for heads are heard, where they are made)."""
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)


def obey(channel, message, handler):
    try:
        result = handler(message["params"])
    except Exception as error:
        text = "%s: %s" % (type(error).__name__, error)
        channel.refuse(message["id"], wire.INTERNAL_ERROR, text[:4000])
        return
    channel.answer(message["id"], result)
