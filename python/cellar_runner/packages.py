"""%pip and its like: packages are added from outside."""

from __future__ import annotations

from . import shell
from .pristine import BUILTINS as __builtins__
from .usage import MagicUnavailable


def _manage(tool, rest):
    install = shell.installs(tool + " " + rest)
    if install is not None:
        shell.remedy(*install)
        return
    if rest.split()[:1] not in (["list"], ["freeze"]):
        raise MagicUnavailable("%{} {} is not available here".format(tool, rest).rstrip())
    import importlib.metadata

    found = importlib.metadata.distributions()
    names = {item.metadata["Name"]: item.version for item in found}
    print("\n".join("{}=={}".format(*pair) for pair in sorted(names.items(), key=str)))


def pip(_commands, rest):
    """%pip"""
    _manage("pip", rest)


def conda(_commands, rest):
    """%conda"""
    _manage("conda", rest)


def mamba(_commands, rest):
    """%mamba"""
    _manage("mamba", rest)


def uv(_commands, rest):
    """%uv"""
    _manage("uv", rest)
