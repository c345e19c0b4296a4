"""Checks before a cell runs: sanitises its text and refuses what the session's policy does not allow."""

from __future__ import annotations

from typing import Any

from ..errors import PolicyViolation
from ..pristine import BUILTINS as __builtins__
from . import checker, restricted
from .sanitiser import LISTED, sanitise

POLICIES = ("off", "ast", "restricted")


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
