"""The errors of the runner that several parts of it raise or recognise."""

from __future__ import annotations

from .pristine import BUILTINS as __builtins__

# What cells see as the module of the names that Cellar adds.
MODULE = "cellar"
HINTS = 8

_code_of = SystemExit.__dict__["code"].__get__


class HostError(RuntimeError):
    """The host could not or would not answer."""

    __module__ = MODULE
    hint = None


class ChainRefused(RuntimeError):
    """A turn with several tool calls that must not be made together."""

    __module__ = MODULE


class ExplorationRequired(RuntimeError):
    """The answer came before anything was looked at."""

    __module__ = MODULE


class _FinalExit:
    """The exit code of a cell that FINAL() ended."""

    def __repr__(self):
        return "FINAL"


_FINAL_EXIT = _FinalExit()


def final_exit() -> SystemExit:
    """What ends a cell: `except Exception` lets it pass, and a thread that it ends says nothing."""
    return SystemExit(_FINAL_EXIT)


def is_final_exit(error: BaseException) -> bool:
    return type(error) is SystemExit and _code_of(error) is _FINAL_EXIT


class PolicyViolation(Exception):
    """A cell that was not run, with everything that was wrong about it."""

    def __init__(self, violations: list[dict]) -> None:
        lines = ["{line}:{column} {message} [{rule}]".format(**one) for one in violations]
        head = "the cell was not run: {} policy violation{}:".format(len(lines), "" if len(lines) == 1 else "s")
        super().__init__("\n  ".join([head] + lines))
        self.violations = violations
        self.hint = _advice(violations)

    def __reduce__(self):
        return type(self), (self.violations,)


def _advice(violations):
    """Each hint once, with the names that it is for."""
    names: dict[str, list[str]] = {}
    for one in violations:
        kind, _, name = one["rule"].partition(".")
        names.setdefault(one["hint"], []).append(kind if kind == "format" else name or kind)
    lines = []
    for hint, found in names.items():
        unique = list(dict.fromkeys(found))
        lines.append("{}: {}".format(", ".join(unique[:5]), hint))
    return "; ".join(lines[:HINTS])
