"""The built-in functions of an agent: they look through its context, ask models and give its answer."""

from __future__ import annotations

import os
from typing import Any, Callable, NoReturn

from ..errors import ExplorationRequired, HostError, final_exit
from ..host.toolbox import FRESH_PYTHON
from ..pristine import BUILTINS as __builtins__
from ..protocol.agent_functions import NAMES
from ..values.reprs import exact, is_a, type_name
from . import action_functions, final, functions
from .call_log import CallLog
from .findings import Findings
from .literal_answer import is_literal
from .search.grep import SLOW_SECONDS, Search
from .search.hits import Hits
from .search.source import FileBackedSource, TextSource

VERSION = 1
MOST_REFUSALS = 20

_getpid = os.getpid


class AgentTools:
    """The functions of one agent, and the report on what they did in each cell.

    `current_context()` returns the context, `variables()` the namespace of the cells; `bridge` has
    llm_query and llm_query_batched by name. `context_file(context)` returns the open file that holds
    the context, and its offset there, or None. `reserved` are the names that are put back after a cell.
    """

    def __init__(self, current_context, options, bridge, variables, context_file=None, reserved=None):
        self._current_context = current_context
        self._context_file = context_file
        self.variables = variables
        self._bridge = bridge
        self._requires_exploration = bool(options.get("require_exploration_before_final", False))
        self._least_calls = int(options.get("min_exploration_calls", 1))
        self.workspace = options.get("workspace", "/workspace")
        most = int(options.get("max_grep_results", 100))
        self._search = Search(options.get("ripgrep"), most, options.get("slow_seconds", SLOW_SECONDS))
        self._call_log = CallLog()
        self.record = self._call_log.record
        self.findings = Findings()
        self._answers = []
        self._refused = []
        self._pid = _getpid()
        self._reserved = reserved
        # Gives the host's toolbox, if there is one.
        self.host: Callable[[], Any] = lambda: None
        self.role = options.get("role")
        self.log = self._call_log
        self._session_functions: dict[str, Callable] | None = None
        # Plans structured turns, where the host wants them.
        self.chained: Any = None
        # The cells of the model's current response.
        self._codes: list[str] = []

    def begin_cell(self, code: str, continues: bool = False) -> None:
        """`continues` says that the cell was written together with the one before."""
        self._pid = _getpid()
        if self._reserved is not None:
            # Undoes what the host or a thread of an earlier cell has done since.
            self._reserved.uncover(self.variables())
        self._call_log.begin()
        self.findings.begin()
        if self.chained is not None:
            self.chained.begin()
        self._answers = []
        self._refused = []
        if not continues:
            self._codes.clear()
        self._codes.append(code)

    def report(self) -> dict:
        """Reports what the agent did in this cell, and puts its reserved names back."""
        calls, omitted = self._call_log.report()
        reserved = self._reserved
        chained = {} if self.chained is None else {"chain": self.chained.report, "chain_log": self.chained.log}
        return {
            **chained,
            "calls": calls,
            "omitted": omitted,
            "explored": self._call_log.explored,
            "final": self._answers[0] if self._answers else None,
            "literal_answer": is_literal(self._codes),
            "findings": self.findings.new(),
            "refused": list(self._refused),
            "put_back": [] if reserved is None else reserved.put_back(self.variables()),
        }

    def state(self) -> dict:
        """What restore() needs to continue in another session."""
        return dict(self._call_log.state(), version=VERSION, findings=self.findings.state())

    def restore(self, data: Any) -> None:
        if not is_a(data, dict) or data.get("version") != VERSION:
            raise ValueError("not the state of an agent's functions")
        try:
            self._call_log.restore(data)
            self.findings.restore(data["findings"])
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError("the state of the agent's functions is damaged: {}".format(error)) from None

    def context(self, function: str) -> Any:
        """The context, or an error that says how to get one."""
        try:
            value = self._current_context()
        except LookupError:
            value = None
        if value is None:
            message = "there is no context: pass {}() a file, or assign a text to `context`"
            raise NameError(message.format(function))
        if is_a(value, (bytes, bytearray)):
            message = "the context is {}, not text: decode it with text = context.decode(), then use {}"
            raise TypeError(message.format(type_name(type(value)), "search_context(pattern, text=text)"))
        return value

    def grep(self, pattern: Any, file: Any, context_lines: Any, ignore_case: Any) -> Hits:
        return self._search.grep(self._context_source, pattern, file, context_lines, ignore_case)

    def _context_source(self):
        value = self.context("grep")
        found = None if self._context_file is None else self._context_file(value)
        return TextSource(value) if found is None else FileBackedSource(value, *found)

    def finish(self, via: str, value: Any, name: str | None = None) -> NoReturn:
        """Keeps the first answer of a cell and ends the cell."""
        if _getpid() != self._pid:
            raise RuntimeError(via + "() works only in the session's own process, not in a forked one")
        explored = self._call_log.explored
        if self._requires_exploration and explored < self._least_calls:
            left = self._least_calls - explored
            message = "explore the context before you answer: make {} more {} of peek(), grep() or the like"
            message = message.format(left, "call" if left == 1 else "calls")
            self._refuse(via, message)
            raise ExplorationRequired(message)
        try:
            made = final.answer(value, via, name)
        except TypeError as error:
            self._refuse(via, str(error))
            raise
        self._answers.append(made)
        if self._answers[0] is not made:
            self._refuse(via, "this cell has given an answer already, and the first one counts")
        raise final_exit()

    def finish_with(self, name: Any) -> NoReturn:
        try:
            value = final.variable(name, self.variables())
        except (TypeError, NameError) as error:
            self._refuse("FINAL_VAR", str(error))
            raise
        self.finish("FINAL_VAR", value, str.__str__(name))

    def _refuse(self, via, reason):
        if len(self._refused) < MOST_REFUSALS:
            self._refused.append({"name": via, "reason": exact(reason)[:1000]})

    def ask(self, name: str, arguments: dict, query: str, *given: Any) -> Any:
        return self.record(name, arguments, lambda: self._bridge[query](*given))

    def ask_host(self, function: str, name: str, content: dict) -> Any:
        """Asks the host for what only it can do."""
        toolbox = self.host()
        if toolbox is None:
            raise HostError("{}() is not available here: the host does not offer it".format(function))
        return toolbox.ask(function, name, content)

    def call_tool(self, name: str, args: dict) -> Any:
        """The value of a tool of the host's registry."""
        toolbox = self.host()
        if toolbox is None or not toolbox.has_registry:
            raise HostError("{}() is not available here: the host has no registry with it".format(name))
        return toolbox.value(name, args)

    def session_functions(self) -> dict[str, Callable]:
        """Behind tools of the host's catalogue that work on this session."""
        if self._session_functions is None:
            from .actions import session_tools

            ask = lambda content: self.ask_host("python_eval", FRESH_PYTHON, content)  # noqa: E731
            self._session_functions = session_tools.functions(self.workspace, ask)
        return self._session_functions

    def functions(self) -> dict[str, Callable]:
        made = dict(functions.functions(self), **action_functions.functions(self))
        return {name: made[name] for name in NAMES}
