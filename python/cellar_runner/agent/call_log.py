"""The calls of an agent: numbered, timed, each with the earlier calls it was made from."""

from __future__ import annotations

import threading
import time
from typing import Any, Callable

from ..host.bridge import Pending
from ..pristine import BUILTINS as __builtins__
from ..protocol.agent_functions import EXPLORING, PREFIXES
from ..values.reprs import exact, guarded_str, is_a, type_name
from .provenance import Provenance
from .results import Result

REPORTED_CALLS = 200
SHOWN_ARGUMENT = 100
PREVIEW = 200
REMEMBERED = 1 << 16

_clock = time.perf_counter


class CallLog:
    """Keeps the calls of the current cell, and of earlier ones what the links to them need."""

    def __init__(self):
        self._lock = threading.RLock()
        self._counters = {}
        self._provenance = Provenance()
        self._calls = []
        self._omitted = 0
        self.explored = 0

    def begin(self) -> None:
        with self._lock:
            self._calls = []
            self._omitted = 0

    def record(self, name: str, arguments: dict, work: Callable[[], Any]) -> Any:
        """Runs a call and logs it; one that has to be awaited is logged when its result arrives."""
        with self._lock:
            started, parents = _clock(), self._provenance.parents(arguments.values())

        def note(result, error=None):
            self._note(name, arguments, parents, started, result, error)
            return result

        try:
            result = work()
        except BaseException as error:
            note("", error)
            raise
        if not is_a(result, Pending):
            return note(result)

        async def later():
            try:
                return note(await result)
            except BaseException as error:
                note("", error)
                raise

        return Pending(name, later(), lambda arrived: arrived)

    def _note(self, name, arguments, parents, started, result, error):
        text = _shown(result)
        held = result.held() if is_a(result, Result) else ""
        with self._lock:
            number = self._counters.get(PREFIXES[name], 0) + 1
            self._counters[PREFIXES[name]] = number
            identifier = "{}{}".format(PREFIXES[name], number)
            if error is None:
                self.explored += name in EXPLORING
                self._provenance.remember(identifier, exact(text[:REMEMBERED]), _asked(arguments), held)
                if is_a(result, Result):
                    result.mark(identifier)
            if len(self._calls) >= REPORTED_CALLS:
                self._omitted += 1
                return
            self._calls.append(
                {
                    "id": identifier,
                    "name": name,
                    "arguments": {key: _short(value) for key, value in arguments.items()},
                    "size": len(text),
                    "preview": _preview(text),
                    "parents": parents,
                    "seconds": round(_clock() - started, 6),
                    "error": None if error is None else _described(error),
                }
            )

    def report(self) -> tuple[list[dict], int]:
        """(the calls of this cell, how many more there were)."""
        with self._lock:
            return list(self._calls), self._omitted

    def state(self) -> dict:
        with self._lock:
            return {
                "counters": dict(self._counters),
                "explored": self.explored,
                "results": self._provenance.state(),
            }

    def restore(self, data: dict) -> None:
        with self._lock:
            self._counters = {str(key): int(value) for key, value in data["counters"].items()}
            self.explored = int(data["explored"])
            self._provenance.restore(data["results"])


def _shown(result):
    """The result as a model would see it."""
    if is_a(result, str):
        return str.__str__(result)
    if is_a(result, list) and not is_a(result, Result):
        return "\n".join(str.__str__(item) for item in result if is_a(item, str))
    return repr(result)


def _asked(arguments):
    texts = (str.__str__(value)[:1000] for value in arguments.values() if is_a(value, str))
    return exact("\n".join(texts))


def _short(value):
    """An argument as it is reported: a number, or a short text."""
    if value is None or value is True or value is False:
        return value
    if is_a(value, int) and int.bit_length(value) < 53:
        return int(value)
    if is_a(value, str):
        text = exact(str.__str__(value)[: SHOWN_ARGUMENT + 1])
        return text if len(text) <= SHOWN_ARGUMENT else text[: SHOWN_ARGUMENT - 1] + "\u2026"
    if is_a(value, (list, tuple)):
        return "{:,} items".format(len(value))
    return type_name(type(value))


def _preview(text):
    words = " ".join(exact(text[: 4 * PREVIEW]).split())
    if len(words) <= PREVIEW:
        return words
    cut = words[: PREVIEW - 1]
    return (cut[: cut.rfind(" ")] if " " in cut[PREVIEW // 2 :] else cut).rstrip() + "\u2026"


def _described(error):
    return "{}: {}".format(type_name(type(error)), (guarded_str(error) or "")[:PREVIEW])
