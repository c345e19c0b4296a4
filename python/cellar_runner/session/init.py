"""Pid 1 of a session: trusted, unreadable, never runs user code. It outlives every head."""

from __future__ import annotations

import os
import select
import signal
import time

from ..linux import children, fds, jail, ptrace, shared_page, syscalls
from ..output import marks
from ..protocol.channel import METHOD_NOT_FOUND, Channel
from ..protocol.connection import open_link
from . import workspace_files
from .branch import Branch
from .egress_relay import Relay
from .head_request import HeadRequests
from .interrupts import HOST_SIGNAL
from .memory_watch import MemoryWatch
from .own_processes import OwnProcesses
from .state_writers import Writers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

    from ..linux.cgroups import SessionGroup

WAKE_SECONDS = 4
RESTORATION_SECONDS = 10
START_ATTEMPTS = 10
START_PAUSE_SECONDS = 0.01
MAX_REASON = 200


class Init:
    """Owns the branches of one session and speaks for them to the host."""

    def __init__(
        self,
        params: dict,
        folder: int,
        group: SessionGroup | None,
        namespaces: jail.Namespaces,
        request_socket: int,
        session_dir: jail.SessionDir | None,
        seccomp: syscalls.SeccompFilter,
    ) -> None:
        self._session = params["session"]
        self._token = params["token"]
        self._keep = params["keep_checkpoints"]
        self._tracks_writes = ptrace.is_supported() and params["track_writes"]
        self._why_copies = "not on this kind of processor" if params["track_writes"] else "as the settings want"
        # Where nothing else counts the memory of copies, init must see them.
        self._hides_copies = group is not None
        self._folder = folder
        self._board = shared_page.SharedPage()
        order = {name: params[name] for name in ("session", "limits", "warm_up")}
        self._head_requests = HeadRequests(request_socket, namespaces, self._board, order)
        self._branches: dict[int, Branch] = {}
        self._own_processes = OwnProcesses(self._branches)
        self._writers = writers = Writers(self._connect, session_dir, self._board, self._own_processes)
        self._on_capture, self._on_end_writer = writers.capture, writers.end
        self._on_lend_writer, self._on_lend_state = writers.lend_writer, writers.lend_state
        files = workspace_files.Files(jail.WORKSPACE)
        self._file_methods = {name: getattr(files, name) for name in workspace_files.METHODS}
        self._watch = MemoryWatch(params["limits"], group, self._branches, params["shared_bytes"])
        self._channel = Channel(self._connect("init", 0, 0))
        self._wake = children.wake_descriptor()
        self._relay = Relay(None if session_dir is None else session_dir.egress, seccomp)
        self._own_processes.writers, self._own_processes.relay = writers, self._relay

    def run(self) -> NoReturn:
        self._start_new_head(self._new_branch(0))
        while self._branches:
            self._turn()
        os._exit(0)

    def _turn(self):
        poll = select.poll()
        poll.register(self._channel.descriptor, select.POLLIN)
        poll.register(self._wake, select.POLLIN)
        owners = {}
        for branch in self._branches.values():
            for descriptor, handler in branch.inputs():
                owners[descriptor] = (branch, handler)
                poll.register(descriptor, select.POLLIN)
        ready = dict(poll.poll(self._poll_timeout()))
        # Output first: what a head wrote before it died must not be lost.
        for descriptor, (_branch, handler) in owners.items():
            if descriptor in ready:
                handler()
        if self._wake in ready:
            os.read(self._wake, 4096)
            self._reap()
        self._relay.ensure()
        if self._channel.descriptor in ready:
            self._listen()
        now = time.monotonic()
        for output in self._outputs():
            output.tick(now)
        if now >= self._watch.due:
            self._watch.check(now, self._own_processes.end_branch)

    def _poll_timeout(self):
        now = time.monotonic()
        captures = [output.capture for output in self._outputs()]
        times = [capture.next_deadline() for capture in captures]
        running = any(capture.step is not None for capture in captures)
        if running or self._own_processes.known_user_processes:
            times.append(self._watch.due)
        times = [moment for moment in times if moment is not None]
        return None if not times else max(0, (min(times) - now) * 1000 + 1)

    def _outputs(self):
        return [branch.output for branch in self._branches.values() if branch.output is not None]

    def _listen(self):
        while True:
            message = self._channel.receive()
            if message is None:
                os._exit(0)
            self._handle(message)
            if not self._channel.has_input:
                return

    def _handle(self, message):
        method, params = message.get("method"), message.get("params", {})
        handler = getattr(self, "_on_" + str(method), None)
        identifier = message.get("id")
        if method in self._file_methods:
            self._channel.answer(identifier, self._file_methods[method](params))
            return
        if handler is None:
            if identifier is not None:
                self._channel.refuse(identifier, METHOD_NOT_FOUND, "unknown method")
            return
        result = handler(self._branches.get(params.get("branch")), params)
        if identifier is not None:
            self._channel.answer(identifier, result)

    def _on_interrupt(self, branch, params):
        if branch is not None:
            self._board.interrupt(branch.slot, params["step"])
            branch.signal(HOST_SIGNAL)

    def _on_kill(self, branch, params):
        if branch is None or branch.pid is None or branch.generation != params["generation"]:
            return
        branch.killed = True
        self._own_processes.end_branch(branch)

    def _on_rollback(self, branch, params):
        if branch is None or params["checkpoint"] not in branch.known():
            return {"done": False, "reason": "there is no checkpoint %d" % params["checkpoint"]}
        branch.forget_after(params["checkpoint"])
        self._end_head(branch)
        restored = self._restore(branch)
        if restored != params["checkpoint"]:
            reason = "checkpoint %d was gone; %d was restored" % (params["checkpoint"], restored)
            instead = {"restored": restored, "generation": branch.generation}
            return {"done": False, "reason": reason, "instead": instead}
        return {"done": True, "generation": branch.generation}

    def _on_fork(self, branch, params):
        parked = branch.find(params["checkpoint"]) if branch is not None else None
        if parked is None and params["checkpoint"] != 0:
            return {"done": False, "reason": "there is no checkpoint of this state"}
        twin = self._new_branch(params["new_branch"])
        if twin is None:
            return {"done": False, "reason": "the session has too many branches"}
        if parked is None:
            self._start_new_head(twin)
        elif not self._wake_checkpoint(twin, parked, True):
            self._remove_branch(twin)
            return {"done": False, "reason": "the checkpoint could not be woken"}
        return {"done": True, "generation": twin.generation}

    def _on_drop(self, branch, _params):
        if branch is not None:
            self._end_head(branch)
            branch.forget_all()
            branch.close()
            self._remove_branch(branch)
        return {}

    def _on_checkpoints(self, branch, _params):
        alive = [] if branch is None else branch.alive()
        listed = [{"step": item.step, "pid": item.pid} for item in alive]
        reason = None if branch is None else branch.why_copies
        if self._tracks_writes and reason is None:
            return {"checkpoints": listed, "method": "pages"}
        return {"checkpoints": listed, "method": "fork", "reason": (reason or self._why_copies)[:MAX_REASON]}

    def _new_branch(self, number):
        slot = self._board.take()
        if slot is None:
            return None
        shared = self._channel, self._board, self._own_processes, self._writers
        branch = Branch(number, slot, self._keep, *shared, hides_copies=self._hides_copies)
        self._branches[number] = branch
        return branch

    def _remove_branch(self, branch):
        del self._branches[branch.number]
        self._board.give_back(branch.slot)

    def _connect(self, role, branch, generation):
        """A new link to the host. The hello is sent here, so that a head has only its own link."""
        names = self._session, self._token
        return open_link(self._folder, role, *names, branch, generation)

    def _open_generation(self, branch):
        """Fresh pipes, link and channel: a killed writer's streams are never used again."""
        pipes = [os.pipe(), os.pipe()]
        for reader, writer in pipes:
            os.set_blocking(reader, False)
            fds.enlarge(writer)
        mine, theirs = fds.socket_pair()
        mine.setblocking(False)
        nonce = marks.new_nonce()
        readers = [reader for reader, _ in pipes]
        branch.open(readers, mine, nonce)
        channel = self._connect("head", branch.number, branch.generation)
        spare = branch.new_spare().detach()
        shared = [os.dup(branch.output.alarm.descriptor), *map(_reopened, readers)]
        descriptors = [channel, theirs.detach(), pipes[0][1], pipes[1][1], spare, *shared]
        return {"slot": branch.slot, "nonce": nonce.hex(), "park": False, "pages": self._tracks_writes}, descriptors

    def _start_new_head(self, branch):
        orders, descriptors = self._open_generation(branch)
        pid = self._head_requests.ask(orders, descriptors, branch.link, self._channel.descriptor)
        if not self._own_processes.is_new_child(pid):
            raise OSError("pid %d, which the new head sent, is not a child of init" % pid)
        branch.pid = pid

    def _wake_checkpoint(self, branch, parked, park_again):
        """Asks a parked copy to fork the next head; False when it is dead."""
        orders, descriptors = self._open_generation(branch)
        orders["park"] = park_again
        deadline = time.monotonic() + WAKE_SECONDS
        pid = parked.wake(orders, descriptors, deadline, branch.tell_lost)
        for descriptor in descriptors:
            os.close(descriptor)
        if not self._own_processes.is_new_child(pid):
            branch.close()
            return False
        branch.pid = pid
        return True

    def _restore(self, branch):
        """Wakes the newest live checkpoint, or starts anew; gives the step restored."""
        deadline = time.monotonic() + RESTORATION_SECONDS
        while branch.parked and time.monotonic() < deadline:
            parked = branch.parked[-1]
            branch.generation += 1
            if self._wake_checkpoint(branch, parked, False):
                branch.read_output_unless_alone()
                return parked.step
            # There may be no place for a process until one that was killed has left.
            if not self._own_processes.collect_ending(deadline):
                branch.forget(parked)
        branch.forget_all()
        for _ in range(START_ATTEMPTS):
            branch.generation += 1
            try:
                self._start_new_head(branch)
                branch.read_output_unless_alone()
                return 0
            except OSError:
                # What a cell left running may have ended the head on its way; it has to give way.
                branch.close()
                self._own_processes.end_branch(branch)
                time.sleep(START_PAUSE_SECONDS)
        raise OSError("no process could be started for the session")

    def _end_head(self, branch):
        """Kills the head and all that it started. It runs nothing any more, so its end is not waited for."""
        self._own_processes.end_branch(branch)
        if branch.pid is not None:
            # To stop tracking memory that is being freed would take as long as freeing it.
            self._own_processes.ending[branch.pid] = branch.detach_page_log()
            branch.pid = None
        branch.finish_output()
        branch.close()
        branch.killed = False

    def _reap(self):
        # Those of now: what dies meanwhile, again and again perhaps, waits for the next turn.
        for pid, status in list(children.ended()):
            self._writers.forget(pid)
            self._relay.ended(pid)
            self._own_processes.note_end(pid)
            for branch in list(self._branches.values()):
                if pid == branch.pid:
                    branch.pid = None
                    self._head_died(branch, pid, status)
                else:
                    branch.forget_pid(pid)

    def _head_died(self, branch, pid, status):
        """Puts the newest checkpoint in the place of a dead head, and tells the host why it died."""
        step = branch.finish_output()
        branch.accept_rest()
        cause = self._death_cause(branch, status)
        was_killed, branch.killed = branch.killed, False
        self._own_processes.end_branch(branch, pid)
        if not was_killed and branch.note_death(step):
            raise OSError("no process of this session stays alive")
        generation = branch.generation
        branch.close()
        restored = self._restore(branch)
        about = {"branch": branch.number, "generation": generation, "step": step, "cause": cause}
        self._channel.notify("died", dict(about, restored=restored, next_generation=branch.generation))

    def _death_cause(self, branch, status):
        out_of_memory = self._watch.kernel_killed() or branch.out_of_memory
        branch.out_of_memory = False
        if os.WIFSIGNALED(status):
            number = os.WTERMSIG(status)
            if number == signal.SIGKILL and (out_of_memory or branch.killed):
                return {"kind": "killed" if branch.killed else "oom"}
            return {"kind": "signal", "signal": number}
        return {"kind": "exit", "code": os.WEXITSTATUS(status)}


def _reopened(reader):
    """The same pipe, opened again: a cell that makes its own reads blocking must not make init's so."""
    return os.open("/proc/self/fd/%d" % reader, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
