"""Matching lines with the lines around them, as grep() returns them."""

from __future__ import annotations

from ...pristine import BUILTINS as __builtins__
from ...values.reprs import cap, guarded_repr, is_a
from ..results import Piece, Result
from .source import FileSource, TextSource

LONGEST_LINE = 500
SHOWN_CHARACTERS = 40_000
SHOWN_PATTERN = 120
CUT = "\u2026"


class Hit(Piece):
    """A matching line, cut around its match if it is long."""

    line: int
    before: list[str]
    after: list[str]
    where: str

    def __new__(cls, text, line=0, before=(), after=(), where=""):
        self = super().__new__(cls, text)
        self.line = line
        self.before, self.after = list(before), list(after)
        self.where = where
        return self

    def __reduce__(self):
        return Hit, (str.__str__(self), self.line, self.before, self.after, self.where)


class Hits(Result):
    def __init__(self, items=(), pattern="", place="", total=0, note=""):
        super().__init__(items)
        self.pattern, self.place, self.note = pattern, place, note
        self.total = total

    def __reduce__(self):
        return Hits, (list(self), self.pattern, self.place, self.total, self.note)

    def __repr__(self):
        name = cap(guarded_repr(self.pattern), SHOWN_PATTERN)
        if not self.total:
            return self._noted("no matches for {} in {}".format(name, self.place))
        count = "1 matching line" if self.total == 1 else "{:,} matching lines".format(self.total)
        head = "{} for {} in {}".format(count, name, self.place)
        if self.more:
            head += ", the first {:,}:".format(len(self))
        rows = [self._noted(head)]
        left = SHOWN_CHARACTERS
        previous = None
        for position, hit in enumerate(self):
            if left <= 0:
                rows.append("{} {:,} more in this list".format(CUT, len(self) - position))
                break
            following = self[position + 1] if position + 1 < len(self) else None
            shown = _rows(hit, previous, following)
            rows += shown
            left -= sum(map(len, shown))
            previous = hit
        if self.more:
            plural = "" if self.more == 1 else "s"
            advice = "{} {:,} more matching line{}: narrow the pattern"
            rows.append(advice.format(CUT, self.more, plural))
        return "\n".join(rows)

    def _noted(self, head):
        return head + ("\n[{}]".format(self.note) if self.note else "")


def _rows(hit, previous, following):
    """The lines to show for a hit, without those that its neighbours show."""
    if not is_a(hit, Hit):
        return [cap(guarded_repr(hit), LONGEST_LINE)]
    rows = []
    shown_to = _shown_to(previous, hit)
    if previous is not None and _place(previous) != hit.where:
        rows.append("--")
    elif shown_to is not None and (hit.before or hit.after) and hit.line - len(hit.before) > shown_to + 1:
        rows.append("--")
    if hit.where and (previous is None or _place(previous) != hit.where):
        rows.append("in {}:".format(hit.where))
    first = hit.line - len(hit.before)
    for number, line in enumerate(hit.before, first):
        if shown_to is None or number > shown_to:
            rows.append("{}-{}".format(number, line))
    rows.append("{}:{}".format(hit.line, str.__str__(hit)))
    stop = following.line if is_a(following, Hit) and following.where == hit.where else None
    for number, line in enumerate(hit.after, hit.line + 1):
        if stop is None or number < stop:
            rows.append("{}-{}".format(number, line))
    return rows


def _place(hit):
    return getattr(hit, "where", None)


def _shown_to(previous, hit):
    """The last line that the previous hit shows, if it is in the same text."""
    if not is_a(previous, Hit) or previous.where != hit.where:
        return None
    return min(previous.line + len(previous.after), hit.line - 1)


def hit_at(source: TextSource | FileSource, part: int, line: int, position: int, context_lines: int) -> Hit:
    reach = 2 * LONGEST_LINE * (context_lines + 1)
    before, after, begins, ends = source.around(part, position, reach)
    left, right = before.rpartition("\n")[2], after.partition("\n")[0]
    earlier, later = _split(before, begins, after, ends)
    if context_lines and len(earlier) == 1 and not begins:
        earlier = _far_lines(source, part, source.line_before(part, position), reach)[0] + [""]
    if context_lines and len(later) == 1 and not ends:
        later = [""] + _far_lines(source, part, source.line_after(part, position), reach)[1]
    return Hit(
        _cut_around(left, _without_return(right), "\n" in before or begins, "\n" in after or ends),
        line,
        [_cut(row) for row in earlier[:-1][-context_lines:]] if context_lines else (),
        [_cut(row) for row in later[1 : context_lines + 1]],
        source.place(part),
    )


def _split(before, begins, after, ends):
    """(lines up to the position, lines from it on); incomplete lines are marked."""
    earlier, later = before.split("\n"), after.split("\n")
    if not begins:
        earlier[0] = CUT + earlier[0]
    if not ends:
        later[-1] += CUT
    elif len(later) > 1 and not later[-1]:
        # The end of the text, not an empty line after it.
        later.pop()
    return list(map(_without_return, earlier)), list(map(_without_return, later))


def _far_lines(source, part, position, reach):
    """The same around a position that is too far away for the first read."""
    if position is None:
        return [], []
    before, after, begins, ends = source.around(part, position, reach)
    earlier, later = _split(before, begins, after, ends)
    return earlier, [] if ends and not after else later


def _without_return(line):
    return line[:-1] if line.endswith("\r") else line


def _cut(line):
    return line if len(line) <= LONGEST_LINE else line[:LONGEST_LINE] + CUT


def _cut_around(left, right, begins, ends):
    """Part of a line, with the match well inside it."""
    kept = len(left)
    if len(left) + len(right) > LONGEST_LINE:
        kept = min(kept, max(LONGEST_LINE // 5, LONGEST_LINE - len(right)))
    tail = right[: LONGEST_LINE - kept]
    shown = left[len(left) - kept :] + tail
    opening = "" if begins and kept == len(left) else CUT
    return opening + shown + ("" if ends and len(tail) == len(right) else CUT)
