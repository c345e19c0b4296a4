"""Arithmetic with exact whole numbers."""

import math

from .expressions import Formula
from .inputs import mapping, number

LONGEST_BITS = 100_000
LARGEST_FACTORIAL = 10_000


def _power(base, exponent):
    if isinstance(base, int) and isinstance(exponent, int) and abs(base) > 1:
        if exponent > 0 and base.bit_length() * exponent > LONGEST_BITS:
            raise ValueError("the power has more than {:,} binary digits".format(LONGEST_BITS))
    value = base**exponent
    if isinstance(value, complex):
        raise ValueError("a root of a negative number is not real")
    return value


def _factorial(value):
    if value != int(value) or not 0 <= value <= LARGEST_FACTORIAL:
        raise ValueError("factorial needs a whole number from 0 to {:,}".format(LARGEST_FACTORIAL))
    return math.factorial(int(value))


def _choose(total, chosen):
    if total != int(total) or chosen != int(chosen) or not 0 <= chosen <= total <= LARGEST_FACTORIAL:
        raise ValueError("comb needs whole numbers, 0 <= k <= n <= {:,}".format(LARGEST_FACTORIAL))
    return math.factorial(int(total)) // (math.factorial(int(chosen)) * math.factorial(int(total - chosen)))


FUNCTIONS = {
    name: getattr(math, name)
    for name in (
        "sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh sqrt exp log2 log10 log floor ceil "
        "trunc degrees radians hypot gamma lgamma erf erfc gcd"
    ).split()
}
FUNCTIONS.update(
    {"ln": math.log, "abs": abs, "round": round, "min": min, "max": max, "factorial": _factorial, "comb": _choose}
)
CONSTANTS = {"pi": math.pi, "e": math.e, "tau": math.tau}


def calculate(expression, variables=None) -> float:
    """Evaluate a formula with numbers."""
    given = mapping({} if variables is None else variables, "variables", 0)
    names = {**CONSTANTS, **{name: number(value, "variables." + name) for name, value in given.items()}}
    try:
        value = Formula(expression, FUNCTIONS).value(names, power=_power)
    except ZeroDivisionError:
        raise ValueError("{!r} divides by zero".format(expression)) from None
    except (OverflowError, TypeError) as error:
        raise ValueError("{!r} cannot be calculated: {}".format(expression, error)) from None
    if isinstance(value, int) and value.bit_length() > LONGEST_BITS:
        raise ValueError("the result has more than {:,} binary digits".format(LONGEST_BITS))
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("{!r} is too large to be a number".format(expression))
    return value
