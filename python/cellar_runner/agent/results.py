"""Lists that the agent's functions return, and that know which call they come from."""

from __future__ import annotations

from ..pristine import BUILTINS as __builtins__
from ..values.reprs import is_a


class Piece(str):
    """A text of a result, which may be used by itself."""

    origin = None


class Result(list):
    """Subclasses say how they are shown."""

    # The identifier of the call, once it is known.
    origin = None

    def mark(self, identifier):
        self.origin = identifier
        for item in self:
            if is_a(item, Piece):
                item.origin = identifier

    def held(self):
        """What of it may turn up in later calls although it is not shown."""
        return ""
