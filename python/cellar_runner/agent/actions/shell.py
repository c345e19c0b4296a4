"""run_shell(): a command in the session's own sandbox."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from typing import Any

from ...pristine import BUILTINS as __builtins__
from ...values.reprs import is_a, type_name
from ..results import Output

DEFAULT_SECONDS, MOST_SECONDS = 30, 120
SHOWN_CHARACTERS = 8000
SPILL_BYTES = 32 << 20
POLL_SECONDS = 0.02

# Kept, since a cell may replace those of the modules.
_popen, _now, _sleep = subprocess.Popen, time.monotonic, time.sleep
_exists, _mkstemp, _fdopen, _fstat = os.path.exists, tempfile.mkstemp, os.fdopen, os.fstat
_unlink, _getcwd = os.unlink, os.getcwd
_killpg: Any = getattr(os, "killpg", None)


class ShellOutput(Output):
    """What a command wrote. `code` is its exit code, `path` the file with all of it, if it was long."""

    code: int | None = None
    path: str | None = None


def run(command: Any, timeout: Any) -> ShellOutput:
    if not is_a(command, str) or not command.strip():
        raise TypeError("run_shell() takes the command as text, not {}".format(type_name(type(command))))
    if type(timeout) not in (int, float) or not 0 < timeout <= MOST_SECONDS:
        raise ValueError("timeout must be at most {} seconds, not {!r}".format(MOST_SECONDS, timeout))
    shell = next((path for path in ("/bin/bash", "/bin/sh") if _exists(path)), None)
    if shell is None or _killpg is None:
        raise RuntimeError("there is no shell in this session; use Python instead")
    handle, path = _mkstemp(".txt", "shell-")
    with _fdopen(handle, "r+b") as file:
        code, ending = _ended([shell, "-c", command], timeout, file)
        file.seek(0)
        head = file.read(4 * SHOWN_CHARACTERS + 4).decode("utf-8", "replace")
        size = _fstat(file.fileno()).st_size
    is_long = len(head) > SHOWN_CHARACTERS
    text = head[:SHOWN_CHARACTERS]
    if is_long:
        text += "\n[\u2026 {:,} bytes in all: grep(PATTERN, {!r}) and peek(2000, {!r}) read them]".format(
            size, path, path
        )
    else:
        _unlink(path)
    if ending is not None or code:
        text = text.rstrip("\n") + ("\n" if text else "") + "[{}]".format(ending or "exit code {}".format(code))
    made = ShellOutput(text)
    made.code, made.path = code, path if is_long else None
    return made


def _ended(command, timeout, file):
    """(exit code, why it was ended) of the command; all that it started ends with it."""
    deadline = _now() + timeout
    process = _popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=file,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        cwd=_getcwd(),
    )
    try:
        while process.poll() is None:
            if _now() > deadline:
                return None, "ended after {:g} seconds, the time limit".format(timeout)
            if _fstat(file.fileno()).st_size > SPILL_BYTES:
                return None, "ended: it wrote more than {} MB".format(SPILL_BYTES >> 20)
            _sleep(POLL_SECONDS)
        return process.returncode, None
    finally:
        try:
            _killpg(process.pid, signal.SIGKILL)
        except OSError:
            pass
        process.wait()
