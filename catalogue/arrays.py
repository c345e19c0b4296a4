"""Formulas over arrays of numbers."""

import numpy

from .expressions import Formula

FUNCTIONS = {
    name: getattr(numpy, name)
    for name in (
        "sin cos tan arcsin arccos arctan arctan2 sinh cosh tanh sqrt exp log log2 log10 floor ceil sign "
        "minimum maximum hypot where"
    ).split()
}
FUNCTIONS.update(
    {
        "abs": numpy.abs,
        "ln": numpy.log,
        "asin": numpy.arcsin,
        "acos": numpy.arccos,
        "atan": numpy.arctan,
        "atan2": numpy.arctan2,
        "min": numpy.minimum,
        "max": numpy.maximum,
    }
)
CONSTANTS = {"pi": numpy.pi, "e": numpy.e, "tau": 2 * numpy.pi}


class Function:
    """A formula as a function of its variables, for numbers and for arrays."""

    def __init__(self, text, names):
        self.text = text
        self.formula = Formula(text, FUNCTIONS)
        unknown = set(self.formula.names()) - set(names) - set(CONSTANTS)
        if unknown:
            known = ", ".join(sorted(names))
            raise ValueError("{!r} has the unknown name {}; known are {}".format(text, min(unknown), known))

    def __call__(self, values):
        """The value; what is not defined somewhere is not a number there."""
        floats = {name: numpy.asarray(value, dtype=float) for name, value in values.items()}
        with numpy.errstate(all="ignore"):
            return numpy.asarray(self.formula.value({**CONSTANTS, **floats}, float, numpy.power), dtype=float)
