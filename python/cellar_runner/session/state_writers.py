"""The copies of a session that write its state, and what init lends for that."""

from __future__ import annotations

import os
import time

from ..linux import processes
from .checkpoint import messages

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Collection

    from ..linux.jail import SessionDir
    from ..linux.shared_page import SharedPage
    from .branch import Branch
    from .own_processes import OwnProcesses

WAKING_SECONDS = 4
SCOPE = ("max_bytes", "private", "strict")


class Writers:
    """`connect` opens a link to the host; `session_dir` is where a state to restore lies, or None."""

    def __init__(
        self,
        connect: Callable[[str, int, int], int],
        session_dir: SessionDir | None,
        board: SharedPage,
        own_processes: OwnProcesses,
    ) -> None:
        self._connect = connect
        self._own_processes = own_processes
        self._board = board
        self._session_dir = session_dir
        self._pids: dict[int, int] = {}
        self._lent: set[int] = set()

    @property
    def pids(self) -> Collection[int]:
        return self._pids.values()

    def note(self, writer: int, pid: int) -> None:
        """A head made one itself. A cell may say so too, but nothing that was not asked for is spared."""
        if writer in self._lent:
            self._pids[writer] = pid
        self._lent.discard(writer)

    def forget(self, pid: int) -> None:
        for writer in [key for key, each in self._pids.items() if each == pid]:
            del self._pids[writer]

    def capture(self, branch: Any, params: dict) -> dict:
        """Has a parked copy fork one."""
        parked = branch.find(params["checkpoint"]) if branch is not None else None
        if parked is None:
            return {"done": False, "reason": "there is no checkpoint of this state"}
        link = self._connect("writer", branch.number, params["writer"])
        orders = {"write": {name: params[name] for name in SCOPE}}
        pid = parked.wake(orders, [link], time.monotonic() + WAKING_SECONDS, branch.tell_lost)
        os.close(link)
        if not self._own_processes.is_new_child(pid):
            return {"done": False, "reason": "the checkpoint could not be woken"}
        self._board.set_own_pid(branch.slot, pid)
        self._pids[params["writer"]] = pid
        return {"done": True}

    def lend_writer(self, branch: Branch | None, params: dict) -> dict:
        if branch is None:
            return {"done": False}
        link = self._connect("writer", branch.number, params["writer"])
        self._lent.add(params["writer"])
        return {"done": branch.lend(messages.WRITER, link)}

    def lend_state(self, branch: Branch | None, _params: dict) -> dict:
        if branch is None or self._session_dir is None:
            return {"done": False, "reason": "the session has no folder"}
        try:
            file = self._session_dir.open_state()
        except OSError as error:
            return {"done": False, "reason": str(error)}
        if branch.lend(messages.STATE, file):
            return {"done": True}
        return {"done": False, "reason": "the process takes no file"}

    def end(self, _branch: Branch | None, params: dict) -> None:
        self._lent.discard(params["writer"])
        pid = self._pids.get(params["writer"])
        if pid is not None:
            processes.kill(pid)
