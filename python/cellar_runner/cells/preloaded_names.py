"""The short names of preloaded libraries, known without an import where a session asks for it."""

from __future__ import annotations

import builtins
import sys
from typing import Mapping

SWITCH = "CELLAR_NAMES"
PRELOADED = "preloaded"

SHORT_NAMES = {
    "np": "numpy",
    "pd": "pandas",
    "plt": "matplotlib.pyplot",
    "sns": "seaborn",
    "sm": "statsmodels.api",
}
_PARTS = {
    "scipy": "stats optimize interpolate",
    "sklearn": "linear_model tree ensemble cluster preprocessing model_selection metrics",
}
_SAME = "matplotlib json csv datetime collections itertools functools math random re os sys"


def bind(environment: Mapping[str, str]) -> None:
    """As builtins, so that they are not variables, if the environment asks for them."""
    if environment.get(SWITCH) != PRELOADED:
        return
    known = vars(builtins)
    for name, module in _modules():
        if module in sys.modules:
            known.setdefault(name, sys.modules[module])


def _modules():
    yield from SHORT_NAMES.items()
    for package, names in _PARTS.items():
        for name in names.split():
            yield name, package + "." + name
    for name in _SAME.split():
        yield name, name
