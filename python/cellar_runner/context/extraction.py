"""JSON values in the middle of other text."""

from __future__ import annotations

import re
from itertools import islice
from json.decoder import JSONDecoder
from typing import Any

from ..pristine import BUILTINS as __builtins__
from ..values.reprs import is_a
from .texts import one_text

DEPTH_LIMIT = 200
FENCES_TRIED = 20
EXCERPT = 30
NEARBY = 500

# models put raw line breaks into strings: strict=False reads them
_decode = JSONDecoder(strict=False).raw_decode
_FENCE = re.compile(r"(?:```|~~~)[ \t]*json[5cl]?\b\s*", re.I)
_OPENING = re.compile(r"[\[{]")
_BLANK = re.compile(r"[\s\ufeff]*")
_BLANK_TO_THE_END = re.compile(r"\s*\Z")
_ARRAYS = re.compile(r"\[[\[\s]*")
_MEMBER = re.compile(r"""\{\s*(?:["'}]|[A-Za-z_]\w*\s*:)""")
_STRING = re.compile(r"""["']""")
_SCALAR = re.compile(r"(?:-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)\s*[,\]]|\]")
_BRACKET = re.compile(r'\\.|["\[\]{}]', re.S)
_TRAILING_COMMA = re.compile(r",\s*[}\]]")


def extract_json(text: str) -> Any:
    """Find the first JSON value in a text, such as the answer of a model.

    Looks at the whole text, then at blocks fenced as ```json, then for the first object or
    array between other words. Numbers and strings count only where they are the whole text
    or a fenced block. Empty brackets, footnotes such as [1] and subscripts such as x["a"]
    count only if there is nothing else.

    Returns the value (dict, list, ...), or None if there is none (or if it is null). Raises
    ValueError with the place and the reason if all that was meant as JSON is broken: a
    trailing comma, single quotes, an end that is missing.

    >>> extract_json('Sure! Here it is: {"name": "Ada", "tags": ["a", "b"]} Anything else?')
    {'name': 'Ada', 'tags': ['a', 'b']}
    """
    text = one_text(text, "extract_json")
    try:
        value, end = _read(text, _BLANK.match(text).end())  # type: ignore[union-attr]
        if _BLANK_TO_THE_END.match(text, end):
            return value
    except _Unreadable:
        pass
    found, value = _fenced(text)
    return value if found else _among_words(text)


class _Unreadable(Exception):
    def __init__(self, position, reason, end=None):
        super().__init__(reason)
        self.position = position
        self.reason = reason
        self.end = end


def _read(text, start):
    """(the value that starts here, its end)."""
    end = None
    base, source = 0, text
    if text[start : start + 1] in ("[", "{"):
        end, depth = _extent(text, start)
        # nested calls of the decoder can overflow the stack of a WebAssembly build
        if depth > DEPTH_LIMIT:
            raise _Unreadable(start, "it is nested too deep")
        # a slice, since an error counts the lines from the start
        base, source = start, text[start:end]
    try:
        value, stop = _decode(source, start - base)
    except ValueError as error:
        position = base + getattr(error, "pos", start - base)
        raise _Unreadable(position, getattr(error, "msg", str(error)), end) from None
    return value, base + stop


def _extent(text, start):
    """(where this bracket closes or None, how deep it is nested)."""
    depth = deepest = 0
    in_string = False
    for token in _BRACKET.finditer(text, start):
        mark = text[token.start()]
        if mark == '"':
            in_string = not in_string
        elif mark != "\\" and not in_string:
            depth += 1 if mark in "[{" else -1
            deepest = max(deepest, depth)
            if depth == 0:
                return token.end(), deepest
            if deepest > DEPTH_LIMIT:
                break
    return None, deepest


def _fenced(text):
    """(whether a fenced JSON block has a value, the value)."""
    broken = None
    for fence in islice(_FENCE.finditer(text), FENCES_TRIED):
        start = fence.end()
        try:
            return True, _read(text, start)[0]
        except _Unreadable as failure:
            if broken is None and _promise(text, start)[0]:
                broken = _told(text, failure)
    if broken is not None:
        raise broken
    return False, None


def _among_words(text):
    """The first object or array; parts of a broken one do not count."""
    spare = broken = None
    position = 0
    while position is not None:
        opening = _OPENING.search(text, position)
        if opening is None:
            break
        start = opening.start()
        promising, position = _promise(text, start)
        if not promising:
            continue
        subscript = text[start] == "[" and _follows_a_name(text, start)
        try:
            value, position = _read(text, start)
        except _Unreadable as failure:
            position = failure.end
            if broken is None and not subscript and _is_telling(text, start, failure):
                broken = _told(text, failure)
            continue
        if not subscript and not _is_footnote(value):
            return value
        if spare is None:
            spare = value
    if broken is not None:
        raise broken
    return spare


def _promise(text, start):
    """(whether this bracket may start JSON, where to look next if not)."""
    arrays = _ARRAYS.match(text, start)
    if arrays is None:
        return _MEMBER.match(text, start) is not None, start + 1
    inner = arrays.end()
    promising = any(form.match(text, inner) for form in (_MEMBER, _STRING, _SCALAR))
    return promising, inner


def _follows_a_name(text, start):
    before = text[start - 1 : start]
    return before.isalnum() or before in ("_", ")", "]")


def _is_footnote(value):
    while is_a(value, list) and len(value) == 1:
        value = value[0]
    return type(value) is int or value == [] or value == {}


def _is_telling(text, start, failure):
    """Whether a failure shows broken JSON; [1, 3-5] is a list of pages."""
    position = failure.position
    arrays = _ARRAYS.match(text, start)
    if position == start or arrays is None or not _SCALAR.match(text, arrays.end()):
        return True
    return _has_trailing_comma(text, position) or bool(_BLANK_TO_THE_END.match(text, position))


def _has_trailing_comma(text, position):
    start = max(0, position - NEARBY)
    for comma in _TRAILING_COMMA.finditer(text, start, position + NEARBY):
        if comma.start() <= position < comma.end():
            return True
    return False


def _told(text, failure):
    position = failure.position
    reason = failure.reason
    if _has_trailing_comma(text, position):
        reason = "there is a trailing comma: remove it"
    elif _BLANK_TO_THE_END.match(text, position):
        reason = "the text ends in the middle of it"
    elif text[position] == "'":
        reason = "it needs double quotes (ast.literal_eval reads Python literals)"
    elif reason.startswith("Unterminated string"):
        reason = "the string that starts here is not closed"
    line_start = text.rfind("\n", 0, position) + 1
    return ValueError(
        "broken JSON at line {:,}, column {:,}: {}; near {!r}".format(
            text.count("\n", 0, position) + 1,
            position - line_start + 1,
            reason,
            text[max(0, position - EXCERPT) : position + EXCERPT],
        )
    )
