"""A branch of a session, as init keeps it: its head, its output and its parked checkpoints."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import time

from ..linux import fds, processes
from ..linux.write_tracking import PAGE
from ..output.inline import PipeReader
from .checkpoint import messages
from .checkpoint.page_log import HotPages, PageLog

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, Iterator

    from ..linux.shared_page import SharedPage
    from ..protocol.channel import Channel
    from .checkpoint.twin import PageCheckpoint
    from .own_processes import OwnProcesses
    from .state_writers import Writers

# A head that ends within this time, before a cell has begun, counts as an early death.
EARLY_DEATH_SECONDS = 5
# After so many, one after the other, a checkpoint is forgotten, or the branch given up.
CHECKPOINT_EARLY_DEATHS, BRANCH_EARLY_DEATHS = 3, 12
MAX_LAST_MESSAGES = 16
# What the host can give out, and the end of what a process can map.
MAX_STEP, MAX_ADDRESS = (1 << 32) - 1, (1 << 47) - 1


class Parked:
    """A checkpoint that is a copy, which waits for orders."""

    # It holds them itself.
    pages: dict[int, bytes] = {}

    def __init__(self, step: int, pid: int, link: socket.socket) -> None:
        self.step = step
        self.pid = pid
        self.link = link
        self.early_deaths = 0

    def close(self, ended: bool) -> None:
        """A copy leaves when its link ends; one that a cell has stopped or replaced does not."""
        self.link.close()
        if not ended:
            processes.kill(self.pid)

    def wake(
        self, orders: dict, descriptors: list[int], deadline: float, on_message: Callable[[Parked, bytes], object]
    ) -> int:
        """Has the copy fork; gives the pid that it reports, or -1. A cell may have stopped or replaced the copy."""
        try:
            os.kill(self.pid, signal.SIGCONT)
            data = json.dumps(orders).encode()
            fds.send_with_descriptors(self.link, data, descriptors, socket.MSG_DONTWAIT)
            return self._await_pid(deadline, on_message)
        except OSError:
            return -1

    def _await_pid(self, deadline, on_message):
        """`on_message` gets what the copy still had to say before."""
        poll = select.poll()
        poll.register(self.link, select.POLLIN)
        while poll.poll(max(0, deadline - time.monotonic()) * 1000):
            data = self.link.recv(fds.MAX_MESSAGE_BYTES, socket.MSG_DONTWAIT)
            if not data or time.monotonic() > deadline:
                break
            pid = _member(data, "pid")
            if type(pid) is int:
                return pid
            on_message(self, data)
        return -1


def _member(data, name):
    """A member of a JSON object that user code may have written, or None."""
    try:
        return json.loads(data.decode())[name]
    except (ValueError, LookupError, TypeError, RecursionError):
        return None


class Branch:
    """`generation` counts the heads: each has its own pipes, link and channel."""

    def __init__(
        self,
        number: int,
        slot: int,
        keep: int,
        host: Channel,
        board: SharedPage,
        own_processes: OwnProcesses,
        writers: Writers,
        hides_copies: bool,
    ) -> None:
        self.number = number
        self.slot = slot
        self.generation = 0
        self.pid: int | None = None
        self.killed = False
        self.out_of_memory = False
        self.parked: list[Parked | PageCheckpoint] = []
        # None while there is no head.
        self.output: PipeReader | None = None
        self._keep = keep
        self._host = host
        self._board = board
        self._own_processes = own_processes
        self._writers = writers
        self._hides_copies = hides_copies
        # Why the heads copy themselves, if they have to.
        self.why_copies: str | None = None
        # Its heads write the same ones.
        self._hot_pages = HotPages()
        # None until the head asks for a checkpoint.
        self._page_log: PageLog | None = None
        # None while there is no head, or once it has closed its end.
        self.link: socket.socket | None = None
        self._spare: socket.socket | None = None
        self._opened = 0.0
        self._early_deaths = 0

    def open(self, pipes: list[int], link: socket.socket, nonce: bytes) -> None:
        self._opened = time.monotonic()
        self.link = link
        self.output = PipeReader(self._board, self.slot, pipes, nonce, self._emit, self._settle)

    def close(self) -> None:
        if self.output is not None:
            self.output.close()
            self.output = None
        if self.link is not None:
            self.link.close()
            self.link = None
        page_log = self.detach_page_log()
        if page_log is not None:
            page_log.close()
        self._drop_spare()

    def detach_page_log(self) -> PageLog | None:
        page_log, self._page_log = self._page_log, None
        return page_log

    def read_output_unless_alone(self) -> None:
        """Reads the pipes if processes that earlier heads left running may write to them too."""
        if self._own_processes.count():
            self.output.keep_reading()  # type: ignore[union-attr]

    def finish_output(self) -> int | None:
        return None if self.output is None else self.output.read_rest()

    def note_death(self, step: int | None) -> bool:
        """Counts early deaths: forgets a checkpoint whose heads keep dying; True when the branch is to be given up."""
        if step is not None or time.monotonic() - self._opened > EARLY_DEATH_SECONDS:
            self._early_deaths = 0
            return False
        self._early_deaths += 1
        if self.parked:
            newest = self.parked[-1]
            newest.early_deaths += 1
            if newest.early_deaths >= CHECKPOINT_EARLY_DEATHS:
                self.forget(newest)
        return self._early_deaths >= BRANCH_EARLY_DEATHS

    def inputs(self) -> Iterator[tuple[int, Callable]]:
        if self.link is not None:
            yield self.link.fileno(), self._accept_parked
        if self.output is not None:
            yield from self.output.inputs()
        for parked in self.parked:
            if parked.link is not None:
                yield parked.link.fileno(), lambda parked=parked: self._read_checkpoint(parked)

    def new_spare(self) -> socket.socket:
        """The far end of the link that the next checkpoint will wait on."""
        self._drop_spare()
        self._spare, theirs = fds.socket_pair()
        return theirs

    def _drop_spare(self):
        if self._spare is not None:
            self._spare.close()
            self._spare = None

    def _accept_parked(self):
        try:
            data = self.link.recv(messages.LONGEST + 1, socket.MSG_DONTWAIT)  # type: ignore[union-attr]
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.link.close()  # type: ignore[union-attr]
            self.link = None
        elif len(data) == messages.CHECKPOINT.size:
            self._take_checkpoint(*messages.CHECKPOINT.unpack(data))
        elif len(data) == messages.PARKED.size:
            self._park(*messages.PARKED.unpack(data))
        elif len(data) == messages.WRITING.size:
            writer, pid, _ = messages.WRITING.unpack(data)
            if self._own_processes.is_new_child(pid):
                self._writers.note(writer, pid)

    def _take_checkpoint(self, step, thread_id, actions, is_trimmed):
        """Makes one of the pages that the head has written, or has the head copy itself."""
        if self.pid is None:
            # Its last words: there is nothing left to stop.
            return
        answer = messages.COPY
        try:
            if step > MAX_STEP or thread_id > MAX_ADDRESS:
                raise OSError("step %d and address %#x are not a head's" % (step, thread_id))
            if self._page_log is None:
                self._page_log = PageLog(self.pid, self._hides_copies, self._hot_pages)  # type: ignore[arg-type]
            taken = self._page_log.take(step, thread_id, actions, bool(is_trimmed))
            answer = messages.TRIM
            if taken is not None:
                self._add(taken)
                self._host.notify("parked", {"branch": self.number, "step": step, "lost": taken.lost})
                answer = messages.TAKEN
        except Exception as error:
            # It cannot be stopped or tracked, or has ended meanwhile: whatever a head does must not end init.
            self.why_copies = str(error) or type(error).__name__
            answer = messages.COPY
        try:
            self.link.send(answer, socket.MSG_DONTWAIT)  # type: ignore[union-attr]
        except (OSError, AttributeError):
            # A head that takes no answer is killed when its time is up.
            pass

    def _park(self, step, pid):
        # A cell can say anything here; only what the kernel confirms is a checkpoint.
        if self._spare is not None and self._own_processes.is_new_child(pid):
            spare, self._spare = self._spare, None
            self._add(Parked(step, pid, spare))
        self._send_spare()

    def _add(self, parked):
        self.parked.append(parked)
        # This head has come as far as the end of a cell.
        self._early_deaths = 0
        while len(self.parked) > self._keep:
            self.forget(self.parked[0])

    def _send_spare(self):
        with self.new_spare() as theirs:
            try:
                link, descriptors = self.link, [theirs.fileno()]
                fds.send_with_descriptors(link, messages.SPARE_LINK, descriptors, socket.MSG_DONTWAIT)  # type: ignore[arg-type]
            except OSError:
                # A head that does not take them gets no more checkpoints.
                pass

    def lend(self, kind: bytes, descriptor: int) -> bool:
        """Passes a link or a file on to the head; False when it does not take it."""
        try:
            fds.send_with_descriptors(self.link, kind, [descriptor], socket.MSG_DONTWAIT)  # type: ignore[arg-type]
        except (OSError, AttributeError):
            return False
        finally:
            os.close(descriptor)
        return True

    def expect_parked(self, milliseconds: int) -> bool:
        """Waits a moment for the message of a checkpoint that is being made; whether one came."""
        if self.link is None:
            return False
        poll = select.poll()
        poll.register(self.link, select.POLLIN)
        if not poll.poll(milliseconds):
            return False
        self._accept_parked()
        return True

    def accept_rest(self) -> None:
        """What a head has said before it died, within bounds."""
        for _ in range(MAX_LAST_MESSAGES):
            if not self.expect_parked(0):
                return

    def _read_checkpoint(self, parked):
        """Reads from a checkpoint: first what it could not keep open; the end of the link means it is dead."""
        try:
            data = parked.link.recv(fds.MAX_MESSAGE_BYTES, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.forget(parked)
            return
        self.tell_lost(parked, data)

    def tell_lost(self, parked: Parked, data: bytes) -> None:
        lost = _member(data, "lost")
        if not isinstance(lost, list):
            return
        lost = [str(item)[:200] for item in lost[:64]]
        params = {"branch": self.number, "step": parked.step, "lost": lost}
        self._host.notify("parked", params)

    def forget(self, parked: Parked | PageCheckpoint) -> None:
        if parked in self.parked:
            self._remove(parked, False)

    def forget_pid(self, pid: int) -> None:
        for parked in list(self.parked):
            if parked.pid == pid:
                self._remove(parked, True)

    def _remove(self, parked, ended):
        self.parked.remove(parked)
        parked.close(ended)
        if not ended and all(other.pid != parked.pid for other in self.parked):
            self._own_processes.ending[parked.pid] = None

    def forget_after(self, step: int) -> None:
        for parked in list(self.parked):
            if parked.step > step:
                self.forget(parked)

    def forget_all(self) -> None:
        for parked in list(self.parked):
            self.forget(parked)

    def find(self, step: int) -> Parked | PageCheckpoint | None:
        for parked in self.parked:
            if parked.step == step:
                return parked
        return None

    def logged_bytes(self) -> int:
        """What init itself holds of the checkpoints."""
        return sum(len(parked.pages) for parked in self.parked) * PAGE

    def known(self) -> set[int]:
        return {0, *(parked.step for parked in self.parked)}

    def alive(self) -> list[Parked | PageCheckpoint]:
        return [parked for parked in self.parked if os.path.exists("/proc/%d" % parked.pid)]

    def signal(self, number: int) -> None:
        if self.pid is not None:
            try:
                os.kill(self.pid, number)
            except ProcessLookupError:
                pass

    def _emit(self, step, stream, text, order):
        self._notify("output", step=step, stream=stream, text=text, seq=order)

    def _settle(self, step, order, omitted):
        user_processes = self._own_processes.count()
        if not user_processes and processes.threads(self.pid) == 1:
            self.output.leave_to_head()  # type: ignore[union-attr]
        self._notify("settled", step=step, seq=order, omitted=omitted, processes=user_processes)

    def _notify(self, method, **about):
        self._host.notify(method, dict(about, branch=self.number, generation=self.generation))
