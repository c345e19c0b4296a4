"""Puts plain characters in place of typographic ones in code.

Only what is neither in a string nor in a comment is touched. The fields of f-strings count as part of their string.
"""

from __future__ import annotations

import re
import sys

from ..module_finder import import_own
from ..pristine import BUILTINS as __builtins__

# Replacement: characters.
PLAIN = {
    character: plain
    for plain, characters in (
        ("", "\u200b\u200c\u200d\u2060\ufeff"),
        ("*", "\u00d7"),
        ("-", "\u2212\u2010\u2011\u2012\u2013\u2014"),
        ("<=", "\u2264"),
        (">=", "\u2265"),
        ("!=", "\u2260"),
        ("...", "\u2026"),
        (" ", "\u00a0\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))),
        *zip("(),:;=", "\uff08\uff09\uff0c\uff1a\uff1b\uff1d"),
    )
    for character in characters
}
_AMBIGUOUS = {
    **dict.fromkeys("\u00b0\u00ad", ""),
    **dict.fromkeys("\u00b7\u22c5\u2217", "*"),
    **dict.fromkeys("\u00f7\u2215\u2044", "/"),
    "\u2192": "->",
}
# As powers, several in a row are one number.
POWERS = dict(zip("\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079\u207b", "0123456789-"))
_DOUBLE, _SINGLE = "\u201c\u201d\u201e\u2033", "\u2018\u2019\u201a\u2032"
QUOTES = {**dict.fromkeys(_DOUBLE, '"'), **dict.fromkeys(_SINGLE, "'")}
ALL = {**PLAIN, **_AMBIGUOUS}

_NEXT = (
    r"(?P<skip>\#[^\n]*|^[ \t]*(?:!|%[A-Za-z%])[^\n]*)"
    r"|(?P<prefix>\b(?:[rR]?[fFtT]|[fFtT][rR]))?(?P<quote>\"\"\"|'''|\"|')"
    "|(?P<curly>[" + _DOUBLE + _SINGLE + "])"
)
_CAREFUL = re.compile(_NEXT + "|(?P<other>[" + "".join(PLAIN) + "])", re.M)
_THOROUGH = re.compile(
    _NEXT + "|(?P<power>[" + "".join(POWERS) + "]+)|(?P<other>[" + "".join(ALL) + "])", re.M
)
_ENDS = {
    '"""': re.compile(r'(?:[^\\]|\\.)*?(?:"""|\Z)', re.S),
    "'''": re.compile(r"(?:[^\\]|\\.)*?(?:'''|\Z)", re.S),
    '"': re.compile(r'(?:[^"\\\n]|\\.)*"?', re.S),
    "'": re.compile(r"(?:[^'\\\n]|\\.)*'?", re.S),
}
# A closing quote is not followed by a letter, as the apostrophe in a word is.
_CLOSES = {
    '"': re.compile("[^\n" + _DOUBLE + "]*[" + _DOUBLE + "]"),
    "'": re.compile("(?:[^\n" + _SINGLE + "]|[" + _SINGLE + r"](?=\w))*[" + _SINGLE + "]"),
}
_CURLY = {'"': re.compile("[" + _DOUBLE + "]"), "'": re.compile("[" + _SINGLE + r"](?!\w)")}
_FIELD = re.compile(r"\\.|\{\{|\{|\n|\"\"\"|'''|\"|'", re.S)
_IN_FIELD = re.compile(r"[{}\n]|\"\"\"|'''|\"|'")
# Since then, a field may contain the quotes around it.
_NESTED_QUOTES = sys.version_info >= (3, 12)


class Cleaning:
    """One pass over a source; a careful one leaves characters that may be intended, such as powers."""

    def __init__(self, source: str, is_careful: bool = False) -> None:
        self._source = source
        self._next = _CAREFUL if is_careful else _THOROUGH
        self._parts: list[str] = []
        self._replaced: list[tuple[int, int, str]] = []
        self._position = 0

    def run(self) -> str:
        source = self._source
        position = 0
        while True:
            found = self._next.search(source, position)
            if found is None:
                break
            kind = found.lastgroup
            position = found.end()
            if kind == "quote":
                position = self._string(found)
            elif kind == "curly":
                position = self._quoted(found.start())
            elif kind == "power":
                plain = "".join(POWERS[character] for character in found.group())
                self._replace(found.start(), found.end(), "**" + plain)
            elif kind == "other":
                self._replace(found.start(), found.end(), self._plain(found.start()))
        self._parts.append(source[self._position :])
        return "".join(self._parts)

    def places(self) -> list[dict]:
        """Where characters were replaced, in the original source."""
        name = import_own("unicodedata").name
        found: list[dict] = []
        line, line_start, before = 1, 0, 0
        for start, end, plain in self._replaced:
            line += self._source.count("\n", before, start)
            line_start = max(line_start, self._source.rfind("\n", before, start) + 1)
            before = start
            for at in range(start, end):
                character = self._source[at]
                found.append(
                    {
                        "character": character,
                        "name": name(character),
                        "line": line,
                        "column": at - line_start + 1,
                        "with": plain if end - start == 1 else POWERS[character],
                    }
                )
        return found

    def _replace(self, start, end, plain):
        self._parts += [self._source[self._position : start], plain]
        self._position = end
        self._replaced.append((start, end, plain))

    def _plain(self, at):
        source = self._source
        character = source[at]
        if character == "\u00b0" and at and at + 1 < len(source):
            # 47°30 must not become 4730
            if source[at - 1].isalnum() and source[at + 1].isalnum():
                return " "
        return ALL[character]

    def _string(self, found):
        """The end of a string; an open one may end with a curly quote."""
        quote = found.group("quote")
        start = found.end()
        if found.group("prefix"):
            end = self._formatted_end(start, quote)
        else:
            end = _ENDS[quote].match(self._source, start).end()  # type: ignore[union-attr]
        if len(quote) == 1 and not (end > start and self._source[end - 1] == quote):
            curly = _CURLY[quote].search(self._source, start, end)
            if curly is not None:
                self._replace(curly.start(), curly.end(), quote)
                return curly.end()
        return end

    def _formatted_end(self, position, quote):
        source = self._source
        depth = 0
        while True:
            found = (_IN_FIELD if depth else _FIELD).search(source, position)
            if found is None:
                return len(source)
            text = found.group()
            position = found.end()
            if text == quote and not (depth and _NESTED_QUOTES):
                return position
            if text == "\n":
                if len(quote) == 1 and not (depth and _NESTED_QUOTES):
                    return found.start()
            elif text == "{":
                depth += 1
            elif text == "}":
                depth -= 1
            elif depth and text[0] in "\"'":
                position = _ENDS[text].match(source, position).end()  # type: ignore[union-attr]
            elif text[0] in "\"'" and text.startswith(quote):
                return found.start() + len(quote)

    def _quoted(self, start):
        """A text in curly quotes keeps its content."""
        source = self._source
        plain = QUOTES[source[start]]
        after = start + 1
        if source[start : start + 3] == source[start] * 3:
            return self._quoted_lines(start, plain)
        closed = _CLOSES[plain].match(source, after)
        end = closed.end() if closed else _ENDS[plain].match(source, after).end()  # type: ignore[union-attr]
        self._replace(start, after, plain)
        if closed:
            self._escape(end - 1, plain)
            self._replace(end - 1, end, plain)
        return end

    def _quoted_lines(self, start, plain):
        source = self._source
        curly = _DOUBLE if plain == '"' else _SINGLE
        closed = re.compile("[" + curly + "]{3}").search(source, start + 3)
        starts = [start, start + 1, start + 2]
        if closed is not None:
            starts += range(closed.start(), closed.end())
        for at in starts:
            self._replace(at, at + 1, plain)
        return closed.end() if closed else len(source)

    def _escape(self, end, plain):
        """Escapes plain quotes that would end the text too early."""
        inside = self._source[self._position : end]
        if plain in inside:
            # escaped characters stay
            pieces = re.split(r"(\\.)", inside)
            pieces[::2] = [piece.replace(plain, "\\" + plain) for piece in pieces[::2]]
            self._parts.append("".join(pieces))
            self._position = end
