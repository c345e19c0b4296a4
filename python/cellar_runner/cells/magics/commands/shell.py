"""Shell commands of a cell, and the package commands that cannot work inside the sandbox."""

from __future__ import annotations

import os
import re
import shlex
import signal
import string
import subprocess
import sys
from typing import Any, Mapping

from ....pristine import BUILTINS as __builtins__
from ....values.reprs import guarded_str

SHELLS = ("/bin/bash", "/bin/sh")
_STDOUT = 1

# not in single quotes, as in a shell
_DOLLAR = re.compile(r"\$(?P<name>\$?[A-Za-z_$][\w.]*)(?=(?:[^']*'[^']*')*[^']*\Z)")
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


class SList(list):
    """The lines of a command's output, with IPython's methods."""

    __module__ = "IPython.utils.text"

    def __reduce__(self):
        return _lines_again, (self[:],)

    @property
    def l(self) -> SList:  # noqa: E743
        return self

    list = l

    @property
    def s(self) -> str:
        return " ".join(self)

    spstr = s

    @property
    def n(self) -> str:
        return "\n".join(self)

    nlstr = n

    @property
    def p(self) -> Any:
        """The lines that are existing paths."""
        from pathlib import Path

        return [Path(line) for line in self if os.path.exists(line)]

    paths = p

    def grep(self, pattern: Any, prune: bool = False, field: int | None = None) -> SList:
        """The lines that match a pattern, or that a function chooses."""
        decide = pattern if callable(pattern) else re.compile(pattern, re.IGNORECASE).search
        found = []
        for line in self:
            words = line.split() if field is not None else ()
            subject = line if field is None else words[field] if -len(words) <= field < len(words) else ""
            if bool(decide(subject)) != bool(prune):
                found.append(line)
        return SList(found)

    def fields(self, *wanted: int) -> Any:
        """Some columns; without arguments, all of them as lists."""
        rows = [line.split() for line in self]
        if not wanted:
            return rows
        chosen = [[row[at] for at in wanted if -len(row) <= at < len(row)] for row in rows]
        return SList(" ".join(row) for row in chosen if row)

    def sort(self, field: int | None = None, nums: bool = False) -> SList:  # type: ignore[override]
        """The lines sorted, or sorted by a column."""

        def key(line):
            words = line.split()
            subject = line if field is None else words[field] if field < len(words) else ""
            if not nums:
                return subject
            digits = "".join(filter(str.isdigit, subject))
            return int(digits) if digits else 0

        return SList(sorted(self, key=key))


def _lines_again(lines):
    return SList(lines)


def expand(command: str, globals_: dict[str, Any], locals_: Mapping[str, Any], names_only: bool = False) -> str:
    """Put Python values in place of {expression} and $name, as IPython does.

    What cannot be put in leaves the whole command as it is. With `names_only` expressions cannot.
    """
    if "{" not in command and "$" not in command and "}" not in command:
        return command

    def replace(found):
        name = found.group("name")
        if name.startswith("$"):
            return name
        first = name.partition(".")[0]
        if (first not in locals_ and first not in globals_) or (names_only and first != name):
            return found.group()
        shown = guarded_str(eval(name, globals_, locals_))
        return found.group() if shown is None else shown

    formatter = string.Formatter()
    parts = []
    try:
        for literal, field, spec, conversion in formatter.parse(command):
            parts.append(_DOLLAR.sub(replace, literal))
            if field is None:
                continue
            if names_only and not field.isidentifier():
                return command
            value = formatter.convert_field(eval(field, globals_, locals_), conversion)  # type: ignore[arg-type]
            parts.append(format(value, spec or ""))
    except Exception:
        return command
    return "".join(map(str, parts))


def run(command: str, through_pipe: bool) -> int:
    """Runs a command; its output and errors go to the cell's stdout."""
    _flush()
    if not through_pipe:
        return _finish(_start(_argv(command), stderr=_STDOUT))[0]
    process = _start(_argv(command), stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def copy():
        for line in process.stdout:
            sys.stdout.write(line.decode("utf-8", "replace"))

    return _finish(process, copy)[0]


def lines(command: str) -> tuple[SList, int]:
    """(lines of a command's output, exit code)."""
    _flush()
    process = _start(_argv(command), stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    code, output = _finish(process, process.stdout.read)
    return SList(output.decode("utf-8", "replace").splitlines()), code


def script(program: list[str], text: str, takes_out: bool, takes_err: bool) -> tuple[int, str | None, str | None]:
    """Gives a text to a program's stdin; (exit code, stdout, stderr), None for what is not captured."""
    _flush()
    pipe = subprocess.PIPE
    process = _start(program, stdin=pipe, stdout=pipe if takes_out else None, stderr=pipe if takes_err else None)
    code, taken = _finish(process, lambda: process.communicate(text.encode("utf-8", "surrogateescape")))
    return (code,) + tuple(part and part.decode("utf-8", "replace") for part in taken)


def background(program: list[str], text: str) -> subprocess.Popen:
    """Starts a program that outlives the cell."""
    _flush()
    pipe = subprocess.PIPE
    process = _start(program, stdin=pipe, stdout=pipe, stderr=pipe)
    try:
        process.stdin.write(text.encode("utf-8", "surrogateescape"))
        process.stdin.close()
    except BrokenPipeError:
        pass
    return process


def installs(command: str) -> tuple[str, list[str]] | None:
    """(tool, packages) if a command would install packages, else None."""
    found = _INSTALL.match(command.strip())
    if found is None:
        return None
    tool = os.path.basename(found.group("tool"))
    return tool, _packages(found.group("rest"))


def remedy(tool: str, packages: list[str]) -> None:
    """Raises with what to do instead; prints a note if the packages are already installed."""
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


def distributions() -> list[tuple[str, str]]:
    import importlib.metadata

    found = importlib.metadata.distributions()
    return sorted({item.metadata["Name"]: item.version for item in found}.items(), key=str)


def _argv(command):
    return [next(filter(os.path.exists, SHELLS), SHELLS[-1]), "-c", command]


def _start(argv, stdin=subprocess.DEVNULL, **pipes):
    # a session of its own, so that an interrupt can end the command with all its children
    return subprocess.Popen(argv, stdin=stdin, start_new_session=True, **pipes)


def _finish(process, exchange=None):
    """Waits for the command; (its exit code, what `exchange` returns). An interrupt kills it."""
    try:
        exchanged = None if exchange is None else exchange()
        return process.wait(), exchanged
    except BaseException:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except OSError:
            process.kill()
        process.wait()
        raise
    finally:
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()


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
    """Whether a package is installed, in any version."""
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
