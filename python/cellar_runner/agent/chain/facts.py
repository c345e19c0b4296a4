"""What is known of a tool before it is called, as far as chains need it."""

from __future__ import annotations

from typing import Any, Mapping, NamedTuple

from ...pristine import BUILTINS as __builtins__

# Functions that call a tool of the registry by its name, which is their first argument.
WRAPPERS = ("TOOL", "CALL", "tool_call")
# The object that has the tools of the registry as attributes.
ROOT = "tools"
# Built-ins with effects that may run side by side, if that is asked for and they touch different things.
SAFE_MUTATIONS = frozenset(("run_shell", "file_write_safe", "log_append", "benchmark_run"))
EVERYTHING = "*"


class ToolFacts(NamedTuple):
    """`reads` and `writes` are templates such as "file:{path}"; if both are None, it may touch anything."""

    is_read_only: bool = False
    is_chain_enabled: bool = False
    is_routing: bool = False
    reads: tuple[str, ...] | None = None
    writes: tuple[str, ...] | None = None
    # In the order of positional arguments.
    parameters: tuple[str, ...] = ()
    # Values of arguments that are left out; None says that nothing is touched then.
    defaults: Mapping[str, Any] = {}
    # Where its relative paths begin; by default in the working folder.
    folder: str = ""

    def outside_reads(self) -> tuple[str, ...]:
        is_undeclared = self.reads is None and self.writes is None
        return (EVERYTHING,) if is_undeclared else self.reads or ()

    def outside_writes(self) -> tuple[str, ...]:
        is_undeclared = self.reads is None and self.writes is None
        return (EVERYTHING,) if is_undeclared and not self.is_read_only else self.writes or ()


class Catalogue(NamedTuple):
    """Built-in functions by name, and tools of the registry by `name` or `group.name`: never mixed up."""

    functions: Mapping[str, ToolFacts]
    tools: Mapping[str, ToolFacts] = {}


def _reader(*reads: str, parameters: str = "", **defaults: Any) -> ToolFacts:
    return ToolFacts(True, True, False, reads, (), tuple(parameters.split()), defaults)


def _mutation(*writes: str, parameters: str = "") -> ToolFacts:
    return ToolFacts(False, True, False, (), writes, tuple(parameters.split()))


def built_ins(workspace: str = "/workspace") -> dict[str, ToolFacts]:
    """The facts of the built-ins of an agent; where one does not exist, its facts are never asked for."""
    model = _reader()
    # They read the archive that was opened last, or open the one that they are given.
    of_archive = ToolFacts(True, True, False, ("archive", "file"), ("archive:{archive}",), (), {"archive": None})
    return {
        "peek": _reader("file:{file}", parameters="n file", file=None),
        "grep": _reader("file:{file}", parameters="pattern file context_lines", file=None),
        "list_dir": _reader("file:{path}", parameters="path", path=workspace),
        "file_info": _reader("file:{path}", parameters="path"),
        "context_len": _reader(),
        "chunk_context": _reader(),
        "list_findings": _reader("findings"),
        "code_search": _reader("file"),
        "doc_search": _reader("file"),
        "recall": _reader("memories"),
        "web_fetch": _reader("net:{url}", parameters="url max_chars"),
        "web_search": _reader("net"),
        "batch_web_search": _reader("net"),
        "llm_call": _reader(parameters="prompt model"),
        "llm_batch": _reader(parameters="prompts"),
        "llm_query": _reader(parameters="prompt model"),
        "llm_query_batched": model,
        "rlm_query": model,
        "rlm_query_batched": model,
        "list_tools": _reader(),
        "my_role": _reader(),
        "route_advice": _reader(),
        "archive_open": ToolFacts(True, True, False, ("file",), ("archive",), ("path_or_bytes", "password")),
        "archive_file": of_archive._replace(parameters=("name", "archive", "start")),
        "archive_search": of_archive._replace(parameters=("query", "regex", "archive")),
        "archive_extract": _mutation("file", "archive"),
        "mark_finding": _mutation("findings", parameters="text source"),
        "run_shell": _mutation(EVERYTHING, parameters="command timeout"),
        "run_python_code": _mutation("net", parameters="code stdin_data timeout"),
        "file_write_safe": _mutation("file:{path}*", parameters="path content backup")._replace(folder=workspace),
        "log_append": _mutation("file:logs/{name}.log", parameters="name text")._replace(folder=workspace),
        "benchmark_run": _mutation(parameters="name code repeat"),
        "delegate": ToolFacts(is_routing=True),
        "escalate": ToolFacts(is_routing=True),
    }
