"""The preloaded interpreter that never runs user code and forks every session."""

import base64
import gc
import os
import resource
import signal
import socket
import sys

from . import jail, linux, memory, wire
from .cradle import Cradle
from .family import receive_with_descriptors
from .head import Head
from .messages import PROTOCOL_VERSION
from .preload import preload
from .rehearsal import rehearse
from .template import Template

CONTROL = 3
NAME_BYTES = 24


class Zygote(Cradle):
    """Forks sessions, and templates of sessions with a large context."""

    def __init__(self, channel, boot):
        self._main_module = sys.modules["__main__"]
        seccomp = linux.SeccompFilter(base64.b64decode(boot["seccomp"]))
        folder = os.open(jail.SOCKET_FOLDER, os.O_RDONLY | os.O_DIRECTORY)
        super().__init__(channel, boot["group"], seccomp, folder, Head(boot.get("shares_network", False)))
        self._hatch = socket.socket(fileno=boot["hatch_fd"])
        self._hatch.set_inheritable(False)
        self._hatch.setblocking(False)
        self._files = {}

    def _template(self, params):
        file = self._claim(params["template"])
        try:
            pid = linux.fork()
            if pid == 0:
                self._become(self._run_template, (params, file))
        finally:
            os.close(file)
        self._children[pid] = params["template"]
        return {}

    _methods = dict(Cradle._methods, template=_template)

    def _claim(self, name):
        """The file that the host's porter handed in under this name."""
        while name not in self._files:
            received, files = receive_with_descriptors(self._hatch, NAME_BYTES)
            if not received:
                raise OSError("the porters' socket is closed")
            for file in files:
                self._files[received.decode("ascii")] = file
        return self._files.pop(name)

    def _run_template(self, orders):
        params, file = orders
        groups = [number for key, number in (self._parents or {}).items() if key.endswith("_fd")]
        linux.close_all_except([self._folder, file] + groups)
        Template(params, file, self._parents, self._seccomp, self._folder, self._head).serve()
        os._exit(0)


def main():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    os.set_inheritable(CONTROL, False)
    channel = wire.Channel(CONTROL)
    message = channel.receive()
    if message is None or message.get("method") != "boot":
        sys.exit("the first message must be boot")
    boot = message["params"]
    memory.gather_arenas()
    loaded, absent, seconds = preload(boot["preload"])
    rehearse()
    zygote = Zygote(channel, boot)
    memory.merge_mappings()
    gc.collect()
    memory.trim()
    gc.disable()
    zygote.plugs = memory.fill_holes()
    gc.freeze()
    memory.collapse_heap()
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


if __name__ == "__main__":
    main()
