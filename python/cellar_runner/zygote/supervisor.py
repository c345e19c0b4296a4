"""The first process behind the outer wall: starts the zygote and forks the init of each session.

It imports little, since each init is a copy of it and must be small. It passes the zygote's messages on to the
host; the inits ask the zygote for heads.
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
from ..session.head_request import MAX_REQUEST_BYTES
from ..session.init import Init
from .fork_server import SESSION_EXITED, answer_request, request_socket_pair

CONTROL = 3
RETRY_MILLISECONDS = 5
ENDING_MILLISECONDS = 20
# Characters; what is written at once into a pipe by several stays apart up to some thousand bytes.
MAX_FAILURE = 400


class Supervisor:
    def __init__(self, host, boot):
        self._host = host
        self._parents = boot["group"]
        self._shares_network = boot.get("shares_network", False)
        self._seccomp = syscalls.SeccompFilter(base64.b64decode(boot["seccomp"]))
        # Where init makes checkpoints by the pages that were written, it may call more.
        self._tracks_writes = "init_seccomp" in boot
        self._init_seccomp = syscalls.SeccompFilter(base64.b64decode(boot.get("init_seccomp", boot["seccomp"])))
        self._folder = os.open(jail.SOCKET_FOLDER, os.O_RDONLY | os.O_DIRECTORY)
        # By pid: the name of a session, and the template's socket if its end is to be reported there, not to the host.
        self._sessions = {}
        self._unsent_exits = []
        # By pid: which of the wall's ids the session has.
        self._numbers = {}
        self._last_number = 0
        # By pid: the names of sessions that have to end from outside.
        self._ending = {}
        # By number: why a session could not be prepared, as its first process said.
        self._failures = {}
        self._failure_pipe = os.pipe()
        for end in self._failure_pipe:
            os.set_blocking(end, False)
        mine, theirs = socket.socketpair()
        requests, self._request_socket = request_socket_pair()
        self._session_requests, orders = fds.socket_pair()
        self._zygote_pid = syscalls.fork()
        if self._zygote_pid == 0:
            mine.close()
            children.run_child(self._run_zygote, (theirs, requests, orders, boot))
        for theirs_only in (theirs, requests, orders):
            theirs_only.close()
        os.close(boot["file_socket_fd"])
        self._zygote = channel.Channel(mine.detach())

    def _run_zygote(self, work):
        theirs, requests, orders, boot = work
        sockets = self._request_socket.detach(), self._session_requests.detach()
        for descriptor in (CONTROL, self._folder, *sockets, *self._failure_pipe):
            os.close(descriptor)
        # Only here: none of this is to be a part of the first processes of sessions.
        from . import zygote

        zygote.serve(channel.Channel(theirs.detach()), requests, orders, boot)

    def serve(self) -> None:
        wake = children.wake_descriptor()
        handlers = {
            wake: lambda: self._reap(wake),
            self._host.descriptor: self._listen,
            self._zygote.descriptor: self._relay,
            self._session_requests.fileno(): self._receive_request,
        }
        poll = select.poll()
        for descriptor in handlers:
            poll.register(descriptor, select.POLLIN)
        # What came together with the first message has been read already.
        if self._host.has_input:
            self._listen()
        while True:
            for descriptor, _ in poll.poll(self._poll_timeout()):
                handlers[descriptor]()
            self._send_exits()
            self._kill_ending()

    def _poll_timeout(self):
        if self._unsent_exits:
            return RETRY_MILLISECONDS
        return ENDING_MILLISECONDS if self._ending else None

    def _listen(self):
        while True:
            message = self._host.receive()
            if message is None:
                os._exit(0)
            method = message.get("method")
            if method == "spawn":
                answer_request(self._host, message, self._spawn)
            elif method == "end_session":
                self._end_session(message["params"]["session"])
            else:
                self._zygote.send(message)
            if not self._host.has_input:
                return

    def _relay(self):
        while True:
            message = self._zygote.receive()
            if message is None:
                # It has written the reason to stderr itself; its status tells how it ended.
                _, status = os.waitpid(self._zygote_pid, 0)
                self._leave(status)
            self._host.send(message)
            if not self._zygote.has_input:
                return

    def _spawn(self, params):
        self._make_session(dict(params, shared_bytes=0), self._request_socket.fileno(), None)
        return {}

    def _receive_request(self):
        """Makes a session for a template, which will fork its heads."""
        data, descriptors = fds.receive_with_descriptors(self._session_requests, MAX_REQUEST_BYTES)
        if not descriptors:
            return
        params, owner = json.loads(data.decode()), socket.socket(fileno=descriptors[0])
        try:
            self._make_session(params, owner.fileno(), owner)
        except Exception as error:
            reason = "could not be made: %s: %s" % (type(error).__name__, error)
            self._unsent_exits.append((owner, {"session": params["session"], "reason": reason[:4000]}))

    def _make_session(self, params, request_socket, owner):
        params["number"] = self._free_number()
        pid = syscalls.raw_clone(jail.namespaces(self._shares_network))
        if pid == 0:
            children.run_child(self._run_session, (params, request_socket))
        self._sessions[pid] = params["session"], owner
        self._numbers[pid] = params["number"]

    def _free_number(self):
        """A number that no living session has; those used most recently come last."""
        taken = set(self._numbers.values())
        for _ in range(jail.IDS):
            self._last_number = (self._last_number + 1) % (jail.IDS - 1)
            if self._last_number not in taken:
                break
        return self._last_number

    def _run_session(self, work):
        # A group of its own: no signal that is meant for one session reaches another.
        os.setsid()
        params, request_socket = work
        params["track_writes"] = self._tracks_writes
        limits, group = params["limits"], None
        if self._parents is not None:
            group = cgroups.SessionGroup(self._parents, params["session"], limits)
        session_dir = jail.SessionDir(params["session_dir"]) if "session_dir" in params else None
        try:
            namespaces = jail.build(
                limits, self._init_seccomp, group, session_dir, self._shares_network, params["number"]
            )
        except OSError as error:
            self._report_failure(params["number"], error)
            raise
        kept = [self._folder, request_socket, *namespaces.descriptors]
        for holder in (session_dir, group):
            kept.extend(holder.descriptors if holder is not None else ())
        syscalls.close_all_except(kept)
        Init(params, self._folder, group, namespaces, request_socket, session_dir, self._seccomp).run()

    def _report_failure(self, number, error):
        said = "could not be prepared: %s" % (error.strerror or error)
        os.write(self._failure_pipe[1], json.dumps([number, said[:MAX_FAILURE]]).encode() + b"\n")

    def _read_failures(self):
        try:
            said = os.read(self._failure_pipe[0], 1 << 16)
        except BlockingIOError:
            return
        self._failures.update(json.loads(line.decode()) for line in said.splitlines())

    def _end_session(self, name):
        """Ends a session without the help of its init, which a cell may have starved or stopped."""
        for pid, (session, _) in self._sessions.items():
            if session == name:
                self._ending[pid] = session

    def _kill_ending(self):
        """Kills what is to end, each turn until the kernel reports it gone: forks made meanwhile are met later."""
        for pid, session in self._ending.items():
            processes.kill(pid)
            if self._parents is None or not cgroups.kill(self._parents, session):
                # Busy processes could keep the first one from ever running to its end.
                processes.kill_descendants(pid)

    def _reap(self, wake):
        os.read(wake, 4096)
        ended = list(children.ended())
        # Only now: an init writes why it failed before it ends.
        self._read_failures()
        for pid, status in ended:
            if pid == self._zygote_pid:
                self._leave(status)
            self._ending.pop(pid, None)
            number = self._numbers.pop(pid, None)
            session, owner = self._sessions.pop(pid, (None, None))
            if session is None:
                continue
            if self._parents is not None:
                cgroups.remove(self._parents, session)
            reason = self._failures.pop(number, None) or children.how_ended(status)
            self._unsent_exits.append((owner, {"session": session, "reason": reason}))

    @staticmethod
    def _leave(status):
        """Exits as the zygote did, since nothing here can go on without it."""
        if os.WIFSIGNALED(status):
            os.write(2, b"the preloaded interpreter was ended by signal %d\n" % os.WTERMSIG(status))
        os._exit(os.WEXITSTATUS(status) if os.WIFEXITED(status) else 1)

    def _send_exits(self):
        """Reports ended sessions. Never waits for a template, which may be waiting for this process."""
        notices, self._unsent_exits = self._unsent_exits, []
        for owner, notice in notices:
            if owner is None:
                self._host.notify(SESSION_EXITED, notice)
                continue
            try:
                owner.send(json.dumps({SESSION_EXITED: notice}).encode(), socket.MSG_DONTWAIT)
            except BlockingIOError:
                self._unsent_exits.append((owner, notice))
                continue
            except OSError:
                # The template is gone, as the host knows.
                pass
            owner.close()


def _empty_standard_input():
    """What the host began the wall with would be one open file in the hands of all sessions."""
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    scheduling.use_ordinary_priority()
    _empty_standard_input()
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    os.set_inheritable(CONTROL, False)
    host = channel.Channel(CONTROL)
    message = host.receive()
    if message is None or message.get("method") != "boot":
        sys.exit("the first message must be boot")
    supervisor = Supervisor(host, message["params"])
    gc.collect()
    gc.disable()
    gc.freeze()
    supervisor.serve()
