"""Measuring and capturing: what %time, %timeit and %%capture do."""

from __future__ import annotations

import io
import sys
import time
from timeit import Timer

from .pristine import BUILTINS as __builtins__

REPEATS = 7
ENOUGH_SECONDS = 0.04
_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "\u00b5s"), (1e-9, "ns"))


def span(seconds):
    """A duration with three digits and its unit."""
    if seconds >= 60:
        minutes, rest = divmod(seconds, 60)
        return "{:.0f} min {:.0f} s".format(minutes, rest)
    for size, unit in _UNITS:
        if seconds >= size:
            return "{:.3g} {}".format(seconds / size, unit)
    return "{:.3g} ns".format(seconds / 1e-9)


def clock():
    """A point in time: wall, and the processor's user and system part."""
    spent = time.process_time()
    return time.perf_counter(), spent


def report(start):
    """Print what passed since a point in time."""
    wall, spent = clock()
    lines = "CPU times: total: {}\nWall time: {}"
    print(lines.format(span(spent - start[1]), span(wall - start[0])))


class Timing:
    """Context that reports how long its body took."""

    hides_value = False

    def __init__(self, _commands=None, _arguments=""):
        self._start = None

    def __enter__(self):
        self._start = clock()
        return self

    def __exit__(self, *_error):
        report(self._start)


class Captured:
    """What %%capture kept."""

    def __init__(self, stdout, stderr, outputs):
        self.stdout = stdout
        self.stderr = stderr
        self.outputs = outputs

    def show(self):
        """Print it after all."""
        sys.stdout.write(self.stdout)
        sys.stderr.write(self.stderr)

    __call__ = show

    def __str__(self):
        return self.stdout


class Capturing:
    """Context that keeps output instead of showing it."""

    hides_value = True

    def __init__(self, commands, arguments=""):
        words = arguments.split()
        names = [word for word in words if not word.startswith("-")]
        self._commands = commands
        self._name = names[0] if names else None
        self._keep_out = "--no-stdout" not in words
        self._keep_err = "--no-stderr" not in words
        self._outputs = []

    def __enter__(self):
        self._streams = sys.stdout, sys.stderr
        if self._keep_out:
            sys.stdout = io.StringIO()
        if self._keep_err:
            sys.stderr = io.StringIO()
        self._restore = self._commands.divert_displays(self._outputs)
        return self

    def __exit__(self, *_error):
        try:
            self._commands.flush_figures()
        finally:
            self._restore()
            kept = sys.stdout, sys.stderr
            sys.stdout, sys.stderr = self._streams
            if self._name is not None:
                self._commands.bind(self._name, Captured(*map(_content, kept), self._outputs))


def _content(stream):
    return stream.getvalue() if isinstance(stream, io.StringIO) else ""


class Measurement:
    """The result of %timeit."""

    def __init__(self, loops, seconds):
        self.loops = loops
        self.repeat = len(seconds)
        self.all_runs = seconds
        self.timings = [run / loops for run in seconds]
        self.best = min(self.timings)
        self.worst = max(self.timings)
        self.average = sum(self.timings) / self.repeat
        squares = sum((run - self.average) ** 2 for run in self.timings)
        self.stdev = (squares / self.repeat) ** 0.5

    def __str__(self):
        return "{} \u00b1 {} per loop (mean \u00b1 std. dev. of {} run{}, {:,} loop{} each)".format(
            span(self.average),
            span(self.stdev),
            self.repeat,
            "" if self.repeat == 1 else "s",
            self.loops,
            "" if self.loops == 1 else "s",
        )

    __repr__ = __str__


def measure(statement, setup, scope, loops=None, repeats=None):
    """Run a statement often enough to tell how long it takes."""
    timer = Timer(statement, setup or "pass", globals=scope)
    if not loops:
        loops = _enough_loops(timer)
    return Measurement(loops, timer.repeat(repeats or REPEATS, loops))


def _enough_loops(timer):
    loops = 1
    while timer.timeit(loops) < ENOUGH_SECONDS and loops < 10**9:
        loops *= 10
    return loops
