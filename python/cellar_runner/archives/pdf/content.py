"""The text of a page: its operators, with lines and spaces by where the text stands."""

from __future__ import annotations

from typing import Any

from ...pristine import BUILTINS as __builtins__
from ...values.reprs import is_a
from ..limits import ArchiveError, Meter
from .fonts import Font
from .glyphs import Glyphs
from .syntax import Keyword, Scanner, Stream

MOST_OPERATORS = 1_000_000
MOST_OPERANDS = 100_000
MOST_FORMS = 10
MOST_SAVED = 1000
_NUMBERS = (int, float)
_UNIT = (1.0, 0.0, 0.0, 1.0, 0.0, 0.0)


def _product(one, other):
    a, b, c, d, e, f = one
    u, v, w, x, y, z = other
    return (a * u + b * w, a * v + b * x, c * u + d * w, c * v + d * x, e * u + f * w + y, e * v + f * x + z)


class PageText:
    """Collects the text of one page, up to a limit."""

    def __init__(self, file: Any, meter: Meter):
        self._file, self._meter = file, meter
        self._glyphs = Glyphs()
        self._fonts: dict[int, Font] = {}
        self._kept: list[Any] = []
        self._operators = 0
        self._parts: list[str] = []
        self._end: tuple[float, float, float] | None = None
        self._saved: list[Any] = []
        self._open_forms: list[Any] = []
        self._set(_UNIT, None, 1.0, 0.0, 0.0, 1.0, 0.0)

    def _set(self, matrix, font, size, spacing, word_spacing, scale, leading):
        self._matrix, self._font, self._size = matrix, font, size
        self._spacing, self._word_spacing, self._scale, self._leading = spacing, word_spacing, scale, leading
        self._text_matrix = self._line_matrix = _UNIT

    def result(self) -> str:
        lines = "".join(self._parts).split("\n")
        return "\n".join(line.rstrip() for line in lines).strip("\n")

    def run(self, data: bytes, resources: Any) -> None:
        scanner = Scanner(data)
        operands: list[Any] = []
        while not scanner.at_end():
            value = scanner.value()
            if type(value) is not Keyword:
                operands.append(value)
                if len(operands) > MOST_OPERANDS:
                    raise ArchiveError("a page of the PDF has an operator with too many operands")
                continue
            self._operators += 1
            if self._operators > MOST_OPERATORS:
                raise ArchiveError(
                    "a page of the PDF has more than {:,} operators: it is not read".format(MOST_OPERATORS)
                )
            if not self._operators % 1000:
                self._file.tick()
            if value == b"BI":
                _skip_picture(scanner)
            else:
                self._operate(bytes(value), operands, resources)
            operands = []

    def _operate(self, operator, operands, resources):
        numbers = [item for item in operands if type(item) in _NUMBERS]
        last = operands[-1] if operands else None
        if operator == b"Tj":
            self._show(last)
        elif operator == b"TJ":
            items: Any = last if is_a(last, list) else []
            for item in items:
                if type(item) in _NUMBERS:
                    self._advance(-item / 1000 * self._size * self._scale)
                else:
                    self._show(item)
        elif operator in (b"'", b'"'):
            if operator == b'"' and len(numbers) >= 2:
                self._word_spacing, self._spacing = numbers[:2]
            self._move(0, -self._leading)
            self._show(last)
        elif operator in (b"Td", b"TD") and len(numbers) >= 2:
            if operator == b"TD":
                self._leading = -numbers[1]
            self._move(numbers[0], numbers[1])
        elif operator == b"T*":
            self._move(0, -self._leading)
        elif operator == b"Tm" and len(numbers) == 6:
            self._text_matrix = self._line_matrix = tuple(numbers)
        elif operator == b"BT":
            self._text_matrix = self._line_matrix = _UNIT
        elif operator == b"Tf" and numbers:
            self._font, self._size = self._found_font(operands[0], resources), numbers[0]
        elif operator in (b"TL", b"Tc", b"Tw", b"Tz") and numbers:
            self._adjust(operator, numbers[0])
        elif operator == b"cm" and len(numbers) == 6:
            self._matrix = _product(tuple(numbers), self._matrix)
        elif operator == b"q" and len(self._saved) < MOST_SAVED:
            self._saved.append(self._state())
        elif operator == b"Q" and self._saved:
            self._restore(self._saved.pop())
        elif operator == b"Do":
            self._form(last, resources)

    def _state(self):
        return self._matrix, self._font, self._size, self._spacing, self._word_spacing, self._scale, self._leading

    def _restore(self, state):
        held = self._text_matrix, self._line_matrix
        self._set(*state)
        self._text_matrix, self._line_matrix = held

    def _adjust(self, operator, number):
        if operator == b"TL":
            self._leading = number
        elif operator == b"Tc":
            self._spacing = number
        elif operator == b"Tw":
            self._word_spacing = number
        else:
            self._scale = number / 100

    def _move(self, x, y):
        self._text_matrix = self._line_matrix = _product((1, 0, 0, 1, x, y), self._line_matrix)

    def _advance(self, x):
        self._text_matrix = _product((1, 0, 0, 1, x, 0), self._text_matrix)

    def _found_font(self, name, resources):
        found = self._file.get(resources, "Font", str(name))
        if not is_a(found, dict):
            return None
        if id(found) not in self._fonts:
            if len(self._fonts) > 1000:
                raise ArchiveError("a page of the PDF has too many fonts")
            # Kept, so that no other gets the same identity.
            self._kept.append(found)
            self._fonts[id(found)] = Font(self._file, found, self._glyphs)
        return self._fonts[id(found)]

    def _show(self, codes):
        if type(codes) is not bytes or self._font is None or not codes:
            return
        pieces, width = [], 0.0
        for text, part, is_space in self._font.characters(codes):
            pieces.append(text)
            width += part / 1000 * self._size + self._spacing + (self._word_spacing if is_space else 0)
        self._place("".join(pieces))
        self._advance(width * self._scale)
        x, y, size = self._where()
        self._end = (x, y, size)

    def _where(self):
        a, b, c, d, x, y = _product(self._text_matrix, self._matrix)
        return x, y, abs(self._size) * max(abs(d), abs(b), abs(c), 1e-6)

    def _place(self, text):
        """Puts a line break or a space before text that does not follow on what was last."""
        x, y, size = self._where()
        if self._end is not None:
            last_x, last_y, last_size = self._end
            size = min(max(size, last_size, 1e-6), 1e6)
            if abs(y - last_y) > 0.5 * size:
                self._parts.append("\n\n" if abs(y - last_y) > 2.2 * size else "\n")
            elif x - last_x > 0.18 * size and not self._ends_blank() and not text.startswith(" "):
                self._parts.append("   " if x - last_x > 3 * size else " ")
            elif x - last_x < -2 * size and not self._ends_blank():
                self._parts.append(" ")
        self._meter.add(len(text) + 1)
        self._parts.append(text.replace("\0", ""))

    def _ends_blank(self):
        return not self._parts or self._parts[-1][-1:] in ("", " ", "\n")

    def _form(self, name, resources):
        form = self._file.get(resources, "XObject", str(name))
        if not is_a(form, Stream) or form.attributes.get("Subtype") != "Form":
            return
        # A form that contains itself never ends.
        if len(self._open_forms) >= MOST_FORMS or any(one is form for one in self._open_forms):
            return
        held, depth = self._state(), len(self._saved)
        matrix = self._file.get(form, "Matrix")
        if is_a(matrix, list) and len(matrix) == 6 and all(type(item) in _NUMBERS for item in matrix):
            self._matrix = _product(tuple(matrix), self._matrix)
        self._open_forms.append(form)
        try:
            self.run(self._file.content(form), self._file.get(form, "Resources") or resources)
        finally:
            self._open_forms.pop()
            del self._saved[depth:]
            self._restore(held)


def _skip_picture(scanner):
    start = scanner.data.find(b"ID", scanner.position)
    end = start
    while start >= 0:
        end = scanner.data.find(b"EI", end + 2)
        if end < 0:
            break
        before, after = scanner.data[end - 1 : end], scanner.data[end + 2 : end + 3]
        if before in b"\0\t\n\f\r " and after in b"\0\t\n\f\r ":
            scanner.position = end + 2
            return
    scanner.position = len(scanner.data)
