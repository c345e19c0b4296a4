"""The working folder and the environment: %cd, %pushd, %env and their like."""

from __future__ import annotations

import os
import re
import sys
from typing import Any

from ....pristine import BUILTINS as __builtins__
from ..dispatch import Commands
from ..errors import UsageError
from ..options import parse_options, unquoted

_BACK = re.compile(r"-(\d+)?\Z").match
_SECRET = re.compile(r"key|token|secret|password", re.IGNORECASE).search


def _visited(commands):
    visited = commands.interpreter.history.folders
    if not visited:
        visited.append(os.getcwd())
    return visited


def pwd(_commands: Commands, _rest: str) -> str:
    """%pwd"""
    return os.getcwd()


def cd(commands: Commands, rest: str) -> None:
    """%cd [-q] folder; %cd - goes back, %cd -2 to the third of %dhist, %cd alone home"""
    visited = _visited(commands)
    rest = rest.strip()
    back = _BACK(rest)
    quiet = False
    if back is not None:
        try:
            target = visited[int(back.group(1))] if back.group(1) else visited[-2]
        except IndexError:
            if back.group(1):
                print("Requested directory doesn't exist in history.")
                return
            raise UsageError("No previous directory to change to.") from None
    else:
        options, rest = parse_options(rest, "qb")
        quiet = "q" in options
        target = os.path.expanduser(unquoted(rest).rstrip() or "~")
    try:
        os.chdir(target)
    except OSError as error:
        print(error)
    else:
        here = os.getcwd()
        # a cell that names _dh makes paths of them
        if str(visited[-1]) != here:
            visited.append(here)
    if not quiet:
        print(visited[-1])


def pushd(commands: Commands, rest: str) -> list[str]:
    """%pushd folder"""
    commands.folders.insert(0, _short(os.getcwd()))
    if rest.strip():
        cd(commands, rest)
    return dirs(commands, "")


def popd(commands: Commands, _rest: str) -> None:
    """%popd"""
    if not commands.folders:
        raise UsageError("%popd on empty stack")
    top = commands.folders.pop(0)
    cd(commands, top)
    print("popd ->", top)


def dirs(commands: Commands, _rest: str) -> list[str]:
    """%dirs"""
    return list(commands.folders)


def dhist(commands: Commands, rest: str) -> None:
    """%dhist [count]"""
    visited = _visited(commands)
    words = rest.split()
    first = max(0, len(visited) - int(words[0])) if words else 0
    print("Directory history (kept in _dh)")
    for number, folder in enumerate(visited[first:], first):
        print("{}: {}".format(number, folder))


def _short(folder):
    home = os.path.expanduser("~")
    return "~" + folder[len(home) :] if home != "/" and folder.startswith(home) else folder


def env(commands: Commands, rest: str) -> Any:
    """%env; %env NAME; %env NAME=value"""
    rest = rest.strip()
    if not rest:
        return {name: "<hidden>" if _SECRET(name) else value for name, value in os.environ.items()}
    if "=" in rest or " " in rest:
        return set_env(commands, rest)
    if rest not in os.environ:
        raise UsageError("Environment does not have key: {}".format(rest))
    return os.environ[rest]


def set_env(_commands: Commands, rest: str) -> None:
    """%set_env NAME=value"""
    separator = "=" if "=" in rest else " "
    name, found, value = rest.partition(separator)
    name, value = name.strip(), value.strip()
    if not found:
        raise UsageError("usage is 'set_env var=val'")
    if any(character.isspace() for character in name):
        raise UsageError(
            "Refusing to set environment variable with whitespace: {!r}".format(name)
        )
    os.environ[name] = value
    sys.stdout.write("env: {}={}\n".format(name, value))
