"""When the checkpoints of a head are made."""

from __future__ import annotations

import sys
import time

from .copies import Checkpointer
from .obstacles import Obstacles

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ...output.inline import InlineOutput

_NOT_PLANNED = {"planned": False}
# How long a session is without a request before it rests, and how long the host is left alone after an answer.
REST_MILLISECONDS, ANSWERED_MILLISECONDS = 10, 1

_now = time.monotonic_ns


class Schedule:
    """Decides when the head is copied: when it rests, or before the next cell once too much work would be lost."""

    def __init__(self) -> None:
        self.obstacles: Obstacles = None  # type: ignore[assignment]
        self.copies = Checkpointer()
        self.output: InlineOutput = None  # type: ignore[assignment]
        # The request that the next checkpoint is of, and whether it cannot wait for the session to rest.
        self.pending: dict | None = None
        self.is_due = False
        self._began = 0
        # Nanoseconds of work that no checkpoint holds.
        self._unsaved = 0

    def begin(self, began: int) -> None:
        self._began = began

    def plan(self, params: dict) -> dict:
        mode = params["checkpoint"]
        if mode == "off":
            return _NOT_PLANNED
        self._unsaved += _now() - self._began
        reason = self.obstacles.find(self.output.is_alone)
        if reason is not None:
            return {"planned": False, "reason": reason}
        due = mode == "always" or self._unsaved > params["interval_ms"] * 1_000_000
        return {"planned": True, "due": due}

    def wants_before_answer(self, params: dict, result: dict) -> bool:
        """Whether the answer may only say that the state is held when it is."""
        return params.get("checkpoint") == "auto" and result["checkpoint"].get("due", False)

    def answered(self, params: dict, result: dict) -> None:
        plan = result.get("checkpoint")
        if plan is not None:
            # With `auto` a due one was made before the answer.
            self.pending = params if plan["planned"] and not self.is_held else None
            self.is_due = plan.get("due", False) and not self.is_held
        elif self.pending is not None and self.obstacles.find(False) is not None:
            # Other requests change nothing, but may have begun threads.
            self.pending = None
        self.output.note_newest_pid()

    @property
    def is_held(self) -> bool:
        """Whether the newest checkpoint has all there is."""
        return self._unsaved == 0

    @property
    def patience(self) -> int:
        """Milliseconds without a request until the pending checkpoint is made."""
        return self.pending.get("rest_ms", ANSWERED_MILLISECONDS if self.is_due else REST_MILLISECONDS)  # type: ignore[union-attr]

    def take(self) -> tuple[dict, list[int]] | None:
        """Makes the pending checkpoint: None in the head, orders in a new head."""
        params, self.pending, self.is_due = self.pending, None, False
        # No process or descriptor may be left, or a cell broke what this needs: then the next cell tries again.
        unsaved, self._unsaved = self._unsaved, 0
        try:
            return self.copies.park(params["step"])  # type: ignore[index]
        except Exception:
            self._unsaved = unsaved
            return None
        finally:
            self.output.note_newest_pid()

    def context_given(self, value: object) -> None:
        if self.obstacles is not None and type(value) is str:
            self.obstacles.allow(sys.getsizeof(value))
