"""The first process behind the outer wall. It is small, so that the first process of each session is.

The preloaded interpreter is a child of it, whose messages it passes on. What it forks itself are
the first processes of sessions, and they ask the preloaded one for heads.
"""

import base64
import gc
import json
import os
import resource
import select
import signal
import socket
import sys

from ..linux import cgroups, children, fds, jail, processes, scheduling, syscalls
from ..protocol import channel
from ..session.head_request import MAX_ORDER_BYTES
from ..session.init import Init
from .fork_server import EXITED, asking_pair, obey

CONTROL = 3
RETRY_MILLISECONDS = 5
ENDING_MILLISECONDS = 20
# Characters; what is written at once into a pipe by several stays apart up to some thousand bytes.
MAX_FAILURE = 400


class Warden:
    """Serves the host until it goes away."""

    def __init__(self, host, boot):
        self._host = host
        self._parents = boot["group"]
        self._shares_network = boot.get("shares_network", False)
        self._seccomp = syscalls.SeccompFilter(base64.b64decode(boot["seccomp"]))
        self._folder = os.open(jail.SOCKET_FOLDER, os.O_RDONLY | os.O_DIRECTORY)
        # By pid: the name of a session, and whom to tell of its end when that is not the host.
        self._sessions = {}
        self._untold = []
        # By pid: which of the wall's ids the session has.
        self._numbers = {}
        self._last_number = 0
        # By pid: the names of sessions that have to end from outside.
        self._ending = {}
        # By number: why a session could not be prepared, as its first process said.
        self._failures = {}
        self._saying = os.pipe()
        for end in self._saying:
            os.set_blocking(end, False)
        mine, theirs = socket.socketpair()
        asked, self._asking = asking_pair()
        self._orders, orders = fds.socket_pair()
        self._zygote_pid = syscalls.fork()
        if self._zygote_pid == 0:
            mine.close()
            children.become(self._run_zygote, (theirs, asked, orders, boot))
        for end in (theirs, asked, orders):
            end.close()
        os.close(boot["hatch_fd"])
        self._zygote = channel.Channel(mine.detach())

    def _run_zygote(self, work):
        theirs, asked, orders, boot = work
        for descriptor in (CONTROL, self._folder, self._asking.detach(), self._orders.detach(), *self._saying):
            os.close(descriptor)
        # Only here: none of this is to be a part of the first processes of sessions.
        from . import zygote

        zygote.serve(channel.Channel(theirs.detach()), asked, orders, boot)

    def serve(self):
        wake = children.wake_descriptor()
        handlers = {
            wake: lambda: self._reap(wake),
            self._host.descriptor: self._listen,
            self._zygote.descriptor: self._relay,
            self._orders.fileno(): self._hear,
        }
        poll = select.poll()
        for descriptor in handlers:
            poll.register(descriptor, select.POLLIN)
        while True:
            for descriptor, _ in poll.poll(self._patience()):
                handlers[descriptor]()
            self._tell()
            self._end_all()

    def _patience(self):
        if self._untold:
            return RETRY_MILLISECONDS
        return ENDING_MILLISECONDS if self._ending else None

    def _listen(self):
        while True:
            message = self._host.receive()
            if message is None:
                os._exit(0)
            method = message.get("method")
            if method == "spawn":
                obey(self._host, message, self._spawn)
            elif method == "end_session":
                self._end_session(message["params"]["session"])
            else:
                self._zygote.send(message)
            if not self._host.has_input:
                return

    def _relay(self):
        """What the preloaded interpreter says is meant for the host."""
        while True:
            message = self._zygote.receive()
            if message is None:
                # Why, it has said itself; its status tells how.
                _, status = os.waitpid(self._zygote_pid, 0)
                self._leave(status)
            self._host.send(message)
            if not self._zygote.has_input:
                return

    def _spawn(self, params):
        self._make_session(dict(params, shared_bytes=0), self._asking.fileno(), None)
        return {}

    def _hear(self):
        """A template asks for a session whose heads it will make."""
        data, descriptors = fds.receive_with_descriptors(self._orders, MAX_ORDER_BYTES)
        if not descriptors:
            return
        params, teller = json.loads(data.decode()), socket.socket(fileno=descriptors[0])
        try:
            self._make_session(params, teller.fileno(), teller)
        except Exception as error:
            reason = "could not be made: %s: %s" % (type(error).__name__, error)
            self._untold.append((teller, {"session": params["session"], "reason": reason[:4000]}))

    def _make_session(self, params, asking, teller):
        params["number"] = self._free_number()
        pid = syscalls.raw_clone(jail.namespaces(self._shares_network))
        if pid == 0:
            children.become(self._run_session, (params, asking))
        self._sessions[pid] = params["session"], teller
        self._numbers[pid] = params["number"]

    def _free_number(self):
        """One that no living session has; those that were used last come last."""
        taken = set(self._numbers.values())
        for _ in range(jail.IDS):
            self._last_number = (self._last_number + 1) % (jail.IDS - 1)
            if self._last_number not in taken:
                break
        return self._last_number

    def _run_session(self, work):
        # A group of its own: no signal that is meant for one session reaches another.
        os.setsid()
        params, asking = work
        limits, group = params["limits"], None
        if self._parents is not None:
            group = cgroups.SessionGroup(self._parents, params["session"], limits)
        room = jail.Room(params["room"]) if "room" in params else None
        try:
            namespaces = jail.build(
                limits, self._seccomp, group, room, self._shares_network, params["number"]
            )
        except OSError as error:
            self._say_failure(params["number"], error)
            raise
        kept = [self._folder, asking, *namespaces.descriptors]
        for holder in (room, group):
            kept.extend(holder.descriptors if holder is not None else ())
        syscalls.close_all_except(kept)
        Init(params, self._folder, group, namespaces, asking, room).run()

    def _say_failure(self, number, error):
        said = "could not be prepared: %s" % (error.strerror or error)
        os.write(self._saying[1], json.dumps([number, said[:MAX_FAILURE]]).encode() + b"\n")

    def _hear_failures(self):
        try:
            said = os.read(self._saying[0], 1 << 16)
        except BlockingIOError:
            return
        self._failures.update(json.loads(line.decode()) for line in said.splitlines())

    def _end_session(self, name):
        """Needs nothing of the session's first process, which a cell may have starved or stopped."""
        for pid, (session, _) in self._sessions.items():
            if session == name:
                self._ending[pid] = session

    def _end_all(self):
        """Again until the kernel says they are gone: what forks meanwhile is met in a later round."""
        for pid, session in self._ending.items():
            processes.kill(pid)
            if self._parents is None or not cgroups.kill(self._parents, session):
                # Busy processes could keep the first one from ever running to its end.
                processes.end_below(pid)

    def _reap(self, wake):
        os.read(wake, 4096)
        ended = list(children.ended())
        # After that: who has ended has said why.
        self._hear_failures()
        for pid, status in ended:
            if pid == self._zygote_pid:
                self._leave(status)
            self._ending.pop(pid, None)
            number = self._numbers.pop(pid, None)
            session, teller = self._sessions.pop(pid, (None, None))
            if session is None:
                continue
            if self._parents is not None:
                cgroups.remove(self._parents, session)
            reason = self._failures.pop(number, None) or children.how_ended(status)
            self._untold.append((teller, {"session": session, "reason": reason}))

    @staticmethod
    def _leave(status):
        """Nothing here can go on without the preloaded interpreter: leaves as it did."""
        if os.WIFSIGNALED(status):
            os.write(2, b"the preloaded interpreter was ended by signal %d\n" % os.WTERMSIG(status))
        os._exit(os.WEXITSTATUS(status) if os.WIFEXITED(status) else 1)

    def _tell(self):
        """Never waits for a template, which may be waiting for this process."""
        obituaries, self._untold = self._untold, []
        for teller, obituary in obituaries:
            if teller is None:
                self._host.notify(EXITED, obituary)
                continue
            try:
                teller.send(json.dumps({EXITED: obituary}).encode(), socket.MSG_DONTWAIT)
            except BlockingIOError:
                self._untold.append((teller, obituary))
                continue
            except OSError:
                # The template is gone, as the host knows.
                pass
            teller.close()


def main():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    scheduling.be_ordinary()
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    os.set_inheritable(CONTROL, False)
    host = channel.Channel(CONTROL)
    message = host.receive()
    if message is None or message.get("method") != "boot":
        sys.exit("the first message must be boot")
    warden = Warden(host, message["params"])
    gc.collect()
    gc.disable()
    gc.freeze()
    warden.serve()
