"""Which call of which chain is being made, for the functions that tell the host."""

from __future__ import annotations

import contextlib
import contextvars
import itertools
from typing import Any, Callable, Iterator

from ...pristine import BUILTINS as __builtins__
from .execute import Hook, Invocation


class Scope:
    """One for each session. It follows the code into the tasks and threads of a chain."""

    def __init__(self) -> None:
        self._next: contextvars.ContextVar[Callable[[], dict] | None] = contextvars.ContextVar("chain", default=None)

    def caller(self) -> dict:
        """The fields of the call that is made now; each call of it counts as one."""
        following = self._next.get()
        return {"caller_type": "cell"} if following is None else following()

    @contextlib.contextmanager
    def cell(self, chain_id: str | None) -> Iterator[None]:
        """Numbers the calls of a chain that is run as any other cell."""
        if chain_id is None:
            yield
            return
        numbers = itertools.count()

        def following():
            return {"caller_type": "chain", "chain_id": chain_id, "chain_index": next(numbers)}

        token = self._next.set(following)
        try:
            yield
        finally:
            self._next.reset(token)

    def hook(self, call: Hook | None = None) -> Hook:
        """For execute(): a call is made within its own place in the chain."""

        def within(invocation: Invocation, chain: dict) -> Any:
            token = self._next.set(lambda: dict(chain))
            try:
                return invocation.invoke() if call is None else call(invocation, chain)
            finally:
                self._next.reset(token)

        return within
