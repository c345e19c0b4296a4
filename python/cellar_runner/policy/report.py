"""The violations of one cell, each at its place."""

from __future__ import annotations

from typing import Any

from ..pristine import BUILTINS as __builtins__

LISTED = 100


class Report:
    """Collects violations in any order and sorts them by place."""

    def __init__(self, text):
        self._lines = text.split("\n")
        self._found = {}

    def add(self, node: Any, rule: str, message: str, hint: str) -> None:
        """At the start of a node."""
        line = getattr(node, "lineno", 1)
        column = len(self._before(line, getattr(node, "col_offset", 0))) + 1
        self.add_at(line, column, rule, message, hint)

    def add_attribute(self, node: Any, name: str, message: str, hint: str) -> None:
        """At the name after the dot."""
        before = self._before(node.end_lineno, node.end_col_offset)
        dot = before.rfind(".")
        column = dot + 2 if dot >= 0 else len(before) - len(before.lstrip()) + 1
        self.add_at(node.end_lineno, column, "attribute." + name, message, hint)

    def add_at(self, line: int, column: int, rule: str, message: str, hint: str) -> None:
        """Line and column count from 1."""
        violation = {"line": line, "column": column, "rule": rule, "message": message, "hint": hint}
        self._found.setdefault((line, column, rule), violation)

    def violations(self) -> list[dict]:
        """The first ones, and one that counts the rest."""
        found = [self._found[key] for key in sorted(self._found)]
        if len(found) <= LISTED:
            return found
        message = "{} more violations".format(len(found) - LISTED)
        rest = dict(found[LISTED], rule="more", message=message, hint="fix those above first")
        return found[:LISTED] + [rest]

    def _before(self, line, offset):
        """The part of a line before an offset, which ast counts in bytes."""
        if not 0 < line <= len(self._lines):
            return " " * offset
        text = self._lines[line - 1]
        if text.isascii():
            return text[:offset]
        return text.encode("utf-8", "replace")[:offset].decode("utf-8", "replace")
