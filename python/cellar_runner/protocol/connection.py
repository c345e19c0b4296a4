"""How a process of the sandbox opens a link to the host."""

from __future__ import annotations

import os
import socket

from . import channel

SOCKET_NAME = "host.sock"
ABILITIES = ["checkpoints", "fork", "interrupt", "display"]


def open_link(folder: int, role: str, session: str, token: str, branch: int = 0, generation: int = 0) -> int:
    """The descriptor of a new link on which the hello is already sent."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    os.fchdir(folder)
    try:
        connection.connect(SOCKET_NAME)
    finally:
        os.chdir("/")
    descriptor = connection.detach()
    channel.Channel(descriptor).say_hello(role, session, token, ABILITIES, branch, generation)
    return descriptor
