"""What the kernel does when a signal comes to this process."""

from __future__ import annotations

import ctypes
import zlib

# Of the C library: a pointer, a set of signals, flags, another pointer.
BYTES = 152
FLAGS_OFFSET = 136
STANDARD_SIGNALS = range(1, 32)

_libc = ctypes.CDLL(None, use_errno=True)
_sigaction = _libc.sigaction


class SignalActions:
    """The handlers and flags of the standard signals, read into one buffer."""

    def __init__(self) -> None:
        self._buffer = ctypes.create_string_buffer(BYTES * len(STANDARD_SIGNALS))
        start = ctypes.addressof(self._buffer)
        self._calls = [
            (number, ctypes.c_void_p(start + index * BYTES)) for index, number in enumerate(STANDARD_SIGNALS)
        ]

    def digest(self) -> int:
        """A number that changes with any of them."""
        for number, place in self._calls:
            _sigaction(number, None, place)
        return zlib.crc32(self._buffer)

    def restore(self, number: int) -> None:
        """Sets the action of a signal to what it was when the last digest was made."""
        index = STANDARD_SIGNALS.index(number)
        _sigaction(number, self._calls[index][1], None)
