"""The functions with which an agent acts: shell, files, code, archives, and asking for help."""

from __future__ import annotations

from ..archives.archives import Archives
from ..errors import MODULE
from ..host.toolbox import APPROVAL, DELEGATION, FRESH_PYTHON, ROUTE
from ..pristine import BUILTINS as __builtins__
from ..protocol.agent_functions import NAMES

# The modules behind the functions are loaded when one is called: most sessions use none.
_SHELL_SECONDS, _PYTHON_SECONDS = 30, 60

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable

    from .agent import AgentTools


def functions(tools: AgentTools) -> dict[str, Callable]:
    """The functions by name. They have no annotations: help() shows their signatures to models."""
    record = tools.record

    archives = Archives(tools.workspace)

    def archive_open(path_or_bytes, password=None):
        """Open an archive or a document; gives its list of files. Costs nothing.

        ZIP, TAR (gz, bz2, xz, zst), 7z, PDF, DOCX, XLSX, PPTX, EPUB, HTML. Nothing is unpacked.

        >>> archive_open("/workspace/papers.zip")
        """
        arguments = {"path_or_bytes": path_or_bytes}
        return record("archive_open", arguments, lambda: archives.open(path_or_bytes, password))

    def archive_file(name, archive=None, start=0):
        """Read a file, a page or a sheet of the archive that was opened last. Costs nothing.

        Returns up to 50,000 characters of text, or bytes.

        >>> archive_file("notes/readme.txt")
        """
        return record("archive_file", {"name": name}, lambda: archives.file(name, archive, start))

    def archive_search(query, regex=False, archive=None):
        """Find the lines in all files of the archive that was opened last. Costs nothing.

        Returns up to 50 hits, each with its file and place.

        >>> archive_search("invoice")
        """
        work = lambda: archives.search(query, regex, archive)  # noqa: E731
        return record("archive_search", {"query": query, "regex": regex}, work)

    def archive_extract(names=None, to=None, archive=None):
        """Write files of the archive that was opened last into a folder of the workspace; all without names.

        >>> archive_extract("notes/readme.txt")
        """
        return record("archive_extract", {"names": names}, lambda: archives.extract(names, to, archive))

    def web_fetch(url, max_chars=10000):
        """Read a web page as Markdown; JSON comes as a value, a PDF as text. Needs a host that gives the web.

        >>> web_fetch("https://example.org/")
        """
        from .actions import web

        ask = lambda: tools.call_tool("web_fetch", {"url": url, "max_chars": max_chars})  # noqa: E731
        return record("web_fetch", {"url": url}, lambda: web.fetched(ask(), max_chars))

    def web_search(query, limit=5):
        """Search the web; gives a list of dicts with title, url and excerpt. Needs a provider on the host.

        >>> web_search("history of the abacus")[0]["url"]
        """
        from .actions import web

        ask = lambda: tools.call_tool("web_search", {"query": query, "limit": limit})  # noqa: E731
        return record("web_search", {"query": query}, lambda: web.searched(ask))

    def batch_web_search(queries, limit=5):
        """Search the web for several queries at once; gives a list with query and results of each.

        >>> batch_web_search(["abacus", "slide rule"])
        """
        arguments = {"queries": queries, "limit": limit}
        return record("batch_web_search", {"queries": queries}, lambda: tools.call_tool("batch_web_search", arguments))

    def run_shell(command, timeout=_SHELL_SECONDS):
        """Run a shell command in this session's sandbox; gives what it wrote, errors included.

        timeout: seconds, at most 120.

        Returns a str of up to 8,000 characters; more is in a file, which the text names.
        Its .code is the exit code.

        >>> run_shell("wc -l /workspace/*.csv")
        """
        from .actions import shell

        return record("run_shell", {"command": command}, lambda: shell.run(command, timeout))

    def run_python_code(code, stdin_data="", timeout=_PYTHON_SECONDS):
        """Run Python code in a fresh session, which shares nothing with this one; gives what it wrote.

        stdin_data: what it reads from its input.
        timeout: seconds, at most 120.

        Returns a str; its .error is the last line of an error, or None.

        >>> run_python_code("print(sum(map(int, input().split())))", "1 2 3")
        """
        from .actions import fresh_python

        ask = lambda content: tools.ask_host("run_python_code", FRESH_PYTHON, content)  # noqa: E731
        work = lambda: fresh_python.run(ask, code, stdin_data, timeout)  # noqa: E731
        return record("run_python_code", {"code": code}, work)

    def benchmark_run(name, code, repeat=10):
        """Time code in a fresh session: median, p99 and least time in milliseconds, and memory.

        >>> benchmark_run("sort", "sorted(range(100_000))", 20).median_ms
        """
        from .actions import fresh_python

        ask = lambda content: tools.ask_host("benchmark_run", FRESH_PYTHON, content)  # noqa: E731
        arguments = {"name": name, "repeat": repeat}
        return record("benchmark_run", arguments, lambda: fresh_python.benchmark(ask, name, code, repeat))

    def file_write_safe(path, content, backup=True):
        """Write a file in the workspace in one step; the old one is kept beside it.

        content: text or bytes.
        backup: False keeps no copy of the old file.

        >>> file_write_safe("report.md", text)
        """
        from .actions import safe_files

        work = lambda: safe_files.write(path, content, backup, tools.workspace)  # noqa: E731
        return record("file_write_safe", {"path": path}, work)

    def log_append(name, text):
        """Add a line with the time to a log of this session; gives its path.

        >>> log_append("steps", "read all invoices")
        """
        from .actions import safe_files

        return record("log_append", {"name": name}, lambda: safe_files.append(name, text, tools.workspace))

    def delegate(task, to=None):
        """Hand a task to another agent; gives its answer as a str.

        task: all that it needs to know.
        to: the name of a role, if the host knows several.

        >>> delegate("Summarise chapter 3: " + peek(8000, start=120_000))
        """
        if not isinstance(task, str) or not isinstance(to, (str, type(None))):
            raise TypeError("delegate() takes a task, and a role or None, as text")
        work = lambda: tools.ask_host("delegate", DELEGATION, {"task": task, "to": to})  # noqa: E731
        return record("delegate", {"task": task, "to": to}, work)

    def escalate(reason):
        """Ask a person, or whoever approves for the host; raises ToolError if the answer is no.

        >>> escalate("I need to delete the old backups to go on")
        """
        if not isinstance(reason, str):
            raise TypeError("escalate() takes the reason as text")
        work = lambda: tools.ask_host("escalate", APPROVAL, {"reason": reason})  # noqa: E731
        return record("escalate", {"reason": reason}, work)

    def STUCK(reason=""):
        """Say that you are stuck; gives advice on how to go on. Costs nothing, and ends nothing.

        >>> STUCK("no match for the name")
        """
        from .actions import advice

        calls, omitted = tools.log.report()
        return advice.stuck(reason, calls, omitted)

    def my_role():
        """Tell who you are here: your role, and what the host lets you do."""
        from .actions import advice

        return advice.role(tools.role, tools.host())

    def route_advice(task):
        """Ask the host which role or model suits a task. Needs a router on the host.

        >>> route_advice("Translate this contract")
        """
        if not isinstance(task, str):
            raise TypeError("route_advice() takes the task as text")
        return tools.ask_host("route_advice", ROUTE, {"task": task})

    made = {name: value for name, value in locals().items() if name in NAMES}
    for name, function in made.items():
        function.__module__, function.__qualname__ = MODULE, name
    return made
