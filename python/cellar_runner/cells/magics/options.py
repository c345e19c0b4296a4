"""Options of magics: letters before the argument, in getopt's manner."""

from __future__ import annotations

from typing import Any

from ...pristine import BUILTINS as __builtins__
from .errors import UsageError

_QUOTES = ("'", '"')


def parse_options(text: str, letters: str, longs: tuple[str, ...] = ()) -> tuple[dict[str, Any], str]:
    """(options, what follows them); `a:` takes a value, `a*` collects several values.

    What follows keeps its text. Names with two dashes stand in `longs`, with `=` if they take a value.
    """
    takes = _letters(letters)
    options: dict[str, Any] = {}
    rest = text.strip()
    while rest.startswith("-") and len(rest) > 1 and not rest[1].isdigit():
        word, rest = _word(rest)
        if word == "--":
            break
        if word.startswith("--"):
            rest = _long(word[2:], rest, longs, options, letters)
            continue
        at = 1
        while at < len(word):
            letter = word[at]
            at += 1
            if letter not in takes:
                raise UsageError('option -{} not recognized (allowed: "{}")'.format(letter, letters))
            if takes[letter] == "":
                options[letter] = ""
                continue
            value = word[at:]
            if not value:
                if not rest:
                    raise UsageError("option -{} requires argument".format(letter))
                value, rest = _word(rest)
            if takes[letter] == "*":
                options.setdefault(letter, []).append(value)
            else:
                options[letter] = value
            break
    return options, rest


def _long(name, rest, longs, options, letters):
    name, separator, value = name.partition("=")
    if name + "=" in longs:
        if not separator:
            if not rest:
                raise UsageError("option --{} requires argument".format(name))
            value, rest = _word(rest)
        options[name] = value
    elif name in longs and not separator:
        options[name] = ""
    else:
        raise UsageError('option --{} not recognized (allowed: "{}")'.format(name, letters))
    return rest


def _letters(letters):
    takes = {}
    for at, letter in enumerate(letters):
        if letter not in ":*":
            following = letters[at + 1 : at + 2]
            takes[letter] = following if following in (":", "*") else ""
    return takes


def _word(text):
    """(the first word, the rest); quotes hold a word together."""
    quote = text[0] if text[:1] in _QUOTES else None
    if quote is not None and quote in text[1:]:
        end = text.index(quote, 1)
        return text[1:end], text[end + 1 :].lstrip()
    parts = text.split(None, 1)
    return parts[0], parts[1] if len(parts) > 1 else ""


def unquoted(text: str) -> str:
    text = text.strip()
    if len(text) > 1 and text[0] in _QUOTES and text[-1] == text[0]:
        return text[1:-1]
    return text
