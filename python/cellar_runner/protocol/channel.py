"""Frames and JSON-RPC 2.0 on one descriptor; protocol/README.md is the contract."""

from __future__ import annotations

import json
import os
import struct
import sys
import threading

from ..pristine import BUILTINS as __builtins__
from .constants import MAX_FRAME_BYTES, PROTOCOL_VERSION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Iterable

_encode = json.JSONEncoder(ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode
_decode = json.JSONDecoder().decode
_pack_length = struct.Struct(">I").pack
_read, _write, _len, _str = os.read, os.write, len, str
_get_ident = threading.get_ident

INTERNAL_ERROR = -32603
METHOD_NOT_FOUND = -32601


class Broken(Exception):
    """The other side is gone or does not speak the protocol."""


def _frame(body):
    if _len(body) > MAX_FRAME_BYTES:
        raise ValueError("a message of %d bytes exceeds the limit of a message" % _len(body))
    return _pack_length(_len(body)) + body


class Channel:
    """One end of a link. Sending and receiving block; no state is shared with user code."""

    def __init__(self, descriptor: int, out: int | None = None) -> None:
        self.descriptor = descriptor
        self._out = descriptor if out is None else out
        self._held = b""
        # A message whose attachments are still to come, and what it says of them.
        self._unfinished: dict | None = None
        self._announced: list[dict] = []

    @property
    def has_input(self) -> bool:
        return bool(self._held)

    def receive(self) -> dict | None:
        """The next message, or None at the end of the stream."""
        while True:
            body = self._receive_frame()
            if body is None:
                return None
            message = self.assemble(body)
            if message is not None:
                return message

    def assemble(self, body: bytes) -> dict | None:
        """The message that a frame completes; None while attachments are still to come.

        Attachments stand in `params` in the place of their announcements.
        """
        if self._unfinished is None:
            message = self._parse(body)
            params = message.get("params")
            if not (isinstance(params, dict) and params.get("attachments")):
                return message
            self._unfinished, self._announced = message, params["attachments"]
            params["attachments"] = []
            return None
        attachments = self._unfinished["params"]["attachments"]
        announced = self._announced[_len(attachments)]["bytes"]
        if body[:1] != b"\0" or _len(body) - 1 != announced:
            raise Broken("an attachment is not what was announced")
        attachments.append(body[1:])
        if _len(attachments) < _len(self._announced):
            return None
        message, self._unfinished = self._unfinished, None
        return message

    def _receive_frame(self):
        while True:
            held = self._held
            if _len(held) >= 4:
                size = int.from_bytes(held[:4], "big")
                if not 0 < size <= MAX_FRAME_BYTES:
                    raise Broken("a message announces %d bytes" % size)
                if _len(held) >= 4 + size:
                    self._held = held[4 + size :]
                    return held[4 : 4 + size]
                self._held = held = self._read_exactly(held, 4 + size)
                continue
            try:
                chunk = _read(self.descriptor, 65536)
            except OSError:
                chunk = b""
            if not chunk:
                return None
            self._held = held + chunk

    def _read_exactly(self, held, size):
        pieces, have = [held], _len(held)
        while have < size:
            chunk = _read(self.descriptor, min(1 << 20, size - have))
            if not chunk:
                raise Broken("the stream ended inside a message")
            pieces.append(chunk)
            have += _len(chunk)
        return b"".join(pieces)

    @staticmethod
    def _parse(body):
        try:
            message = _decode(_str(body, "utf-8"))
        except (ValueError, RecursionError) as error:
            raise Broken("a message is not JSON: %s" % error) from None
        if not isinstance(message, dict):
            raise Broken("a message is not an object")
        return message

    def send(self, message: dict, attachments: Iterable[bytes] = ()) -> None:
        frames = _frame(_encode(message).encode("ascii"))
        for attachment in attachments:
            frames += _frame(b"\0" + attachment)
        self._write_all(frames)

    def _write_all(self, data):
        written = _write(self._out, data)
        while written < _len(data):
            written += _write(self._out, data[written:])

    def notify(self, method: str, params: dict, attachments: Iterable[bytes] = ()) -> None:
        self.send({"jsonrpc": "2.0", "method": method, "params": params}, attachments)

    def say_hello(
        self, role: str, session: str, token: str, abilities: list[str], branch: int = 0, generation: int = 0
    ) -> None:
        about = {"role": role, "session": session, "token": token, "branch": branch, "generation": generation}
        python = "%d.%d.%d" % sys.version_info[:3]
        self.notify("hello", dict(about, protocol=PROTOCOL_VERSION, python=python, abilities=abilities))

    def answer(self, identifier: int, result: object) -> None:
        self.send({"jsonrpc": "2.0", "id": identifier, "result": result})

    def refuse(self, identifier: int, code: int, text: str) -> None:
        self.send({"jsonrpc": "2.0", "id": identifier, "error": {"code": code, "message": text}})

    def report_error(self, identifier: int, error: BaseException) -> None:
        self.refuse(identifier, INTERNAL_ERROR, ("%s: %s" % (type(error).__name__, error))[:4000])


class SharedChannel(Channel):
    """A channel on which several threads send, and what interrupts one of them may too."""

    def __init__(self, descriptor: int, out: int | None = None) -> None:
        super().__init__(descriptor, out)
        self._sending = threading.Lock()
        # Threads that are sending, and what they were interrupted to send.
        self._inside: set[int] = set()
        self._late: list[bytes] = []
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._renew)

    def _renew(self):
        # In a copy made by user code, the thread that held the lock does not exist.
        self._sending = threading.Lock()
        self._inside.clear()
        self._late.clear()

    def _write_all(self, data):
        thread = _get_ident()
        if thread in self._inside:
            self._late.append(data)
            return
        self._inside.add(thread)
        try:
            with self._sending:
                super()._write_all(data)
                while self._late:
                    super()._write_all(self._late.pop(0))
        finally:
            self._inside.discard(thread)
