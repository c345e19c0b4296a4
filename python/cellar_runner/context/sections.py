"""Markdown by its headings."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from typing import NamedTuple

from ..pristine import BUILTINS as __builtins__
from .texts import Record, lines, one_text, whole_number

DEEPEST = 6
FRONT_MATTER_LIMIT = 100_000

_FENCE = re.compile(r"[ \t]*(?:(?:>|[-+*][ \t]|\d{1,9}[.)][ \t])[ \t]*)*(`{3,}|~{3,})(.*)", re.S)
_ATX = re.compile(r" {0,3}(#{1,6})(?:[ \t](.*))?\Z", re.S)
_UNDERLINE = re.compile(r" {0,3}(?:(=+)|-+)[ \t]*\Z")
_CONTAINER = re.compile(r" {0,3}(?:>|[-+*](?:[ \t]|\Z)|\d{1,9}[.)](?:[ \t]|\Z))")
_RULE = re.compile(r" {0,3}(?:(?:\*[ \t]*){3,}|(?:_[ \t]*){3,})\Z")
_INDENTED = re.compile(r"    | {0,3}\t")
_FRONT_MATTER = re.compile(r"\ufeff?---[ \t]*\r?\n[\w\"'][^\n]*:")
_FRONT_MATTER_END = re.compile(r"^(?:---|\.\.\.)[ \t]*\r?$", re.M)
_MARKS = frozenset("#`~=->+*_ \t0123456789")


class Section(Record):
    __slots__ = ()


class _Heading(NamedTuple):
    level: int
    title: str
    line: int
    start: int
    end: int


def extract_sections(text: str, level: int = 6) -> list:
    """Split Markdown into its sections; by default that of `context`.

    Headings are `# Title` and titles underlined with === or ---; those inside fenced code
    are not. Headings deeper than `level` stay in the text of the section above them.

    Returns a list of sections in order, each with title, level (1 to 6), text (without the
    heading), line (of the heading, from 1), start and end (so text[start:end] is the section
    with its heading), as keys and as attributes. The text before the first heading comes
    first, with level 0 and an empty title.

    >>> [(s.level, s.title, s.text) for s in extract_sections("# Tea\\nGreen.\\n## Milk\\nNo.")]
    [(1, 'Tea', 'Green.'), (2, 'Milk', 'No.')]
    """
    text = one_text(text, "extract_sections")
    level = _checked_level(level)
    headings = [_Heading(0, "", 1, 0, 0)]
    headings += [heading for heading in _headings(text) if heading.level <= level]
    ends = [heading.start for heading in headings[1:]] + [len(text)]
    found = []
    for heading, end in zip(headings, ends):
        body = text[heading.end : end].strip("\r\n")
        if _is_blank(body):
            if heading.level == 0:
                continue
            body = ""
        found.append(
            Section(
                title=heading.title,
                level=heading.level,
                text=body,
                line=heading.line,
                start=heading.start,
                end=end,
            )
        )
    return found


def chunk_by_headers(text: str, level: int = 6, max_size: int | None = None) -> list[str]:
    """Cut Markdown, by default that of `context`, into chunks that each start at a heading.

    Cuts at the headings that extract_sections() finds, down to `level`. A chunk of more than
    `max_size` characters is cut again: at its deeper headings, and where that is not enough
    at the end of a paragraph, line or word, or else anywhere.

    Returns a list of str; joined they give the text again. Text before the first heading is
    a chunk of its own, unless it is blank: then it is left out.

    >>> chunk_by_headers("Intro\\n# One\\na\\n## Two\\nb\\n", level=1)
    ['Intro\\n', '# One\\na\\n## Two\\nb\\n']
    """
    text = one_text(text, "chunk_by_headers")
    level = _checked_level(level)
    if max_size is not None:
        max_size = whole_number(max_size, "max_size")
        if max_size <= 0:
            raise ValueError("max_size must be at least 1: use None for no limit")
    headings = list(_headings(text))
    edges = [heading.start for heading in headings if heading.level <= level]
    if not _is_blank(text[: edges[0] if edges else None]):
        edges.insert(0, 0)
    parts = _spans(edges + [len(text)])
    if max_size is None:
        return [text[start:end] for start, end in parts if end > start]
    for deeper in range(level + 1, DEEPEST + 1):
        starts = [heading.start for heading in headings if heading.level == deeper]
        parts = [piece for part in parts for piece in _cut(part, starts, max_size)]
    return [text[start:end] for part in parts for start, end in _pieces(text, part, max_size)]


def _spans(edges):
    return list(zip(edges, edges[1:]))


def _is_blank(text):
    return not text or text.isspace()


def _checked_level(level):
    level = whole_number(level, "level")
    if not 1 <= level <= DEEPEST:
        raise ValueError("level must be from 1 to {}, not {}".format(DEEPEST, level))
    return level


def _cut(part, starts, max_size):
    start, end = part
    if end - start <= max_size:
        return [part]
    return _spans([start] + starts[bisect_right(starts, start) : bisect_left(starts, end)] + [end])


def _pieces(text, part, max_size):
    """Pieces that fit, each cut at the best place in its second half."""
    start, end = part
    while end - start > max_size:
        limit = start + max_size
        cut = limit
        for mark in ("\n\n", "\n\r\n", "\n", " "):
            found = text.rfind(mark, start + max_size // 2, limit)
            if found >= 0:
                cut = found + len(mark)
                break
        yield start, cut
        start = cut
    if end > start:
        yield start, end


def _headings(text):
    fence = paragraph = None
    in_container = False
    past_front_matter = _front_matter_end(text)
    for number, start, end in lines(text):
        line = text[start:end]
        if fence is not None:
            if _closes(line, fence):
                fence = None
            continue
        if start < past_front_matter:
            continue
        if _is_blank(line):
            paragraph, in_container = None, False
            continue
        if line[0] in _MARKS:
            opening = _FENCE.match(line)
            if opening and (opening.group(1)[0] == "~" or "`" not in opening.group(2)):
                fence, paragraph = opening.group(1), None
                continue
            atx = _ATX.match(line)
            if atx:
                yield _Heading(len(atx.group(1)), _atx_title(atx.group(2)), number, start, end)
                paragraph, in_container = None, False
                continue
            underline = _UNDERLINE.match(line)
            if underline:
                if paragraph is not None:
                    level = 1 if underline.group(1) else 2
                    title = " ".join(text[paragraph[1] : start].split())
                    yield _Heading(level, title, paragraph[0], paragraph[1], end)
                paragraph = None
                continue
            if _RULE.match(line):
                paragraph, in_container = None, False
                continue
            if _CONTAINER.match(line) or (paragraph is None and _INDENTED.match(line)):
                paragraph, in_container = None, True
        if paragraph is None and not in_container:
            paragraph = (number, start)


def _front_matter_end(text):
    opening = _FRONT_MATTER.match(text)
    if opening is None:
        return 0
    closing = _FRONT_MATTER_END.search(text, opening.end(), FRONT_MATTER_LIMIT)
    return 0 if closing is None else closing.end()


def _closes(line, fence):
    mark = line.strip(" \t>")
    return len(mark) >= len(fence) and not mark.strip(fence[0])


def _atx_title(text):
    title = (text or "").strip()
    bare = title.rstrip("#")
    if bare != title and (not bare or bare[-1] in " \t"):
        return bare.rstrip()
    return title
