"""What an agent's functions return, which knows the call it comes from."""

from __future__ import annotations

from ..context.results import Piece, Result
from ..pristine import BUILTINS as __builtins__

__all__ = ("Output", "Piece", "Result")


class Output(Piece):
    """What something wrote, shown as it is."""

    def __repr__(self):
        return str.__str__(self)

    def __reduce__(self):
        return str, (str.__str__(self),)
