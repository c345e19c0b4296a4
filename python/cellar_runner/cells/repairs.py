"""Small repairs of pasted text, tried only on cells that are not valid Python."""

from __future__ import annotations

import re

from ..pristine import BUILTINS as __builtins__
from .typography import Cleaning

REPAIR_LIMIT = 2_000_000

_FENCE = re.compile(
    r"\s*(`{3,}|~{3,})[ \t]*[\w+.{}-]*[ \t]*\n(.*?)(?:\n[ \t]*\1[ \t]*)?\s*\Z", re.S
)
_PROMPT = re.compile(r"^[ \t]*(?:>>>(?: |$)|In ?\[\d*\]: ?)")
_MORE = re.compile(r"^[ \t]*(?:\.\.\.(?: |$)|\.\.\.: ?)")
_RESULT = re.compile(r"^[ \t]*Out ?\[\d*\]: ?")


def candidates(text: str) -> list[str]:
    """The text, then the result of each repair that changes something."""
    found = [text]
    if len(text) > REPAIR_LIMIT:
        return found
    for repair in (_without_bom, _without_fence, _dedented, without_prompts, _plain_typography):
        repaired = repair(found[-1])
        if repaired != found[-1]:
            found.append(repaired)
    return found


def _without_bom(text):
    return text.lstrip("\ufeff")


def _without_fence(text):
    fenced = _FENCE.match(text)
    return fenced.group(2) if fenced else text


def _dedented(text):
    lines = text.split("\n")
    code = [line for line in lines if line.strip(" \t") and not line.lstrip(" \t").startswith("#")]
    indents = [line[: len(line) - len(line.lstrip(" \t"))] for line in code]
    margin = min(indents, default="")
    while not all(indent.startswith(margin) for indent in indents):
        margin = margin[:-1]
    if not margin:
        return text
    return "\n".join(line[len(margin) :] if line.startswith(margin) else line.lstrip(" \t") for line in lines)


def without_prompts(text: str) -> str:
    """Removes prompts, and the output between them."""
    lines = text.split("\n")
    first = _PROMPT.match(next((line for line in lines if line.strip()), ""))
    if not first:
        return text
    kept = []
    in_statement = False
    for line in lines:
        prompt = _PROMPT.match(line)
        if prompt is None and in_statement:
            prompt = _MORE.match(line)
        if prompt is not None:
            in_statement = True
            kept.append(line[prompt.end() :])
        elif first.group().lstrip().startswith("In") and not _RESULT.match(line):
            # IPython's continuation lines may come without their dots
            kept.append(line)
        else:
            in_statement = False
            kept.append("")
    return "\n".join(kept)


def _plain_typography(text):
    return text if text.isascii() else Cleaning(text, is_careful=True).run()
