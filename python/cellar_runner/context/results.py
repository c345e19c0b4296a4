"""Lists and texts that functions for models return, which know the call they come from."""

from __future__ import annotations

from ..pristine import BUILTINS as __builtins__
from ..values.reprs import is_a


class Piece(str):
    """A text of a result."""

    origin: str | None = None


class Result(list):
    """Up to a limit; `total` counts all. Subclasses say how they are shown."""

    origin: str | None = None
    total = 0

    @property
    def more(self) -> int:
        return max(0, self.total - len(self))

    def mark(self, identifier: str) -> None:
        self.origin = identifier
        for item in self:
            if is_a(item, Piece):
                item.origin = identifier

    def held(self) -> str:
        """What later calls may use although it is not shown."""
        return ""
