"""Translates patterns from ripgrep's syntax to that of Python's re."""

from __future__ import annotations

import re

from ...pristine import BUILTINS as __builtins__

_CLASSES = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "ascii": "\\x00-\\x7f",
    "blank": " \\t",
    "cntrl": "\\x00-\\x1f\\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": "!-/:-@\\[-`{-~",
    "space": "\\t\\n\\v\\f\\r ",
    "upper": "A-Z",
    "word": "\\w",
    "xdigit": "0-9A-Fa-f",
}
_TOKEN = re.compile(
    r"\\[xuU]\{(?P<code>[0-9A-Fa-f]{1,6})\}|\\(?P<escape>.)|\[:(?P<posix>[a-z]+):\]|(?P<set>\[\^?\]?)"
    r"|\(\?(?P<on>[imsxu]*)(?P<off>-[imsxu]+)?(?P<end>[:)])|(?P<named>\(\?<(?![=!]))|.",
    re.DOTALL,
)
_escape = re.escape


class Untranslatable(Exception):
    """Something that Python's re cannot express, and its position."""

    def __init__(self, message, position):
        super().__init__(message)
        self.position = position


def translated(pattern: str) -> str:
    """The pattern for Python's re, or Untranslatable."""
    parts: list[str] = []
    set_start = None
    # For each open group, how many groups were opened in it for flags that apply to its end.
    flag_groups = [0]
    for token in _TOKEN.finditer(pattern):
        text, start = token.group(), token.start()
        if token["code"] is not None:
            if int(token["code"], 16) <= 0x10FFFF:
                text = _escape(chr(int(token["code"], 16)))
        elif token["escape"] is not None:
            if token["escape"] in "pP":
                raise Untranslatable("\\p{...} works only with ripgrep", start)
            if text == "\\z" and set_start is None:
                text = "\\Z"
        elif set_start is not None:
            if text == "]":
                set_start = None
            elif token["posix"] in _CLASSES:
                text = _CLASSES[token["posix"]]
            elif text[0] == "[" or pattern[start : start + 2] in ("&&", "--", "~~"):
                raise Untranslatable("sets within sets work only with ripgrep", set_start)
        elif token["set"] is not None:
            set_start, text = start, text.replace("]", "\\]")
        elif token["end"] is not None:
            # Without u, which is always on.
            off = (token["off"] or "").replace("u", "")
            text = "(?" + token["on"].replace("u", "") + ("" if off == "-" else off) + ":"
            if token["end"] == ")":
                flag_groups[-1] += 1
            else:
                flag_groups.append(0)
        elif text[0] == "(":
            text = "(?P<" if token["named"] else text
            flag_groups.append(0)
        elif text == ")" and len(flag_groups) > 1:
            text = ")" * flag_groups.pop() + ")"
        parts.append(text)
    return "".join(parts) + (")" * flag_groups[0] if len(flag_groups) == 1 else "")
