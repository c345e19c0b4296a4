"""Turns that consist of tool calls: those that do not depend on each other are made side by side."""

from __future__ import annotations

import itertools
from collections import ChainMap
from typing import Any, Callable, Iterator, Mapping

from ..cells import compiler
from ..errors import ChainRefused, HostError
from ..pristine import BUILTINS as __builtins__
from .chain.execute import Invocation, execute
from .chain.expressions import Unsuitable
from .chain.facts import Catalogue, ToolFacts, built_ins
from .chain.plan import Options, Plan, Refusal, plan
from .chain.replay import facts_in, log_of, replay
from .chain.report import report, sequential_report
from .chain.steps import read_steps


class ChainedTurns:
    """Plans each turn before it runs, and keeps the report on the last one."""

    def __init__(
        self,
        order: Mapping[str, Any],
        namespace: Callable[[], dict],
        host: Callable[[], Any],
        can_wait: bool,
        workspace: str,
    ) -> None:
        self._options = Options(order["mode"], order["parallel_tools"], order["parallel_mutations"], can_wait=can_wait)
        self._namespace = namespace
        self._host = host
        self._functions = built_ins(workspace)
        self.report: dict | None = None
        self.log: list[dict] = []

    def begin(self) -> None:
        self.report, self.log = None, []
        toolbox = self._host()
        if toolbox is not None:
            toolbox.sequence = None

    def planned(self, code: str, filename: str) -> Callable[[], Any] | None:
        """What runs the turn instead of its code; None if it is run as any other cell."""
        toolbox = self._host()
        catalogue = Catalogue(self._functions, self._tools())
        made = plan(code, catalogue, self._namespace(), self._options, filename)
        if isinstance(made, Refusal):
            raise ChainRefused(made.message)
        if not isinstance(made, Plan):
            self.report = sequential_report(made)
            if made.chain_id is not None and toolbox is not None:
                toolbox.sequence = ({"id": made.chain_id, "index": index} for index in itertools.count())
            return None
        return lambda: self._run(made, toolbox)

    def replayed(self, code: str, log: list) -> dict | None:
        """Where a turn that consists of tool calls leaves the log of another; no tool is called."""
        # A session that has not seen its tools yet cannot ask for them outside a cell.
        tools = ChainMap(self._tools(), facts_in(log))
        catalogue, namespace = Catalogue(self._functions, tools), self._namespace()
        try:
            # Nothing else may happen: a replay is no cell, and leaves the session as it is.
            read_steps(compiler.read(code, "<replay>", 0)[2], catalogue, namespace, "<replay>")
        except (Unsuitable, SyntaxError, ValueError, RecursionError, MemoryError) as error:
            text = "only a turn that consists of tool calls can be replayed: {}"
            raise ValueError(text.format(error)) from None
        divergence = replay(code, catalogue, namespace, log)
        return None if divergence is None else divergence._asdict()

    def _tools(self):
        toolbox = self._host()
        return {} if toolbox is None else _RegistryFacts(toolbox)

    def _run(self, made, toolbox):
        def call(invocation: Invocation, chain: dict) -> Any:
            if toolbox is None:
                return invocation.invoke()
            toolbox.chain.place = {"id": chain["chain_id"], "index": chain["chain_index"]}
            try:
                return invocation.invoke()
            finally:
                toolbox.chain.place = None

        def batch(invocations: list[Invocation], chains: list[dict]) -> list[tuple[Any, Any]] | None:
            orders = [getattr(one.function, "order", None) for one in invocations]
            if toolbox is None or not all(orders):
                return None
            return _made_at_once(toolbox, invocations, orders, chains, made.options.most_at_once)

        self.report = report(made, [])
        outcome = execute(made, self._namespace(), call, batch)
        self.report, self.log = outcome.report, log_of(outcome.calls)
        if outcome.text:
            print(outcome.text)
        if outcome.error is not None:
            raise outcome.error


def _made_at_once(toolbox, invocations, orders, chains, most):
    """(value, error) of calls of the registry: the host waits for several of them, and nothing here has to."""
    outcomes: list[tuple[Any, Any]] = [(None, None)] * len(invocations)
    calls, finishers = {}, {}
    for at, (invocation, order, chain) in enumerate(zip(invocations, orders, chains)):
        try:
            name, args, finishers[at] = order(invocation.positional, invocation.named)
            calls[at] = name, args, {"id": chain["chain_id"], "index": chain["chain_index"]}
        except Exception as error:
            outcomes[at] = None, error
    values = toolbox.values(list(calls.values()), most)
    for (at, (name, args, _place)), value in zip(calls.items(), values):
        outcomes[at] = _recorded(toolbox, name, args, value, finishers[at])
    return outcomes


def _recorded(toolbox, name, args, value, finish):
    def work():
        if isinstance(value, HostError):
            raise value
        return value

    try:
        return finish(toolbox.record("TOOL", dict(args, tool=name), work)), None
    except Exception as error:
        return None, error


class _RegistryFacts(Mapping):
    """What the host says of its tools, asked for by name when a turn uses one."""

    def __init__(self, toolbox: Any) -> None:
        self._toolbox = toolbox

    def __getitem__(self, name: str) -> ToolFacts:
        spec = self._spec(name)
        if spec is None:
            raise KeyError(name)
        names = tuple(one["name"] for one in spec["parameters"])
        # What says nothing of its effects may touch anything; if it only reads, it may read anything.
        reads, writes = (None if spec[kind] is None else tuple(spec[kind]) for kind in ("reads", "writes"))
        return ToolFacts(spec["read_only"], spec["chain"] or spec["read_only"], False, reads, writes, names)

    def _spec(self, name):
        try:
            return self._toolbox.spec_of(name)
        except HostError:
            # The call itself says what is wrong.
            return None

    def __iter__(self) -> Iterator[str]:
        return iter(self._toolbox.known_names())

    def __len__(self) -> int:
        return len(self._toolbox.known_names())
