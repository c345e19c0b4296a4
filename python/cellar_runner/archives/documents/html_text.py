"""The text that a page shows. Every step goes forward, so that no markup takes more than its length."""

from __future__ import annotations

import html
import re

from ...pristine import BUILTINS as __builtins__
from ..charset import Decoding

_NAME = re.compile(r"/?([a-zA-Z][a-zA-Z0-9:-]{0,50})")
_CHARSET = re.compile(rb"(?:charset|encoding)\s*=\s*[\"']?([a-zA-Z0-9_-]{1,30})", re.IGNORECASE)
# Python has codecs that are no character sets, and some that are slow.
_CHARSETS = re.compile(
    r"(?:iso-?8859-\d{1,2}|(?:windows-|cp)125\d|koi8-[ru]|shift_jis|euc-(?:jp|kr)|gbk|gb2312|gb18030|big5|us-ascii)"
)
_UNQUOTED = re.compile(r"[^>\"']*")
# No character has so high a number, and Python refuses to read longer ones.
_LONG_NUMBER = re.compile(r"&#[xX]?[0-9a-fA-F]{8,};?")
_SPACES = re.compile(r"[ \t\r\n\f]+")
_SKIPPED = frozenset(("script", "style", "template", "noscript", "svg", "textarea", "select", "iframe", "object"))
_BLOCKS = frozenset(
    "address article aside blockquote body br dd div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 "
    "header hr html li main nav ol p pre section table tbody thead title tr ul caption".split()
)


def decoded(data: bytes) -> str:
    decoding = Decoding(data)
    if decoding.is_guess:
        match = _CHARSET.search(data[:1024])
        name = match.group(1).decode("ascii").lower() if match else ""
        if _CHARSETS.fullmatch(name):
            try:
                return data.decode(name, "replace")
            except LookupError:
                pass
    return decoding.text()


def text_of(page: str) -> tuple[str, str]:
    """(the text, the title)."""
    writer = _Writer()
    lowered = page.lower()
    if len(lowered) != len(page):
        # A few capitals get longer as small letters; places must stay comparable.
        lowered = page
    position = 0
    while position < len(page):
        start = page.find("<", position)
        if start < 0:
            writer.text(page[position:])
            break
        writer.text(page[position:start])
        position = _markup(page, lowered, start, writer)
    return writer.result(), writer.title.strip()


def _markup(page, lowered, start, writer):
    """Handles what begins with "<" and returns where it ends."""
    if page.startswith("<!--", start):
        end = page.find("-->", start + 4)
        return len(page) if end < 0 else end + 3
    if page.startswith(("<!", "<?"), start):
        end = page.find(">", start)
        return len(page) if end < 0 else end + 1
    match = _NAME.match(page, start + 1)
    if match is None:
        writer.text("<")
        return start + 1
    name = match.group(1).lower()
    is_end = page[start + 1] == "/"
    end = _tag_end(page, match.end(), writer)
    if name in _SKIPPED and not is_end and page[end - 2 : end] != "/>":
        closing = lowered.find("</" + name, end)
        if closing < 0:
            return len(page)
        after = page.find(">", closing)
        return len(page) if after < 0 else after + 1
    writer.tag(name, is_end)
    return end


def _tag_end(page, position, writer):
    """The place behind the ">" that ends a tag; one between quotes does not."""
    while writer.has_quotes:
        match = _UNQUOTED.match(page, position)
        position = match.end() if match else len(page)
        if position == len(page):
            return position
        if page[position] == ">":
            return position + 1
        closing = page.find(page[position], position + 1)
        if closing < 0:
            # No later tag needs to look for it again.
            writer.has_quotes = False
        else:
            position = closing + 1
    end = page.find(">", position)
    return len(page) if end < 0 else end + 1


class _Writer:
    def __init__(self):
        self._parts: list[str] = []
        self._line: list[str] = []
        self._in_title = False
        self._pre = 0
        self.has_quotes = True
        self.title = ""

    def text(self, piece: str) -> None:
        if not piece:
            return
        piece = html.unescape(_LONG_NUMBER.sub("\ufffd", piece))
        if self._in_title:
            self.title = (self.title + _SPACES.sub(" ", piece))[:500]
        elif self._pre:
            self._line.append(piece)
        else:
            self._line.append(_SPACES.sub(" ", piece))

    def tag(self, name: str, is_end: bool) -> None:
        if name == "title":
            self._in_title = not is_end
        elif name in ("td", "th"):
            if is_end:
                self._line.append("\t")
        elif name in _BLOCKS:
            self._break()
            if name == "pre":
                self._pre = max(0, self._pre + (-1 if is_end else 1))
            elif name == "li" and not is_end:
                self._line.append("- ")

    def _break(self):
        line = "".join(self._line)
        line = line.strip("\n") if self._pre else re.sub(" {2,}", " ", line).strip()
        if line and line != "-":
            self._parts.append(line)
        self._line = []

    def result(self) -> str:
        self._break()
        return "\n".join(self._parts)
