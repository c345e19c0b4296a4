"""Plain characters for the typographic ones that models copy into code that is not valid Python."""

from __future__ import annotations

import re

from ..cells import compiler, typography
from ..pristine import BUILTINS as __builtins__

LISTED = 50
LONGEST = 2_000_000

_OTHER_LANGUAGE = re.compile(r"\s*%%(?!time\b|capture\b|timeit\b)")
_characters = re.compile("[" + "".join((*typography.ALL, *typography.POWERS, *typography.QUOTES)) + "]").search


def sanitise(source: str) -> tuple[str, list[dict]]:
    """(source with plain characters, the replacements); unchanged if it is valid Python."""
    if source.isascii() or len(source) > LONGEST or _OTHER_LANGUAGE.match(source):
        return source, []
    if not _characters(source) or _is_python(source):
        return source, []
    cleaning = typography.Cleaning(source)
    return cleaning.run(), cleaning.places()


def _is_python(source):
    try:
        compiler.parse(source, "<cell>")
        return True
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
