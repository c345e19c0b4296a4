"""Runs a plan, and leaves the variables as the cell would have, run line by line."""

from __future__ import annotations

import functools
import threading
import time
from typing import Any, Callable, NamedTuple

from ...pristine import BUILTINS as __builtins__
from ...values.reprs import cap, guarded_str, is_a, text_of
from .crew import Crew
from .plan import Plan, Wave
from .report import describe_wave, report
from .steps import BIND, CALL, CAPTURE, FUNCTION, NAMED, POSITIONAL, PRINT, SHOW, Step

# Characters that are shown of a result that is not printed.
PREVIEW = 1_500
PRINTED = 10_000_000
SEPARATOR = "\n---\n"

_clock, _eval = time.perf_counter, eval


class Invocation(NamedTuple):
    """A call with its function and the values of its arguments."""

    step: Step
    function: Any
    positional: tuple
    named: dict

    def invoke(self) -> Any:
        parts = {FUNCTION: self.function, POSITIONAL: self.positional, NAMED: self.named}
        return _eval(self.step.call_code, parts)


# Makes the call that it is given; `chain` tells the host which call it is.
Hook = Callable[[Invocation, dict], Any]


class Ran(NamedTuple):
    """A call that was made; `error` is None unless it failed."""

    invocation: Invocation
    value: Any
    error: BaseException | None
    elapsed_ms: float


class Outcome(NamedTuple):
    # What the model sees.
    text: str
    # The value of the last line, as of any cell.
    value: Any
    # What the cell would have raised.
    error: BaseException | None
    calls: list[Ran]
    report: dict


# Makes several calls at once without a thread, and gives their values or errors; None if it cannot.
Batch = Callable[[list, list], Any]


def execute(plan: Plan, namespace: dict, call: Hook | None = None, batch: Batch | None = None) -> Outcome:
    return _Execution(plan, namespace, call or _call, batch).run()


def _call(invocation, _chain):
    return invocation.invoke()


def _capture(function, *positional, **named):
    return function, positional, named


class _Execution:
    def __init__(self, plan, namespace, call, batch):
        self._plan = plan
        self._namespace = namespace
        self._call = call
        self._batch = batch if plan.options.parallel_tools else None
        self._crew = Crew(plan.options.most_at_once if plan.options.parallel_tools else 1)
        # Values by name, until the variables get them.
        self._values = {CAPTURE: _capture}
        # By the number of their steps.
        self._results: dict[int, Any] = {}
        self._ran: dict[int, Ran] = {}
        self._errors: dict[int, BaseException] = {}
        self._timeline: list[dict] = []
        self._interrupt: BaseException | None = None
        # Line by line, the step with this number would have been the last.
        self._limit = len(plan.steps)
        self._failing = threading.Lock()

    def _fail(self, step, error):
        with self._failing:
            self._errors[step.number] = error
            self._limit = min(self._limit, step.number)
            if is_a(error, KeyboardInterrupt):
                self._interrupt = error

    def run(self) -> Outcome:
        try:
            for wave in self._plan.waves:
                self._run_wave(wave)
                if self._interrupt is not None:
                    break
        except KeyboardInterrupt as interrupt:
            self._interrupt = interrupt
        kept = self._keep()
        error = self._interrupt or self._errors.get(self._limit)
        last = self._plan.steps[-1]
        # In the order of the source, whoever came first.
        calls = [self._ran[number] for number in sorted(self._ran)]
        is_shown = error is None and last.target is None and last.kind in (CALL, SHOW)
        value = self._results.get(last.number) if is_shown else None
        return Outcome(self._text(kept), value, error, calls, report(self._plan, self._timeline))

    def _run_wave(self, wave: Wave) -> None:
        started = _clock()
        for step in wave.local:
            self._attempt(step, lambda step=step: self._evaluate(step))
        together = [made for made in map(self._prepare, wave.together) if made is not None]
        try:
            if not self._make_at_once(together):
                self._crew.run([functools.partial(self._make, made) for made in together])
            for step in wave.in_turn:
                made = self._prepare(step)
                if made is not None:
                    self._make(made)
        finally:
            made = wave.of(self._ran)
            if made.tools:
                self._timeline.append(describe_wave(len(self._timeline), made, (_clock() - started) * 1000))
        self._bind(wave)

    def _prepare(self, step):
        """The call; None if it is not to be made, or not possible."""
        return self._attempt(step, lambda: Invocation(step, *self._evaluate(step)))

    def _make_at_once(self, invocations):
        """Whether they could be made without threads."""
        if self._batch is None or len(invocations) < 2:
            return False
        started = _clock()
        outcomes = self._batch(invocations, [self._place(one.step) for one in invocations])
        if outcomes is None:
            return False
        elapsed = (_clock() - started) * 1000
        for invocation, (value, failure) in zip(invocations, outcomes):
            self._settle(invocation, value, failure, elapsed)
        return True

    def _place(self, step):
        return {"caller_type": "chain", "chain_id": self._plan.chain_id, "chain_index": step.chain_index}

    def _attempt(self, step, work):
        """None if the step would not have come to be, or fails."""
        if step.number > self._limit:
            return None
        try:
            result = work()
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            self._fail(step, error)
            return None
        if step.kind != CALL:
            self._results[step.number] = result
            if step.kind == BIND:
                self._values[step.target] = result
        return result

    def _evaluate(self, step):
        value = _eval(step.code, self._namespace, self._values)
        if step.kind == PRINT:
            return cap(" ".join(map(str, value)), PRINTED)
        return value

    def _make(self, invocation):
        """Makes a call, in whichever thread."""
        step = invocation.step
        if step.number > self._limit or self._interrupt is not None:
            return
        started, value, failure = _clock(), None, None
        try:
            value = self._call(invocation, self._place(step))
        except BaseException as error:
            failure = error
        self._settle(invocation, value, failure, (_clock() - started) * 1000)

    def _settle(self, invocation, value, failure, elapsed):
        step = invocation.step
        if failure is None:
            self._results[step.number] = value
        else:
            self._fail(step, failure)
        self._ran[step.number] = Ran(invocation, value, failure, elapsed)

    def _bind(self, wave):
        for step in wave.together + wave.in_turn:
            if step.target is not None and step.number in self._results:
                self._values[step.target] = self._results[step.number]

    def _keep(self):
        """Gives the variables what the steps before the first that did not end well have made."""
        kept = []
        for step in self._plan.steps:
            if step.number not in self._results or step.number >= self._limit:
                break
            kept.append(step)
            if step.target is not None:
                self._namespace[step.target] = self._results[step.number]
        return kept

    def _text(self, kept):
        printed = _printed(kept)
        parts = []
        for step in kept:
            value = self._results[step.number]
            if step.kind == PRINT:
                parts.append(value)
            elif step.kind == SHOW:
                [name] = step.names
                parts.append("[{}]: {}".format(name, _shown(value, PRINTED)))
            elif step.kind == CALL and step.number not in printed:
                parts.append("[{}]: {}".format(step.label, _shown(value, PREVIEW)))
        parts += [
            "[{} had run already; its result is not kept]".format(ran.invocation.step.label)
            for number, ran in sorted(self._ran.items())
            if number >= len(kept) and ran.error is None
        ]
        return SEPARATOR.join(parts)


def _printed(steps):
    """The numbers of the steps whose values are shown by a later one."""
    holders: dict[str, int] = {}
    found: set[int] = set()
    for step in steps:
        if step.kind in (PRINT, SHOW):
            found.update(holders[name] for name in step.names if name in holders)
        if step.target is not None:
            holders[step.target] = step.number
    return found


def _shown(value, limit):
    """A text as it is, since it is for reading; anything else as Python shows it."""
    if is_a(value, str):
        return cap((guarded_str(value) or "").rstrip("\n"), limit)
    return text_of(value, limit)
