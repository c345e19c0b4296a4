"""The process behind the walls that runs cells, and of which checkpoints are copies."""

from __future__ import annotations

import os
import select
import threading
import time
from functools import partial

from .. import module_finder
from ..cells.interpreter import Interpreter
from ..errors import HostError
from ..linux import fds, jail, syscalls
from ..output import streams
from ..output.inline import InlineOutput
from ..protocol import channel
from ..state import snapshot_stream
from . import warmup
from .checkpoint import messages
from .checkpoint.copies import fork_without_signals
from .checkpoint.obstacles import Obstacles, count_threads
from .checkpoint.schedule import Schedule
from .interrupts import Interrupts
from .service import Service, reseed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, NoReturn

    from ..context.mapped_text import Backing
    from ..linux.shared_page import SharedPage

# The step of warm-up cells: should init have to pass on what they write, it belongs to no cell.
WARMUP_STEP = 0xFFFFFFFF
WARMUP_CELL = {"step": WARMUP_STEP, "number": 0, "code": warmup.CODE, "max_output": 0, "checkpoint": "off"}

SPIN_NANOSECONDS = 400_000

_exit, _now = os._exit, time.monotonic_ns
_main_thread, _native_id = threading.main_thread(), threading.get_native_id


class Head(Service):
    def __init__(self, has_network: bool = False) -> None:
        # The page and the slot on it that tell the step are known when a session takes this head.
        super().__init__(Interrupts(int), Schedule())
        self.has_network = has_network
        self._board: SharedPage = None  # type: ignore[assignment]
        self._soft_files = 0
        self._is_busy = False
        self._inbox: list[dict] = []
        self._main = threading.get_ident()
        self._reading = threading.Lock()
        self._reader: int | None = None
        # The file that a large context lies on.
        self.backing: Backing | None = None
        # Made in the zygote, so that sessions share its pages.
        self._new_interpreter()

    def _new_interpreter(self):
        self._use(Interpreter(self._display))
        self.interpreter.network = self.has_network

    def join_session(self, board: SharedPage, soft_files: int, hides_copies: bool) -> None:
        """Takes over what all heads of the session have in common."""
        self._board = board
        self._soft_files = soft_files
        self.checkpoints.copies.hides_copies = hides_copies
        if self.backing is not None:
            self.backing.open_anew()

    def attach(self, orders: dict, descriptors: list[int]) -> None:
        """Takes over the channel, the link to init and the output pipes of a generation."""
        fds.open_descriptor_range()
        fds.place_all(descriptors, fds.CHANNEL)
        fds.place(os.open("/proc/loadavg", os.O_RDONLY), fds.LAST_PID)
        fds.place(os.open(os.devnull, os.O_PATH), fds.DEAD)
        fds.close_descriptor_range(self._soft_files)
        self.checkpoints.copies.asks_init = orders["pages"]
        self.interrupts.wanted_step = partial(self._board.interrupted, orders["slot"])
        self.pid = os.getpid()
        # What `threading` would do itself after a fork that it knows of.
        _main_thread._native_id = _native_id()  # type: ignore[attr-defined]
        self._inbox.clear()
        nonce = bytes.fromhex(orders["nonce"])
        pipes = streams.OutputPipes((fds.OUT, fds.ERR), nonce)
        output = self.checkpoints.output = InlineOutput(self._board, orders["slot"], nonce, pipes)
        self._connect(channel.SharedChannel(fds.CHANNEL), pipes, output)

    def prepare(self, warm_up: bool) -> None:
        """Makes ready for user code; warm-up cells make the first real cell faster."""
        syscalls.prctl(syscalls.PR_SET_DUMPABLE, 1)
        os.chdir(jail.WORKSPACE)
        if warm_up:
            for _ in range(2):
                self._execute(WARMUP_CELL)
            self.interrupts.step = 0
            self._new_interpreter()
        reseed()
        module_finder.install()
        self.checkpoints.obstacles = Obstacles()
        self._reserve.read_limits()

    def serve(self) -> NoReturn:
        self.interrupts.take_signals()
        checkpoints = self.checkpoints
        while True:
            if checkpoints.is_due:
                self._park()
            began = _now()
            if self._is_busy:
                self._spin_for_input(began + SPIN_NANOSECONDS)
            if checkpoints.pending is not None:
                self._park()
            # A thread that still waits for an answer may be reading, and leaves here what is not for it.
            with self._reading:
                if not self._inbox:
                    self._receive()
            came = _now()
            self._is_busy = came - began < SPIN_NANOSECONDS
            if self._inbox:
                checkpoints.begin(came)
                self._handle(self._inbox.pop(0))
            else:
                self.wakeup.notify()

    def await_answers(self, are_there: Callable[[], bool]) -> None:
        """One of the threads that wait reads for all of them."""
        while not are_there():
            self.interrupts.postponed(self._read_or_wait, are_there)

    def _read_or_wait(self, are_there):
        thread = threading.get_ident()
        if not self._reading.acquire(False):
            if self._reader == thread:
                raise HostError("a signal handler cannot ask while the cell waits for an answer")
            self.wakeup.wait(are_there)
            return
        self._reader = thread
        try:
            if not are_there():
                self._await_input()
                self._receive()
        finally:
            self._reader = None
            self._reading.release()
            self.wakeup.notify()

    def _await_input(self):
        """The one place in which a reader may be interrupted: nothing of a message is lost here."""
        if self._channel.has_input:
            return
        poll = select.poll()
        poll.register(fds.CHANNEL, select.POLLIN)
        if self._reader != self._main:
            poll.poll()
            return
        try:
            self.interrupts.arm()
            poll.poll()
        finally:
            self.interrupts.disarm()

    def _receive(self):
        message = self._channel.receive()
        if message is None:
            _exit(0)
        if message.get("method") is None:
            self.host_calls.settle(message)
        else:
            self._inbox.append(message)

    def _has_request(self, milliseconds):
        """Whether one has come, or does within that time."""
        if self._inbox or self._channel.has_input:
            return True
        poll = select.poll()
        poll.register(fds.CHANNEL, select.POLLIN)
        return bool(poll.poll(milliseconds))

    def _spin_for_input(self, until):
        """Polls without sleeping: where requests follow each other at once, that saves a wake-up."""
        while not self._has_request(0) and _now() < until:
            pass

    def context_file(self, value: object) -> tuple[int, int] | None:
        """(descriptor, how many bytes of a first line stand before it) of the file of a context."""
        descriptor = None if self.backing is None else self.backing.descriptor_for(value)
        return None if descriptor is None else (descriptor, self.backing.lead)  # type: ignore[union-attr]

    def _write_state(self, params):
        """In a copy, unless threads could hold locks that it would wait for."""
        copies = self.checkpoints.copies
        descriptor = copies.borrow(messages.WRITER)
        try:
            forked = count_threads() == 1
            if forked:
                pid = fork_without_signals()
                if pid == 0:
                    snapshot_stream.write_as_copy(self.interpreter, descriptor, params)
                copies.tell_writer(params["writer"], pid)
            else:
                snapshot_stream.write_state(self.interpreter, descriptor, params)
        finally:
            os.close(descriptor)
        return {"forked": forked}

    def _restore(self, params):
        return self._restore_from(self.checkpoints.copies.borrow(messages.STATE), params)

    _methods = dict(Service._methods, write_state=_write_state, restore=_restore)

    def _becomes_head(self, params, result):
        if not self.checkpoints.wants_before_answer(params, result):
            return False
        self.checkpoints.pending = params
        is_new = self._take_checkpoint()
        if not is_new and not self.checkpoints.is_held:
            result["checkpoint"] = {"planned": True}
        return is_new

    def _park(self):
        """Makes the pending checkpoint when no request comes."""
        checkpoints = self.checkpoints
        if not self._has_request(checkpoints.patience) or checkpoints.is_due:
            self._take_checkpoint()

    def _take_checkpoint(self):
        """True in a process that is made of it later, and goes on as the new head."""
        checkpoints = self.checkpoints
        is_new = False
        while True:
            pending = checkpoints.pending
            woken = checkpoints.take()
            if woken is None:
                return is_new
            is_new = True
            orders, descriptors = woken
            if "write" in orders:
                snapshot_stream.write_as_copy(self.interpreter, descriptors[0], orders["write"])
            self.interpreter.rebuild_event_loop()
            self.attach(orders, descriptors)
            self.interrupts.take_signals()
            if not orders["park"]:
                return True
            checkpoints.pending = pending
