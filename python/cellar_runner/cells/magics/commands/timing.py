"""Measuring: what %time, %timeit and %prun do."""

from __future__ import annotations

import math
import os
import sys
import time
from timeit import Timer
from typing import TYPE_CHECKING, Any

from ....pristine import BUILTINS as __builtins__
from ..errors import UsageError
from ..options import parse_options

if TYPE_CHECKING:
    from ..dispatch import Commands

REPEATS = 7
ENOUGH_SECONDS = 0.04
PRECISION = 3
LONG_SECONDS = 60
NOTED_COMPILE_SECONDS = 0.1

_UNITS = ("s", "ms", "\u03bcs", "ns")
_PARTS = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))
_perf_counter = time.perf_counter


def span(seconds: float, precision: int = PRECISION) -> str:
    if seconds >= LONG_SECONDS:
        parts = []
        for unit, length in _PARTS:
            count, seconds = divmod(seconds, length)
            if count:
                parts.append("{:.0f}{}".format(count, unit))
            if seconds < 1:
                break
        return " ".join(parts)
    order = min(-int(math.floor(math.log10(seconds)) // 3), 3) if seconds > 0 else 3
    return "{:.{}g} {}".format(seconds * 1000**order, precision, _UNITS[order])


def clock() -> tuple[float, float, float]:
    """Wall, user and system time."""
    try:
        from resource import RUSAGE_SELF, getrusage

        user, system = getrusage(RUSAGE_SELF)[:2]
    except ImportError:
        user, system = os.times()[:2]
    return _perf_counter(), user, system


def report(start: tuple[float, float, float]) -> None:
    passed = [max(0.0, end - begin) for end, begin in zip(clock(), start)]
    wall, user, system = passed
    shown = (span(user), span(system), span(user + system))
    print("CPU times: user {}, sys: {}, total: {}".format(*shown))
    print("Wall time: {}".format(span(wall)))


class Timing:
    hides_value = False

    def __init__(self, _commands=None, _arguments=""):
        self._start = 0.0, 0.0, 0.0

    def __enter__(self):
        self._start = clock()
        return self

    def __exit__(self, *_error):
        report(self._start)


class TimeitResult:
    def __init__(self, loops, seconds, compile_time, precision):
        self.loops = loops
        self.repeat = len(seconds)
        self.all_runs = seconds
        self.compile_time = compile_time
        self._precision = precision
        self.timings = [run / loops for run in seconds]
        self.best = min(self.timings)
        self.worst = max(self.timings)

    @property
    def average(self) -> float:
        return math.fsum(self.timings) / self.repeat

    @property
    def stdev(self) -> float:
        mean = self.average
        return math.sqrt(math.fsum((run - mean) ** 2 for run in self.timings) / self.repeat)

    def __str__(self):
        return "{} \u00b1 {} per loop (mean \u00b1 std. dev. of {} run{}, {:,} loop{} each)".format(
            span(self.average, self._precision),
            span(self.stdev, self._precision),
            self.repeat,
            "" if self.repeat == 1 else "s",
            self.loops,
            "" if self.loops == 1 else "s",
        )

    def __repr__(self):
        return "<TimeitResult : {}>".format(self)

    def _repr_pretty_(self, printer, _cycle):
        printer.text(repr(self))


def timeit(commands: Commands, rest: str, scope: dict[str, Any], body: str | None = None) -> TimeitResult | None:
    """%timeit [options] statement; %%timeit [options] setup"""
    given, rest = parse_options(rest, "n:r:tcp:qov:")
    statement, setup = (rest, "pass") if body is None else (body, rest or "pass")
    if not statement.strip():
        if body is None:
            return None
        statement = "pass"
    commands.check(setup)
    commands.check(statement)
    watch = time.time if "t" in given else time.process_time if "c" in given else _perf_counter
    begun = _perf_counter()
    timer = Timer(statement, setup, watch, globals=scope)
    compile_time = _perf_counter() - begun
    loops = _number(given, "n") or _enough_loops(timer)
    seconds = timer.repeat(_number(given, "r") or REPEATS, loops)
    taken = TimeitResult(loops, seconds, compile_time, _number(given, "p") or PRECISION)
    if "q" not in given:
        _tell(taken)
    if "v" in given:
        commands.bind(given["v"], taken)
    return taken if "o" in given else None


def _tell(taken):
    if taken.worst > 4 * taken.best and taken.best > 0 and taken.worst > 1e-6:
        print(
            "The slowest run took {:.2f} times longer than the fastest. This could mean that an "
            "intermediate result is being cached.".format(taken.worst / taken.best)
        )
    print(taken)
    if taken.compile_time > NOTED_COMPILE_SECONDS:
        print("Compiler time: {:.2f} s".format(taken.compile_time))


def _number(given, name):
    if name not in given:
        return 0
    try:
        return int(given[name])
    except ValueError:
        raise UsageError("%timeit -{} takes a whole number".format(name)) from None


def _enough_loops(timer):
    loops = 1
    while timer.timeit(loops) < ENOUGH_SECONDS and loops < 10**9:
        loops *= 10
    return loops


def prun(commands: Commands, rest: str, scope: dict[str, Any], body: str | None = None) -> Any:
    """%prun [options] statement: where its time goes, printed."""
    import cProfile
    import pstats

    given, rest = parse_options(rest, "D:l*rs*T:q")
    statement = rest if body is None else rest + "\n" + body
    profile = cProfile.Profile()
    code = commands.code_of(statement, "<string>")
    ending = ""
    try:
        profile.runctx(code, commands.namespace, scope)
    except SystemExit:
        ending = "*** SystemExit exception caught in code being profiled."
    stats = pstats.Stats(profile, stream=sys.stdout).strip_dirs()
    order = given.get("s") or ["time"]
    stats.sort_stats(*order)
    if "q" not in given:
        stats.print_stats(*map(_limit, given.get("l") or []))
    if ending:
        print(ending)
    if "D" in given:
        stats.dump_stats(given["D"])
        print("\n*** Profile stats marshalled to file {!r}.{}".format(given["D"], ending))
    if "T" in given:
        with open(given["T"], "w", encoding="utf-8") as target:
            pstats.Stats(profile, stream=target).strip_dirs().sort_stats(*order).print_stats()
        print("\n*** Profile printout saved to text file {!r}.{}".format(given["T"], ending))
    return stats if "r" in given else None


def _limit(text):
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
