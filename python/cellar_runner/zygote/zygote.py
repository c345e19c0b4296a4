"""The preloaded interpreter that never runs user code, and of which every head is a copy."""

import base64
import gc
import os
import socket
import sys

from ..linux import children, fds, filtered_calls, fork_memory, jail, syscalls
from ..protocol.constants import PROTOCOL_VERSION
from ..session.head import Head
from ..session.warmup import rehearse
from .fork_server import EXITED, Cradle
from .preload import preload
from .template import Template

NAME_BYTES = 24


class Zygote(Cradle):
    """Makes heads, and templates of heads with a large context."""

    def __init__(self, channel, asked, orders, boot):
        self._main_module = sys.modules["__main__"]
        seccomp = syscalls.SeccompFilter(base64.b64decode(boot["seccomp"]))
        head = Head(boot.get("shares_network", False))
        super().__init__(channel, asked, boot["group"], seccomp, head)
        self._folder = os.open(jail.SOCKET_FOLDER, os.O_RDONLY | os.O_DIRECTORY)
        # To the warden, for the sessions of templates.
        self._orders = orders
        self._hatch = socket.socket(fileno=boot["hatch_fd"])
        self._hatch.set_inheritable(False)
        self._hatch.setblocking(False)
        self._files = {}
        self._templates = {}

    def _template(self, params):
        file = self._claim(params["template"])
        try:
            pid = syscalls.fork()
            if pid == 0:
                children.become(self._run_template, (params, file))
        finally:
            os.close(file)
        self._templates[pid] = params["template"]
        return {}

    _methods = {"template": _template}

    def _claim(self, name):
        """The file that the host's porter handed in under this name."""
        while name not in self._files:
            received, files = fds.receive_with_descriptors(self._hatch, NAME_BYTES)
            if not received:
                raise OSError("the socket for files is closed")
            for file in files:
                self._files[received.decode("ascii")] = file
        return self._files.pop(name)

    def _run_template(self, work):
        params, file = work
        groups = [number for key, number in (self._parents or {}).items() if key.endswith("_fd")]
        orders = self._orders.detach()
        syscalls.close_all_except([self._folder, file, orders] + groups)
        Template(params, file, self._folder, orders, self._parents, self._seccomp, self._head).serve()
        os._exit(0)

    def _mourn(self, pid, status):
        template = self._templates.pop(pid, None)
        if template is not None:
            obituary = {"session": template, "reason": children.how_ended(status)}
            self._channel.notify(EXITED, obituary)


def serve(channel, asked, orders, boot):
    """In a child of the warden, through which its messages pass to the host."""
    filtered_calls.install(counts_memory=boot["group"] is not None)
    # Where heads will work; bubblewrap tells its own folder here.
    os.environ["PWD"] = jail.WORKSPACE
    fork_memory.gather_arenas()
    loaded, absent, seconds = preload(boot["preload"])
    rehearse()
    zygote = Zygote(channel, asked, orders, boot)
    fork_memory.merge_mappings()
    gc.collect()
    fork_memory.trim()
    gc.disable()
    zygote.plugs = fork_memory.fill_holes()
    gc.freeze()
    fork_memory.collapse_heap()
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
    # Not by returning: the end of the interpreter would free arenas in the way of other ones.
    os._exit(0)
