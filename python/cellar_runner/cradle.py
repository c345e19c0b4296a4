"""Forks sessions on request. What does so is preloaded and never runs user code."""

import os
import select
import signal

from . import family, groups, jail, linux, wire
from .init import Init


class Cradle:
    """Serves the host on one channel until it goes away."""

    def __init__(self, channel, parents, seccomp, folder, head):
        self._channel = channel
        self._parents = parents
        self._seccomp = seccomp
        self._folder = folder
        self._head = head
        self._children = {}
        # What sessions share with this process and must not be charged for.
        self._shared_bytes = 0

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
            handler = self._methods.get(message.get("method"))
            if handler is not None:
                self._obey(handler, message)
            if not self._channel.has_input:
                return True

    def _obey(self, handler, message):
        try:
            result = handler(self, message["params"])
        except Exception as error:
            text = "%s: %s" % (type(error).__name__, error)
            self._channel.refuse(message["id"], wire.INTERNAL_ERROR, text[:4000])
            return
        self._channel.answer(message["id"], result)

    def _spawn(self, params):
        pid = linux.raw_clone(jail.namespaces(self._head.has_network))
        if pid == 0:
            self._become(self._run_session, params)
        self._children[pid] = params["session"]
        return {}

    _methods = {"spawn": _spawn}

    @staticmethod
    def _become(work, params):
        """What a new child does with its life."""
        try:
            signal.set_wakeup_fd(-1)
            work(params)
        except BaseException:
            import traceback

            traceback.print_exc()
        finally:
            os._exit(1)

    def _run_session(self, params):
        limits, group = params["limits"], None
        if self._parents is not None:
            group = groups.SessionGroup(self._parents, params["session"], limits)
        room = jail.Room(params["room"]) if "room" in params else None
        precedence = jail.enter(limits, self._seccomp, group, room, self._head.has_network)
        kept = [self._folder, precedence.descriptor, family.SHEET] + (room.descriptors if room is not None else [])
        linux.close_all_except(kept + (group.descriptors if group is not None else []))
        Init(params, self._folder, group, self._head, precedence, self._shared_bytes, room).run()

    def _reap(self):
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            session = self._children.pop(pid, None)
            if session is None:
                continue
            if self._parents is not None:
                groups.remove(self._parents, session)
            reason = "ended" if status == 0 else "ended with status %d" % status
            self._channel.notify("exited", {"session": session, "reason": reason})
