"""Imports modules and runs cells before Python's memory is saved, so that sessions start with them loaded."""

from __future__ import annotations

import gc
import importlib
import os

from ..pristine import BUILTINS as __builtins__
from ..session import warmup
from . import single_thread_loop
from .session import Wasm

# What cells import most. Memory that is kept costs little, an import much.
MODULES = (
    "base64 bisect calendar collections copy csv dataclasses datetime decimal difflib enum fractions "
    "functools glob hashlib heapq html inspect io itertools json math operator pathlib pickle pprint "
    "random re shutil statistics string tempfile textwrap time types typing unicodedata urllib.parse "
    "uuid zipfile"
).split()
CELLS = (warmup.CODE, "import asyncio\nawait asyncio.sleep(0)", "1 / 0")


class _Port:
    """A port whose host sends nothing and ignores what it gets."""

    read = takeRaw = wantedStep = see = lambda self: None
    write = setPartialLine = lambda self, _given: None
    wait = lambda self, _milliseconds: 0  # noqa: E731


def warm_up() -> None:
    for name in MODULES:
        importlib.import_module(name)
    port = _Port()
    single_thread_loop.install(port.wait)
    session = Wasm(port)
    for number, code in enumerate(CELLS, 1):
        cell = {"step": number, "number": number, "code": code, "max_output": 1000, "checkpoint": "off"}
        session._execute(cell)
    # Their numbers mean other files in a process that starts from this memory.
    for descriptor in session._pipes.descriptors:
        os.close(descriptor)
    session.interpreter.streams[0].close()  # type: ignore[index]
    gc.collect()
