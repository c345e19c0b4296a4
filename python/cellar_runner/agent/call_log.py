"""The calls that an agent makes: numbered, measured, and each with what it was made from."""

from __future__ import annotations

import threading
import time

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
    """Keeps the calls of the current cell, and through the session what later ones need of them."""

    def __init__(self):
        self._lock = threading.RLock()
        self._counters = {}
        self._provenance = Provenance()
        self._calls = []
        self._omitted = 0
        self.explored = 0

    def begin(self):
        with self._lock:
            self._calls = []
            self._omitted = 0

    def record(self, name, arguments, work):
        """Does the work of a call and logs it; what it raises is raised."""
        started, parents = self.start_call(arguments)
        try:
            result = work()
        except BaseException as error:
            self.note(name, arguments, parents, started, "", error)
            raise
        self.note(name, arguments, parents, started, result)
        return result

    def start_call(self, arguments):
        """Notes the start of a call: (the time, the results that it was made from)."""
        with self._lock:
            return _clock(), self._provenance.parents(arguments.values())

    def note(self, name, arguments, parents, started, result, error=None):
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
                    "error": None if error is None else _told(error),
                }
            )

    def report(self):
        """(the calls of this cell, how many more there were)."""
        with self._lock:
            return list(self._calls), self._omitted

    def state(self):
        with self._lock:
            return {
                "counters": dict(self._counters),
                "explored": self.explored,
                "results": self._provenance.state(),
            }

    def restore(self, data):
        with self._lock:
            self._counters = {str(key): int(value) for key, value in data["counters"].items()}
            self.explored = int(data["explored"])
            self._provenance.restore(data["results"])


def _shown(result):
    """What a model reads when it is shown the result."""
    if is_a(result, str):
        return str.__str__(result)
    if is_a(result, list) and not is_a(result, Result):
        return "\n".join(str.__str__(item) for item in result if is_a(item, str))
    return repr(result)


def _asked(arguments):
    texts = (str.__str__(value)[:1000] for value in arguments.values() if is_a(value, str))
    return exact("\n".join(texts))


def _short(value):
    """An argument as it is told: a number, or a short text."""
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
    """The first words of a text, on one line."""
    words = " ".join(exact(text[: 4 * PREVIEW]).split())
    if len(words) <= PREVIEW:
        return words
    cut = words[: PREVIEW - 1]
    return (cut[: cut.rfind(" ")] if " " in cut[PREVIEW // 2 :] else cut).rstrip() + "\u2026"


def _told(error):
    text = guarded_str(error) or ""
    return "{}: {}".format(type_name(type(error)), text[:PREVIEW])
