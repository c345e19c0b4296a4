"""What an agent's functions return is defined beside the context, for the packages before this one."""

from __future__ import annotations

from ..context.results import Piece, Result
from ..pristine import BUILTINS as __builtins__

__all__ = ("Piece", "Result")
