"""Serves the host's requests in a process that runs cells; the base of head, plain and Pyodide sessions."""

from __future__ import annotations

import _signal as _signals  # type: ignore[import-not-found]
import errno
import os
import signal
import sys
import time

from ..agent.agent import AgentTools
from ..agent.reserved_names import MISSING, ReservedNames
from ..cells import preloaded_names
from ..cells.interpreter import Interpreter
from ..cells.script import become_script
from ..context.incoming import Incoming
from ..context.toolbox import toolbox
from ..host import bridge
from ..host.wakeup import Wakeup
from ..linux import memory_reserve
from ..output import streams
from ..output.displays import as_message
from ..policy.admission import Admission
from ..pristine import BUILTINS as __builtins__
from ..protocol.channel import INTERNAL_ERROR, METHOD_NOT_FOUND, Broken, Channel
from ..state import snapshot
from ..values import encoding
from . import small_requests

_clock, _exit, _getpid = time.perf_counter, os._exit, os.getpid
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

    from ..host.toolbox import Toolbox
    from ..output.inline import InlineOutput
    from .interrupts import Interrupts

_NOTHING = object()
# The function behind the one of `signal`, which would make enumerations of its result.
_set_mask = getattr(_signals, "pthread_sigmask", None)
_SET_MASK = int(getattr(signal, "SIG_SETMASK", 0))
_dup2 = os.dup2


class NoCheckpoints:
    """What a session without checkpoints answers when one is asked for."""

    def __init__(self, reason: str) -> None:
        self._plan = {"planned": False, "reason": "no checkpoints: " + reason}

    def plan(self, _params: dict) -> dict:
        return self._plan

    def answered(self, _params: dict, _result: dict) -> None:
        """Nothing follows an answer."""

    def context_given(self, _value: object) -> None:
        """Nothing depends on its size."""


class Service:
    """Answers requests with one interpreter.

    `interrupts` tells cells to stop, `checkpoints` plans and makes copies; `_connect` is given where output goes.
    """

    # Whether a cell can be made to wait for the host's answer.
    can_wait = True

    def __init__(self, interrupts: Interrupts, checkpoints: Any) -> None:
        self.interrupts = interrupts
        self.checkpoints = checkpoints
        self._reserve = memory_reserve.Reserve()
        self._channel: Channel = None  # type: ignore[assignment]
        self._pipes: streams.OutputPipes = None  # type: ignore[assignment]
        self._output: streams.OutputPipes | InlineOutput = None  # type: ignore[assignment]
        self._stdout: streams.CellStream = None  # type: ignore[assignment]
        self._stderr: streams.CellStream = None  # type: ignore[assignment]
        self.interpreter: Interpreter = None  # type: ignore[assignment]
        self._given_context: object = _NOTHING
        self._given_step = 0
        self._incoming: Incoming | None = None
        self.agent: AgentTools | None = None
        self.toolbox: Toolbox | None = None
        self.host_calls = bridge.HostCalls()
        self.wakeup = Wakeup()
        self.pid = _getpid()
        self._builtins = dict(toolbox(self.current_context), **bridge.functions(self))
        bridge.publish(self._builtins)

    def _connect(self, channel, pipes, output=None):
        """Takes a channel to the host and the output pipes into use; `output` begins and ends each cell's output."""
        self._channel = channel
        self._pipes = pipes
        self._output = pipes if output is None else output
        self._stdout = streams.CellStream(pipes, 0)
        self._stderr = streams.CellStream(pipes, 1)
        self._restore_descriptors()
        if self.interpreter is not None:
            self._give_streams()

    def _use(self, interpreter):
        interpreter.enter, interpreter.leave = self.interrupts.enter, self.interrupts.leave
        interpreter.free_reserve = self._reserve.open
        interpreter.add_barrier = self._separate
        interpreter.displays.clear = self._clear_output
        interpreter.builtins = self._builtins
        self.interpreter = interpreter
        if self._given_context is not _NOTHING:
            interpreter.namespace["context"] = self._given_context
        if self._stdout is not None:
            self._give_streams()

    def _give_streams(self):
        self.interpreter.streams = (streams.empty_input(), self._stdout, self._stderr)

    def _restore_descriptors(self):
        """Descriptors 1 and 2 lead to the output pipes again."""
        for number, descriptor in enumerate(self._pipes.descriptors, 1):
            _dup2(descriptor, number)

    def say_hello(self, boot: dict, abilities: list[str]) -> None:
        self._channel.say_hello("plain", boot["session"], boot["token"], abilities)

    def ask(self, number: int, name: str, content: object) -> None:
        params = {"step": self.interrupts.step, "name": name, "input": content}
        message = {"jsonrpc": "2.0", "id": number, "method": "host_call", "params": params}
        self.interrupts.postponed(self._channel.send, message)

    def await_answers(self, are_there: Callable[[], bool]) -> None:
        """Waits until `are_there()`. A service with one thread reads the channel itself."""
        while not are_there():
            message = self._channel.receive()
            if message is None:
                _exit(0)
            self.host_calls.settle(message)

    def given_step(self) -> int | None:
        """When the host gave what `context` still is, or None."""
        return self._given_step if self.current_context() is self._given_context else None

    def context_file(self, _value: object) -> tuple[int, int] | None:
        """The open file whose bytes are those of a context, where there is one."""
        return None

    def current_context(self) -> Any:
        return self.interpreter.namespace.get("context")

    def _host_context(self):
        return MISSING if self._given_context is _NOTHING else self._given_context

    def _handle(self, message):
        identifier, method = message.get("id"), message.get("method")
        if method is None:
            self.host_calls.settle(message)
            return
        handler, params = self._methods.get(method), message.get("params")
        if identifier is None:
            return
        if handler is None:
            self._channel.refuse(identifier, METHOD_NOT_FOUND, "unknown method %r" % method)
            return
        try:
            try:
                result = handler(self, params)
            finally:
                # A copy that an object's own code forked must not answer beside the session.
                if _getpid() != self.pid:
                    _exit(0)
            if self._becomes_head(params, result):
                # Made of this state later: another process has answered.
                return
            self._channel.answer(identifier, result)
        except (OSError, Broken) as error:
            _exit(memory_reserve.EXIT_CODE if getattr(error, "errno", 0) == errno.ENOMEM else 1)
        except MemoryError:
            self._reserve.open()
            if method == "execute":
                _exit(memory_reserve.EXIT_CODE)
            self._channel.refuse(identifier, INTERNAL_ERROR, "MemoryError")
        except BaseException as error:
            self._channel.report_error(identifier, error)
        else:
            self.checkpoints.answered(params, result)

    def _becomes_head(self, _params, _result):
        """Called before an answer; True in a process that was made of the state of then."""
        return False

    def _execute(self, params):
        self._begin_cell(params)
        if "argv" in params:
            become_script(self.interpreter.namespace, params["argv"], params["code"])
        started = _clock()
        outcome = self.interpreter.run(params["number"], params["code"])
        self._end_cell(outcome, started)
        outcome["checkpoint"] = self.checkpoints.plan(params)
        return outcome

    def _begin_cell(self, params):
        self.interrupts.step = step = params["step"]
        if self._reserve.is_open:
            self._reserve.close()
        self.interrupts.take_signals()
        if _set_mask is not None:
            _set_mask(_SET_MASK, ())
        self._restore_descriptors()
        self._output.begin_cell(step, params["max_output"])
        if self.agent is not None:
            self.agent.begin_cell(params["code"], params.get("continues", False))

    def _end_cell(self, outcome, started):
        outcome["duration_ms"] = (_clock() - started) * 1000
        if self.agent is not None:
            outcome["agent"] = self.agent.report()
        streams.flush_c_streams()
        self._stdout.finish()
        self._stderr.finish()
        output = self._output.end_cell(self.interrupts.step)
        if output is not None:
            outcome["output"] = output

    def _initialize(self, params):
        for name, value in params["variables"].items():
            self._assign(name, encoding.decode(value), params["step"])
        return {"checkpoint": self.checkpoints.plan(params)}

    def _assign(self, name, value, step):
        if name == "context":
            self.give_context(value, step)
        else:
            self.interpreter.namespace[name] = value

    def give_context(self, value: object, step: int = 0) -> None:
        self._given_step = step
        self.interpreter.namespace["context"] = self._given_context = value
        self.checkpoints.context_given(value)

    def _context_part(self, params):
        """Takes the next bytes of a large context; those at its start begin it anew."""
        incoming, self._incoming = self._incoming, None
        if params["offset"] == 0:
            incoming = Incoming(params["format"], params["total"])
        if incoming is None or incoming.received != params["offset"]:
            raise ValueError("the context part at offset %d does not follow the previous part" % params["offset"])
        for piece in params["attachments"]:
            incoming.feed(piece)
        self._incoming = incoming
        return {}

    def _load_context(self, params):
        incoming, self._incoming = self._incoming, None
        received = 0 if incoming is None else incoming.received
        if incoming is None or received != params["total"]:
            raise ValueError("only %d of the context's %d bytes have arrived" % (received, params["total"]))
        self._assign(params.get("name", "context"), incoming.finish(), params["step"])
        return {"checkpoint": self.checkpoints.plan(params)}

    def _restore_from(self, descriptor, params):
        try:
            report = snapshot.read(descriptor, self.interpreter)
        finally:
            os.close(descriptor)
        if self.agent is not None and self._given_context is not _NOTHING:
            self.interpreter.namespace["context"] = self._given_context
        return {"report": report, "checkpoint": self.checkpoints.plan(params)}

    def _configure(self, params):
        os.environ.update(params["environment"])
        preloaded_names.bind(os.environ)
        if "code_rules" in params:
            rules = params["code_rules"]
            self.interpreter.admission = Admission(rules["policy"], rules["sanitise"])
        if "agent" in params:
            self._add_agent_tools(params["agent"])
        if "tools" in params:
            from ..host import tools

            self._builtins.update(tools.functions(self, params["tools"]))
            if self.agent is not None and self.toolbox is not None:
                self.toolbox.record = self.agent.record
                self.toolbox.session_functions = self.agent.session_functions
        bridge.publish(self._builtins)
        return {}

    def _add_agent_tools(self, options):
        bridges, variables = self._builtins, lambda: self.interpreter.namespace
        reserved = ReservedNames(self._builtins, self._host_context)
        self.agent = AgentTools(self.current_context, options, bridges, variables, self.context_file, reserved)
        self.agent.host = lambda: self.toolbox
        if "chain" in options:
            from ..agent.chained_turn import ChainedTurns

            host = lambda: self.toolbox  # noqa: E731
            workspace = self.agent.workspace
            self.agent.chained = ChainedTurns(options["chain"], variables, host, self.can_wait, workspace)
            self.interpreter.planned = self.agent.chained.planned
        self._builtins.update(self.agent.functions())
        self.interpreter.displays.tells_values = True

    def _get_variable(self, params):
        namespace = self.interpreter.namespace
        if params["name"] not in namespace:
            return {"found": False}
        return {"found": True, "value": encoding.encode(namespace[params["name"]])}

    def _variables(self, _params):
        return {"variables": encoding.describe(self.interpreter.namespace)}

    _methods = {
        "execute": _execute,
        "initialize": _initialize,
        "context_part": _context_part,
        "load_context": _load_context,
        "configure": _configure,
        "get_variable": _get_variable,
        "variables": _variables,
        "ping": lambda _self, _params: {},
        **small_requests.SERVED,
    }

    def _separate(self):
        return self._pipes.sync()

    def _clear_output(self, wait):
        params = {"step": self.interrupts.step, "seq": self._pipes.sync(), "wait": wait}
        self.interrupts.postponed(self._channel.notify, "clear_output", params)

    def _display(self, data, metadata, about=None):
        seq = self._pipes.sync()
        shown, bodies = as_message(data)
        params = dict(shown, step=self.interrupts.step, seq=seq, metadata=metadata)
        params.update(about or {})
        self.interrupts.postponed(self._channel.notify, "display", params, bodies)


def reseed() -> None:
    """A new session must not repeat the random numbers of another one."""
    import random

    random.seed()
    numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
    if numpy is not None:
        numpy.random.seed(int.from_bytes(os.urandom(4), "big"))
    if torch is not None:
        torch.manual_seed(int.from_bytes(os.urandom(4), "big"))
