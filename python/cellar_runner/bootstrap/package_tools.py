"""pip, conda, mamba and uv as programs of a session: what installs tells how packages are added."""

from __future__ import annotations

import os
import sys

RUNNER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# Run as a file, which is not the package it belongs to.
sys.path.insert(0, os.path.dirname(RUNNER))

from cellar_runner.cells.magics.commands import shell  # noqa: E402

sys.path.pop(0)

NOT_FOUND = 127


def main(called: str, words: list[str]) -> int:
    name = os.path.basename(called)
    tool = "pip" if name.startswith("pip") else name
    install = shell.installs(" ".join(map(shell.shlex.quote, [tool] + words)))
    if install is not None:
        try:
            shell.remedy(*install)
            return 0
        except shell.PackageUnavailable as error:
            return _fail(str(error), 1)
    return _pip(words) if tool == "pip" else _another(called, words)


def _pip(words):
    import importlib.util

    if importlib.util.find_spec("pip") is not None:
        # Isolated, so that no file of the folder of work is taken for a part of pip.
        os.execv(sys.executable, [sys.executable, "-I", "-m", "pip"] + words)
    if words[:1] not in (["list"], ["freeze"]):
        return _fail("this Python has no pip; packages are added from outside: cellar install NAME", 1)
    print("\n".join("{}=={}".format(*pair) for pair in shell.distributions()))
    return 0


def _another(called, words):
    """The program of that name which the search path has after this one."""
    name, own = os.path.basename(called), os.path.dirname(os.path.abspath(called))
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        path = os.path.join(folder, name)
        if os.path.abspath(folder) != own and os.access(path, os.X_OK):
            os.execv(path, [path] + words)
    return _fail("{}: not found".format(name), NOT_FOUND)


def _fail(text, code):
    sys.stderr.write(text + "\n")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
