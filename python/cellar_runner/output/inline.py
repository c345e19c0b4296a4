"""Output of short cells, which the head reads itself and sends with its answer.

Waking init for it would cost more than the cell. Init takes over when the alarm goes off, when
the head dies, and as long as a thread or a process is left that could write too.
"""

from __future__ import annotations

import os

from ..linux import fds, syscalls
from ..protocol import channel
from .capture import Capture

SHORT_NANOSECONDS = 20_000_000
AT_ONCE = 1
READ_BYTES = 1 << 16

_NOTHING_OMITTED = {"stdout": 0, "stderr": 0}

_PIPES = (fds.OUT, fds.ERR)

_read, _pread, _fstat = os.read, os.pread, os.fstat


def _last_pid():
    """The newest pid of the session: unchanged means that no process or thread was made."""
    try:
        return _pread(fds.LAST_PID, 64, 0).rsplit(None, 1)[-1]
    except (OSError, IndexError):
        return None


class InlineOutput:
    """`is_alone` tells after a cell whether nothing but the head's main thread can run on."""

    def __init__(self, board, slot, nonce):
        self._board = board
        self._slot = slot
        self._nonce = nonce
        self._alarm = syscalls.Alarm(fds.ALARM)
        self._capture = Capture(nonce, self._emit, self._settle)
        self._inodes = [_fstat(descriptor).st_ino for descriptor in _PIPES]
        self._cell: tuple[int, int] | None = None
        self._pieces: list[dict] = []
        self._omitted = _NOTHING_OMITTED
        self._newest = None
        self.is_alone = False

    def note_newest_pid(self):
        """Between cells: notes which process is the newest, of those that are known."""
        self._newest = _last_pid()

    def begin(self, step, max_output):
        """True when the cell's output needs no marks."""
        self.is_alone = False
        self._cell = None
        # What was handed over and init has not taken yet would otherwise be taken for this cell's output.
        is_taken = self._board.cell(self._slot)[0] == 0
        if self._newest is None or not is_taken or not self._board.allows_inline(self._slot):
            self._alarm.set(AT_ONCE)
            return False
        known = b"%d" % self._board.own_pid(self._slot)
        if known == _last_pid():
            self._newest = known
        self._cell = step, max_output
        self._board.set_cell(self._slot, step, max_output)
        self._alarm.set(SHORT_NANOSECONDS)
        return True

    def end(self):
        """The output, or None: then it must be marked and handed over."""
        self.is_alone = self._cell is not None and self._newest == _last_pid()
        if not self.is_alone or not self._alarm.cancel():
            return None
        if [_fstat(descriptor).st_ino for descriptor in _PIPES] != self._inodes:
            raise channel.Broken("the cell has replaced its output pipes")
        output = self._collect(*self._cell)  # type: ignore[misc]
        self._board.set_cell(self._slot, 0, 0)
        return output

    def hand_over(self):
        self._alarm.set(AT_ONCE)

    def _collect(self, step, max_output):
        """Reads what the pipes hold: nobody else can write, so a short read is the last."""
        out, err = _drain(fds.OUT_READER), _drain(fds.ERR_READER)
        self._pieces, self._omitted = [], _NOTHING_OMITTED
        if not err and len(out) <= max_output // 2 and self._nonce not in out:
            if out:
                self._emit(step, "stdout", out.decode("utf-8", "replace"), 0)
        else:
            self._capture.open(step, max_output)
            self._capture.feed(0, out)
            self._capture.feed(1, err)
            self._capture.finish()
        return {"pieces": self._pieces, "omitted": self._omitted}

    def _emit(self, step, stream, text, order):
        self._pieces.append({"step": step, "stream": stream, "text": text, "seq": order})

    def _settle(self, _step, _order, omitted):
        self._omitted = omitted


def _drain(reader):
    pieces = []
    try:
        while True:
            data = _read(reader, READ_BYTES)
            pieces.append(data)
            if len(data) < READ_BYTES:
                break
    except BlockingIOError:
        pass
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)
