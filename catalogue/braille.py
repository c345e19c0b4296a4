"""Curves as Braille characters: each has two by four dots."""

from .inputs import interval, numbers, whole

FIRST = 0x2800
#: The bit of each dot by column and row; the fourth row was added to Braille later, hence the order.
DOTS = ((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))


def plot_braille(y, x=None, width=60, height=12, connect=True) -> dict:
    """Draw numbers as text."""
    ys = numbers(y, "y", 1, 100_000)
    xs = numbers(x, "x", 1, 100_000) if x is not None else [float(index) for index in range(len(ys))]
    if len(xs) != len(ys):
        raise ValueError("x and y must have as many numbers: {} and {}".format(len(xs), len(ys)))
    columns = whole(width, "width", 1, 400)
    rows = whole(height, "height", 1, 200)
    across, down = _scale(xs, 2 * columns), _scale([-value for value in ys], 4 * rows)
    points = list(zip(across, down))
    cells = [[0] * columns for _ in range(rows)]
    for start, end in zip(points, points[1:] if connect and len(points) > 1 else points):
        for column, row in _line(start, end if connect else start):
            cells[row // 4][column // 2] |= DOTS[column % 2][row % 4]
    low, high = min(ys), max(ys)
    return {
        "plot": "\n".join("".join(chr(FIRST + cell) for cell in line) for line in cells),
        "x": [min(xs), max(xs)],
        "y": [low, high],
    }


def _scale(values, size):
    low, high = min(values), max(values)
    if low == high:
        return [size // 2] * len(values)
    first, last = interval(low, high, "values")
    return [round((value - first) / (last - first) * (size - 1)) for value in values]


def _line(start, end):
    """Each dot between two, by the longer side."""
    steps = max(abs(end[0] - start[0]), abs(end[1] - start[1]), 1)
    for step in range(steps + 1):
        yield tuple(round(one + (other - one) * step / steps) for one, other in zip(start, end))
