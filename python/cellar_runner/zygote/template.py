"""A copy of the zygote that holds one large context, and whose sessions share it."""

import gc
import json
import os
import resource
import signal
import socket
import sys

from ..context import incoming, mapped_text
from ..linux import fds, fork_memory, jail, memory_reserve, syscalls
from ..protocol import channel
from ..protocol.connection import open_link
from .fork_server import ForkServer, request_socket_pair

# Of what the machine could still give, so much is left to others.
SPARED = 8


class Template(ForkServer):
    """Reads its context once, then makes heads that are born with it."""

    def __init__(self, params, file, folder, orders, *shared):
        link = open_link(folder, "template", params["template"], params["token"])
        os.close(folder)
        requests, self._request_socket = request_socket_pair()
        super().__init__(channel.Channel(link), requests, *shared)
        self._session_requests = socket.socket(fileno=orders)
        self._file = file
        # What sessions share with this process and must not be charged for.
        self._shared_bytes = 0
        # When memory runs out all the same, this and not the zygote or the host has to go.
        jail.raise_oom_score()

    def _read_context(self, params):
        before = memory_reserve.data_in_use()
        mapped_texts = mapped_text.MappedTexts(mapped_text.ReadOnlyMount)
        usual = resource.getrlimit(resource.RLIMIT_DATA)
        # Asking for more memory than the machine has left fails, instead of ending a process.
        available = fork_memory.available_bytes()
        most = before + available - available // SPARED
        if usual[0] == resource.RLIM_INFINITY or most < usual[0]:
            resource.setrlimit(resource.RLIMIT_DATA, (most, usual[1]))
        try:
            value = incoming.read(self._file, params["format"], params["bytes"], mapped_texts)
        finally:
            resource.setrlimit(resource.RLIMIT_DATA, usual)
        os.close(self._file)
        self._head.give_context(value)
        self._head.backing = mapped_texts.keep_file(value)
        if self._head.backing is not None:
            _collapse_aside()
        # A collection in a session would otherwise write to every object of the context.
        gc.freeze()
        fork_memory.trim()
        is_text = type(value) is str
        self._shared_bytes = sys.getsizeof(value) if is_text else max(0, memory_reserve.data_in_use() - before)
        return {"memory": self._shared_bytes}

    def _spawn(self, params):
        request = json.dumps(dict(params, shared_bytes=self._shared_bytes)).encode()
        fds.send_with_descriptors(self._session_requests, request, [self._request_socket.fileno()])
        return {}

    _methods = {"read_context": _read_context, "spawn": _spawn}


def _collapse_aside():
    """In a copy that ends when it is done, at the lowest priority."""
    try:
        if syscalls.fork() != 0:
            return
    except OSError:
        return
    try:
        signal.set_wakeup_fd(-1)
        syscalls.prctl(syscalls.PR_SET_PDEATHSIG, signal.SIGKILL)
        syscalls.close_all_except([fds.CONTEXT_FILE])
        os.nice(19)
        mapped_text.collapse()
    finally:
        os._exit(0)
