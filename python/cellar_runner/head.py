"""The process that runs cells. Everything user code can reach is here and nowhere else."""

import ctypes
import os
import signal
import sys
import time

from . import family, jail, linux, memory, parking, streams, values, wire
from .interpreter import Interpreter

REHEARSAL = "print(1 + 1)\n1 + 1"
NO_PLAN = {"planned": False}

_clock, _exit, _getpid = time.perf_counter, os._exit, os.getpid
_flush_c_streams = ctypes.CDLL(None).fflush


class Head:
    """Serves one branch of a session over its channel."""

    def __init__(self, board, soft_files):
        self._board = board
        self._soft_files = soft_files
        self._branch = 0
        self._step = 0
        self._armed = False
        self._checkpointer = parking.Checkpointer()
        self._baseline = 0
        self._channel = None
        self._pipes = None
        self._stdout = None
        self._stderr = None
        self._interpreter = None

    def adopt(self, orders, descriptors):
        """Takes over the channel, the link to init and the output pipes of a generation."""
        family.open_descriptor_range()
        for descriptor, number in zip(
            descriptors, (family.CHANNEL, family.LINK, family.OUT, family.ERR)
        ):
            family.place(descriptor, number)
        family.close_descriptor_range(self._soft_files)
        self._branch = orders["branch"]
        self._channel = wire.Channel(family.CHANNEL)
        self._pipes = streams.OutputPipes(
            (family.OUT, family.ERR), bytes.fromhex(orders["nonce"])
        )
        self._stdout = streams.CellStream(self._pipes, 0)
        self._stderr = streams.CellStream(self._pipes, 1)
        self._restore_descriptors()
        if self._interpreter is not None:
            self._give_streams()

    def prepare(self, rehearse):
        """Makes the namespace; a rehearsal lets the first real cell find everything warm."""
        linux.prctl(linux.PR_SET_DUMPABLE, 1)
        os.chdir(jail.WORKSPACE)
        self._new_interpreter()
        if rehearse:
            for _ in range(2):
                self._run({"step": 0, "number": 0, "code": REHEARSAL, "max_output": 0})
            self._new_interpreter()
        _reseed()
        self._baseline = memory.anonymous_bytes()

    def _new_interpreter(self):
        interpreter = Interpreter(self._display)
        interpreter.enter, interpreter.leave = self._arm, self._disarm
        self._interpreter = interpreter
        self._give_streams()

    def _give_streams(self):
        empty = open(os.devnull, "r")
        self._interpreter.streams = (empty, self._stdout, self._stderr)

    def serve(self):
        signal.signal(signal.SIGINT, self._on_interrupt)
        while True:
            message = self._channel.receive()
            if message is None:
                _exit(0)
            self._handle(message)

    def _handle(self, message):
        identifier, method = message.get("id"), message.get("method")
        handler = self._methods.get(method)
        if identifier is None:
            return
        if handler is None:
            self._channel.refuse(identifier, wire.METHOD_NOT_FOUND, "unknown method %r" % method)
            return
        params = message.get("params")
        try:
            result = handler(self, params)
            self._channel.answer(identifier, result)
        except (OSError, wire.Broken):
            _exit(1)
        except BaseException as error:
            text = "%s: %s" % (type(error).__name__, error)
            self._channel.refuse(identifier, wire.INTERNAL_ERROR, text[:4000])
            return
        plan = result.get("checkpoint", NO_PLAN)
        if plan["planned"]:
            self._checkpoint(params["step"], params["checkpoint"])

    def _checkpoint(self, step, mode):
        if parking.rest(self._channel) and mode == "idle":
            return
        self.park(step)

    def park(self, step):
        """Parks a copy; in a copy that was woken, goes on as the new head."""
        while True:
            try:
                woken = self._checkpointer.park(step)
            except OSError:
                # No process or descriptor left: the next result tells that there is none.
                return
            if woken is None:
                return
            orders, descriptors = woken
            self._interpreter.rebuild_event_loop()
            self.adopt(orders, descriptors)
            signal.signal(signal.SIGINT, self._on_interrupt)
            if not orders["park"]:
                return

    def _execute(self, params):
        outcome = self._run(params)
        outcome["checkpoint"] = self._plan(params["checkpoint"])
        return outcome

    def _run(self, params):
        self._step = step = params["step"]
        signal.signal(signal.SIGINT, self._on_interrupt)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        self._restore_descriptors()
        self._pipes.begin(step, params["max_output"], parking.background_threads())
        started = _clock()
        outcome = self._interpreter.run(params["number"], params["code"])
        outcome["duration_ms"] = (_clock() - started) * 1000
        _flush_c_streams(None)
        self._stdout.finish()
        self._stderr.finish()
        self._pipes.end(step)
        return outcome

    def _plan(self, mode):
        if mode == "off":
            return NO_PLAN
        reason = parking.obstacle(self._baseline)
        return {"planned": True} if reason is None else {"planned": False, "reason": reason}

    def _initialize(self, params):
        for name, value in params["variables"].items():
            self._interpreter.namespace[name] = values.decode(value)
        return {"checkpoint": self._plan(params["checkpoint"])}

    def _configure(self, params):
        os.environ.update(params["environment"])
        return {}

    def _get_variable(self, params):
        namespace = self._interpreter.namespace
        if params["name"] not in namespace:
            return {"found": False}
        return {"found": True, "value": values.encode(namespace[params["name"]])}

    def _variables(self, _params):
        return {"variables": values.describe(self._interpreter.namespace)}

    _methods = {
        "execute": _execute,
        "initialize": _initialize,
        "configure": _configure,
        "get_variable": _get_variable,
        "variables": _variables,
    }

    def _display(self, data, metadata):
        seq = self._pipes.sync()
        texts = {mime: body for mime, body in data.items() if isinstance(body, str)}
        binaries = [(mime, body) for mime, body in data.items() if isinstance(body, bytes)]
        params = {
            "step": self._step,
            "seq": seq,
            "data": texts,
            "attachments": [{"mime": mime, "bytes": len(body)} for mime, body in binaries],
            "metadata": metadata,
        }
        armed, self._armed = self._armed, False
        try:
            self._channel.notify("display", params, [body for _, body in binaries])
        finally:
            self._armed = armed

    def _restore_descriptors(self):
        os.dup2(family.OUT, 1)
        os.dup2(family.ERR, 2)

    def _arm(self):
        self._armed = True
        self._on_interrupt()

    def _disarm(self):
        self._armed = False

    def _on_interrupt(self, _number=None, _frame=None):
        if self._armed and self._step and self._board.read(self._branch) == self._step:
            raise KeyboardInterrupt


def _reseed():
    """A new session must not repeat the random numbers of another one."""
    import random

    random.seed()
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(int.from_bytes(os.urandom(4), "big"))
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.manual_seed(int.from_bytes(os.urandom(4), "big"))

