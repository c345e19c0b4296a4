"""A page of memory that a session's init and its heads share."""

from __future__ import annotations

import mmap
import struct

from . import syscalls


class SharedPage:
    """A page shared by init and the heads, with a slot of a few words for each branch.

    The step that was interrupted; whether nothing but the head can write to the output pipes, so
    that it may send a short cell's output inline with its answer; the cell that runs so; and the pid
    of the newest process that init has made itself, which is none of a cell's.
    """

    _slot = struct.Struct("=QQQQQ")
    _word = struct.Struct("=Q")
    _pair = struct.Struct("=QQ")

    def __init__(self, file: int | None = None) -> None:
        self.file = syscalls.shared_page() if file is None else file
        self._page = syscalls.map_page(self.file)
        last = mmap.PAGESIZE - self._slot.size
        self._free = list(range(0, last + 1, self._slot.size))

    def take(self) -> int | None:
        """A slot that no living branch has, emptied; None when there is none."""
        if not self._free:
            return None
        slot = self._free.pop(0)
        self._slot.pack_into(self._page, slot, 0, 0, 0, 0, 0)
        return slot

    def give_back(self, slot: int) -> None:
        self._free.append(slot)

    def interrupt(self, slot: int, step: int) -> None:
        self._word.pack_into(self._page, slot, step)

    def interrupted(self, slot: int) -> int:
        return self._word.unpack_from(self._page, slot)[0]

    def allow_inline(self, slot: int, allowed: bool) -> None:
        self._word.pack_into(self._page, slot + 8, int(allowed))

    def allows_inline(self, slot: int) -> bool:
        return bool(self._word.unpack_from(self._page, slot + 8)[0])

    def set_own_pid(self, slot: int, pid: int) -> None:
        self._word.pack_into(self._page, slot + 32, pid)

    def own_pid(self, slot: int) -> int:
        return self._word.unpack_from(self._page, slot + 32)[0]

    def set_cell(self, slot: int, step: int, max_output: int) -> None:
        self._pair.pack_into(self._page, slot + 16, step, max_output)

    def cell(self, slot: int) -> tuple[int, int]:
        """(step, max_output) of an unmarked cell; step 0 when there is none."""
        return self._pair.unpack_from(self._page, slot + 16)  # type: ignore[return-value]
