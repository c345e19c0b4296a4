"""Checks of what tools are given, with messages for the model that will read them."""

import math


def number(value, name) -> float:
    """A finite number."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise ValueError("{} must be a finite number, not {!r}".format(name, value))
    return value


def numbers(values, name, least=1, most=1_000_000) -> list:
    """A list of finite numbers, as floats."""
    if not isinstance(values, (list, tuple)):
        raise ValueError("{} must be a list of numbers, not {}".format(name, type(values).__name__))
    if not least <= len(values) <= most:
        raise ValueError("{} must have {:,} to {:,} numbers, not {:,}".format(name, least, most, len(values)))
    return [float(number(value, "{}[{}]".format(name, index))) for index, value in enumerate(values)]


def matrix(rows, name, most=2_000) -> list:
    """A list of rows of the same length, as lists of floats."""
    if not isinstance(rows, (list, tuple)) or not rows or len(rows) > most:
        raise ValueError("{} must be a list of 1 to {:,} rows".format(name, most))
    read = [numbers(row, "{}[{}]".format(name, index), 1, most) for index, row in enumerate(rows)]
    if len({len(row) for row in read}) != 1:
        raise ValueError("{} must have rows of the same length, not {}".format(name, [len(row) for row in read][:10]))
    return read


def square(rows, name) -> list:
    """A matrix with as many rows as columns."""
    read = matrix(rows, name)
    if len(read) != len(read[0]):
        raise ValueError("{} must be square, not {} by {}".format(name, len(read), len(read[0])))
    return read


def whole(value, name, least, most) -> int:
    """A whole number within bounds."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise ValueError("{} must be a whole number from {:,} to {:,}, not {!r}".format(name, least, most, value))
    return value


def interval(low, high, name) -> tuple:
    """Two finite numbers, the smaller one first."""
    if number(low, name) >= number(high, name):
        raise ValueError("{} must go from a smaller to a larger number, not from {} to {}".format(name, low, high))
    return float(low), float(high)


def mapping(value, name, least=1, most=50) -> dict:
    """A dict with text keys."""
    if not isinstance(value, dict) or not least <= len(value) <= most:
        raise ValueError("{} must be an object with {} to {} entries".format(name, least, most))
    return value


def text(value, name, most=1_000_000) -> str:
    """A text that is not too long."""
    if not isinstance(value, str) or len(value) > most:
        raise ValueError("{} must be a text of at most {:,} characters".format(name, most))
    return value


def choice(value, name, among) -> str:
    """One of a few texts."""
    if value not in among:
        raise ValueError("{} must be one of {}, not {!r}".format(name, ", ".join(among), value))
    return value
