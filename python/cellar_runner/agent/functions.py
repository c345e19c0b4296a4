"""The functions of an agent, with the text that help() shows for each."""

from __future__ import annotations

from ..errors import MODULE
from ..pristine import BUILTINS as __builtins__
from ..protocol.agent_functions import NAMES
from . import browse
from .variables import Variables

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable

    from .agent import AgentTools


def functions(tools: AgentTools) -> dict[str, Callable]:
    """The functions by name. They have no annotations: help() shows their signatures to models."""
    record = tools.record

    def peek(n=500, file=None, *, start=0):
        """Show the first n characters of the context, or of a file. Costs nothing.

        n: how many characters.
        file: a path, such as "/workspace/notes.txt"; default: `context`.
        start: the character to begin at.

        Returns a str. In lists and dicts, every value follows its path.

        >>> peek(9)
        'Call me I'
        """
        arguments = {"n": n, "file": file, "start": start}
        return record("peek", arguments, lambda: browse.peek(lambda: tools.context("peek"), n, file, start))

    def grep(pattern, file=None, context_lines=2, *, ignore_case=True):
        """Find the lines of the context, or of a file, that match a pattern. Costs nothing.

        pattern: a regular expression in ripgrep's syntax, matched against each line on its own.
            Look-around and backreferences work too, but slower.
        file: a path; default: `context`.
        context_lines: how many lines to show before and after each match.
        ignore_case: False makes the search case-sensitive; so does (?-i) in the pattern.

        Returns a list of str, one for each matching line, which is shown with line numbers.
        Each has .line (from 1), .before, .after and .where (its path in lists and dicts).
        The list has a maximum length; .total counts all matching lines, .more those left out.

        >>> grep("ishmael", context_lines=0)
        1 matching line for 'ishmael' in context
        1:Call me Ishmael.
        """
        arguments = {"pattern": pattern, "file": file, "context_lines": context_lines}
        if ignore_case is not True:
            arguments["ignore_case"] = False
        return record("grep", arguments, lambda: tools.grep(pattern, file, context_lines, ignore_case))

    def list_dir(path=tools.workspace):
        """List a folder, folders first, with the sizes of files. Costs nothing.

        Returns a list of up to 100 entries, each with name, kind and size; .total counts all.

        >>> list_dir()
        """
        return record("list_dir", {"path": path}, lambda: browse.list_dir(path))

    def file_info(path):
        """Describe a file: kind, size, time of change, encoding and lines. Costs nothing.

        >>> file_info("/workspace/notes.txt").lines
        """
        return record("file_info", {"path": path}, lambda: browse.file_info(path))

    def context_len():
        """Count the characters of the context, as peek() shows it. Costs nothing.

        >>> context_len()
        54
        """
        return record("context_len", {}, lambda: browse.length(tools.context("context_len")))

    def chunk_context(n=4, overlap=200):
        """Cut the context into n chunks, up to 20, at line ends where one is near. Costs nothing.

        overlap: how many characters at the end of a chunk are repeated in the next one.

        Returns a list of str; its .spans has the start and end of each.

        >>> chunk_context(2, overlap=0)[1]
        'Some years ago - never mind how long.'
        """
        arguments = {"n": n, "overlap": overlap}
        work = browse.chunks
        return record("chunk_context", arguments, lambda: work(tools.context("chunk_context"), n, overlap))

    def mark_finding(text, source=None):
        """Keep a finding, so that later turns show it. Costs nothing.

        text: one or two sentences.
        source: where it was found, such as "line 42" or "G1".

        >>> mark_finding("The teller is called Ishmael", source="line 1").number
        1
        """
        return tools.findings.mark(text, source)

    def list_findings():
        """Show the findings so far. Costs nothing."""
        return tools.findings.listed()

    def llm_call(prompt, model=None):
        """Ask a language model. Costs what the model costs.

        prompt: everything that the model needs to know; it sees nothing else.
        model: the name of a model, if several are offered.

        Returns the answer as a str. Raises HostError if there is no answer. May be awaited.

        >>> llm_call("Summarise in one line: " + peek(4000))
        """
        return tools.ask("llm_call", {"prompt": prompt, "model": model}, "llm_query", prompt, model)

    def llm_batch(prompts):
        """Ask a language model several prompts at once. Costs one call for each.

        Returns a list of answers in the order of the prompts. May be awaited.

        >>> llm_batch(["Which names are in this? " + part for part in chunk_context(8)])
        """
        return tools.ask("llm_batch", {"prompts": prompts}, "llm_query_batched", prompts)

    def FINAL(answer):
        """Give the answer and end the task; nothing after this call runs.

        answer: a text, or a value made of numbers, texts, lists and dicts.

        >>> FINAL("Ishmael")
        """
        tools.finish("FINAL", answer)

    def FINAL_VAR(name):
        """Give the value of a variable as the answer, and end the task.

        name: the name as text.

        >>> FINAL_VAR("result")
        """
        tools.finish_with(name)

    def SUBMIT(*given, **fields):
        """Give the answer as named fields, or as one value, and end the task.

        >>> SUBMIT(name="Ishmael", ship="Pequod")
        """
        tools.finish("SUBMIT", fields if fields or not given else given[0])

    def SHOW_VARS():
        """Show your variables, with their types and short values. Costs nothing."""
        return Variables.of(tools.variables())

    made = {name: value for name, value in locals().items() if name in NAMES}
    for name, function in made.items():
        function.__module__, function.__qualname__ = MODULE, name
    return made
