"""%pip and its like: packages are added from outside."""

from __future__ import annotations

import importlib.util
import shlex
import sys

from ....pristine import BUILTINS as __builtins__
from ..dispatch import Commands
from ..errors import MagicUnavailable
from . import shell


def _manage(tool, rest):
    install = shell.installs(tool + " " + rest)
    if install is not None:
        shell.remedy(*install)
        return
    if rest.split()[:1] not in (["list"], ["freeze"]):
        raise MagicUnavailable("%{} {} is not available here".format(tool, rest).rstrip())
    print("\n".join("{}=={}".format(*pair) for pair in shell.distributions()))


def pip(commands: Commands, rest: str) -> None:
    """%pip"""
    if shell.installs("pip " + rest) is not None or importlib.util.find_spec("pip") is None:
        _manage("pip", rest)
        return
    commands.run_shell("{} -m pip {}".format(shlex.quote(sys.executable), rest))
    print("Note: you may need to restart the kernel to use updated packages.")


def conda(_commands: Commands, rest: str) -> None:
    """%conda"""
    _manage("conda", rest)


def mamba(_commands: Commands, rest: str) -> None:
    """%mamba"""
    _manage("mamba", rest)


def uv(_commands: Commands, rest: str) -> None:
    """%uv"""
    _manage("uv", rest)
