"""Options of magics: letters before the argument, in getopt's manner."""

from __future__ import annotations

import re
from typing import Any

from ...pristine import BUILTINS as __builtins__
from .errors import UsageError

_WORDS = re.compile(r"""'[^']*'|"[^"]*"|\S+""").finditer
_NUMBER = re.compile(r"-\d").match


def parse_options(text: str, letters: str, longs: tuple[str, ...] = ()) -> tuple[dict[str, Any], str]:
    """(options, what follows them); `a:` takes a value, `a*` collects several values.

    What follows keeps its text. Names with two dashes stand in `longs`, with `=` if they take a value.
    """
    text = text.strip()
    if not text.startswith("-"):
        return {}, text
    from getopt import GetoptError, getopt

    words = list(_WORDS(text))
    number = next((at for at, word in enumerate(words) if _NUMBER(word.group())), len(words))
    given = [unquoted(word.group()) for word in words[:number]]
    try:
        pairs, others = getopt(given, letters.replace("*", ":"), longs)
    except GetoptError as error:
        raise UsageError('{} (allowed: "{}")'.format(error, letters)) from None
    options: dict[str, Any] = {}
    for option, value in pairs:
        name = option.lstrip("-")
        if name + "*" in letters:
            options.setdefault(name, []).append(value)
        else:
            options[name] = value
    following = words[number - len(others) :]
    return options, text[following[0].start() :] if following else ""


def unquoted(text: str) -> str:
    text = text.strip()
    if len(text) > 1 and text[0] in "'\"" and text[-1] == text[0]:
        return text[1:-1]
    return text
