"""Runs cells in the zygote, so that sessions inherit specialised code and filled caches."""

from __future__ import annotations

import os
import sys

from ..cells.interpreter import Interpreter
from ..output import streams
from ..output.capture import Capture
from ..protocol.channel import Channel
from .interrupts import Interrupts
from .service import NoCheckpoints, Service

ROUNDS = 40
CODE = "print(1 + 1)"
_NONCE = bytes(16)


def warm_up() -> None:
    """Runs the runner's own cell only, and leaves no trace of it."""
    modules = sys.modules["__main__"]
    standard = sys.stdin, sys.stdout, sys.stderr, sys.__stdin__, sys.__stdout__, sys.__stderr__
    saved = [os.dup(number) for number in (1, 2)]
    null = os.open(os.devnull, os.O_WRONLY)
    pipes = [os.pipe(), os.pipe()]
    try:
        _run_cells(null, pipes)
    finally:
        for number, descriptor in enumerate(saved, 1):
            os.dup2(descriptor, number)
        for descriptor in [null, *saved, *pipes[0], *pipes[1]]:
            os.close(descriptor)
        sys.modules["__main__"] = modules
        (sys.stdin, sys.stdout, sys.stderr) = standard[:3]
        (sys.__stdin__, sys.__stdout__, sys.__stderr__) = standard[3:]  # type: ignore[misc]


def _run_cells(null, pipes):
    channel = Channel(null)
    service = Service(Interrupts(int), NoCheckpoints("warm-up"))
    writers = tuple(writer for _, writer in pipes)
    service._connect(channel, streams.OutputPipes(writers, _NONCE))
    service._use(Interpreter(service._display))
    told = {"branch": 0, "generation": 0}
    capture = Capture(
        _NONCE,
        lambda step, stream, text, seq: channel.notify("output", dict(told, text=text)),
        lambda step, order, omitted: channel.notify("settled", dict(told, omitted=omitted)),
    )
    for number in range(1, ROUNDS + 1):
        params = {"step": number, "number": number, "code": CODE, "max_output": 100}
        service._handle({"id": number, "method": "execute", "params": dict(params, checkpoint="off")})
        for which, (reader, _) in enumerate(pipes):
            capture.feed(which, os.read(reader, 65536))
