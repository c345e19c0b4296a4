"""Tools of the host's catalogue that work on the session itself, in the shapes that the catalogue declares."""

from __future__ import annotations

import os
import subprocess
from typing import Any, Callable

from ...archives.archives import Archives
from ...pristine import BUILTINS as __builtins__
from ...protocol.agent_functions import SESSION_TOOLS
from .. import browse
from . import fresh_python, safe_files, shell

MAX_CHARACTERS = 1_000_000
_run = subprocess.run


def functions(workspace: str, ask_python: Callable[[dict], Any]) -> dict[str, Callable]:
    archives = Archives(workspace)

    def python_eval(code, stdin_data="", timeout=30):
        made = fresh_python.run(ask_python, code, stdin_data, timeout)
        status = "ok" if made.error is None else "error"
        return {"status": status, "stdout": str(made), "stderr": "", "result": None, "error": made.error}

    def run_shell(command, timeout=30):
        made = shell.run(command, timeout)
        return {"exit_code": made.code, "stdout": str(made), "stderr": ""}

    def git_status(path="."):
        folder = os.path.join(workspace, path)
        command = ["git", "-C", folder, "status", "--porcelain=v1", "--branch"]
        ended = _run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=30, check=False)
        lines = ended.stdout.decode("utf-8", "replace").split("\n")
        if ended.returncode != 0 or not lines[0].startswith("## "):
            raise RuntimeError("no git repository: {}".format(lines[0][:200]))
        changes = [{"status": line[:2].strip(), "path": line[3:]} for line in lines[1:] if line[2:3] == " "]
        return {"branch": lines[0][3:].partition("...")[0], "changes": changes}

    def read_file(path, offset=0, max_chars=50_000):
        return str(browse.peek(lambda: None, min(max_chars, MAX_CHARACTERS), os.path.join(workspace, path), offset))

    def write_file(path, content, backup=True):
        told = safe_files.write(path, content, backup, workspace)
        kept = told.partition("; the old one is ")[2] or None
        return {"path": os.path.join(workspace, path), "bytes": len(content.encode("utf-8")), "backup": kept}

    def list_directory(path="."):
        listed = browse.list_dir(os.path.join(workspace, path))
        return [{"name": one["name"], "type": one["kind"], "size": one.get("size")} for one in listed]

    def archive_open(path, password=None):
        opened = archives.open(os.path.join(workspace, path), password)
        return {"format": opened.kind, "files": [{"name": str(one), "size": one.size} for one in opened]}

    def archive_extract(names=None, to=None):
        return [str(path) for path in archives.extract(names, to)]

    def archive_file(name):
        return archives.file(name)

    def archive_search(query, regex=False):
        return [{"file": hit.file, "line": hit.place, "text": str(hit)} for hit in archives.search(query, regex)]

    made = locals()
    return {name: made[name] for name in SESSION_TOOLS}
