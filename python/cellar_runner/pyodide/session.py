"""A session inside WebAssembly: one thread, and JavaScript in the place of an operating system.

Nothing here may be imported outside Pyodide. The port is an object of JavaScript: it reads and
writes frames, gives what C code wrote, and carries the signals of the host.
"""

from __future__ import annotations

import _signal as _signals  # type: ignore[import-not-found]
import os
import signal
import sys
import time

from .. import module_finder
from ..cells.interpreter import Interpreter
from ..output import marks, streams
from ..pristine import BUILTINS as __builtins__
from ..protocol.channel import Broken, Channel
from ..session import workspace_files
from ..session.interrupts import Interrupts
from ..session.service import NoCheckpoints, Service, reseed
from . import sever_js, single_thread_loop

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

ABILITIES = ["interrupt", "display"]

_now, _signal, _SIGPROF = time.monotonic, _signals.signal, int(signal.SIGPROF)


class PortChannel(Channel):
    def __init__(self, port: Any) -> None:
        super().__init__(-1)
        self._take, self._give = port.read, port.write

    def _receive_frame(self):
        body = self._take()
        return None if body is None else body.to_bytes()

    def _write_all(self, data):
        self._give(data)


class PortOutput(streams.SingleProcessOutput):
    """Output goes to the host where it is written; raw output is taken from JavaScript first."""

    def __init__(self, channel: Channel, nonce: bytes, postponed: Callable, port: Any) -> None:
        super().__init__((os.dup(1), os.dup(2)), channel, nonce, postponed)
        self._take_raw, self._set_partial = port.takeRaw, port.setPartialLine
        self._is_inside = False
        self._has_partial = False

    def begin_cell(self, step: int, max_output: int) -> None:
        _signal(_SIGPROF, lambda *_: self.pass_on())
        super().begin_cell(step, max_output)

    def _bypasses_capture(self):
        return self._is_inside

    def pass_on(self) -> None:
        """Passes on raw output, and lines that stay unfinished."""
        if not self._is_inside:
            self._enter(self._tick)

    def _tick(self):
        self._drain()
        self._capture.tick(_now())

    def _enter(self, work, *arguments):
        return self._postponed(self._work, work, *arguments)

    def _work(self, work, *arguments):
        self._is_inside = True
        try:
            return work(*arguments)
        finally:
            self._is_inside = False
            has_partial = self._capture.next_deadline() is not None
            if has_partial is not self._has_partial:
                self._has_partial = has_partial
                self._set_partial(has_partial)

    def _push(self, descriptor, data):  # type: ignore[override]
        self._drain()
        self._capture.feed(self.descriptors.index(descriptor), data)

    def _drain(self):
        raw = self._take_raw()
        while raw is not None:
            self._capture.feed(raw.which, raw.data.to_bytes())
            raw = self._take_raw()


class Wasm(Service):
    """Cells run in the only thread there is; another one of JavaScript hears the host meanwhile."""

    _pipes: PortOutput

    def __init__(
        self,
        port: Any,
        make_interpreter: Callable[[Callable], Interpreter] = Interpreter,
        interrupts: Interrupts | None = None,
    ) -> None:
        super().__init__(
            interrupts or Interrupts(port.wantedStep, port.see), NoCheckpoints("WebAssembly cannot be forked")
        )
        self.files = workspace_files.Files(os.getcwd())
        channel = PortChannel(port)
        output = PortOutput(channel, marks.new_nonce(), self.interrupts.postponed, port)
        self._connect(channel, output)
        self._use(make_interpreter(self._display))

    def take(self, body: Any) -> None:
        message = self._channel.assemble(body.to_bytes())
        if message is not None:
            self._handle(message)

    def greet(self, body: Any) -> None:
        message = self._channel.assemble(body.to_bytes())
        if message is None or message.get("method") != "plain_boot":
            raise Broken("the first message must be plain_boot")
        self.say_hello(message["params"], ABILITIES)

    _methods = dict(Service._methods, **workspace_files.SERVED)


def open_session(port: Any, kind: type[Wasm] = Wasm) -> Wasm:
    """The session of this interpreter; user code may run from now on."""
    single_thread_loop.install(port.wait)
    # Pyodide adds to the path at each start, also when memory holds an earlier one.
    sys.path[:] = dict.fromkeys(sys.path)
    session = kind(port)
    sever_js.close()
    reseed()
    module_finder.install()
    return session
