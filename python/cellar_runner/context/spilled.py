"""Long outputs of earlier cells as files, where the host cannot mount them."""

from __future__ import annotations

import os
import tempfile

MOUNT = "/spilled"


def spilled_folder() -> str:
    """Where they are: the host's mount, or a folder of the session's own."""
    return MOUNT if os.path.isdir(MOUNT) else os.path.join(tempfile.gettempdir(), "spilled")


def keep_spilled(given: dict[str, str]) -> None:
    """Writes one of them; the name is a single one, without a folder."""
    name = os.path.basename(given["name"])
    folder = spilled_folder()
    try:
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, name), "w", encoding="utf-8", errors="surrogatepass") as file:
            file.write(given["text"])
    except OSError as error:
        # Cells can put anything in its way; that is no reason to end the session.
        raise ValueError("cannot write to {}: {}".format(folder, error.strerror)) from None
