"""Errors of magics."""

from __future__ import annotations

from ...pristine import BUILTINS as __builtins__


class UsageError(Exception):
    def __init__(self, *parts: object, hint: str | None = None) -> None:
        super().__init__(*parts)
        self.hint = hint


class MagicUnavailable(RuntimeError):
    """A magic that has no meaning here."""
