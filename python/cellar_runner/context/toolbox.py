"""What every session offers to look through its context and other long texts."""

from __future__ import annotations

from typing import Any, Callable

from ..pristine import BUILTINS as __builtins__
from . import matches, sections
from .extraction import extract_json
from .texts import count_of_lines, leaves, line_at, one_text, whole_number


def toolbox(context: Callable[[], Any]) -> dict[str, Callable]:
    """Name to function; `context()` gives the current context, or raises LookupError."""

    def chosen(text, function):
        if text is not None:
            return text
        try:
            text = context()
        except LookupError:
            text = None
        if text is None:
            message = "this session has no context: pass a text to {}(), or assign one to `context`"
            raise NameError(message.format(function)) from None
        return text

    def search_context(pattern, window=200, max_results=100, text=None):
        """Search the context for a regular expression and show the text around each match.

        pattern: str or re.compile(...); ^ and $ match at every line (with CRLF write \\r?$),
            (?i) ignores case, and re.escape(words) searches for words as they are.
        window: how many characters to show on both sides of a match.
        max_results: how many matches to return; None for all.
        text: what to search instead of `context`: a str, or lists and dicts of values, of
            which every text and number is searched on its own (the keys of dicts are not).

        Returns a list of matches, each with match, start, end, line (from 1), text (the match
        with its surroundings; context is the same) and where (its place in lists and dicts,
        such as [3]['title']), as keys and as attributes. Its .total counts all matches and its
        .more those beyond max_results.

        >>> found = search_context("wh.le", window=4, text="A whale, a whole whale.")
        >>> found.total, found[0].text
        (3, 'A whale, a ')
        """
        return matches.search(chosen(text, "search_context"), pattern, window, max_results)

    def count_matches(pattern, text=None):
        """Count how often a regular expression matches in the context, without overlaps.

        pattern and text are those of search_context().

        >>> count_matches("wh.le", "A whale, a whole whale.")
        3
        """
        return matches.count(chosen(text, "count_matches"), pattern)

    def find_line(pattern, text=None):
        """Find all lines of the context in which a regular expression matches.

        pattern and text are those of search_context(); each line is searched on its own.

        Returns a list of (line number, line), numbers from 1 and lines without their ends.
        In lists and dicts, numbers count from the start of each text, and the .where of a
        result is the place of its text.

        >>> find_line("^b", "apple\\nbanana\\nblueberry")
        [(2, 'banana'), (3, 'blueberry')]
        """
        return matches.matching_lines(chosen(text, "find_line"), pattern)

    def get_line(number, text=None):
        """Give one line of the context, without its end.

        number: from 1 for the first line.
        text: one str to read instead of `context`.

        Returns a str. Raises IndexError if there is no such line.

        >>> get_line(2, "apple\\nbanana")
        'banana'
        """
        text = one_text(chosen(text, "get_line"), "get_line")
        number = whole_number(number, "number")
        if number < 1:
            raise IndexError("there is no line {}: the first line is line 1".format(number))
        line = line_at(text, number)
        if line is None:
            message = "there is no line {:,}: the text has {:,}"
            raise IndexError(message.format(number, count_of_lines(text)))
        return line

    def count_lines(text=None):
        """Count the lines of the context.

        Lines end with LF or CRLF; a last line without an end counts too. Of lists and dicts,
        the lines of all their values are counted.

        >>> count_lines("apple\\nbanana")
        2
        """
        value = chosen(text, "count_lines")
        return sum(count_of_lines(part) for _path, part in leaves(value))

    def extract_sections(text=None, level=6):
        return sections.extract_sections(chosen(text, "extract_sections"), level)

    def chunk_by_headers(text=None, level=6, max_size=None):
        return sections.chunk_by_headers(chosen(text, "chunk_by_headers"), level, max_size)

    for function in (extract_sections, chunk_by_headers):
        function.__doc__ = getattr(sections, function.__name__).__doc__

    functions = (
        chunk_text,
        search_context,
        count_matches,
        find_line,
        get_line,
        count_lines,
        extract_json,
        extract_sections,
        chunk_by_headers,
    )
    for each in functions:
        each.__qualname__ = each.__name__
        # help() would show them as quoted texts.
        each.__annotations__ = {}
    return {each.__name__: each for each in functions}


def chunk_text(text: str, size: int = 10_000, overlap: int = 0) -> list[str]:
    """Cut a text into chunks of `size` characters.

    size: how long each chunk is; the last one may be shorter.
    overlap: how many characters at the end of a chunk are repeated at the start of the next
        one; less than size.

    Returns a list of str; an empty text has no chunks.

    >>> chunk_text("abcdefgh", size=4, overlap=1)
    ['abcd', 'defg', 'gh']
    """
    text = one_text(text, "chunk_text")
    size = whole_number(size, "size")
    overlap = whole_number(overlap, "overlap")
    if size < 1:
        raise ValueError("size must be at least 1, not {}".format(size))
    if overlap < 0:
        message = "overlap must not be negative, but {}: use 0 for chunks without overlap"
        raise ValueError(message.format(overlap))
    if overlap >= size:
        message = "overlap ({}) must be less than size ({}): use a smaller overlap, such as {}"
        raise ValueError(message.format(overlap, size, size // 10))
    last = max(len(text) - overlap, 1) if text else 0
    return [text[start : start + size] for start in range(0, last, size - overlap)]
