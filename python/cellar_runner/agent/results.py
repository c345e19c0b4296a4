"""Lists that an agent's functions return, which know the call they come from."""

from __future__ import annotations

from ..pristine import BUILTINS as __builtins__
from ..values.reprs import is_a


class Piece(str):
    """A text of a result."""

    origin = None


class Result(list):
    """Up to a limit; `total` counts all. Subclasses say how they are shown."""

    origin = None
    total = 0

    @property
    def more(self):
        return max(0, self.total - len(self))

    def mark(self, identifier):
        self.origin = identifier
        for item in self:
            if is_a(item, Piece):
                item.origin = identifier

    def held(self):
        """What later calls may use although it is not shown."""
        return ""
