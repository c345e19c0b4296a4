"""The log of a chain, and its code run again with the answers of the log in the place of the tools."""

from __future__ import annotations

import builtins
import itertools
from typing import Any, Iterable, NamedTuple

from ...cells import compiler
from ...pristine import BUILTINS as __builtins__
from ...values import encoding
from ...values.reprs import cap, guarded_str, is_a, type_name
from .calls import find_calls
from .execute import Ran
from .facts import ROOT, WRAPPERS, Catalogue, ToolFacts

MOST_ENTRIES = 1_000
LONGEST_NAME = 200
# Of each result, and of all of them: the log is part of one message.
VALUE_CHARACTERS = 100_000
LOG_CHARACTERS, LOG_NODES = 2_000_000, 30_000
# Of the arguments of each call, always the same, since a replay compares them.
ARGUMENTS_CHARACTERS, ARGUMENTS_NODES = 10_000, 200
MESSAGE = 1_000

_exec = exec


class Divergence(NamedTuple):
    """Where a replay leaves its log; None stands for the end of either."""

    chain_index: int
    expected: dict | None
    got: dict | None


class ReplayedError(RuntimeError):
    """A call that failed when the log was made."""


class Diverged(BaseException):
    """Ends a replay; not an Exception, which the code could catch."""


def log_of(calls: Iterable[Ran]) -> list[dict]:
    """The log of the calls of an outcome."""
    entries = []
    left = LOG_CHARACTERS, LOG_NODES
    for invocation, value, error, _elapsed in itertools.islice(calls, MOST_ENTRIES):
        step = invocation.step
        arguments = _wrapped if step.is_wrapped else _arguments
        args = arguments(step.parameters, invocation.positional, invocation.named)
        outcome, left = _outcome(value, error, left)
        tool = step.tool[:LONGEST_NAME]
        entries.append({"chain_index": step.chain_index, "tool": tool, "args": args, "outcome": outcome})
    return entries


def _outcome(value, error, left):
    """What a call gave, and how many characters and nodes are left for the others."""
    if error is not None:
        return {"error": _described(error)}, left
    characters, nodes = left
    limit = min(VALUE_CHARACTERS, characters)
    encoder = encoding.Encoder(limit, nodes)
    outcome = {"value": encoder.encode(value, 0)}
    unused, nodes = encoder.left()
    if encoder.loss is not None:
        outcome["loss"] = encoder.loss
    return outcome, (characters - limit + unused, nodes)


def _described(error):
    return {"type": type_name(type(error)), "message": cap(guarded_str(error) or "", MESSAGE)}


def facts_in(log: list[dict]) -> dict[str, ToolFacts]:
    """As much of its tools as a log tells: their names, and those of their arguments in order."""
    found: dict[str, dict[str, None]] = {}
    for entry in log[:MOST_ENTRIES]:
        args = entry["args"]
        named = args if is_a(args, dict) and encoding.TAG not in args else {}
        found.setdefault(entry["tool"], {}).update(dict.fromkeys(named))
    return {tool: ToolFacts(parameters=tuple(names)) for tool, names in found.items()}


def replay(code: str, catalogue: Catalogue, namespace: dict, log: list[dict]) -> Divergence | None:
    """Runs the code of a turn line by line, in variables of its own, and calls no tool; None if all is as it was."""
    replaying = _Replay(catalogue, log)
    variables = dict(namespace, __builtins__=builtins)
    try:
        tree = compiler.read(code, "<replay>", 0)[2]
        compiled = compile(tree, "<replay>", "exec", 0, True)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ValueError("a turn that awaits, or is no Python, cannot be replayed: {}".format(error)) from None
    # Whoever replays a turn wants to see nothing of it again.
    variables.update(replaying.stand_ins(_called(tree, catalogue)), print=lambda *_values, **_options: None)
    try:
        _exec(compiled, variables)
    except Diverged:
        return replaying.divergence
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return replaying.after_failure(error)
    return replaying.after_end()


def _called(tree, catalogue):
    return {call.tool for call in find_calls(tree, catalogue) if call.is_built_in}


class _Replay:
    def __init__(self, catalogue, log):
        self._catalogue = catalogue
        self._entries = {entry["chain_index"]: entry for entry in log[:MOST_ENTRIES]}
        self._at = 0
        self._failure = None
        self.divergence: Divergence | None = None

    def stand_ins(self, names: Iterable[str]) -> dict:
        """What the code finds under the names of tools."""
        found: dict[str, Any] = {name: self._function(name, self._catalogue.functions[name]) for name in names}
        for wrapper in WRAPPERS:
            found[wrapper] = self._wrapper
        found[ROOT] = _Group(self, "")
        return found

    def _function(self, name, facts):
        def stand_in(*positional, **named):
            return self.answer(name, _arguments(facts.parameters, positional, named))

        return stand_in

    def _wrapper(self, *positional, **named):
        tool = positional[0] if positional else named.get("name")
        return self.answer(str(tool), _wrapped((), positional, named))

    def member(self, path: str) -> Any:
        facts = self._catalogue.tools.get(path)
        return _Group(self, path) if facts is None else self._function(path, facts)

    def answer(self, tool: str, args: Any) -> Any:
        at, self._at = self._at, self._at + 1
        expected = self._entries.get(at)
        got = {"tool": tool[:LONGEST_NAME], "args": args}
        if expected is None or any(expected.get(key) != value for key, value in got.items()):
            raise self._diverged(at, expected, got)
        outcome = expected["outcome"]
        if "error" in outcome:
            kind, message = outcome["error"]["type"], outcome["error"]["message"]
            self._failure = ReplayedError("{}: {}".format(kind, message))
            raise self._failure
        if "loss" in outcome:
            missing = "the log has only part of the result: " + outcome["loss"]
            raise self._diverged(at, expected, dict(got, missing=missing))
        return encoding.decode(outcome["value"])

    def _diverged(self, at, expected, got):
        self.divergence = Divergence(at, expected, got)
        return Diverged()

    def after_failure(self, error: BaseException) -> Divergence | None:
        expected = self._entries.get(self._at)
        if error is self._failure or expected is None:
            # A turn that failed between two calls has no entry of the second.
            return None
        return Divergence(self._at, expected, {"error": _described(error)})

    def after_end(self) -> Divergence | None:
        """The log may have no more calls than the code made."""
        expected = self._entries.get(self._at)
        return None if expected is None else Divergence(self._at, expected, None)


class _Group:
    """Stands for `tools`, or for a group of them."""

    def __init__(self, replaying: _Replay, path: str) -> None:
        self.__replaying, self.__path = replaying, path

    def __getattr__(self, name: str) -> Any:
        return self.__replaying.member(self.__path + "." + name if self.__path else name)


def _wrapped(_parameters, positional, named):
    """What follows the name of the tool: the arguments themselves, or all of them as one dict or text."""
    if len(positional) == 2 and not named and is_a(positional[1], dict):
        return _arguments((), (), positional[1])
    return _arguments((), positional[1:], {key: value for key, value in named.items() if positional or key != "name"})


def _arguments(parameters, positional, named):
    """By name where that is known, else by number."""
    names = itertools.chain(parameters, map(str, itertools.count(len(parameters))))
    arguments = dict(zip(names, positional))
    arguments.update((str(name), value) for name, value in named.items())
    return encoding.Encoder(ARGUMENTS_CHARACTERS, ARGUMENTS_NODES).encode(arguments, 0)
