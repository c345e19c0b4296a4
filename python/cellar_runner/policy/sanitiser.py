"""Puts plain characters in place of those that models copy from texts into code.

Only code that is no Python as it stands is touched, and of it only what is neither in a string
nor in a comment. The fields of f-strings count as part of their string.
"""

from __future__ import annotations

import re
import sys

from ..cells import compiler
from ..pristine import BUILTINS as __builtins__

LISTED = 50
LONGEST = 2_000_000

# Character, its name, and what takes its place.
TABLE = (
    ("\u00b0", "DEGREE SIGN", ""),
    ("\u00d7", "MULTIPLICATION SIGN", "*"),
    ("\u00b7", "MIDDLE DOT", "*"),
    ("\u22c5", "DOT OPERATOR", "*"),
    ("\u2217", "ASTERISK OPERATOR", "*"),
    ("\u00f7", "DIVISION SIGN", "/"),
    ("\u2215", "DIVISION SLASH", "/"),
    ("\u2044", "FRACTION SLASH", "/"),
    ("\u2212", "MINUS SIGN", "-"),
    ("\u2010", "HYPHEN", "-"),
    ("\u2011", "NON-BREAKING HYPHEN", "-"),
    ("\u2012", "FIGURE DASH", "-"),
    ("\u2013", "EN DASH", "-"),
    ("\u2014", "EM DASH", "-"),
    ("\u2264", "LESS-THAN OR EQUAL TO", "<="),
    ("\u2265", "GREATER-THAN OR EQUAL TO", ">="),
    ("\u2260", "NOT EQUAL TO", "!="),
    ("\u2192", "RIGHTWARDS ARROW", "->"),
    ("\u2026", "HORIZONTAL ELLIPSIS", "..."),
    ("\u00a0", "NO-BREAK SPACE", " "),
    ("\u2002", "EN SPACE", " "),
    ("\u2003", "EM SPACE", " "),
    ("\u2007", "FIGURE SPACE", " "),
    ("\u2009", "THIN SPACE", " "),
    ("\u200a", "HAIR SPACE", " "),
    ("\u202f", "NARROW NO-BREAK SPACE", " "),
    ("\u3000", "IDEOGRAPHIC SPACE", " "),
    ("\u00ad", "SOFT HYPHEN", ""),
    ("\u200b", "ZERO WIDTH SPACE", ""),
    ("\u200c", "ZERO WIDTH NON-JOINER", ""),
    ("\u200d", "ZERO WIDTH JOINER", ""),
    ("\u2060", "WORD JOINER", ""),
    ("\ufeff", "ZERO WIDTH NO-BREAK SPACE", ""),
    ("\uff08", "FULLWIDTH LEFT PARENTHESIS", "("),
    ("\uff09", "FULLWIDTH RIGHT PARENTHESIS", ")"),
    ("\uff0c", "FULLWIDTH COMMA", ","),
    ("\uff1a", "FULLWIDTH COLON", ":"),
    ("\uff1b", "FULLWIDTH SEMICOLON", ";"),
    ("\uff1d", "FULLWIDTH EQUALS SIGN", "="),
)
# As powers, several in a row are one number.
POWERS = (
    ("\u2070", "SUPERSCRIPT ZERO", "0"),
    ("\u00b9", "SUPERSCRIPT ONE", "1"),
    ("\u00b2", "SUPERSCRIPT TWO", "2"),
    ("\u00b3", "SUPERSCRIPT THREE", "3"),
    ("\u2074", "SUPERSCRIPT FOUR", "4"),
    ("\u2075", "SUPERSCRIPT FIVE", "5"),
    ("\u2076", "SUPERSCRIPT SIX", "6"),
    ("\u2077", "SUPERSCRIPT SEVEN", "7"),
    ("\u2078", "SUPERSCRIPT EIGHT", "8"),
    ("\u2079", "SUPERSCRIPT NINE", "9"),
    ("\u207b", "SUPERSCRIPT MINUS", "-"),
)
# Quotes around a text that stays as it is.
QUOTES = (
    ("\u201c", "LEFT DOUBLE QUOTATION MARK", '"'),
    ("\u201d", "RIGHT DOUBLE QUOTATION MARK", '"'),
    ("\u201e", "DOUBLE LOW-9 QUOTATION MARK", '"'),
    ("\u2033", "DOUBLE PRIME", '"'),
    ("\u2018", "LEFT SINGLE QUOTATION MARK", "'"),
    ("\u2019", "RIGHT SINGLE QUOTATION MARK", "'"),
    ("\u201a", "SINGLE LOW-9 QUOTATION MARK", "'"),
    ("\u2032", "PRIME", "'"),
)

_PLAIN = {character: plain for character, _name, plain in TABLE}
_POWER = {character: plain for character, _name, plain in POWERS}
_QUOTE = {character: plain for character, _name, plain in QUOTES}
_NAMES = {character: name for character, name, _plain in TABLE + POWERS + QUOTES}
_DOUBLE = "".join(character for character, plain in _QUOTE.items() if plain == '"')
_SINGLE = "".join(character for character, plain in _QUOTE.items() if plain == "'")

_NEXT = re.compile(
    r"(?P<skip>\#[^\n]*|^[ \t]*(?:!|%[A-Za-z%])[^\n]*)"
    r"|(?P<prefix>\b(?:[rR]?[fFtT]|[fFtT][rR]))?(?P<quote>\"\"\"|'''|\"|')"
    "|(?P<curly>[" + _DOUBLE + _SINGLE + "])"
    "|(?P<power>[" + "".join(_POWER) + "]+)"
    "|(?P<other>[" + "".join(_PLAIN) + "])",
    re.M,
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
_OTHER_LANGUAGE = re.compile(r"\s*%%(?!time\b|capture\b|timeit\b)")
# From this version on, a field may hold the quotes that are around it.
_NESTED_QUOTES = sys.version_info >= (3, 12)


def sanitise(source: str) -> tuple[str, list[dict]]:
    """(source with plain characters, what was replaced); the same source when all is well."""
    if source.isascii() or len(source) > LONGEST or _OTHER_LANGUAGE.match(source):
        return source, []
    if not any(character in source for character in _NAMES) or _is_python(source):
        return source, []
    cleaning = _Cleaning(source)
    return cleaning.run(), cleaning.places()


def _is_python(source):
    try:
        compiler.parse(source, "<cell>")
        return True
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False


class _Cleaning:
    """One pass over a source."""

    def __init__(self, source):
        self._source = source
        self._parts = []
        self._replaced = []
        self._position = 0

    def run(self):
        source = self._source
        position = 0
        while True:
            found = _NEXT.search(source, position)
            if found is None:
                break
            kind = found.lastgroup
            position = found.end()
            if kind == "quote":
                position = self._string(found)
            elif kind == "curly":
                position = self._quoted(found.start())
            elif kind == "power":
                plain = "".join(_POWER[character] for character in found.group())
                self._replace(found.start(), found.end(), "**" + plain)
            elif kind == "other":
                self._replace(found.start(), found.end(), self._plain(found.start()))
        self._parts.append(source[self._position :])
        return "".join(self._parts)

    def places(self):
        """Where characters were replaced, in the source as it was given."""
        found, line, line_start, before = [], 1, 0, 0
        for start, end, plain in self._replaced:
            line += self._source.count("\n", before, start)
            line_start = max(line_start, self._source.rfind("\n", before, start) + 1)
            before = start
            for at in range(start, end):
                character = self._source[at]
                found.append(
                    {
                        "character": character,
                        "name": _NAMES[character],
                        "line": line,
                        "column": at - line_start + 1,
                        "with": plain if end - start == 1 else _POWER[character],
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
        return _PLAIN[character]

    def _string(self, found):
        """The end of a string; one left open may end with a curly quote."""
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
        """The end of an f-string, whose fields may hold strings."""
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
        """A text between curly quotes keeps its content."""
        source = self._source
        plain = _QUOTE[source[start]]
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
        """Plain quotes of the same kind inside would end the text too early."""
        inside = self._source[self._position : end]
        if plain in inside:
            # what is escaped already stays so
            pieces = re.split(r"(\\.)", inside)
            pieces[::2] = [piece.replace(plain, "\\" + plain) for piece in pieces[::2]]
            self._parts.append("".join(pieces))
            self._position = end
