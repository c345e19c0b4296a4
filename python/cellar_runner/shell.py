"""Shell commands of a cell, and the package commands that cannot work inside the sandbox."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
import types

from .pristine import BUILTINS as __builtins__
from .reprs import guarded_str

SHELL = "/bin/sh"

_EXPANSION = re.compile(
    r"\{\{|\}\}|\{(?P<expression>[^{}]+)\}|\$\$(?P<escaped>[\w.]*)|\$(?P<name>[A-Za-z_][\w.]*)"
)
_INSTALL = re.compile(
    r"^(?:sudo\s+)?(?:\S*python[\d.]*\s+-m\s+|uv\s+)?"
    r"(?P<tool>\S*pip[\d.]*|conda|mamba|apt|apt-get|uv)"
    r"\s+(?:-\S+\s+)*(?:install|add)\b(?P<rest>.*)$",
    re.S,
)
_SYSTEM_TOOLS = ("apt", "apt-get")
_OPTIONS_WITH_VALUE = frozenset(
    "-r --requirement -c --constraint -i --index-url --extra-index-url -f --find-links -t --target "
    "--platform --python-version --channel -n --name -p --prefix --python".split()
)
_REQUIREMENT_END = re.compile(r"[\[<>=!~;@ ]")


class PackageUnavailable(ImportError):
    """A package that only the outside can add."""


def expand(command, globals_, locals_):
    """Put Python values in place of {expression} and $name, as IPython does."""

    def replace(found):
        text = found.group()
        if text in ("{{", "}}"):
            return text[0]
        if found.group("escaped") is not None:
            return text[1:]
        name = found.group("name")
        if name is not None and name.partition(".")[0] not in locals_:
            if name.partition(".")[0] not in globals_:
                return text
        try:
            value = eval(name or found.group("expression"), globals_, locals_)
        except Exception:
            return text
        if callable(value) or isinstance(value, types.ModuleType):
            return text
        shown = guarded_str(value)
        return text if shown is None else shown

    return _EXPANSION.sub(replace, command)


def run(command, through_pipe):
    """Run a command; it writes to the cell's own descriptors unless Python's stdout is diverted."""
    _flush()
    if not through_pipe:
        return _finish(_start(_argv(command)))
    process = _start(_argv(command), stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return _finish(process, lambda: _copy(process.stdout))


def lines(command):
    """(lines of a command's stdout, exit code)."""
    _flush()
    process = _start(_argv(command), stdout=subprocess.PIPE)
    parts = []
    code = _finish(process, lambda: parts.append(process.stdout.read()))
    return b"".join(parts).decode("utf-8", "replace").splitlines(), code


def script(program, text):
    """Give a text to a program's stdin and wait for its end."""
    _flush()
    process = _start(program, stdin=subprocess.PIPE)
    return _finish(process, lambda: _feed(process.stdin, text))


def installs(command):
    """(tool, packages) if a command would install packages, else None."""
    found = _INSTALL.match(command.strip())
    if found is None:
        return None
    tool = os.path.basename(found.group("tool"))
    return tool, _packages(found.group("rest"))


def remedy(tool, packages):
    """Raise with what to do instead; a note if the packages are already there."""
    missing = [name for name in packages if not _is_there(name)]
    if packages and not missing:
        print("already installed: " + ", ".join(packages))
        return
    if tool in _SYSTEM_TOOLS:
        raise PackageUnavailable("system packages cannot be added inside the sandbox")
    wanted = " ".join(missing) or "NAME"
    raise PackageUnavailable(
        "packages are added from outside the sandbox: cellar install " + wanted
    )


def _argv(command):
    return [SHELL, "-c", command]


def _start(argv, stdin=subprocess.DEVNULL, **pipes):
    # a session of its own, so that an interrupt can end the command with all its children
    return subprocess.Popen(argv, stdin=stdin, start_new_session=True, **pipes)


def _finish(process, exchange=None):
    """Do the exchange with a command and wait for its end; an interrupt ends it."""
    try:
        if exchange is not None:
            exchange()
        return process.wait()
    except BaseException:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except OSError:
            process.kill()
        process.wait()
        raise
    finally:
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()


def _copy(output):
    for line in output:
        sys.stdout.write(line.decode("utf-8", "replace"))


def _feed(stdin, text):
    try:
        stdin.write(text.encode("utf-8", "surrogateescape"))
        stdin.close()
    except BrokenPipeError:
        pass


def _flush():
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:
            continue


def _packages(rest):
    try:
        words = shlex.split(rest, comments=True)
    except ValueError:
        words = rest.split()
    packages = []
    skip = False
    for word in words:
        if word in ("&&", "||", ";", "|", ">", "2>&1", "&"):
            break
        if skip or word.startswith("-"):
            skip = word in _OPTIONS_WITH_VALUE
            continue
        packages.append(word)
    return packages


def _is_there(requirement):
    """Whether a package is installed; its version is not compared."""
    import importlib.metadata
    import importlib.util

    name = _REQUIREMENT_END.split(requirement, maxsplit=1)[0]
    try:
        importlib.metadata.distribution(name)
        return True
    except Exception:
        pass
    try:
        return importlib.util.find_spec(name.replace("-", "_")) is not None
    except (ImportError, ValueError, AttributeError):
        return False
