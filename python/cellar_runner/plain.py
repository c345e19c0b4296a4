"""A session in one process without walls: no init, no copies, the same cells.

Runs on every platform, so what only some of them have is asked for where it is used.
"""

import _thread
import os
import queue
import signal
import sys

from . import marks, snapshot, wire
from .outlet import Outlet
from .pristine import BUILTINS as __builtins__
from .service import Service

MEBIBYTE = 1 << 20
STACK_BYTES = 1 << 20
# Above what `open` hands out, so that user code meets the runner's descriptors only on purpose.
FIRST_DESCRIPTOR = 1100
DESCRIPTOR_CEILING = 1280
ABILITIES = ["interrupt", "display"]
NO_CHECKPOINTS = {"planned": False, "reason": "no checkpoints: plain process"}

_exit = os._exit
_kill_thread = getattr(signal, "pthread_kill", None)
_raise_signal, _SIGINT = signal.raise_signal, signal.SIGINT


class Plain(Service):
    """Cells run in the main thread; the others listen to the host and watch the output."""

    def __init__(self, channel):
        super().__init__()
        self._requests = queue.SimpleQueue()
        self._posted = 0
        outlet = Outlet(channel, marks.new_nonce(), self._undisturbed, _place)
        self._connect(channel, outlet)
        self._new_interpreter()

    def serve(self):
        signal.signal(_SIGINT, self._on_interrupt)
        # Full stacks would count toward the memory limit.
        usual = _thread.stack_size(STACK_BYTES)
        _start(self._pipes.watch)
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
                self.questions.settle(message)
                self.news.tell()
            elif message.get("method") == "interrupt":
                self._interrupt(message["params"]["step"])
            else:
                self._requests.put(message)

    def await_answers(self, are_there):
        while not are_there():
            self._undisturbed(self.news.wait, are_there)

    def _interrupt(self, step):
        self._posted = step
        if _kill_thread is not None:
            _kill_thread(self._main, _SIGINT)
        else:
            _raise_signal(_SIGINT)

    def _interrupted_step(self):
        return self._posted

    def _plan(self, mode):
        return NO_CHECKPOINTS

    def _write_state(self, params):
        """A file will do, for nothing stands between this process and the host's."""
        scope = {name: params[name] for name in ("max_bytes", "private", "strict")}
        with open(params["file"], "wb") as file:
            manifest = snapshot.write(self._interpreter, file.write, **scope)
        return {"forked": False, "manifest": manifest}

    def _restore(self, params):
        return self._restore_from(os.open(params["file"], os.O_RDONLY), params)

    _methods = dict(Service._methods, write_state=_write_state, restore=_restore)


def _start(work):
    """A thread that user code does not meet in `threading`; without it nothing can go on."""

    def run():
        try:
            work()
        finally:
            _exit(1)

    _thread.start_new_thread(run, ())


def _open_channel():
    """Moves the link to the host away from standard input and output."""
    if os.name == "posix":
        os.closerange(3, FIRST_DESCRIPTOR)
        _raise_ceiling()
    incoming, outgoing = _place(os.dup(0)), _place(os.dup(1))
    null = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1):
        os.dup2(null, number)
    os.close(null)
    return wire.SharedChannel(incoming, outgoing)


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

        msvcrt.setmode(descriptor, os.O_BINARY)
        return descriptor
    import fcntl

    try:
        moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, FIRST_DESCRIPTOR)
    except OSError:
        return descriptor
    os.close(descriptor)
    return moved


def _limit(limits):
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
        from . import jail

        # Elsewhere the kernel takes a limit on memory and does not enforce it.
        wanted[resource.RLIMIT_DATA] = jail.data_in_use() + limits["memory_mb"] * MEBIBYTE
    for kind, value in wanted.items():
        _, hard = resource.getrlimit(kind)
        if hard != resource.RLIM_INFINITY:
            value = min(value, hard)
        # The runner's own descriptors lie above the soft limit on files.
        kept = hard if kind == resource.RLIMIT_NOFILE else value
        try:
            resource.setrlimit(kind, (value, kept))
        except (OSError, ValueError):
            pass
    in_force = {kind for kind in wanted if 0 <= resource.getrlimit(kind)[0] <= wanted[kind]}
    names = ["limits"] if in_force == set(wanted) else []
    return names + (["memory-limit"] if resource.RLIMIT_DATA in in_force else [])


def main():
    signal.signal(_SIGINT, signal.SIG_IGN)
    if sys.platform == "linux":
        from . import linux

        linux.prctl(linux.PR_SET_PDEATHSIG, signal.SIGKILL)
    channel = _open_channel()
    message = channel.receive()
    if message is None or message.get("method") != "plain_boot":
        sys.exit("the first message must be plain_boot")
    boot = message["params"]
    plain = Plain(channel)
    # After its descriptors are in place: the limits close the range in which they lie.
    abilities = ABILITIES + _limit(boot["limits"])
    plain.say_hello(boot, abilities)
    plain.serve()
