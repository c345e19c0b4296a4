"""Checks before a cell runs: sanitises its text and refuses what the session's policy does not allow."""

from __future__ import annotations

import re
from typing import Any

from ..cells import compiler, typography
from ..errors import PolicyViolation
from ..pristine import BUILTINS as __builtins__
from . import checker, restricted

POLICIES = ("off", "ast", "restricted")
# Replaced characters: how many are listed, and the longest text in which they are looked for.
LISTED = 50
LONGEST = 2_000_000

_OTHER_LANGUAGE = re.compile(r"\s*%%(?!time\b|capture\b|timeit\b)")
_characters = re.compile("[" + "".join((*typography.ALL, *typography.POWERS, *typography.QUOTES)) + "]").search


class Admission:
    """The `admission` of an interpreter; None runs every cell as it is."""

    def __init__(self, policy="ast", sanitises=True):
        if policy not in POLICIES:
            raise ValueError("policy must be one of {}, not {!r}".format(", ".join(POLICIES), policy))
        self.policy = policy
        self.sanitises = sanitises
        self._names = None
        self._replaced = []
        self._guards = restricted.Guards() if policy == "restricted" else None

    def prepare(self, code: str, interpreter: Any) -> str:
        """Returns the text to run; the policy sees the names of earlier cells."""
        self._replaced = []
        self._names = interpreter.namespace
        if self._guards is not None:
            self._guards.restrict_builtins(interpreter.namespace, interpreter.builtins)
        if self.sanitises and not code.isascii():
            code, self._replaced = sanitise(code)
        return code

    def admit(self, tree: Any, text: str) -> Any:
        """The tree to run; raises PolicyViolation if it must not run."""
        if self.policy == "ast":
            violations = checker.check_tree(tree, text, self._names)
        elif self._guards is not None:
            tree, violations = self._guards.guarded(tree, text, self._names)
        else:
            return tree
        if violations:
            raise PolicyViolation(violations)
        return tree

    def report(self, outcome: dict[str, Any]) -> None:
        if self._replaced:
            outcome["replaced"] = {"total": len(self._replaced), "characters": self._replaced[:LISTED]}


def sanitise(source: str) -> tuple[str, list[dict]]:
    """(source with plain characters, the replacements); unchanged if it is valid Python."""
    if source.isascii() or len(source) > LONGEST or _OTHER_LANGUAGE.match(source):
        return source, []
    if not _characters(source) or _is_python(source):
        return source, []
    cleaning = typography.Cleaning(source)
    return cleaning.run(), cleaning.places()


def _is_python(source):
    try:
        compiler.parse(source, "<cell>")
        return True
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
