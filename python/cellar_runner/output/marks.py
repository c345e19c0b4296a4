"""Marks in the output pipes: where a cell begins and ends, and in which order streams wrote."""

from __future__ import annotations

import os
import struct

from ..pristine import BUILTINS as __builtins__

NONCE_BYTES = 16

BEGIN = 1
END = 2
SYNC = 3
ASIDE = 4
RETURN = 5

_layout = struct.Struct(">BIII")
MARK_BYTES = NONCE_BYTES + _layout.size


def new_nonce() -> bytes:
    """Begins with a byte that UTF-8 never has: text need not wait for what may follow it."""
    return b"\xff" + os.urandom(NONCE_BYTES - 1)


def encode(nonce: bytes, kind: int, order: int, step: int = 0, argument: int = 0) -> bytes:
    return nonce + _layout.pack(kind, order, step, argument)


def decode(mark: bytes) -> tuple[int, ...]:
    """(kind, order, step, argument) of the bytes that follow a nonce."""
    return _layout.unpack(mark[NONCE_BYTES:MARK_BYTES])
