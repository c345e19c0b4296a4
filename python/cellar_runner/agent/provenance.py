"""Which earlier results a call was made from: those that share words or lines with its arguments."""

from __future__ import annotations

import re
from typing import Any, Iterable

from ..pristine import BUILTINS as __builtins__
from ..values.reprs import is_a
from .results import Piece, Result

KEPT_RESULTS = 64
KEPT_CHARACTERS = 1 << 16
ALL_CHARACTERS = 1 << 18
ARGUMENT_CHARACTERS = 1 << 16
ARGUMENT_ITEMS = 200
SHORT = 200
SHORTEST_WORD = 4
SHORTEST_LINE = 12
# For one call, however many texts it is given.
MOST_WORDS = 60
MOST_PROBES = 32
PROBE_WORDS = 5
MOST_PARENTS = 5

_words = re.compile(r"\w(?:[\w.-]*\w)?").findall
_runs = re.compile(r"\S+").finditer
_NUMBERED = re.compile(r"^\d+[:-]").sub
_CONTAINERS = (list, tuple, dict, set, frozenset)
# Words that most texts have: using one does not show where it was read.
_COMMON = frozenset(
    "about after also answer array before been being below between both case check class code "
    "column content context data date debug default does each else email empty entry error errors "
    "exception fail failed false fatal file files find first float following found from function "
    "give given have here http https import index info input into integer item items json know last "
    "length like line lines list long look main make many match message model more most name names "
    "need next none null number object only open other output over page part path print question "
    "read result results return row rows same section select self show size some start state "
    "status string such summarise summarize summary table task test text than that their them then "
    "there these they this time title total true type unknown used user using value values very "
    "want warning what when where which while will with without word words workspace write year "
    "your spilled".split()
)


class Provenance:
    def __init__(self):
        self._results = []

    def remember(self, identifier: str, shown: str, arguments: str, held: str = "") -> None:
        """Keeps a result with the arguments of its call; `held` is what the result does not show."""
        texts = (shown[:KEPT_CHARACTERS], arguments[:KEPT_CHARACTERS].lower(), held[:KEPT_CHARACTERS])
        self._results.append((identifier,) + texts)
        del self._results[:-KEPT_RESULTS]
        left = ALL_CHARACTERS
        for position in range(len(self._results) - 1, -1, -1):
            left -= sum(map(len, self._results[position][1:]))
            if left < 0 and position < len(self._results) - 1:
                del self._results[: position + 1]
                break

    def parents(self, arguments: Iterable[Any]) -> list[str]:
        """The ids of the results that these arguments come from, the newest first."""
        origins, texts = _contents(arguments)
        found = dict.fromkeys(origins)
        words: list[str] = []
        probes: list[str] = []
        lines: set[str] = set()
        each = max(1, MOST_PROBES // max(1, len(texts)))
        for text in texts:
            if len(text) <= SHORT:
                words += _words(text)
            if len(text) >= SHORTEST_LINE:
                probes += _probes(text, each)
                lines.update(map(str.strip, text.split("\n")))
        self._by_words(dict.fromkeys(words), found)
        self._by_passages(probes[:MOST_PROBES], lines, found)
        known = {result[0]: age for age, result in enumerate(self._results)}
        return sorted(found, key=lambda one: -known.get(one, -1))[:MOST_PARENTS]

    def _by_words(self, words, found):
        """For each uncommon word, the newest result that has it and was not asked for it."""
        uncommon = [word for word in words if len(word) >= SHORTEST_WORD and word.lower() not in _COMMON]
        for word in uncommon[:MOST_WORDS]:
            for identifier, result, asked, _held in reversed(self._results):
                if word.lower() not in asked and _has_word(result, word):
                    found[identifier] = None
                    break

    def _by_passages(self, probes, lines, found):
        """Results that contain a whole line of the arguments, or several words in a row."""
        if not lines:
            return
        for identifier, shown, asked, held in reversed(self._results):
            if identifier in found:
                continue
            result = held or shown
            if any(probe in result and probe.lower() not in asked for probe in probes):
                found[identifier] = None
            elif any(line not in asked for line in _plain_lines(result) & lines):
                found[identifier] = None

    def state(self) -> list[list[str]]:
        return [list(result) for result in self._results]

    def restore(self, data: Iterable[Any]) -> None:
        self._results = [
            (str(identifier), str(shown), str(asked), str(held)) for identifier, shown, asked, held in data
        ][-KEPT_RESULTS:]


def _plain_lines(result):
    """The longer lines of a result, without the line numbers of grep()."""
    lines = (_NUMBERED("", line).strip() for line in result.split("\n"))
    return {line for line in lines if len(line) >= SHORTEST_LINE}


def _has_word(text, word):
    at = text.find(word)
    for _ in range(50):
        if at < 0:
            return False
        end = at + len(word)
        if not (at and text[at - 1].isalnum()) and not text[end : end + 1].isalnum():
            return True
        at = text.find(word, at + 1)
    return False


def _probes(text, most):
    """Sequences of PROBE_WORDS words, spread over the text."""
    places = [run.span() for run in _runs(text)]
    windows = len(places) - PROBE_WORDS + 1
    if windows <= 0:
        return []
    starts = range(0, windows, max(1, windows // most))
    return [text[places[at][0] : places[at + PROBE_WORDS - 1][1]] for at in starts][:most]


def _contents(arguments):
    """(ids of results among the arguments, texts in them)."""
    origins, texts = [], []
    items_left, characters_left = ARGUMENT_ITEMS, ARGUMENT_CHARACTERS
    stack = [(value, 0) for value in reversed(list(arguments))]
    while stack and items_left > 0 and characters_left > 0:
        value, depth = stack.pop()
        items_left -= 1
        if is_a(value, (Piece, Result)) and is_a(value.origin, str):
            origins.append(str.__str__(value.origin))
        elif is_a(value, str):
            text = str.__str__(value)[:characters_left]
            characters_left -= len(text)
            if len(text) >= SHORTEST_WORD:
                texts.append(text)
        elif is_a(value, _CONTAINERS) and depth < 3:
            items = list(dict.values(value)) if is_a(value, dict) else list(value)
            stack.extend((item, depth + 1) for item in reversed(items[:ARGUMENT_ITEMS]))
    return origins, texts
