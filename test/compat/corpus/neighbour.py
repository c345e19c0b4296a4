"""A module beside the notebook."""

CONSTANT = "constant"


def double(value):
    """Twice the value."""
    return value * 2


def fail():
    raise LookupError("from the neighbour")
