"""Turns the bytes of a head's two pipes into attributed, ordered, bounded text."""

from __future__ import annotations

import codecs
import time
from collections import deque
from operator import itemgetter

from ..pristine import BUILTINS as __builtins__
from . import marks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable

PARTIAL_LINE_SECONDS = 0.1
BARRIER_SECONDS = 0.25
LONGEST_BARRIER_SECONDS = 3.0
# More than a pipe holds: a mark that was written before the other one must have come by then.
MOST_BEHIND_BYTES = 1 << 21
STALLED_BYTES = 1 << 18
BACKGROUND_CHARACTERS = 50_000
PIECE_CHARACTERS = 1 << 16

STREAMS = ("stdout", "stderr")
_order_of = itemgetter(1)
_NO_CONTINUATION = bytes(byte for byte in range(256) if byte & 0xC0 != 0x80)


class Window:
    """Keeps the first and the last characters, that is code points, of an output that may be endless."""

    def __init__(self, size: int) -> None:
        self.head_left = size - size // 2
        self._tail_size = size // 2
        self._tail: deque = deque()
        self._tail_bytes = 0
        self._tail_characters = 0
        self.omitted = 0

    def add(self, text: str) -> str:
        """The part of `text` that may go out at once."""
        now = text[: self.head_left]
        self.head_left -= len(now)
        if len(now) < len(text):
            self.keep(text[len(now) :].encode("utf-8"))
        return now

    def keep(self, data: bytes) -> None:
        """Takes bytes for the tail without decoding them, so that a flood costs little."""
        characters = _count(data)
        self._tail.append((data, characters))
        self._tail_bytes += len(data)
        self._tail_characters += characters
        while self._tail:
            length, characters = len(self._tail[0][0]), self._tail[0][1]
            # No character has more than four bytes; what is no UTF-8 may be none by the count.
            if self._tail_characters - characters < self._tail_size and self._tail_bytes - length < 4 * self._tail_size:
                break
            self._tail.popleft()
            self._tail_bytes -= length
            self._tail_characters -= characters
            self.omitted += length

    def finish(self) -> str:
        """What is left to send: the notice, when something was left out, and the tail."""
        tail = b"".join([data for data, _ in self._tail])
        self._tail.clear()
        self._tail_bytes = self._tail_characters = 0
        if self.omitted:
            while tail and tail[0] & 0xC0 == 0x80:
                tail = tail[1:]
                self.omitted += 1
        # Bytes that are no UTF-8 count each for itself, so that what is left out can be counted again.
        text = tail.decode("utf-8", "surrogateescape")
        excess = len(text) - self._tail_size
        if excess > 0:
            self.omitted += len(text[:excess].encode("utf-8", "surrogateescape"))
            text = text[excess:]
        text = text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        if not self.omitted:
            return text
        return "\n... [%s bytes omitted] ...\n%s" % (format(self.omitted, ","), text)


def _count(data):
    """Characters of UTF-8, by their first bytes."""
    return len(data) if data.isascii() else len(data) - len(data.translate(None, _NO_CONTINUATION))


class _Stream:
    def __init__(self):
        self.raw = b""
        self.barrier = None
        self.stalled_since = 0.0
        self.met_at = 0.0
        self.behind = 0
        self.aside = False
        self.decoder = None
        self.partial = ""
        self.partial_since = 0.0
        self.window = Window(BACKGROUND_CHARACTERS)
        self.aside_window = Window(BACKGROUND_CHARACTERS)
        self.reset_decoder()

    def reset_decoder(self):
        self.decoder = codecs.getincrementaldecoder("utf-8")("replace")


class Capture:
    """`emit(step, stream, text, order)` gets the text; `settle(step, order, omitted)` a cell's end."""

    def __init__(self, nonce: bytes, emit: Callable, settle: Callable) -> None:
        self._nonce = nonce
        self._emit = emit
        self._settle = settle
        self._streams = (_Stream(), _Stream())
        self._order = 0
        self.step: int | None = None

    def wants(self, which: int) -> bool:
        """False while this stream must wait for the other one."""
        stream = self._streams[which]
        return stream.barrier is None or len(stream.raw) < STALLED_BYTES

    def feed(self, which: int, data: bytes) -> None:
        stream = self._streams[which]
        stream.raw += data
        other = self._streams[1 - which]
        if other.barrier is not None:
            # The mark it waits for is on its way, behind what still comes.
            other.stalled_since = min(time.monotonic(), other.met_at + LONGEST_BARRIER_SECONDS)
            other.behind += len(data)
        self._pump()

    def next_deadline(self) -> float | None:
        """When `tick` has something to do, or None."""
        times = []
        for stream in self._streams:
            if stream.partial:
                times.append(stream.partial_since + PARTIAL_LINE_SECONDS)
            if stream.barrier is not None:
                times.append(stream.stalled_since + BARRIER_SECONDS)
        return min(times) if times else None

    def tick(self, now: float, holds_more: Callable[[int], bool] = lambda _which: False) -> None:
        """Sends partial lines that waited long enough; gives up a barrier that never came.

        Not while the other pipe holds something, told by `holds_more`: on a busy machine that is what
        was written before the barrier and waits to be read.
        """
        for which, stream in enumerate(self._streams):
            if stream.barrier is None or now - stream.stalled_since < BARRIER_SECONDS:
                continue
            if stream.behind > MOST_BEHIND_BYTES or not holds_more(1 - which):
                self._pass(stream.barrier)
                self._pump()
        for which, stream in enumerate(self._streams):
            if stream.partial and now - stream.partial_since >= PARTIAL_LINE_SECONDS:
                self._flush_text(which, stream)

    def open(self, step: int, max_output: int) -> None:
        """Begins a cell of which no mark tells."""
        if self.step is None:
            self._open_step(step, max_output)

    def finish(self) -> int | None:
        """The writer is dead: everything held goes out; gives the open step."""
        for which, stream in enumerate(self._streams):
            while stream.raw or stream.barrier is not None:
                if stream.barrier is not None:
                    self._apply_to(which, stream, stream.barrier)
                    stream.barrier = None
                before = len(stream.raw)
                self._parse(which, stream, True)
                if len(stream.raw) == before and stream.barrier is None:
                    break
        step = self.step
        if step is not None:
            self._close_step()
        return step

    def _pump(self):
        while True:
            for which, stream in enumerate(self._streams):
                if stream.barrier is None and stream.raw:
                    self._parse(which, stream, False)
            first, second = self._streams
            if first.barrier is None or second.barrier is None:
                return
            self._pass(min(first.barrier, second.barrier, key=_order_of))

    def _parse(self, which, stream, final):
        """Consumes `raw` up to the next barrier."""
        while stream.raw:
            raw = stream.raw
            at = raw.find(self._nonce)
            if at < 0:
                held = 0 if final else self._possible_nonce(raw)
                stream.raw = raw[len(raw) - held :]
                self._text(which, stream, raw[: len(raw) - held])
                return
            if len(raw) < at + marks.MARK_BYTES:
                if final:
                    self._text(which, stream, raw[:at])
                    stream.raw = b""
                elif at:
                    stream.raw = raw[at:]
                    self._text(which, stream, raw[:at])
                return
            stream.raw = raw[at + marks.MARK_BYTES :]
            self._text(which, stream, raw[:at])
            mark = marks.decode(raw[at : at + marks.MARK_BYTES])
            if mark[0] in (marks.ASIDE, marks.RETURN):
                self._flush_text(which, stream)
                stream.aside = mark[0] == marks.ASIDE
            elif mark[0] in (marks.BEGIN, marks.END, marks.SYNC):
                stream.barrier = mark
                stream.behind = 0
                stream.stalled_since = stream.met_at = time.monotonic()
                return

    def _possible_nonce(self, raw):
        tail = raw[-(marks.NONCE_BYTES - 1) :]
        at = tail.find(self._nonce[:1])
        while at >= 0:
            if self._nonce.startswith(tail[at:]):
                return len(tail) - at
            at = tail.find(self._nonce[:1], at + 1)
        return 0

    def _pass(self, mark):
        """A barrier was reached by both streams, or by the only one that will reach it."""
        for which, stream in enumerate(self._streams):
            if stream.barrier is not None and _order_of(stream.barrier) <= _order_of(mark):
                stream.barrier = None
            self._flush_text(which, stream)
        kind, order, step, argument = mark
        self._order = max(self._order, order)
        if kind == marks.BEGIN:
            self._open_step(step, argument)
        elif kind == marks.END and self.step == step:
            self._close_step()

    def _apply_to(self, which, stream, mark):
        self._flush_text(which, stream)
        kind, order, step, argument = mark
        self._order = max(self._order, order)
        if kind == marks.BEGIN and self.step != step:
            self._open_step(step, argument)

    def _open_step(self, step, max_output):
        for which, stream in enumerate(self._streams):
            self._send(which, stream, stream.window.finish())
            stream.window = Window(max_output)
            stream.aside_window = Window(BACKGROUND_CHARACTERS)
        self.step = step

    def _close_step(self):
        omitted = {}
        for which, stream in enumerate(self._streams):
            self._flush_text(which, stream, final=True)
            self._send(which, stream, stream.window.finish())
            omitted[STREAMS[which]] = stream.window.omitted
            stream.window = Window(BACKGROUND_CHARACTERS)
        step, self.step = self.step, None
        self._settle(step, self._order, omitted)

    def _text(self, which, stream, data):
        if not data:
            return
        window = stream.aside_window if stream.aside else stream.window
        if not stream.partial and not window.head_left:
            begun = stream.decoder.getstate()[0]
            if begun:
                stream.reset_decoder()
            window.keep(begun + data)
            return
        text = stream.decoder.decode(data)
        if not text:
            return
        is_new = not stream.partial
        stream.partial += text
        cut = max(stream.partial.rfind("\n"), stream.partial.rfind("\r")) + 1
        if len(stream.partial) - cut > PIECE_CHARACTERS:
            cut = len(stream.partial)
        if cut:
            ready, stream.partial = stream.partial[:cut], stream.partial[cut:]
            self._send(which, stream, window.add(ready))
        if stream.partial and (is_new or cut):
            stream.partial_since = time.monotonic()

    def _flush_text(self, which, stream, final=False):
        if final:
            stream.partial += stream.decoder.decode(b"", True)
            stream.reset_decoder()
        if stream.partial:
            window = stream.aside_window if stream.aside else stream.window
            text, stream.partial = stream.partial, ""
            self._send(which, stream, window.add(text))

    def _send(self, which, stream, text):
        step = None if stream.aside else self.step
        for start in range(0, len(text), PIECE_CHARACTERS):
            piece = text[start : start + PIECE_CHARACTERS]
            self._emit(step, STREAMS[which], piece, self._order)
