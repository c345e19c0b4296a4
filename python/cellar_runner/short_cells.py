"""Output of cells that are over within milliseconds: taken by the head itself, with its answer.

Waking init for it would cost more than the cell. Init takes over when the alarm goes off, when
the head dies, and as long as a thread or a process is left that could write too.
"""

import os

from . import family, linux
from .capture import Capture

SHORT_NANOSECONDS = 5_000_000
AT_ONCE = 1
READ_BYTES = 1 << 16

_read, _pread = os.read, os.pread


def _last_pid():
    """The newest pid of the session: unchanged means that no process or thread was made."""
    return _pread(family.LAST_PID, 64, 0).rsplit(None, 1)[-1]


class ShortCells:
    """`is_alone` tells after a cell whether nothing but the head's main thread can run on."""

    def __init__(self, board, branch, nonce):
        self._board = board
        self._branch = branch
        self._alarm = linux.Alarm(family.ALARM)
        self._capture = Capture(nonce, self._emit, self._settle)
        self._pieces = []
        self._omitted = None
        self._before = None
        self.is_alone = False

    def begin(self):
        self.is_alone = False
        try:
            self._before = _last_pid() if self._board.is_quiet(self._branch) else None
        except (OSError, IndexError):
            self._before = None
        self._alarm.set(AT_ONCE if self._before is None else SHORT_NANOSECONDS)

    def end(self):
        """The output, or None: then init has it or gets it now."""
        try:
            self.is_alone = self._before is not None and _last_pid() == self._before
        except (OSError, IndexError):
            self.is_alone = False
        if self.is_alone and self._alarm.cancel():
            return self._collect()
        self._alarm.set(AT_ONCE)
        return None

    def _collect(self):
        self._pieces, self._omitted = [], None
        for which, reader in enumerate((family.OUT_READER, family.ERR_READER)):
            try:
                while True:
                    data = _read(reader, READ_BYTES)
                    if not data:
                        break
                    self._capture.feed(which, data)
            except OSError:
                # Empty, or closed by the cell.
                continue
        if self._omitted is None:
            self._capture.finish()
        return {"pieces": self._pieces, "omitted": self._omitted or {"stdout": 0, "stderr": 0}}

    def _emit(self, step, stream, text, order):
        self._pieces.append({"step": step, "stream": stream, "text": text, "seq": order})

    def _settle(self, _step, _order, omitted):
        self._omitted = omitted
