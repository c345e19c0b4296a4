"""Cells for another program: %%bash, %%script and their like."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from typing import Any

from ....pristine import BUILTINS as __builtins__
from ..dispatch import Commands
from ..errors import UsageError
from ..options import parse_options, unquoted
from . import shell

_WITH_VALUE = ("--out", "--err", "--proc")
_FLAGS = ("--bg", "--no-raise-error")


def run(commands: Commands, name: str, rest: str, body: str) -> None:
    """%%bash [--out NAME] [--err NAME] [--bg] [--no-raise-error] [arguments]"""
    options, words = _options(rest)
    if name == "script":
        if not words:
            raise UsageError("%%script needs the name of a program")
        program = words
    else:
        program = [sys.executable if name.startswith("python") else name] + words
    if shutil.which(program[0]) is None and not os.path.exists(program[0]):
        print("Couldn't find program: {!r}".format(program[0]))
        return
    if "--bg" in options:
        _in_background(commands, options, program, body)
        return
    diverted = commands.is_diverted
    takes_out, takes_err = "--out" in options, "--err" in options
    code, out, err = shell.script(program, body, takes_out or diverted, takes_err or diverted)
    for option, text, stream in (("--out", out, sys.stdout), ("--err", err, sys.stderr)):
        if option in options:
            commands.bind(options[option], text or "")
        elif text:
            stream.write(text)
            stream.flush()
    commands.bind("_exit_code", code)
    if code and "--no-raise-error" not in options:
        raise subprocess.CalledProcessError(code, body.encode("utf-8", "surrogateescape"), out, err)


def _options(rest):
    words = shlex.split(rest)
    options, others = {}, []
    while words:
        word = words.pop(0)
        name, separator, value = word.partition("=")
        if name in _WITH_VALUE:
            if not separator and not words:
                raise UsageError("argument {}: expected one argument".format(name))
            options[name] = value if separator else words.pop(0)
        elif word in _FLAGS:
            options[word] = ""
        elif word == "--no-raise-error=True":
            options["--no-raise-error"] = ""
        else:
            others.append(word)
    return options, others


def _in_background(commands, options, program, body):
    process = shell.background(program, body)
    commands.background.append(process)
    outputs: tuple[tuple[str, Any], ...] = (("--out", process.stdout), ("--err", process.stderr), ("--proc", process))
    for option, value in outputs:
        if option in options:
            commands.bind(options[option], value)
        elif value is not process:
            value.close()


def kill(commands: Commands, _rest: str) -> None:
    """%killbgscripts"""
    running = [process for process in commands.background if process.poll() is None]
    if not running:
        print("No background processes were running.")
        return
    for process in running:
        process.kill()
    for process in running:
        process.wait()
    del commands.background[:]
    print("All background processes were killed.")


def lines(commands: Commands, rest: str, body: str = "") -> shell.SList:
    """%sx command; %%sx, %%system and %%!: the lines that the commands write"""
    return commands.lines_of((rest + "\n" + body).strip("\n"))


def write_file(rest: str, body: str) -> None:
    """%%writefile [-a] file"""
    options, name = parse_options(rest, "a", ("append",))
    if not name:
        raise UsageError("the following arguments are required: filename")
    path = os.path.expanduser(unquoted(name))
    append = bool(options)
    verb = "Appending to" if append else "Overwriting" if os.path.exists(path) else "Writing"
    with open(path, "a" if append else "w", encoding="utf-8") as target:
        print(verb, path)
        target.write(body)
