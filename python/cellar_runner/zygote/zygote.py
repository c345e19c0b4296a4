"""The preloaded interpreter that never runs user code, and of which every head is a copy."""

import base64
import gc
import os
import socket
import sys

from ..linux import children, fds, filtered_calls, fork_memory, jail, syscalls
from ..linux.reparented_fork import ReparentedFork
from ..protocol.channel import Channel
from ..protocol.constants import PROTOCOL_VERSION
from ..session.head import Head
from ..session.warmup import warm_up
from .fork_server import SESSION_EXITED, ForkServer
from .preload import preload
from .template import Template

NAME_BYTES = 24


class Zygote(ForkServer):
    """Makes heads, and templates of heads with a large context."""

    def __init__(self, channel, requests, orders, boot):
        self._main_module = sys.modules["__main__"]
        seccomp = syscalls.SeccompFilter(base64.b64decode(boot["seccomp"]))
        head = Head(boot.get("shares_network", False))
        super().__init__(channel, requests, boot["group"], seccomp, head, ReparentedFork())
        self._folder = os.open(jail.SOCKET_FOLDER, os.O_RDONLY | os.O_DIRECTORY)
        self._session_requests = orders
        self._file_socket = socket.socket(fileno=boot["file_socket_fd"])
        self._file_socket.set_inheritable(False)
        self._file_socket.setblocking(False)
        self._files: dict[str, int] = {}
        self._templates: dict[int, str] = {}
        # What fills the holes of the heap, and must be kept.
        self.plugs: list[bytes] = []

    def make_forks_cheap(self) -> None:
        fork_memory.merge_mappings()
        gc.collect()
        fork_memory.trim()
        gc.disable()
        self.plugs = fork_memory.fill_holes()
        gc.freeze()
        fork_memory.collapse_heap()

    def _template(self, params):
        file = self._receive_file(params["template"])
        try:
            pid = syscalls.fork()
            if pid == 0:
                children.run_child(self._run_template, (params, file))
        finally:
            os.close(file)
        self._templates[pid] = params["template"]
        return {}

    _methods = {"template": _template}

    def _receive_file(self, name):
        """The file that the host passed under this name (bootstrap/send_descriptor.py)."""
        while name not in self._files:
            received, files = fds.receive_with_descriptors(self._file_socket, NAME_BYTES)
            if not received:
                raise OSError("the socket for files is closed")
            for file in files:
                self._files[received.decode("ascii")] = file
        return self._files.pop(name)

    def _run_template(self, work):
        params, file = work
        groups = [number for key, number in (self._parents or {}).items() if key.endswith("_fd")]
        orders = self._session_requests.detach()
        syscalls.close_all_except([self._folder, file, orders] + groups)
        shared = self._parents, self._seccomp, self._head, self._reparented_fork
        Template(params, file, self._folder, orders, *shared).serve()
        os._exit(0)

    def _child_ended(self, pid, status):
        template = self._templates.pop(pid, None)
        if template is not None:
            notice = {"session": template, "reason": children.how_ended(status)}
            self._channel.notify(SESSION_EXITED, notice)


def serve(channel: Channel, requests: socket.socket, orders: socket.socket, boot: dict) -> None:
    """Runs the zygote in a child of the supervisor, which passes its messages on to the host."""
    filtered_calls.install(counts_memory=boot["group"] is not None)
    # Where heads will work; bubblewrap tells its own folder here.
    os.environ["PWD"] = jail.WORKSPACE
    fork_memory.gather_arenas()
    loaded, absent, seconds = preload(boot["preload"])
    warm_up()
    zygote = Zygote(channel, requests, orders, boot)
    # With nothing preloaded there is little to share, and somebody waits for the first session.
    if boot["preload"]:
        zygote.make_forks_cheap()
    gc.disable()
    gc.freeze()
    channel.notify(
        "ready",
        {
            "protocol": PROTOCOL_VERSION,
            "python": "%d.%d.%d" % sys.version_info[:3],
            "threads": len(os.listdir("/proc/self/task")),
            "preloaded": [{"name": name, "version": loaded[name]} for name in loaded],
            "absent": [{"name": name, "reason": absent[name][:1000]} for name in absent],
            "seconds": seconds,
        },
    )
    zygote.serve()
    # Not by returning: at its end the interpreter would free arenas with a function of another allocator.
    os._exit(0)
