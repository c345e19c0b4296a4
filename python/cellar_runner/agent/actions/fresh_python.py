"""run_python_code() and benchmark_run(): code in a fresh session, which shares nothing with this one."""

from __future__ import annotations

import json
from typing import Any, Callable

from ...context.texts import Record
from ...pristine import BUILTINS as __builtins__
from ...values.reprs import is_a, type_name
from ..results import Output

DEFAULT_SECONDS, MOST_SECONDS = 60, 120
MOST_REPEATS = 1000
_MARK = "--- benchmark_run ---"
_read_json, _write_json = json.JSONDecoder().decode, json.JSONEncoder().encode

# What is timed is compiled once; the first run warms up and does not count.
_TIMING = """
import gc, json, resource, time
code = compile(json.loads({code!r}), "<benchmark>", "exec")
def once():
    began = time.perf_counter()
    exec(code, {{"__name__": "__main__"}})
    return (time.perf_counter() - began) * 1000
once()
gc.collect()
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
times = sorted(once() for _ in range({repeat}))
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
at = lambda share: times[min(len(times) - 1, int(share * len(times)))]
print()
print({mark!r} + json.dumps([at(0.5), at(0.99), times[0], (peak - before) / 1024]))
"""


class CodeOutput(Output):
    """What the code wrote. `error` is the last line of its error, or None."""

    error: str | None = None


def run(ask: Callable[[dict], Any], code: Any, stdin_data: Any, timeout: Any) -> CodeOutput:
    for what, value in (("code", code), ("stdin_data", "" if stdin_data is None else stdin_data)):
        if not is_a(value, str):
            raise TypeError("{} must be text, not {}".format(what, type_name(type(value))))
    if type(timeout) not in (int, float) or not 0 < timeout <= MOST_SECONDS:
        raise ValueError("timeout must be at most {} seconds, not {!r}".format(MOST_SECONDS, timeout))
    told = ask({"code": str.__str__(code), "stdin": stdin_data or "", "seconds": timeout})
    made = CodeOutput(told["text"])
    made.error = told["error"]
    return made


def benchmark(ask: Callable[[dict], Any], name: Any, code: Any, repeat: Any) -> Record:
    if not is_a(name, str) or not is_a(code, str):
        raise TypeError("benchmark_run() takes a name and code, both as text")
    if type(repeat) is not int or not 1 <= repeat <= MOST_REPEATS:
        raise ValueError("repeat must be between 1 and {}, not {!r}".format(MOST_REPEATS, repeat))
    timing = _TIMING.format(code=_write_json(str.__str__(code)), repeat=repeat, mark=_MARK)
    told = ask({"code": timing, "stdin": "", "seconds": MOST_SECONDS})
    lines = [line for line in told["text"].split("\n") if line.startswith(_MARK)]
    try:
        median, p99, least, megabytes = map(float, _read_json(lines[-1][len(_MARK) :]))
    except (IndexError, ValueError, TypeError):
        # Code that ends the session, or writes such a line itself.
        message = "{} did not run to its end: {}".format(name, told["error"] or told["text"][-500:])
        raise RuntimeError(message) from None
    return Record(
        name=str.__str__(name),
        repeat=repeat,
        median_ms=round(median, 4),
        p99_ms=round(p99, 4),
        min_ms=round(least, 4),
        memory_mb=round(megabytes, 2),
    )
