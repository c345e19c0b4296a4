"""Errors of magics."""

from __future__ import annotations

from ...pristine import BUILTINS as __builtins__


class UsageError(Exception):
    """A magic that does not exist, or was given the wrong arguments."""

    hint = None


class MagicUnavailable(RuntimeError):
    """A magic that has no meaning here."""
