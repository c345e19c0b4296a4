"""Searches with Python's re in a forked process, which is killed if a pattern takes too long."""

from __future__ import annotations

import gc
import json
import os
import re
import select
import signal
import sys
import time
from typing import Any

from ...context.texts import lines
from ...pristine import BUILTINS as __builtins__
from .ripgrep import end_process
from .source import TextSource

_fork: Any = getattr(os, "fork", None)
_timer: Any = getattr(signal, "setitimer", None)
_poll: Any = getattr(select, "poll", None)
_exit, _getpid, _clock = os._exit, os.getpid, time.monotonic
_pipe, _read, _write, _close = os.pipe, os.read, os.write, os.close
_signal = signal.signal
_REAL = getattr(signal, "ITIMER_REAL", 0)
_compile, _IGNORE_CASE = re.compile, re.IGNORECASE
_encode, _decode = json.JSONEncoder().encode, json.JSONDecoder().decode
_CAN_FORK = _fork is not None and sys.platform not in ("emscripten", "wasi")
CAN_STOP = _CAN_FORK and _poll is not None and _timer is not None


class OutOfTime(Exception):
    """The search took too long."""


def search(
    source: TextSource, pattern: str, ignore_case: bool, most: int, seconds: float
) -> tuple[list[tuple[int, int, int]], int]:
    """([(part, line, position)] of up to `most` lines, how many there are)."""
    expression = _compile(pattern, _IGNORE_CASE if ignore_case else 0)
    parts = source.parts
    if not CAN_STOP:
        return _matches(parts, expression.search, most)
    reader, writer = _pipe()
    pid, is_writer_open = 0, True
    try:
        pid = _fork()
        if pid == 0:
            _answer(parts, expression.search, most, writer, seconds)
        _close(writer)
        is_writer_open = False
        answer = _decode(_received(reader, seconds).decode("ascii"))
    finally:
        if pid:
            end_process(pid)
        _close(reader)
        if is_writer_open:
            _close(writer)
    if "failed" in answer:
        raise RuntimeError("the search failed: " + answer["failed"])
    return [tuple(hit) for hit in answer["hits"]], answer["total"]


def _matches(parts, search_line, most):
    hits: list[tuple[int, int, int]] = []
    total = 0
    for part, text in enumerate(parts):
        for number, start, end in lines(text):
            # A slice, not bounds: look-around and anchors must not see beyond the line.
            match = search_line(text[start:end])
            if match is not None:
                total += 1
                if len(hits) < most:
                    hits.append((part, number, start + match.start()))
    return hits, total


def _answer(parts, search_line, most, writer, seconds):
    """Runs in the forked process, which a timer ends if the parent does not."""
    try:
        gc.disable()
        _signal(signal.SIGALRM, signal.SIG_DFL)
        _signal(signal.SIGINT, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        _timer(_REAL, seconds + 1)
        try:
            hits, total = _matches(parts, search_line, most)
            answer = {"hits": hits, "total": total}
        except BaseException as error:
            answer = {"failed": type(error).__name__}
        view = memoryview(_encode(answer).encode("ascii"))
        while view:
            view = view[_write(writer, view) :]
    finally:
        _exit(0)


def _received(reader, seconds):
    until, data = _clock() + seconds, []
    poll = _poll()
    poll.register(reader, select.POLLIN)
    while True:
        left = until - _clock()
        if left <= 0 or not poll.poll(left * 1000):
            raise OutOfTime
        piece = _read(reader, 1 << 16)
        if not piece:
            break
        data.append(piece)
    return b"".join(data) or b'{"failed": "its process died"}'
