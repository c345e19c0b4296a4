"""A session in one process without walls: no init, no copies, the same cells.

Runs on every platform, so what only some of them have is asked for where it is used.
"""

from __future__ import annotations

import _thread
import os
import queue
import signal
import sys

from .. import module_finder
from ..cells.interpreter import Interpreter
from ..linux import memory_reserve, scheduling
from ..output import marks
from ..output.pump import OutputPump
from ..pristine import BUILTINS as __builtins__
from ..protocol.channel import SharedChannel
from ..state import snapshot
from ..state.snapshot_stream import Checksum
from . import workspace_files
from .interrupts import HOST_SIGNAL, Interrupts
from .service import NoCheckpoints, Service

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, NoReturn

MEBIBYTE = 1 << 20
STACK_BYTES = 1 << 20
# Above what `open` hands out, so that user code meets the runner's descriptors only on purpose.
FIRST_DESCRIPTOR = 1100
DESCRIPTOR_CEILING = 1280
ABILITIES = ["interrupt", "display"]

_exit = os._exit
_kill_thread = getattr(signal, "pthread_kill", None)
_raise_signal = signal.raise_signal


class Plain(Service):
    """Cells run in the main thread; the others listen to the host and watch the output."""

    def __init__(self, channel: SharedChannel, exchange: int | None = None, has_network: bool = True) -> None:
        super().__init__(Interrupts(lambda: self._posted), NoCheckpoints("plain process"))
        # A file that the host has open too; without a wall its name is enough.
        self._exchange: int = exchange  # type: ignore[assignment]
        self.files = workspace_files.Files(os.getcwd())
        self._requests: queue.SimpleQueue = queue.SimpleQueue()
        self._posted = 0
        self._main = _thread.get_ident()
        self._pump = OutputPump(channel, marks.new_nonce(), self.interrupts.postponed, _place)
        self._connect(channel, self._pump)
        self._use(Interpreter(self._display))
        self.interpreter.network = has_network

    def serve(self) -> NoReturn:
        self.interrupts.take_signals()
        self._reserve.read_limits()
        # Full stacks would count toward the memory limit.
        usual = _thread.stack_size(STACK_BYTES)
        _start(self._pump.watch)
        _start(self._listen)
        _thread.stack_size(usual)
        while True:
            self._handle(self._requests.get())

    def _listen(self):
        while True:
            message = self._channel.receive()
            if message is None:
                _exit(0)
            if message.get("method") is None:
                self.host_calls.settle(message)
                self.wakeup.notify()
            elif message.get("method") == "interrupt":
                self._interrupt(message["params"]["step"])
            else:
                self._requests.put(message)

    def await_answers(self, are_there: Callable[[], bool]) -> None:
        while not are_there():
            self.interrupts.postponed(self.wakeup.wait, are_there)

    def _interrupt(self, step):
        self._posted = step
        if _kill_thread is not None:
            _kill_thread(self._main, HOST_SIGNAL)
        else:
            _raise_signal(HOST_SIGNAL)

    def _write_state(self, params):
        """Into a file, since no copy can be made that would write it to the host."""
        scope = {name: params[name] for name in ("max_bytes", "private", "strict")}
        with open(self._state(params, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "wb") as file:
            file.truncate(0)
            state = Checksum(file.write)
            manifest = snapshot.write(self.interpreter, state.write, **scope)
        return {"forked": False, "manifest": manifest, "written": state.written}

    def _restore(self, params):
        return self._restore_from(self._state(params, os.O_RDONLY), params)

    def _state(self, params, flags):
        """A descriptor at the beginning of the file that was named, else of the one that is shared."""
        if "file" in params:
            return os.open(params["file"], flags, 0o600)
        descriptor = os.dup(self._exchange)
        os.lseek(descriptor, 0, os.SEEK_SET)
        return descriptor

    _methods = dict(Service._methods, write_state=_write_state, restore=_restore, **workspace_files.SERVED)


def _start(work):
    """A thread that user code does not meet in `threading`; without it nothing can go on."""

    def run():
        try:
            work()
        finally:
            _exit(1)

    _thread.start_new_thread(run, ())


def _open_channel(kept=2):
    """Moves the link to the host away from standard input and output."""
    if os.name == "posix":
        os.closerange(3, kept)
        os.closerange(kept + 1, FIRST_DESCRIPTOR)
        _raise_ceiling()
    incoming, outgoing = _place(os.dup(0)), _place(os.dup(1))
    null = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1):
        os.dup2(null, number)
    os.close(null)
    return SharedChannel(incoming, outgoing)


def _raise_ceiling():
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    ceiling = DESCRIPTOR_CEILING if hard == resource.RLIM_INFINITY else min(hard, DESCRIPTOR_CEILING)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (ceiling, hard))
    except (OSError, ValueError):
        pass


def _place(descriptor):
    """The same file under a high number where that can be had, never inherited by programs."""
    if os.name == "nt":
        import msvcrt

        msvcrt.setmode(descriptor, os.O_BINARY)  # type: ignore[attr-defined]
        return descriptor
    import fcntl

    try:
        moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, FIRST_DESCRIPTOR)
    except OSError:
        return descriptor
    os.close(descriptor)
    return moved


def _limit(limits, walled):
    """Limits this process; gives the abilities that tell what is in force."""
    try:
        import resource
    except ImportError:
        return []
    wanted = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_FSIZE: limits["file_mb"] * MEBIBYTE,
        resource.RLIMIT_NOFILE: limits["open_files"],
    }
    if sys.platform == "linux":
        # Elsewhere the kernel takes a limit on memory and does not enforce it.
        wanted[resource.RLIMIT_DATA] = memory_reserve.data_in_use() + limits["memory_mb"] * MEBIBYTE
        wanted.update({resource.RLIMIT_RTPRIO: 0, resource.RLIMIT_NICE: 0})
    if walled:
        # Without a user namespace of its own it would count what else the user runs.
        wanted[resource.RLIMIT_NPROC] = limits["processes"]
    for kind, value in wanted.items():
        _, hard = resource.getrlimit(kind)
        if hard != resource.RLIM_INFINITY:
            value = min(value, hard)
        # The runner's own descriptors lie above the soft limit on files.
        kept = hard if kind == resource.RLIMIT_NOFILE else value
        if sys.platform == "linux" and kind == resource.RLIMIT_DATA:
            value, kept = memory_reserve.limits(value) if hard == resource.RLIM_INFINITY else (value, hard)
        try:
            resource.setrlimit(kind, (value, kept))
        except (OSError, ValueError):
            pass
    in_force = {kind for kind in wanted if 0 <= resource.getrlimit(kind)[0] <= wanted[kind]}
    names = ["limits"] if in_force == set(wanted) else []
    return names + (["memory-limit"] if resource.RLIMIT_DATA in in_force else [])


def main() -> None:
    _main(_open_channel(), None, True, False)


def main_walled(exchange: int, has_network: bool) -> None:
    """Runs a session behind a wall of its own, which handed over a file as the descriptor `exchange`."""
    # The wall has a filter, which this process does not get by without.
    from ..linux import filtered_calls

    filtered_calls.install(counts_memory=True)
    channel = _open_channel(exchange)
    _main(channel, _place(exchange), has_network, True)


def _main(channel, exchange, has_network, walled):
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    scheduling.use_ordinary_priority()
    if sys.platform == "linux":
        from ..linux import syscalls

        syscalls.prctl(syscalls.PR_SET_PDEATHSIG, signal.SIGKILL)
    message = channel.receive()
    if message is None or message.get("method") != "plain_boot":
        sys.exit("the first message must be plain_boot")
    boot = message["params"]
    plain = Plain(channel, exchange, has_network)
    # After its descriptors are in place: the limits close the range in which they lie.
    abilities = ABILITIES + _limit(boot["limits"], walled)
    module_finder.install()
    plain.say_hello(boot, abilities)
    plain.serve()
