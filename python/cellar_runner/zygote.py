"""The preloaded interpreter that never runs user code and forks every session."""

import base64
import gc
import os
import resource
import select
import signal
import sys

from . import groups, jail, linux, memory, wire
from .head import Head
from .init import Init
from .messages import PROTOCOL_VERSION
from .preload import preload
from .rehearsal import rehearse

CONTROL = 3


class Zygote:
    """Forks sessions on request until the host goes away."""

    def __init__(self, channel, boot):
        self._main_module = sys.modules["__main__"]
        self._head = Head()
        self._channel = channel
        self._parents = boot["group"]
        self._seccomp = linux.SeccompFilter(base64.b64decode(boot["seccomp"]))
        self._folder = os.open(jail.SOCKET_FOLDER, os.O_RDONLY | os.O_DIRECTORY)
        self._sessions = {}

    def serve(self):
        reader, writer = os.pipe()
        os.set_blocking(reader, False)
        os.set_blocking(writer, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        poll = select.poll()
        poll.register(self._channel.descriptor, select.POLLIN)
        poll.register(reader, select.POLLIN)
        while True:
            for descriptor, _ in poll.poll():
                if descriptor == reader:
                    os.read(reader, 4096)
                    self._reap()
                elif not self._listen():
                    return

    def _listen(self):
        while True:
            message = self._channel.receive()
            if message is None:
                return False
            if message.get("method") == "spawn":
                self._spawn(message["id"], message["params"])
            if not self._channel.has_input:
                return True

    def _spawn(self, identifier, params):
        try:
            pid = linux.raw_clone(jail.NAMESPACES)
        except OSError as error:
            self._channel.refuse(identifier, wire.INTERNAL_ERROR, str(error))
            return
        if pid == 0:
            self._become_session(params)
        self._sessions[pid] = params["session"]
        self._channel.answer(identifier, {})

    def _become_session(self, params):
        try:
            signal.set_wakeup_fd(-1)
            limits, group = params["limits"], None
            if self._parents is not None:
                group = groups.SessionGroup(self._parents, params["session"], limits)
            precedence = jail.enter(limits, self._seccomp, group)
            kept = [self._folder, precedence.descriptor]
            linux.close_all_except(kept + (group.descriptors if group is not None else []))
            Init(params, self._folder, group, self._head, precedence).run()
        except BaseException:
            import traceback

            traceback.print_exc()
        finally:
            os._exit(1)

    def _reap(self):
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            session = self._sessions.pop(pid, None)
            if session is None:
                continue
            if self._parents is not None:
                groups.remove(self._parents, session)
            reason = "ended" if status == 0 else "ended with status %d" % status
            self._channel.notify("exited", {"session": session, "reason": reason})


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


if __name__ == "__main__":
    main()
