"""The host's registry of tools, as Python finds it: `tools.<name>(...)`, `tool_call(name, args)` and others."""

from __future__ import annotations

import inspect
import json
import threading
import types
from typing import Any, Callable, Iterator, NoReturn

from ..errors import MODULE, HostError
from ..module_finder import import_own
from ..pristine import BUILTINS as __builtins__
from .bridge import Bridge, Pending, encoded, single
from .tool_function import made_of
from .workers import Workers

# The host's functions behind all tools.
CALL, SPECS, LIST = "tool_call", "tool_specs", "tool_list"
# Those behind functions of an agent.
FRESH_PYTHON, APPROVAL, DELEGATION, ROUTE = "run_fresh_python", "ask_approval", "delegate_task", "advise_route"
OWN_NAMES = (CALL, SPECS, LIST, FRESH_PYTHON, APPROVAL, DELEGATION, ROUTE)

# Kept, since a cell may replace those of the modules.
_signature_of = inspect.signature
_read_json, _write_json = json.JSONDecoder().decode, json.JSONEncoder(ensure_ascii=False, default=str).encode
# Functions that are in no registry say nothing of themselves.
_UNDECLARED = {"read_only": False, "chain": False, "reads": None, "writes": None}
_UNKNOWN = {"code": "UNKNOWN_TOOL", "retryable": False, "remedy": "list_tools() shows which there are"}


class ToolError(HostError):
    """A tool could not or would not answer.

    `tool` is its name, `code` says why (TIMEOUT, NOT_PERMITTED, ...), `retryable` whether the same call may work later.
    """

    __module__ = MODULE
    tool = ""
    code = "FAILED"
    retryable = False


class ToolList(list):
    """Tools that were found: a list of dicts, shown one a line."""

    __module__ = MODULE

    def __repr__(self):
        if not self:
            return "no tools"
        lines = ["{}  {}".format(one["signature"] or one["name"], one["about"]).rstrip() for one in self]
        return "\n".join(lines)

    def __reduce__(self):
        return list, (list(self),)


class Toolbox:
    """The tools of a session. `record(name, arguments, work)` logs each call, where there is a log."""

    def __init__(self, service: Any, own: dict[str, Callable], offered: list[str]) -> None:
        self._service = service
        self._offered = frozenset(offered)
        self.has_registry = CALL in self._offered
        self._bridge = Bridge(service)
        self._functions: dict[str, Callable] = dict(own)
        # By group, once somebody has asked.
        self._specs: dict[str | None, dict] = {}
        self.record: Callable[[str, dict, Callable[[], Any]], Any] = lambda _name, _arguments, work: work()
        # What the session does itself when a tool of the host says so.
        self.session_functions: Callable[[], dict[str, Callable]] = dict
        # What a chained turn says of the calls that it makes.
        self.chain = threading.local()
        self.workers = Workers()
        # The same of a turn that is run line by line.
        self.sequence: Iterator[dict] | None = None

    def names(self) -> dict[str, Any]:
        """What cells get. The functions have no annotations: help() shows their signatures to models."""

        def tool_call(name, args=None):
            """Call a tool of the host by its name, with a dict of arguments; gives its value.

            Raises ToolError, with `tool`, `code` and `retryable`. `list_tools()` shows which there are.

            >>> tool_call("math_simplify", {"expression": "x^2 + 2x + 1"})
            """
            return self.call("TOOL", name, {} if args is None else args)

        def TOOL(name, /, **args):
            """Call a tool of the host by its name, with arguments by name; gives its value.

            >>> TOOL("math_simplify", expression="x^2 + 2x + 1")
            """
            return self.call("TOOL", name, args)

        def CALL(name, arguments="{}"):
            """Call a tool of the host by its name; arguments and value are JSON texts.

            >>> CALL("math_simplify", '{"expression": "x^2 + 2x + 1"}')
            """
            return self._call_by_text(name, arguments)

        def list_tools(pattern="*"):
            """List the tools: all, those whose name matches a pattern with *, or those about a word.

            >>> list_tools("github.*")
            """
            return self._listed(pattern)

        made = {"tools": ToolGroup("tools", self, None), "ToolError": ToolError}
        for function in (tool_call, TOOL, CALL, list_tools):
            function.__module__, function.__qualname__ = MODULE, function.__name__
            made[function.__name__] = function
        return made

    def _call_by_text(self, name, arguments):
        try:
            args = _read_json(arguments)
        except (TypeError, ValueError, RecursionError) as error:
            raise ValueError("CALL() takes the arguments as a JSON text: {}".format(error)) from None
        value = self.call("CALL", name, args)
        if isinstance(value, Pending):
            return Pending("CALL", _awaited_text(value), lambda arrived: arrived)
        return _write_json(value)

    def _listed(self, pattern):
        if not isinstance(pattern, str):
            raise TypeError("list_tools() takes a str, not {}".format(type(pattern).__name__))
        found = [one for one in self._own_listed() if pattern == "*" or pattern.strip("*") in one["name"]]
        if not self.has_registry:
            return ToolList(found)
        return single(self._bridge, LIST, [{"pattern": pattern}], lambda listed: ToolList([*found, *listed]))

    def _own_listed(self):
        for name, function in self._functions.items():
            about = (function.__doc__ or "").partition("\n")[0]
            yield {"name": name, "signature": name + str(_signature_of(function)), "about": about}

    def call(self, function: str, name: str, args: dict) -> Any:
        """One call, logged as that of `function`."""
        self._check(name, args)
        return self.record(function, dict(args, tool=name), lambda: self.value(name, args))

    def _check(self, name, args):
        if not isinstance(name, str):
            raise TypeError("the name of a tool is a str, not {}".format(type(name).__name__))
        if not isinstance(args, dict) or not all(isinstance(key, str) for key in args):
            raise TypeError("{} takes a dict of arguments by name".format(name))

    def value(self, name: str, args: dict) -> Any:
        """The value of a call that nothing logs."""
        own = self._functions.get(name)
        if own is not None:
            return own(**args)
        if not self.has_registry:
            raise _failure(name, dict(_UNKNOWN, message="there is no tool {!r}".format(name)))
        chain = getattr(self.chain, "place", None) or (None if self.sequence is None else next(self.sequence))
        return self._asked(name, _question(name, args, chain))

    def values(self, calls: list[tuple[str, dict, dict]], most: int) -> list[Any]:
        """The values of calls that have a place in a chain, a few at a time, without a thread; or their errors."""
        inputs = [_question(*call) for call in calls]
        outcomes = self._bridge.ask(CALL, inputs, most)
        return [self._outcome(name, outcome) for (name, _args, _place), outcome in zip(calls, outcomes)]

    def _outcome(self, name, outcome):
        if isinstance(outcome, HostError):
            return _failure(name, _unexpected(outcome))
        try:
            return self._value(name, outcome)
        except HostError as error:
            return error

    def _asked(self, name, question):
        try:
            return single(self._bridge, CALL, [question], lambda told: self._value(name, told))
        except ToolError:
            raise
        except HostError as error:
            raise _failure(name, _unexpected(error)) from None

    def _value(self, name, told):
        if "error" in told:
            raise _failure(name, told["error"])
        if "in_session" in told:
            return self._work(name, told["in_session"])
        for shown in told["displays"]:
            self._service.interpreter.displays.display({shown["mime"]: shown["data"]}, raw=True)
        return told["value"]

    def _work(self, name, order):
        """Does what the host has allowed, where only the session can do it."""
        function = self.session_functions().get(order["function"])
        if function is None:
            message = "{} works only in the REPL of an agent".format(name)
            raise _failure(name, {"code": "UNAVAILABLE", "message": message, "retryable": False, "remedy": None})
        return function(**order["arguments"])

    def ask(self, function: str, name: str, content: dict) -> Any:
        """Asks the host on behalf of one of an agent's functions."""
        if name not in self._offered:
            raise HostError("{}() is not available here: the host does not offer it".format(function))
        return single(self._bridge, name, [content], lambda told: _answer(function, told))

    def specs(self, group: str | None) -> Any:
        if not self.has_registry:
            return {"tools": [], "groups": []}
        return single(self._bridge, SPECS, [{"group": group}], lambda told: _listing(group, told))

    def spec_of(self, name: str) -> dict | None:
        """What the host says of a tool, or None."""
        if name in self._functions:
            parameters = _signature_of(self._functions[name]).parameters
            return dict(_UNDECLARED, parameters=[{"name": one} for one in parameters])
        group = name.rpartition(".")[0] or None
        if group not in self._specs:
            listing = self.specs(group)
            self._specs[group] = {spec["name"]: spec for spec in listing["tools"]}
        return self._specs[group].get(name)

    def known_names(self) -> list[str]:
        return [name for specs in self._specs.values() for name in specs]

    def function(self, spec: dict) -> Callable:
        """A function of Python's with the signature and the text of a tool."""
        return made_of(self, spec)

    def own_functions(self) -> dict[str, Callable]:
        return self._functions


class ToolGroup(types.ModuleType):
    """A group of tools, which asks the host for them when somebody looks. A module, so that help() lists it."""

    # Not among its variables, which a cell may clear.
    __slots__ = ("_toolbox", "_group", "_label")

    def __init__(self, name: str, toolbox: Toolbox, group: str | None) -> None:
        super().__init__(name, "Tools of the host.")
        for slot, value in (("_toolbox", toolbox), ("_group", group), ("_label", name)):
            object.__setattr__(self, slot, value)

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        self._load()
        try:
            return vars(self)[name]
        except KeyError:
            near = _near(name, self.__all__)
            hint = "did you mean {}?".format(" or ".join(near)) if near else "{} lists them".format(self._listing())
            raise AttributeError("{} has no tool {}; {}".format(self._label, name, hint)) from None

    def __setattr__(self, name: str, _value: object) -> NoReturn:
        raise AttributeError("{}.{} cannot be set: tools are the host's; use a variable".format(self._label, name))

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError("{}.{} cannot be deleted: tools are the host's".format(self._label, name))

    def __dir__(self):
        self._load()
        return sorted(self.__all__)

    def __repr__(self):
        text = "<{}: tools of the host; {} lists them, help({}.NAME) explains one>"
        return text.format(self._label, self._listing(), self._label)

    def _listing(self):
        # Not dir(), which the rules for an agent's code refuse.
        return "list_tools()" if self._group is None else "list_tools('{}.*')".format(self._group)

    def __reduce__(self):
        raise TypeError("tools belong to the session and cannot be pickled")

    def _load(self):
        if "__all__" in vars(self):
            return
        toolbox = self._toolbox
        listing = toolbox.specs(self._group)
        if isinstance(listing, Pending):
            raise HostError("tools.NAME needs a session that can wait; use await tool_call(name, args) here")
        made: dict[str, Any] = dict(toolbox.own_functions()) if self._group is None else {}
        for spec in listing["tools"]:
            function = toolbox.function(spec)
            function.__module__ = self._label
            made[function.__name__] = function
        for group in listing["groups"]:
            made[group] = ToolGroup("tools." + group, toolbox, group)
        vars(self).update(made, __name__=self._label, __all__=list(made))


def _question(name, args, chain):
    question = {"name": name, "arguments": encoded("what {} was given".format(name), args)}
    return question if chain is None else dict(question, chain=chain)


def _unexpected(error):
    """What comes before or after the registry, such as an answer that no message can hold."""
    return {"code": "FAILED", "message": str(error), "retryable": False, "remedy": error.hint}


def _failure(name, error):
    failure = ToolError(error["message"])
    failure.tool, failure.code, failure.retryable = name, error["code"], error["retryable"]
    failure.hint = error["remedy"]
    return failure


def _answer(function, told):
    if "error" in told:
        raise _failure(function, told["error"])
    return told["value"]


def _listing(group, told):
    if "error" in told:
        raise _failure(group or "tools", told["error"])
    return told


async def _awaited_text(pending):
    return _write_json(await pending)


def _near(name, known):
    try:
        return import_own("difflib").get_close_matches(name, known, 3, 0.5)
    except Exception:
        # A cell has broken it.
        return []
