"""Whether a turn is run as a chain of calls, and which of them side by side: decided before the first call."""

from __future__ import annotations

import os
from difflib import get_close_matches
from operator import attrgetter
from typing import Any, Container, NamedTuple

from ...cells import compiler
from ...pristine import BUILTINS as __builtins__
from .calls import FoundCall, find_calls
from .expressions import Unsuitable
from .facts import SAFE_MUTATIONS, Catalogue
from .resources import meet
from .steps import CALL, Step, read_steps

MODES = ("legacy", "seq", "dep")
MOST_AT_ONCE = 4
SHOWN_TOOLS = 10

_UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)
_urandom, _near, _number = os.urandom, get_close_matches, attrgetter("number")


def mode_of(text: Any) -> str:
    """The mode that a setting names; any other text means `seq`."""
    return text if text in MODES else "seq"


class Options(NamedTuple):
    mode: str = "seq"
    parallel_tools: bool = True
    parallel_mutations: bool = False
    most_at_once: int = MOST_AT_ONCE
    # Whether a call can be waited for; if not, cells await their calls themselves.
    can_wait: bool = True


DEFAULTS = Options()


class Wave(NamedTuple):
    """`local` steps call nothing and come first, then those that run together, then the others one by one."""

    local: tuple[Step, ...]
    together: tuple[Step, ...]
    in_turn: tuple[Step, ...]

    @property
    def tools(self) -> list[str]:
        return [step.tool for step in sorted(self.together + self.in_turn, key=_number)]

    def of(self, made: Container[int]) -> Wave:
        """The part of it whose steps have these numbers."""
        return Wave(*(tuple(step for step in steps if step.number in made) for steps in self))


class Plan(NamedTuple):
    """A turn that is run as a chain."""

    chain_id: str
    options: Options
    mode_used: str
    steps: tuple[Step, ...]
    waves: tuple[Wave, ...]


class Sequential(NamedTuple):
    """A turn that is run as any other cell, once; `chain_id` is None if it has fewer than two calls."""

    reason: str
    chain_id: str | None
    options: Options
    mode_used: str
    is_fallback: bool
    tools: tuple[str, ...]


class Refusal(NamedTuple):
    """A turn that must not run."""

    message: str
    tools: tuple[str, ...]


def plan(
    code: str, catalogue: Catalogue, namespace: dict, options: Options = DEFAULTS, filename: str = "<cell>"
) -> Plan | Sequential | Refusal:
    """`code` is sanitised already; `namespace` are the variables of the session, which stay as they are."""
    options = options._replace(mode=mode_of(options.mode))
    try:
        tree = compiler.read(code, filename, 0)[2]
        calls = find_calls(tree, catalogue)
    except _UNREADABLE:
        return Sequential("it cannot be parsed", None, options, _usual(options), False, ())
    tools = tuple(call.tool for call in calls)
    if len(calls) < 2:
        return Sequential("it has fewer than two calls", None, options, _usual(options), False, tools)
    refusal = _refusal(calls, catalogue, options)
    if refusal is not None:
        return refusal
    chain_id = _urandom(6).hex()
    try:
        if not options.can_wait:
            raise Unsuitable("this session cannot wait for a call")
        steps = read_steps(tree, catalogue, namespace, filename)
    except Unsuitable as error:
        return Sequential(str(error), chain_id, options, _usual(options), options.mode == "dep", tools)
    except _UNREADABLE:
        return Sequential("it cannot be compiled", chain_id, options, _usual(options), options.mode == "dep", tools)
    waves = _waves(steps, options)
    is_batch = all(step.is_read_only for step in steps) and sum(bool(wave.tools) for wave in waves) == 1
    if is_batch and options.parallel_tools:
        return Plan(chain_id, options, "parallel_read_only", tuple(steps), waves)
    if options.mode == "dep":
        return Plan(chain_id, options, "dep", tuple(steps), waves)
    return Sequential("its calls depend on each other", chain_id, options, _usual(options), False, tools)


def _usual(options):
    return "legacy" if options.mode == "legacy" else "seq"


def _refusal(calls: list[FoundCall], catalogue: Catalogue, options: Options) -> Refusal | None:
    """Why a turn with these calls must not run; that they only read is always good enough."""
    unknown = [call for call in calls if call.facts is None]
    routing = [call for call in calls if call.facts is not None and call.facts.is_routing]
    effects = [call for call in calls if call.facts is None or not call.facts.is_read_only]
    disabled = [call for call in effects if call.facts is None or not call.facts.is_chain_enabled]
    if routing:
        text = "{} cannot be one of several tool calls of a turn: call it in a turn of its own"
        return _refused(text, routing)
    for call in unknown:
        if not call.is_dynamic:
            return Refusal(_unknown(call.tool, catalogue), (call.tool,))
    if unknown:
        text = "{}: in a turn with several tool calls, write the name of the tool as a text"
        return _refused(text, unknown)
    if effects and options.mode == "legacy":
        text = "a turn may call one tool, or several that only read; this one calls {}: split it up"
        return _refused(text, calls)
    if disabled:
        text = "{} cannot be one of several tool calls of a turn (allowed_callers lacks chain): use a turn of its own"
        return _refused(text, disabled)
    return None


def _refused(text, calls):
    names = list(dict.fromkeys(call.tool for call in calls))
    shown = ", ".join(names[:SHOWN_TOOLS])
    if len(names) > SHOWN_TOOLS:
        shown += " and {} more".format(len(names) - SHOWN_TOOLS)
    return Refusal("the turn was not run: " + text.format(shown), tuple(names))


def _unknown(name, catalogue):
    near = _near(name[:200], list(catalogue.tools), 3, 0.5)
    advice = "did you mean {}?".format(" or ".join(near)) if near else "list_tools() shows those that there are"
    return "the turn was not run: there is no tool {!r}; {}".format(name[:200], advice)


def _waves(steps, options):
    levels: list[int] = []
    for step in steps:
        is_effect = step.kind == CALL and not _runs_together(step, options)
        level = 0
        for before, reached in zip(steps, levels):
            if _depends(step, before):
                level = max(level, reached + (before.kind == CALL))
            elif is_effect:
                # It must not have happened if a step before it fails.
                level = max(level, reached)
        levels.append(level)
    waves = []
    for number in range(max(levels, default=-1) + 1):
        here = [step for step, level in zip(steps, levels) if level == number]
        local = tuple(step for step in here if step.kind != CALL)
        calls = [step for step in here if step.kind == CALL]
        together = tuple(step for step in calls if _runs_together(step, options))
        waves.append(Wave(local, together, tuple(step for step in calls if not _runs_together(step, options))))
    return tuple(waves)


def _runs_together(step, options):
    if step.is_read_only:
        return True
    return options.parallel_mutations and step.is_built_in and step.tool in SAFE_MUTATIONS


def _depends(step, before):
    """Whether a step must come after another: on names, or on state outside that either of them writes."""
    if before.target is not None and (before.target in step.names or before.target == step.target):
        return True
    if step.target is not None and step.target in before.names:
        return True
    return (
        _any_meet(before.writes, step.writes)
        or _any_meet(before.writes, step.reads)
        or _any_meet(before.reads, step.writes)
    )


def _any_meet(some, others):
    return any(meet(one, other) for one in some for other in others)
