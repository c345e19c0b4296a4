"""Long outputs of earlier cells as files, where the host cannot mount them."""

from __future__ import annotations

import os
import tempfile

MOUNT = "/spilled"


def folder() -> str:
    """Where they are: the host's mount, or a folder of the session's own."""
    return MOUNT if os.path.isdir(MOUNT) else os.path.join(tempfile.gettempdir(), "spilled")


def keep(name: str, text: str) -> None:
    """Writes one of them, always into this folder."""
    place = folder()
    try:
        os.makedirs(place, exist_ok=True)
        path = os.path.join(place, os.path.basename(name))
        with open(path, "w", encoding="utf-8", errors="surrogatepass") as file:
            file.write(text)
    except OSError as error:
        # Not an OSError: for the service that means a broken channel, and a cell can put anything here.
        raise ValueError("cannot write to {}: {}".format(place, error.strerror)) from None
