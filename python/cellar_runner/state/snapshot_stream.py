"""Sends the state of a session to the host, piece by piece, on a link of its own."""

from __future__ import annotations

import os
import zlib
from typing import Any

from ..protocol import channel
from . import snapshot

PIECE_BYTES = 4 << 20
NICENESS = 10


class StreamClosed(Exception):
    """The host takes no more."""


_crc = zlib.crc32


class Checksum:
    """Lets the host check that everything arrived."""

    def __init__(self, sink):
        self._sink = sink
        self._bytes = 0
        self._crc = 0

    def write(self, piece: Any) -> None:
        self._bytes += len(piece)
        self._crc = _crc(piece, self._crc)
        self._sink(piece)

    @property
    def written(self) -> dict[str, int]:
        return {"bytes": self._bytes, "crc32": self._crc}


class StateLink:
    """Sends pieces; each waits until the host has taken the one before."""

    def __init__(self, descriptor):
        self._channel = channel.Channel(descriptor)
        self._pieces = []
        self._held = 0
        self._asked = 0

    def write(self, piece: Any) -> None:
        piece = memoryview(piece).cast("B")
        while len(piece):
            room = PIECE_BYTES - self._held
            self._pieces.append(bytes(piece[:room]))
            self._held += len(self._pieces[-1])
            piece = piece[room:]
            if self._held == PIECE_BYTES:
                self._flush()

    def end(self, manifest: dict, written: dict) -> None:
        self._flush()
        self._ask("state_end", {"done": True, "manifest": manifest, "written": written})

    def fail(self, reason: str) -> None:
        self._ask("state_end", {"done": False, "reason": reason[:4000]})

    def _flush(self):
        if self._held:
            body = b"".join(self._pieces)
            self._pieces, self._held = [], 0
            self._ask("state_part", {"attachments": [{"bytes": len(body)}]}, [body])

    def _ask(self, method, params, attachments=()):
        self._asked += 1
        message = {"jsonrpc": "2.0", "id": self._asked, "method": method, "params": params}
        self._channel.send(message, attachments)
        answer = self._channel.receive()
        if answer is None or "result" not in answer:
            raise StreamClosed()


def write_state(interpreter: Any, descriptor: int, scope: dict[str, Any]) -> None:
    """Sends the state with its manifest, or the reason for the failure."""
    link = StateLink(descriptor)
    state = Checksum(link.write)
    try:
        manifest = snapshot.write(
            interpreter,
            state.write,
            max_bytes=scope["max_bytes"],
            private=scope["private"],
            strict=scope["strict"],
        )
    except (StreamClosed, OSError):
        return
    except BaseException as error:
        link.fail("%s: %s" % (type(error).__name__, error))
        return
    link.end(manifest, state.written)


def write_as_copy(interpreter: Any, descriptor: int, scope: dict[str, Any]) -> None:
    """Sends the state from a forked copy, at a lower priority than cells, and exits."""
    try:
        os.nice(NICENESS)
        write_state(interpreter, descriptor, scope)
    finally:
        os._exit(0)
