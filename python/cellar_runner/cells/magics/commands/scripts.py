"""Cells for another program: %%bash, %%script and their like."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys

from ....pristine import BUILTINS as __builtins__
from ...ipython.magic import MagicArgumentParser
from ..dispatch import Commands
from ..errors import UsageError
from ..options import parse_options, unquoted
from . import shell

_parser = MagicArgumentParser(add_help=False, allow_abbrev=False)
for _name in ("--out", "--err", "--proc"):
    _parser.add_argument(_name)
for _name in ("--bg", "--no-raise-error"):
    _parser.add_argument(_name, action="store_true")


def run(commands: Commands, name: str, rest: str, body: str) -> None:
    """%%bash [--out NAME] [--err NAME] [--bg] [--no-raise-error] [arguments]"""
    options, words = _parser.parse_known_args(shlex.split(rest))
    if name == "script":
        if not words:
            raise UsageError("%%script needs the name of a program")
        program = words
    else:
        program = [sys.executable if name.startswith("python") else name] + words
    if shutil.which(program[0]) is None and not os.path.exists(program[0]):
        print("Couldn't find program: {!r}".format(program[0]))
        return
    if options.bg:
        _in_background(commands, options, program, body)
        return
    diverted = commands.is_diverted
    code, out, err = shell.script(program, body, bool(options.out) or diverted, bool(options.err) or diverted)
    for name, text, stream in ((options.out, out, sys.stdout), (options.err, err, sys.stderr)):
        if name:
            commands.bind(name, text or "")
        elif text:
            stream.write(text)
            stream.flush()
    commands.bind("_exit_code", code)
    if code and not options.no_raise_error:
        raise subprocess.CalledProcessError(code, body.encode("utf-8", "surrogateescape"), out, err)


def _in_background(commands, options, program, body):
    process = shell.background(program, body)
    commands.background.append(process)
    if options.proc:
        commands.bind(options.proc, process)
    for name, pipe in ((options.out, process.stdout), (options.err, process.stderr)):
        if name:
            commands.bind(name, pipe)
        else:
            pipe.close()  # type: ignore[union-attr]


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
